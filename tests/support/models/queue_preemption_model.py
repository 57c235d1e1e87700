"""Which commands kernels of queues are given, by the priorities of their queues: `QueuePreemption` in plain Python."""

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError

__all__ = ["Policy"]

COME_OR_GO = {KernelState.PREEMPTING, KernelState.KILLING, KernelState.ADOPTING}


class Flight:
    """What the block knows of a kernel in flight."""

    def __init__(self):
        self.away = self.adopting = False
        self.mine = False   # preempted here, to be resumed here
        self.tried = False  # a command was refused
        self.due = False    # to be checkpointed
        self.bound = False  # some of it may not be in memory
        self.resuming = self.broken = False  # its resume has not ended, or has failed


class Policy:
    """Says in every cycle what is to be done, whatever the inputs are."""

    def __init__(self, g):
        self.g, self.flights = g, [Flight() for _ in range(g.flights)]
        self.stuck = [0] * g.queues  # in the cycle before

    def look(self, given):
        """Take the inputs of a cycle; work out what follows from them."""
        self.given = given
        self.here, self.states, self.errors = [], [], []
        for flight, kernel in zip(self.flights, given["kernels"], strict=True):
            self.here.append(bool(kernel["started"]) and not flight.away)
            self.states.append([states[kernel["slot"]] for states in given["states"]])
            self.errors.append([errors[kernel["slot"]] for errors in given["errors"]])
        self.saved = [here and set(states) - {KernelState.IDLE, KernelState.FINISHED} == {KernelState.PREEMPTED}
                      for here, states in zip(self.here, self.states, strict=True)]
        queues = given["queues"]
        wanting = [not queue["stuck"] and queue["roomless"] or any(self.wants(f) for f in self.of(q))
                   for q, queue in enumerate(queues)]
        self.off = [given["enable"] and not queue["stuck"] and self.above(q, wanting) for q, queue in enumerate(queues)]
        hungry = [not queue["stuck"] and (queue["roomless"] or not self.off[q] and any(
            self.flights[f].away for f in self.of(q))) for q, queue in enumerate(queues)]
        self.needed = [self.above(q, hungry) and not given["free"] for q in range(self.g.queues)]

    def of(self, q):
        """The numbers of a queue's kernels."""
        return range(q * self.g.queue_capacity, (q + 1) * self.g.queue_capacity)

    def above(self, q, flags):
        """Whether a queue with a higher priority has a flag."""
        queues = self.given["queues"]
        return any(flag and queue["priority"] > queues[q]["priority"]
                   for flag, queue in zip(flags, queues, strict=True))

    def wants(self, f):
        """Whether the kernel runs, or is to."""
        flight, states = self.flights[f], set(self.states[f])
        if flight.away:
            return not self.given["queues"][f // self.g.queue_capacity]["stuck"]
        if not self.here[f]:
            return False
        return bool(states & {KernelState.RUNNING, KernelState.RESUMING, *COME_OR_GO}) or (
            self.saved[f] and flight.mine and not flight.broken)

    def command(self, f):
        """Return the command that a kernel is to be given, None if there is none."""
        flight, states, q = self.flights[f], set(self.states[f]), f // self.g.queue_capacity
        if flight.adopting and KernelState.ADOPTING not in states and any(self.errors[f]):
            return "unadopt"
        if not self.here[f] or flight.tried or states & COME_OR_GO:
            return None
        if self.off[q]:
            if states & {KernelState.RUNNING, KernelState.RESUMING}:
                return "preempt"
            yields = self.saved[f] and flight.mine and self.needed[q] and not flight.adopting
            return ("evict" if flight.bound else "release") if yields else None
        if KernelState.RESUMING in states:
            return None
        comes_back = flight.mine and not (flight.adopting or flight.resuming or flight.broken)
        if comes_back and KernelState.PREEMPTED in states:
            return "resume"
        return "checkpoint" if flight.due and KernelState.RUNNING in states else None

    def action(self):
        """Return the command that comes first, None if there is none."""
        commands = [self.command(f) for f in range(self.g.flights)]
        for name, op in (("unadopt", Command.KILL), ("release", Command.RELEASE), ("evict", Command.PREEMPT),
                         ("preempt", Command.PREEMPT), ("resume", Command.RESUME), ("checkpoint", Command.PREEMPT)):
            if name in commands:
                f = commands.index(name)
                return {"op": op, "kernel": f, "slot": self.given["kernels"][f]["slot"],
                        "checkpoint": int(name == "checkpoint"), "whole": int(name == "evict")}
        return None

    def resumed(self, f):
        """Return whether a resume of the kernel has ended, and whether it has failed, here or in the SM itself."""
        given, flight, seen = self.given, self.flights[f], [*zip(self.states[f], self.errors[f], strict=True)]
        if not given["settled"] or not given["kernels"][f]["started"] or KernelState.RESUMING in self.states[f]:
            return False, False
        stay = [error for state, error in seen if state == KernelState.PREEMPTED]
        if flight.resuming:
            return True, bool({*stay} - {CommandError.NONE, CommandError.ABORTED})
        rests = self.here[f] and not COME_OR_GO & set(self.states[f])
        failed = rests and not flight.mine and bool({CommandError.BUS_ERROR, CommandError.BAD_IMAGE}.intersection(stay))
        return failed, failed

    def killed(self, f):
        """Whether the kernel's adoption has been undone."""
        done = self.given["done"]
        return done["valid"] and done["what"]["kernel"] == f and done["what"]["op"] == Command.KILL \
            and self.flights[f].adopting

    def outputs(self):
        """What is put out."""
        given, flights = self.given, self.flights
        action = self.action()
        return {"action": {"valid": 1, "what": action}} if action else {"action.valid": 0}, {
            "away": [flight.away for flight in flights], "adopting": [flight.adopting for flight in flights],
            "back": [flight.away and not self.off[f // self.g.queue_capacity] and given["free"]
                     for f, flight in enumerate(flights)], "saved": self.saved,
            "lost": [self.resumed(f)[1] or self.killed(f) for f in range(self.g.flights)],
            "dropped": [given["settled"] and given["discard"] >> f & flight.away for f, flight in enumerate(flights)]}

    def step(self):
        """Note what has happened in the cycle."""
        for f in range(self.g.flights):
            self.seen(f, self.killed(f))
        self.stuck = [queue["stuck"] for queue in self.given["queues"]]

    def seen(self, f, killed):
        """Note what has become of a kernel."""
        given, flight, q = self.given, self.flights[f], f // self.g.queue_capacity
        ended, failed = self.resumed(f)
        if given["settled"] and KernelState.ADOPTING not in self.states[f] and not any(self.errors[f]):
            flight.adopting = False
        if given["settled"] and given["discard"] >> f & 1:
            flight.away = False
        if given["checkpoint"]["valid"] and self.here[f] \
                and given["queues"][q]["priority"] < given["checkpoint"]["priority"]:
            flight.due = True
        if ended:
            flight.resuming, flight.broken, flight.mine = False, failed, failed
        if self.stuck[q] and not given["queues"][q]["stuck"]:
            flight.broken = False
        if not given["kernels"][f]["started"]:
            flight.mine = flight.due = flight.resuming = flight.broken = False
        if given["retry"]:
            flight.tried = False
        if given["done"]["valid"] and given["done"]["what"]["kernel"] == f:
            self.carried_out(flight, given["done"]["what"], bool(given["done"]["accepted"]), killed)
        if given["adopts"] >> f & 1:
            flight.away, flight.adopting, flight.mine, flight.tried = False, True, True, False

    def carried_out(self, flight, what, accepted, killed):
        """Note what has become of a command."""
        flight.tried |= not accepted
        if what["op"] == Command.PREEMPT:
            if what["checkpoint"]:
                flight.due = False
            elif what["whole"]:
                flight.bound = False
            elif accepted:
                flight.mine, flight.bound, flight.resuming = True, bool(self.given["in_place"]), False
        elif what["op"] == Command.RESUME:
            flight.resuming |= accepted
        elif what["op"] == Command.RELEASE:
            flight.away, flight.bound = accepted, not accepted
        elif killed:
            flight.away, flight.adopting = True, False
