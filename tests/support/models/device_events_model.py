"""The events of a device of several SMs, modelled from the documentation of `DeviceEvents`; and inputs."""

from caesura.hw.arch.commands import KernelState, Switch
from caesura.hw.arch.faults import CommandError
from caesura.hw.device.device_events import ENDED, SAVED

from .sm_states import FINISHED, IDLE, MAP, PREEMPTED, PREEMPTING, bits, moved, states_of


class Events:
    """The event register, and the switches that are counted."""

    def __init__(self, g):
        self.g, self.sticky = g, 0
        self.finished, self.was = [False] * g.kernel_slots, {name: [False] * g.kernel_slots for name in ENDED.values()}
        self.seen, self.waiting = [set() for _ in range(g.kernel_slots)], [None] * g.kernel_slots

    def _kernel(self, given, k):
        """Return whether a kernel is finished, what it is in now, and what has ended."""
        states, members = [each[k] for each in given["states"]], given["members"][k]
        finished = bool(members) and all(state == FINISHED for i, state in enumerate(states) if members >> i & 1)
        now = {name: state in states for state, name in ENDED.items()}
        over = {name for name in now if self.was[name][k] and not now[name]}
        return finished, now, over & {"killed"} if KernelState.KILLING in states else over

    def _ends(self, given, k):
        """Return how a switch of a kernel ends in this cycle, None if none does that is to be counted."""
        finished, _, over = self._kernel(given, k)
        failed = any(given["takers"][k] >> i & 1 and given["errors"][i][k] != CommandError.NONE
                     for i in range(self.g.sms))
        ways = [each for each in SAVED if each in self.seen[k]]
        if "preempted" in over and not failed and (finished or ways):
            return Switch.FINISHED if finished else ways[0]
        saved = any(each[k] == PREEMPTED for each in given["states"])
        if "resumed" in over and not failed and not saved and Switch.RESUMED in self.seen[k]:
            return Switch.RESUMED
        return None

    def counted(self, given):
        """Return the kernel whose switch is counted in this cycle, and how it ended; or None."""
        if not self.g.profile:
            return None
        k = next((k for k, kind in enumerate(self.waiting) if kind is not None), None)
        return None if k is None or self._ends(given, k) is not None else (k, self.waiting[k])

    def event(self, given):
        fault = MAP["event"].pack(fault=1)
        return self.sticky & ~fault | (fault if given["faults"] else 0)

    def outputs(self, given):
        counted = self.counted(given)
        told = {"counted.valid": counted is not None, "event": self.event(given)}
        return told if counted is None else told | {"counted.kernel": counted[0], "counted.kind": counted[1]}

    def step(self, given):
        g = self.g
        kernels, counted = range(g.kernel_slots), self.counted(given)
        every = [self._kernel(given, k) for k in kernels]
        ends = [self._ends(given, k) for k in kernels]
        happens = {name: int(any(name in over for *_, over in every)) for name in ENDED.values()}
        happens["finished"] = bits(finished and not self.finished[k] for k, (finished, *_) in enumerate(every))
        self.sticky = self.sticky & ~given["clear"] | MAP["event"].pack(refused=given["refused"], **happens)
        for k, (finished, now, over) in enumerate(every):
            self.finished[k] = finished
            for name, is_now in now.items():
                self.was[name][k] = is_now
            new = {Switch(each["kind"]) for each in given["switched"]
                   if each["valid"] and each["kernel"] == k and each["kind"] in list(Switch)}
            self.seen[k] = new | (set() if over & {"preempted", "resumed"} else self.seen[k])
            if g.profile and ends[k] is not None:
                self.waiting[k] = ends[k]
        if counted:
            self.waiting[counted[0]] = None


def happenings(dut, rng, cycles, model):
    """Yield states that change in any order, with switches, errors and faults.

    For a while switches are few or many, and of few kinds.
    """
    g, rate, kinds = dut.geometry, 0.3, list(Switch)
    states, members, took = states_of(rng, g), [7] * g.kernel_slots, [0] * g.kernel_slots
    for _ in range(cycles):
        if rng.random() < 0.05:
            rate, kinds = rng.choice((0.02, 0.1, 0.3)), rng.sample(list(Switch), rng.randint(1, 2))
        moved(rng, states)
        members[rng.randrange(g.kernel_slots)] = rng.choice([0, 7, rng.getrandbits(g.sms)])
        took[rng.randrange(g.kernel_slots)] = rng.choice([0, 7, rng.getrandbits(g.sms)])
        given = {
            "states": [list(each) for each in states], "members": list(members), "takers": list(took),
            "errors": [[rng.choice(list(CommandError)) if rng.random() < rate / 3 else CommandError.NONE
                        for _ in range(g.kernel_slots)] for _ in range(g.sms)],
            "switched": [{"valid": int(rng.random() < rate), "kernel": rng.randrange(g.kernel_slots),
                          "kind": rng.choice(kinds)} for _ in range(g.sms)],
            "faults": rng.choice([0, 0, rng.getrandbits(g.sms)]), "refused": int(rng.random() < 0.1),
            "clear": rng.choice([0, 0xFFFF_FFFF, rng.getrandbits(32)])}
        yield given, model.outputs(given)
        model.step(given)


class Episode:
    """A kernel that is switched on some SMs for some cycles, and the states in which that ends."""

    def __init__(self, g, rng, together):
        resuming = KernelState.RESUMING
        self.state = rng.choice([PREEMPTING, PREEMPTING, resuming, resuming, KernelState.KILLING, KernelState.ADOPTING])
        self.left = together if rng.random() < 0.5 else rng.choice((1, 2, 3, 6))
        self.sms = [i for i in range(g.sms) if rng.random() < 0.7]
        self.kinds = rng.sample(list(Switch), rng.randint(1, 3))
        self.took = rng.choice([(1 << g.sms) - 1, rng.getrandbits(g.sms), 0])
        self.ends = rng.choice([(PREEMPTED,), (FINISHED,), (KernelState.RUNNING,), (PREEMPTED, FINISHED),
                                (PREEMPTED, KernelState.RUNNING), (IDLE,), tuple(KernelState)])
        self.fails = rng.random() < 0.2


def episodes(dut, rng, cycles, model):
    """Yield kernels that are switched one after the other, or several at once, with a rest between.

    Nothing else changes, so the end of a switch on the SMs alone decides what is counted.
    """
    g, whole = dut.geometry, 7
    states, running = states_of(rng, g), [None] * g.kernel_slots
    members, took = [whole] * g.kernel_slots, [whole] * g.kernel_slots
    together = 1
    for _ in range(cycles):
        together = together - 1 or rng.randint(2, 9)
        errors = [[CommandError.NONE] * g.kernel_slots for _ in range(g.sms)]
        switched = [{"valid": 0, "kernel": rng.randrange(g.kernel_slots), "kind": rng.choice(list(Switch))}
                    for _ in range(g.sms)]
        for k, episode in enumerate(running):
            if episode is None:
                if rng.random() < 0.3:
                    episode = running[k] = Episode(g, rng, together)
                    took[k], members[k] = episode.took, rng.choice([whole, whole, rng.getrandbits(g.sms), 0])
                    for i in episode.sms:
                        states[i][k] = episode.state
                continue
            for i in range(g.sms):
                if rng.random() < 0.2 and not switched[i]["valid"]:
                    switched[i] = {"valid": 1, "kernel": k, "kind": rng.choice(episode.kinds)}
            episode.left -= 1
            if episode.left > 0:
                continue
            if episode.fails:
                errors[rng.randrange(g.sms)][k] = rng.choice(list(CommandError))
            for i in episode.sms:
                states[i][k] = rng.choice(episode.ends)
            running[k] = None
        given = {"states": [list(each) for each in states], "members": list(members), "takers": list(took),
                 "errors": errors, "switched": switched, "faults": rng.choice([0, 0, rng.getrandbits(g.sms)]),
                 "refused": int(rng.random() < 0.02), "clear": rng.choice([0, 0xFFFF_FFFF, rng.getrandbits(32)])}
        yield given, model.outputs(given)
        model.step(given)
