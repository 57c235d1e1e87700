"""A model of `CommandProcessor`, written from its documentation: it gives all outputs in each cycle.

It models a machine without `Geometry.watches`.
"""

from __future__ import annotations

import copy
from typing import Any

from caesura.hw.arch.commands import BUSY_STATES, REFUSED, Command, KernelState, Switch
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import ALIGNED
from caesura.hw.arch.image.context import Capability, Mechanism, mechanisms_of
from caesura.hw.arch.registers import UNLIMITED_GRACE
from caesura.hw.arch.tb_footprint import tb_footprint
from caesura.hw.control.memory_refusals import AGAIN_CYCLES, REST_CYCLES, TRIES
from support.models.engine_queue_model import FLAGS, EngineQueueModel

__all__ = ["CommandProcessorModel"]

NONE, ABORTED = CommandError.NONE, CommandError.ABORTED
IDLE, RUNNING, PREEMPTING, PREEMPTED, RESUMING, FINISHED, KILLING, ADOPTING = KernelState


class _Slot:
    """A kernel slot, and what it says in the cycle it is in: `events`, `switch`, and whether a resume begins."""

    def __init__(self, g):
        self.g = g
        self.state, self.error = IDLE, NONE
        self.preempt_pending = self.resume_pending = self.adopt_pending = self.hasten_active = False
        self.others_running = False  # TBs of it may run on while it is preempted
        self.is_checkpoint = False  # the last preempt is a checkpoint
        self.grace: int | None = None  # cycles that are left, None without grace
        self.grace_left, self.endless, self.spared = 0, False, 0
        self.begin()

    def begin(self):
        """Forget what was said in the last cycle."""
        self.events: set[str] = set()
        self.switch: Switch | None = None
        self.first = False

    @property
    def graceful(self):
        return self.grace is not None

    def drain(self, takes, now, was):
        """Let grace pass; `was` is the slot before the cycle."""
        if takes is Command.PREEMPT:
            self.grace = now["grace"] or None
            self.grace_left, self.endless, self.spared = now["grace"], now["grace"] == UNLIMITED_GRACE, now["spared"]
        elif was.graceful:
            if was.hasten_active or not (now["running"] & ~was.spared or now["launching"] or now["held"]):
                self.grace = None
            else:
                self.grace_left = (self.grace_left - 1) % (1 << 32)
                self.grace = None if self.grace_left == 0 and not self.endless else self.grace_left

    def cycle(self, takes, now):
        """Return the slot after a cycle in which a command is taken, or None."""
        after = copy.copy(self)
        after.begin()
        if self.g.grace:
            after.drain(takes, now, self)
        if now["preempt_taken"]:
            after.preempt_pending = False
        if takes:
            after.others_running = False
            after.take(takes, now, self)
        elif now["ended"] and self.state != KILLING:
            after.end(now)
        elif now["failure"] and (self.state == RUNNING or self.resume_pending and not now["held"]):
            after.stay(now)
            after.error, after.resume_pending, after.events = now["failure"], False, {"resumed"}
        elif now["done"] and (self.state == RUNNING
                              or self.state == PREEMPTED and (self.others_running or self.g.has_uncore)):
            after.finish()
        elif self.state == KILLING and not any(
                now[name] for name in ("present", "held", "launching", "eviction_held", "outstanding")):
            after.state, after.events = IDLE, {"killed"}
        return after

    def take(self, op, now, was):
        """A command."""
        if op is Command.START:
            self.state, self.error = RUNNING, NONE
        elif op is Command.ADOPT:
            self.state, self.error, self.adopt_pending = ADOPTING, NONE, True
        elif op is Command.PREEMPT:
            self.state, self.error, self.hasten_active = PREEMPTING, NONE, False
            self.preempt_pending, self.resume_pending = True, False
            self.is_checkpoint = bool(now["checkpoint"]) and self.g.checkpoints
        elif op is Command.RESUME:
            self.error = NONE
            self.bring_back()
        elif op is Command.HASTEN:
            self.hasten_active = True
        elif op in (Command.KILL, Command.RELEASE):
            self.state = KILLING
            self.preempt_pending = self.resume_pending = self.adopt_pending = False
        elif was.state == PREEMPTING:  # an abort
            if was.preempt_pending and not now["preempt_taken"]:
                self.preempt_pending = False
                self.undo(ABORTED, now)
        else:
            self.resume_pending = False
            if not now["held"]:
                self.state, self.others_running, self.error, self.events = PREEMPTED, True, ABORTED, {"resumed"}

    def end(self, now):
        """The engine's command has ended."""
        result = now["ended"]
        failed = result["error"] != NONE
        if self.adopt_pending:
            self.adopt_pending, self.error, self.events = False, result["error"], {"adopted"}
            self.state = IDLE if failed else PREEMPTED
        elif now["resuming"]:
            left = result["left"] and not failed
            if not failed and not left:
                self.switch = Switch.RESUMED
            if not left or not self.resume_pending:
                self.resume_pending, self.error, self.events = False, ABORTED if left else result["error"], {"resumed"}
                if self.state == RESUMING:
                    behind = result["left"] or failed and now["saved"]
                    self.state = PREEMPTED if behind else RUNNING
        elif now["withdrawn"]:
            self.undo(result["error"] or ABORTED, now)
        else:
            self.error, self.events = result["error"], {"preempted"}
            if failed:
                self.state = PREEMPTED if now["saved"] else RUNNING
            elif now["done"]:
                self.finish()
                self.switch = Switch.FINISHED
            elif self.is_checkpoint:
                self.switch = Switch.CHECKPOINTED
                self.state = RUNNING
                if now["saved"]:
                    self.stay(now)
            else:
                self.stay(now)
                at = Switch.AT_ONCE if result["at_once"] else Switch.AT_POINTS
                self.switch = at if result["saved"] else Switch.DRAINED

    def undo(self, error, now):
        """A preempt is withdrawn: what it has saved comes back, but for what was saved before a checkpoint."""
        self.error, self.events = error, {"preempted"}
        self.state = RUNNING
        if now["saved"]:
            if self.is_checkpoint:
                self.stay(now)
            else:
                self.bring_back()

    def bring_back(self):
        self.state, self.resume_pending, self.first = RESUMING, True, True

    def stay(self, now):
        self.state, self.others_running = PREEMPTED, now["present"]

    def finish(self):
        self.state = FINISHED
        self.events = self.events | {"finished"}


class CommandProcessorModel:
    """Inputs are numbers and dictionaries by name, in lists where the block has arrays. Outputs are those of the
    block."""

    def __init__(self, g):
        self.g = g
        self.queue = EngineQueueModel(g, AGAIN_CYCLES, TRIES, REST_CYCLES)
        room = ("newcomer", "newcomer_tbs") if g.in_place else ()
        names = (*FLAGS, "mechanism", "spared", "patience", "grace", *room)
        self.queue.parameters |= {k: dict.fromkeys(names, 0) for k in range(g.kernel_slots)}
        self.slots = [_Slot(g) for _ in range(g.kernel_slots)]
        self.result: Any = None  # of the command that the engine has ended, until it counts
        self.withdrawn = False
        self.error = NONE
        self.footprints = [(0, 0) for _ in range(g.kernel_slots)]

    def of(self, condition):
        """Return the kernels whose slot fulfils a condition, as a vector."""
        return _bits(k for k, slot in enumerate(self.slots) if condition(slot))

    def recorded(self, now):
        return now["in_memory"] & self.of(lambda slot: slot.state == PREEMPTED)

    def judge(self, now):
        """Return why a command is refused, and the footprint of a TB of its kernel."""
        g, given = self.g, now["command"]
        k = given["kernel"]
        if k >= g.kernel_slots or given["op"] not in {*Command}:
            return CommandError.UNKNOWN, None
        op, state, kernel = Command(given["op"]), self.slots[k].state, now["kernels"][k]
        sizes = {name: kernel[name] for name in ("threads", "warps", "registers", "shared_bytes")}
        size = tb_footprint(g, tuple(kernel[f"grid_{axis}"] for axis in "xyz"), **sizes)
        error = REFUSED[op].get(state, NONE)
        if op in (Command.START, Command.ADOPT) and error == NONE:
            if size is None:
                error = CommandError.TOO_LARGE
            elif any(kernel[name] % multiple for name, multiple in ALIGNED.items()):
                error = CommandError.MISPLACED
        whole = self.recorded(now) >> k & 1
        if op is Command.RELEASE and state == PREEMPTED and not whole:
            error = CommandError.NOT_IN_MEMORY
        if op is Command.PREEMPT:
            nothing = whole or given["in_place"] or given["checkpoint"]
            if state == PREEMPTED and nothing and not now["present"] >> k & 1:
                error = CommandError.NOT_RUNNING
            if self.strange(given, now["grace"]):
                error = CommandError.UNKNOWN
        return error, size

    def strange(self, given, grace):
        """Whether a preempt asks for what the machine has not."""
        g = self.g
        if given["mechanism"] not in mechanisms_of(g):
            return True
        lacks = {"restart": g.restart, "checkpoint": g.checkpoints, "incremental": g.checkpoints,
                 "in_place": g.in_place, "trap": g.traps}
        points = Mechanism(given["mechanism"]).has(Capability.STOPS_AT_POINTS)
        return (grace and not g.grace or any(given[name] and not there for name, there in lacks.items())
                or given["checkpoint"] and given["restart"]
                or given["in_place"] and (given["restart"] or given["checkpoint"] or given["incremental"])
                or given["trap"] and (given["restart"] or not points))

    def asked(self, now):
        """What the engine is wanted for."""
        g = self.g
        return {
            "preempts": {k for k, slot in enumerate(self.slots) if slot.preempt_pending},
            "resumes": {k for k, slot in enumerate(self.slots) if slot.resume_pending},
            "adopts": {k for k, slot in enumerate(self.slots) if slot.adopt_pending},
            "graceful": {k for k, slot in enumerate(self.slots) if slot.graceful},
            "grace_left": [slot.grace_left for slot in self.slots],
            "launching": {now["launching"]["kernel"]} if now["launching"]["valid"] else set(),
            "room": now["room"], "engine_ready": now["ready"], "evict": now["evict"], "evictable": now["evictable"],
            "owners": now["owners"], "hopeless": {k for k in range(g.kernel_slots) if now["hopeless"] >> k & 1},
            "wakes": set(), "leave": None, "ended": None, "write": None, "first": set()}

    def cycle(self, now):
        """Go to the next cycle; return the outputs of this one."""
        g, given = self.g, now["command"]
        error, size = self.judge(now)
        op = Command(given["op"]) if given["valid"] and error == NONE else None
        recorded, asked = self.recorded(now), self.asked(now)
        found = self.queue.outputs(asked)
        kill = {k for k, slot in enumerate(self.slots) if slot.state == KILLING}
        cancel = found["held"]["valid"] and bool((found["command_owner"] | found["eviction_owner"]) & kill)
        ended = self.conclude(now, found, op is not None and given["kernel"] in found["command_owner"], cancel)
        if ended:
            asked["ended"] = {
                "tbs_left": int(ended["left"] and not self.withdrawn and not cancel and ended["error"] == NONE),
                "refused": int(not cancel and ended["error"] == CommandError.BUS_ERROR)}
        failed_kernels = self.queue.outputs(asked)["given_up"] if g.in_place else set()
        offer = found.pop("payload")
        after = []
        for k, slot in enumerate(self.slots):
            after.append(slot.cycle(op if given["kernel"] == k else None, {
                **{name: now[name] >> k & 1 for name in ("done", "present", "saved")},
                "held": k in found["command_owner"], "eviction_held": k in found["eviction_owner"],
                "launching": k in asked["launching"],
                "preempt_taken": k in found["command_taken"] and not offer["resume"],
                "resuming": found["held"]["resume"],
                "withdrawn": self.withdrawn, "ended": ended if k in found["command_owner"] else None,
                "failure": CommandError.BUS_ERROR if k in failed_kernels else NONE, "outstanding": now["outstanding"],
                "grace": now["grace"], "spared": now["spared"], "checkpoint": given["checkpoint"],
                "running": now["running"][k]}))
        said = self.say(now, found, offer, after, op, cancel, kill)
        said |= {"status.recorded": recorded, "events.refused": given["valid"] and error != NONE}
        begins = {given["kernel"]} if op in (Command.START, Command.ADOPT) else set()
        asked["first"] = begins | {k for k, slot in enumerate(after) if slot.first}
        if op in (Command.PREEMPT, Command.RESUME):
            room = {"newcomer": now["newcomer"] & 15, "newcomer_tbs": now["newcomer_tbs"]} if g.in_place else {}
            asked["write"] = given["kernel"], {
                **{name: given[name] for name in (*FLAGS, "mechanism")}, **room,
                **{name: now[name] for name in ("spared", "patience", "grace")}}
        self.queue.step(asked)
        comes = op is not None and given["kernel"] in found["command_owner"]
        if now["result"]["valid"]:
            self.result = now["result"]
        if ended:
            self.result, self.withdrawn = None, False
        elif comes and op in (Command.PREEMPT, Command.ABORT):
            self.withdrawn = True
        if given["valid"]:
            self.error = error
        for k in begins:
            self.footprints[k] = size  # pyright: ignore
        self.slots = after
        return said

    def conclude(self, now, found, comes, cancel):
        """Return the result that counts in this cycle, None if there is none."""
        held = found["held"]
        waits = not (held["resume"] or found["eviction_owner"] or held["partial"] or self.withdrawn or cancel
                     or self.result and self.result["error"] != NONE) and now["present"] >> held["kernel"] & 1
        return None if comes or waits else self.result

    def say(self, now, found, offer, after, op, cancel, kill):
        """Return what follows from the state and from how the slots go on."""
        k = now["command"]["kernel"]
        waiting = any(slot.resume_pending for slot in self.slots)
        busy = found["command_owner"] | found["eviction_owner"]
        launching = {now["launching"]["kernel"]} if now["launching"]["valid"] else set()
        said = {
            "engine.command.valid": int(offer is not None), "engine.withdraw": self.withdrawn, "engine.cancel": cancel,
            "engine.hasten": any(self.slots[k].hasten_active for k in found["command_owner"]),
            "dispatch.start": 1 << k if op in (Command.START, Command.ADOPT) else 0,
            "dispatch.invalidate": op in (Command.START, Command.RESUME),
            "dispatch.eligible": 0 if waiting else self.of(lambda slot: slot.state == RUNNING),
            "dispatch.kill": _bits(kill),
            "dispatch.discard": _bits(k for k in kill - launching if k not in busy or now["flushing"]),
            "status.busy": any(slot.state in BUSY_STATES for slot in self.slots), "status.error": self.error,
            "events.finished": _bits(k for k, slot in enumerate(after) if "finished" in slot.events),
            **{f"events.{name}": any(name in slot.events for slot in after)
               for name in ("preempted", "resumed", "killed", "adopted")}}
        if self.g.in_place:
            said["dispatch.stuck"] = _bits(found["stuck"])
        for name, value in (offer or {}).items():
            own = name not in (*FLAGS, "mechanism", "spared", "newcomer", "newcomer_tbs")
            said[f"engine.command.payload.{name}" if own else f"engine.command.payload.options.{name}"] = value
        for k, slot in enumerate(self.slots):
            rows, lines = self.footprints[k]
            said |= {f"status.states.{k}": slot.state, f"status.errors.{k}": slot.error,
                     f"dispatch.footprints.{k}.rows": rows, f"dispatch.footprints.{k}.lines": lines}
        switches = [(k, slot.switch) for k, slot in enumerate(after) if slot.switch is not None]
        said["status.switched.valid"] = len(switches)
        for k, kind in switches:
            said |= {"status.switched.kernel": k, "status.switched.kind": kind}
        return said


def _bits(kernels):
    return sum(1 << k for k in kernels)
