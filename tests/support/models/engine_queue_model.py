"""A model of `EngineQueue`, written from its documentation: it gives all outputs in each cycle."""

from typing import Any

from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.registers import UNLIMITED_PATIENCE

__all__ = ["FLAGS", "EngineQueueModel"]

FLAGS = ("scramble", "gang", "restart", "checkpoint", "incremental", "in_place", "trap")
"""Options that a command has or has not."""


class _Refusals:
    """Pauses of kernels, and refusals in a row."""

    def __init__(self, pause, tries):
        self.most, self.pause, self.left, self.pausing, self.tries = tries, pause, 0, set(), {}

    def given_up(self, refused):
        return {k for k in refused if self.tries.get(k, 0) == self.most - 1}

    def step(self, refused, done, forget):
        for k in refused | done | forget:
            again = k in refused and k not in forget | done | self.given_up({k})
            self.tries[k] = self.tries.get(k, 0) + 1 if again else 0
        self.pausing = (self.pausing - forget if self.left else set()) | refused
        self.left = self.pause - 1 if refused else max(0, self.left - 1)


class EngineQueueModel:
    """Inputs are ints and sets of kernels by name, outputs too."""

    def __init__(self, g, pause, tries, rest):
        self.g, self.rest = g, rest
        self.wakes, self.leaves, self.evictions = (_Refusals(pause, tries) for _ in range(3))
        self.order = list(range(g.kernel_slots))  # the one whose command was taken longest ago is first
        self.lacks_room, self.begun, self.stuck, self.lacking, self.unsettled = set(), set(), set(), set(), set()
        self.stuck_for = 0
        self.parameters = {k: {"grace": 0} for k in range(g.kernel_slots)}
        self.hand: Any = None  # the command that the engine has
        self.room_changed = False
        self.shown = {"kernel": 0, "resume": 0, "partial": 0}

    def offer(self, now):
        """Return the command that is offered, None if there is none, as its payload."""
        g, every = self.g, (1 << self.g.context_entries) - 1
        if self.hand:
            return None
        rows = [t for t in range(g.tb_slots) if g.in_place and now["evict"] >> t & 1 and now["evictable"] >> t & 1
                and now["owners"][t] not in self.evictions.pausing]
        if rows:
            return {"kernel": now["owners"][rows[0]], "evict": 1, "staying": rows[0], "resume": 0, "adopt": 0,
                    "spared": every}
        saves = now["preempts"] - now["launching"] - now["graceful"]
        if saves:
            k = self.turn(saves)
            return {"kernel": k, "resume": 0, "adopt": 0, "evict": 0, **self.of(now, k),
                    **({"yields": 0} if g.watches else {})}
        if g.watches and now["leave"] and now["leave"][0] not in now["launching"]:
            k, entry = now["leave"]
            room = dict.fromkeys(("newcomer", "newcomer_tbs"), 0) if g.in_place else {}
            return {"kernel": k, "resume": 0, "adopt": 0, "evict": 0, "yields": 1, "again": 0,
                    **dict.fromkeys(FLAGS, 0), **room, "mechanism": Mechanism.LIVE, "patience": UNLIMITED_PATIENCE,
                    "spared": every & ~(1 << entry)}
        resumes = now["resumes"] - self.lacks_room
        wakes = now["wakes"] - self.lacks_room - now["launching"] - self.wakes.pausing if g.watches else set()
        wakes = {k for k in wakes if self.lacking <= {k} or k in self.unsettled}
        k = self.turn(resumes | now["adopts"] | wakes)
        if k is None:
            return None
        payload = {"kernel": k, "evict": 0, **self.of(now, k)}
        if g.watches:
            payload |= {"spared": now["stays"][k], "yields": 0}
        if k in wakes:
            return payload | {"resume": 1, "adopt": 0, "again": 1, "yields": 1, "spared": every & ~now["ready"][k],
                              "scramble": 0, "gang": 0}
        if k in now["adopts"]:
            return payload | {"resume": 0, "adopt": 1}
        return payload | {"resume": 1, "adopt": 0, "again": int(k in self.begun)}

    def of(self, now, k):
        """What software has said of a kernel."""
        parameters = self.parameters[k]
        used = {"grace_used": (parameters["grace"] - now["grace_left"][k]) & 0xFFFF_FFFF} if self.g.grace else {}
        return {name: value for name, value in parameters.items() if name != "grace"} | used

    def turn(self, kernels):
        """Whose turn it is."""
        return min(kernels, key=self.order.index, default=None)

    def outputs(self, now):
        """Return what is said in a cycle, before its edge."""
        g, hand, offer = self.g, self.hand, self.offer(now)
        taken: Any = offer if now["engine_ready"] else None
        kind = self.kind(taken) if taken else None
        alone = {k: {taken["kernel"]} if kind == k else set() for k in ("command", "wake", "leave", "evict")}
        had = self.kind(hand) if hand else None
        own = {hand["kernel"]} if hand else set()
        found = {"command_taken": alone["command"], "held": {"valid": int(hand is not None), **self.shown},
                 "command_owner": (own if had == "command" else set()) if hand else alone["command"],
                 "eviction_owner": (own if had == "evict" else set()) | alone["evict"],
                 "engine_valid": int(offer is not None), "payload": offer}
        pending = set()  # kernels of which TBs that have left by themselves are to come back
        end, refused = now["ended"], {}
        for name in ("wake", "leave", "evict"):
            refused[name] = own if end and end["refused"] and had == name else set()
        given_up = self.wakes.given_up(refused["wake"]) | self.leaves.given_up(refused["leave"])
        if g.watches:
            apart = (own if had in ("wake", "leave") else set()) | alone["wake"] | alone["leave"]
            pending = now["wakes"]
            found |= {"leave_taken": int(kind == "leave"), "wake_taken": alone["wake"], "yield_owner": apart,
                      "leave_ended": int(bool(end and apart)), "leave_pausing": self.leaves.pausing,
                      "wake_lacks_room": int(bool(self.lacks_room & (now["resumes"] | pending)))}
        found["returns_waiting"] = int(bool(now["resumes"] or pending - self.wakes.pausing))
        if g.in_place:
            found["stuck"] = self.stuck
            if self.stuck and not hand and offer is None:
                given_up = given_up | now["hopeless"]
        if g.in_place or g.watches:
            found["given_up"] = given_up
        return found

    @staticmethod
    def kind(payload):
        if payload.get("evict"):
            return "evict"
        if payload.get("yields"):
            return "wake" if payload["resume"] else "leave"
        return "command"

    def step(self, now):
        """Go to the next cycle."""
        hand, offer, first, end = self.hand, self.offer(now), now["first"], now["ended"]
        changes = self.end(hand, end, first, not hand and offer is None)
        if end and hand["resume"]:
            self.lacking = (self.lacking or {hand["kernel"]}) if end["tbs_left"] else self.lacking - {hand["kernel"]}
            self.unsettled = self.unsettled | {hand["kernel"]} if end["refused"] else self.unsettled - {hand["kernel"]}
        self.unsettled -= first
        self.lacking = self.lacking & (now["resumes"] | now["wakes"]) - first
        left = {hand["kernel"]} if end and end["tbs_left"] and not self.room_changed else set()
        if offer and now["engine_ready"]:
            kind = self.kind(offer)
            self.hand = offer
            self.shown["kernel"], self.shown["resume"] = offer["kernel"], offer["resume"]
            if kind != "evict":
                self.shown["partial"] = int(bool(offer["spared"] or offer["checkpoint"]) or kind == "leave")
            if kind in ("command", "wake"):
                self.room_changed = False
                self.order.remove(offer["kernel"])
                self.order.append(offer["kernel"])
            if kind == "command" and offer["resume"]:
                self.begun = self.begun | {offer["kernel"]}
        elif end:
            self.hand = None
        if now["room"] or changes:
            self.room_changed, self.lacks_room = True, set()
        else:
            self.lacks_room = (self.lacks_room | left) - first
        self.begun = self.begun - first
        if now["write"]:
            self.parameters[now["write"][0]] = now["write"][1]

    def end(self, hand, end, first, idle):
        """What an end says of memory; return whether other kernels are stuck from now on."""
        own, kind = ({hand["kernel"]}, self.kind(hand)) if end else (set(), None)
        bad = bool(end and end["refused"])
        up: set[int] = set()
        for name, refusals in (("wake", self.wakes), ("leave", self.leaves), ("evict", self.evictions)):
            of = own if kind == name else set()
            if name == "evict" and bad:
                up = refusals.given_up(of)
            refusals.step(of if bad else set(), set() if bad else of, first)
        if not self.g.in_place:
            return False
        after = (set() if first or idle and not self.stuck_for else self.stuck) | up
        changes, self.stuck = after != self.stuck, after
        self.stuck_for = self.rest - 1 if up else max(0, self.stuck_for - idle)
        return changes
