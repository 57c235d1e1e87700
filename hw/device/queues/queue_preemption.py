"""Queue preemption: which kernels leave the SMs for those of queues with a higher priority, and
when they come back."""

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ...arch.commands import Command, KernelState
from ...arch.faults import CommandError
from ...arch.geometry import Geometry
from ...arch.registers import device_register_map
from ...interfaces.payloads import below
from ...lib.bits import encode, lowest, pick
from .in_flight import flight_number

__all__ = ["QueuePreemption", "queue_action", "queue_demand", "queue_kernel"]


def queue_demand() -> data.StructLayout:
    """What a queue is after: its next packet is `roomless`, a kernel that finds no slot; while it
    is `stuck` it begins nothing, and its kernels are left alone."""
    control = device_register_map()["queue[0].control"].fields
    return data.StructLayout({"priority": control["priority"].width, "stuck": 1, "roomless": 1})


def queue_kernel(g: Geometry) -> data.StructLayout:
    """A kernel in flight, which was `started`, in a `slot` unless it is away."""
    return data.StructLayout({"started": 1, "slot": below(g.kernel_slots)})


def queue_action(g: Geometry) -> data.StructLayout:
    """A command for a kernel in flight, `kernel`; of a preempt: `checkpoint`, it runs on; `whole`,
    what is left of a preempted kernel on the SMs goes to memory."""
    return data.StructLayout({"op": unsigned(4), "kernel": flight_number(g),
                              "slot": below(g.kernel_slots), "checkpoint": 1, "whole": 1})


class QueuePreemption(wiring.Component):
    """Chooses commands for kernels of queues, by the priorities of their queues.

    ::

        runs --preempt--> saved -release-> away         while a queue with a higher priority has
          ^                 |               |           a kernel that runs or wants to
          +-----resume------+ <---adopt-----+           when none has any more

    A kernel that is saved keeps its kernel slot until one of a higher priority needs it: then the
    slot is released, and what memory holds of the kernel is adopted into another slot later
    (`back`). One that memory does not hold whole, since some has stayed on the SMs or a write was
    refused, is preempted once more before that, as a whole: the SMs refuse its release. What others
    have preempted they resume. Kernels of a queue that is stopped keep their slots, and run to
    their ends. Those of one queue have one priority, so they do not preempt each other. One that
    could not be resumed keeps its slot as well, and is resumed once more when its queue begins to
    go on.

    Parameters
    ----------
    g : Geometry
        With `queues`.

    Attributes
    ----------
    enable : Signal, in
        Kernels are preempted by priority.
    keeps : Signal, in
        What is preempted from now on leaves some of itself on the SMs.
    queues : array of queue_demand, in
    kernels : array of queue_kernel, in
        All that can be in flight, by queue; vectors below are over them.
    states, errors : array of array, in
        `KernelState` and `CommandError` by SM and kernel.
    free : Signal, in
        Some kernel slot of the queues is free.
    again : Signal, in
        What was refused may be tried again.
    look : Signal, in
        Nothing is under way: states are those after all commands.
    remind : struct, in
        `valid` for a cycle: kernels of a `priority` below this are to be checkpointed.
    action : struct, out
        `valid` while there is something to be done, and what.
    done : struct, in
        `valid` for a cycle: an action was carried out; it was `accepted` by some SM or not.
    brought : Signal(flights), in
        Vector: the kernel is being adopted into its slot from now on.
    discard : Signal(flights), in
        Vector: a kernel that is away will not come back.
    away : Signal(flights), out
        Vector: the kernel is in memory, and has no slot.
    back : Signal(flights), out
        Vector: it is away, and may come back now.
    saved : Signal(flights), out
        Vector: the kernel is preempted, and has a slot.
    adopting : Signal(flights), out
        Vector: it is being adopted.
    lost : Signal(flights), out
        Vector, for one cycle: it could not be adopted, and is away again; or not be resumed, by
        this block or by the SM itself after it had left the SM to wait.
    dropped : Signal(flights), out
        Vector, for one cycle: it was away, and is discarded.
    """

    enable: Signal
    keeps: Signal
    queues: View
    kernels: View
    states: View
    errors: View
    free: Signal
    again: Signal
    look: Signal
    remind: View
    action: View
    done: View
    brought: Signal
    discard: Signal
    away: Signal
    back: Signal
    saved: Signal
    adopting: Signal
    lost: Signal
    dropped: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        slots, sms, flights = g.kernel_slots, g.sms, g.flights
        priority = queue_demand()["priority"].width
        super().__init__({
            "enable": In(1), "keeps": In(1),
            "queues": In(data.ArrayLayout(queue_demand(), g.queues)),
            "kernels": In(data.ArrayLayout(queue_kernel(g), flights)),
            "states": In(data.ArrayLayout(data.ArrayLayout(KernelState, slots), sms)),
            "errors": In(data.ArrayLayout(data.ArrayLayout(CommandError, slots), sms)),
            "free": In(1), "again": In(1), "look": In(1),
            "remind": In(data.StructLayout({"valid": 1, "priority": priority})),
            "action": Out(data.StructLayout({"valid": 1, "what": queue_action(g)})),
            "done": In(data.StructLayout({"valid": 1, "accepted": 1, "what": queue_action(g)})),
            "brought": In(flights), "discard": In(flights),
            **{name: Out(flights) for name in ("away", "back", "saved", "adopting", "lost",
                                               "dropped")},
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        wants = Signal(g.flights)  # runs, or is to
        mine = Signal(g.flights)  # preempted by this block, which resumes it
        tried = Signal(g.flights)  # a command was refused
        due = Signal(g.flights)  # to be checkpointed
        bound = Signal(g.flights)  # some of it may not be in memory: its slot is not released
        resuming = Signal(g.flights)  # its resume has not been seen to end
        broken = Signal(g.flights)  # or has failed
        chosen = {name: Signal(g.flights, name=name) for name in (
            "unadopt", "release", "evict", "preempt", "resume", "checkpoint")}
        off, needed = self._compare(m, wants)
        for f in range(g.flights):
            q = f // g.queue_capacity
            m.d.comb += self.back[f].eq(self.away[f] & ~off[q] & self.free)
            self._judge(m, f, wants, off[q], needed[q], mine, due, bound, resuming, broken, chosen)
        blocked = {name: Mux(name == "unadopt", 0, tried) for name in chosen}
        self._choose(m, {name: vector & ~blocked[name] for name, vector in chosen.items()})
        self._carry_out(m, mine, tried, due, bound, resuming)
        return m

    def _compare(self, m: Module, wants: Value):
        """Return vectors of queues: kernels are to leave the SMs, or to stay away; others have need
        of their slots."""
        g = self.geometry
        off = Signal(g.queues)
        needed = Signal(g.queues)
        wanting = Signal(g.queues)  # has a kernel that runs, or is to
        hungry = Signal(g.queues)  # wants a kernel slot
        for q, queue in enumerate(self.queues[q] for q in range(g.queues)):
            own = slice(q * g.queue_capacity, (q + 1) * g.queue_capacity)
            higher = Cat(self.queues[other].priority > queue.priority for other in range(g.queues))
            m.d.comb += [
                wanting[q].eq(queue.roomless & ~queue.stuck | wants[own].any()),
                off[q].eq(self.enable & ~queue.stuck & (wanting & higher).any()),
                hungry[q].eq(~queue.stuck & (queue.roomless | self.away[own].any() & ~off[q])),
                needed[q].eq((hungry & higher).any() & ~self.free)]
        return off, needed

    def _judge(self, m: Module, f: int, wants: Signal, off: Value, needed: Value, mine: Signal,
               due: Signal, bound: Value, resuming: Signal, broken: Signal,
               chosen: Mapping[str, Signal]):
        """See what is to be done with a kernel in flight; others have need of its slot if it is
        `needed`."""
        kernel, g = self.kernels[f], self.geometry
        queue = self.queues[f // g.queue_capacity]
        here = Signal(name=f"here_{f}")
        m.d.comb += here.eq(kernel.started & ~self.away[f])
        states = [pick([self.states[i][k] for k in range(g.kernel_slots)], kernel.slot)
                  for i in range(g.sms)]
        errors = [pick([self.errors[i][k] for k in range(g.kernel_slots)], kernel.slot)
                  for i in range(g.sms)]
        failed = Cat(error != CommandError.NONE for error in errors).any()
        anywhere = {state: Cat(own == state for own in states).any() for state in KernelState}
        runs = Signal(name=f"runs_{f}")
        yields = Signal(name=f"yields_{f}")  # its slot
        moves = Signal(name=f"moves_{f}")  # what is under way is not to be disturbed
        m.d.comb += [
            runs.eq(here & (anywhere[KernelState.RUNNING] | anywhere[KernelState.RESUMING])),
            moves.eq(anywhere[KernelState.PREEMPTING] | anywhere[KernelState.KILLING]
                     | anywhere[KernelState.ADOPTING]),
            self.saved[f].eq(here & anywhere[KernelState.PREEMPTED] & ~moves
                             & ~anywhere[KernelState.RUNNING] & ~anywhere[KernelState.RESUMING]),
            wants[f].eq((self.away[f] & ~queue.stuck) | (here & (
                runs | moves | (self.saved[f] & mine[f] & ~broken[f])))),
            chosen["unadopt"][f].eq(self.adopting[f] & ~anywhere[KernelState.ADOPTING] & failed),
            chosen["preempt"][f].eq(runs & ~moves & off),
            chosen["resume"][f].eq(  # it may run on some SMs
                mine[f] & here & anywhere[KernelState.PREEMPTED] & ~moves
                & ~anywhere[KernelState.RESUMING] & ~off & ~self.adopting[f]
                & ~resuming[f] & ~broken[f]),
            yields.eq(mine[f] & self.saved[f] & off & needed & ~self.adopting[f]),
            chosen["release"][f].eq(yields & ~bound[f]),
            chosen["evict"][f].eq(yields & bound[f]),
            chosen["checkpoint"][f].eq(due[f] & here & anywhere[KernelState.RUNNING] & ~moves
                                       & ~anywhere[KernelState.RESUMING] & ~off),
        ]
        with m.If(self.look & ~anywhere[KernelState.ADOPTING] & ~failed):
            m.d.sync += self.adopting[f].eq(0)
        with m.If(~kernel.started):
            m.d.sync += [mine[f].eq(0), due[f].eq(0), resuming[f].eq(0),
                         broken[f].eq(0)]
        with m.If(self.look & self.away[f] & self.discard[f]):
            m.d.comb += self.dropped[f].eq(1)
            m.d.sync += self.away[f].eq(0)
        with m.If(self.remind.valid & here & (queue.priority < self.remind.priority)):
            m.d.sync += due[f].eq(1)
        with m.If(self.look & kernel.started & ~anywhere[KernelState.RESUMING]):
            self._resumed(m, f, here & ~moves, states, errors, mine, resuming, broken)
        was_stuck = Signal(name=f"was_stuck_{f}")
        m.d.sync += was_stuck.eq(queue.stuck)
        with m.If(was_stuck & ~queue.stuck):
            m.d.sync += broken[f].eq(0)

    def _resumed(self, m: Module, f: int, rests: Value, states: Sequence[Value],
                 errors: Sequence[Value], mine: Signal, resuming: Signal, broken: Signal):
        """See how the resume of a kernel in flight has ended, if it had one.

        A kernel that `rests` in memory for an error, though nobody here had it leave, counts as not
        resumed: memory has refused too often to bring it back.
        """
        left = Signal(len(states), name=f"left_{f}")  # SMs where it is not back, for an error
        m.d.comb += left.eq(Cat(
            (state == KernelState.PREEMPTED) & (error != CommandError.NONE)
            & (error != CommandError.ABORTED) for state, error in zip(states, errors, strict=True)))
        refused = Cat((state == KernelState.PREEMPTED) & (
            (error == CommandError.BUS_ERROR) | (error == CommandError.BAD_IMAGE))
            for state, error in zip(states, errors, strict=True)).any()
        with m.If(resuming[f]):
            m.d.sync += [resuming[f].eq(0), broken[f].eq(left.any()), mine[f].eq(left.any())]
            m.d.comb += self.lost[f].eq(left.any())
        with m.Elif(rests & ~mine[f] & refused):
            m.d.sync += [broken[f].eq(1), mine[f].eq(1)]
            m.d.comb += self.lost[f].eq(1)

    def _choose(self, m: Module, chosen: dict[str, Value]):
        """Show one of the commands: what frees something comes first."""
        commands = {"unadopt": Command.KILL, "release": Command.RELEASE, "evict": Command.PREEMPT,
                    "preempt": Command.PREEMPT, "resume": Command.RESUME,
                    "checkpoint": Command.PREEMPT}
        what = self.action.what
        for name in reversed(chosen):
            one = Signal(self.geometry.flights, name=f"one_{name}")
            m.d.comb += one.eq(lowest(chosen[name]))
            with m.If(chosen[name].any()):
                m.d.comb += [
                    self.action.valid.eq(1), what.op.eq(commands[name]),
                    what.kernel.eq(encode(one)), what.checkpoint.eq(name == "checkpoint"),
                    what.whole.eq(name == "evict"),
                    what.slot.eq(pick([self.kernels[f].slot for f in range(self.geometry.flights)],
                                      encode(one)))]

    def _carry_out(self, m: Module, mine: Signal, tried: Signal, due: Signal, bound: Signal,
                   resuming: Signal):
        """Note what became of an action."""
        done, what = self.done, self.done.what
        with m.If(self.again):
            m.d.sync += tried.eq(0)
        for f in range(self.geometry.flights):
            it = done.valid & (what.kernel == f)
            with m.If(it & ~done.accepted):
                m.d.sync += tried[f].eq(1)
            with m.If(it):
                with m.Switch(what.op):
                    with m.Case(Command.PREEMPT):
                        with m.If(what.checkpoint):
                            m.d.sync += due[f].eq(0)
                        with m.Elif(what.whole):  # taken by nobody: all of it has gone before
                            m.d.sync += bound[f].eq(0)
                        with m.Elif(done.accepted):
                            m.d.sync += [mine[f].eq(1), bound[f].eq(self.keeps),
                                         resuming[f].eq(0)]
                    with m.Case(Command.RESUME):
                        with m.If(done.accepted):
                            m.d.sync += resuming[f].eq(1)
                    with m.Case(Command.KILL):
                        with m.If(self.adopting[f]):  # it may be on no SM: then nobody takes this
                            m.d.sync += [self.away[f].eq(1), self.adopting[f].eq(0)]
                            m.d.comb += self.lost[f].eq(1)
                    with m.Case(Command.RELEASE):
                        m.d.sync += [self.away[f].eq(done.accepted), bound[f].eq(~done.accepted)]
            with m.If(self.brought[f]):
                m.d.sync += [self.away[f].eq(0), self.adopting[f].eq(1), mine[f].eq(1),
                             tried[f].eq(0)]
