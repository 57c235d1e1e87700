"""Flight preemption: when one kernel of a queue leaves the SMs, and when it comes back."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ...arch.commands import Command, KernelState
from ...arch.faults import CommandError
from ...arch.geometry import Geometry
from ...arch.registers import device_register_map
from ...interfaces.payloads import below
from .in_flight import flight_number

__all__ = ["REQUESTS", "FlightPreemption", "checkpoint_request", "flight_orders", "flight_requests",
           "queue_action", "queue_action_done", "queue_kernel"]

REQUESTS = {"unadopt": Command.KILL, "release": Command.RELEASE, "evict": Command.PREEMPT,
            "preempt": Command.PREEMPT, "resume": Command.RESUME, "checkpoint": Command.PREEMPT}
"""Commands that a kernel requests, by their purpose; what frees something comes first."""


def _priority_bits() -> int:
    return device_register_map()["queue[0].control"].fields["priority"].width


def queue_kernel(g: Geometry) -> data.StructLayout:
    """A kernel in flight, which was `started`, in a `slot` unless it is away."""
    return data.StructLayout({"started": 1, "slot": below(g.kernel_slots)})


def queue_action(g: Geometry) -> data.StructLayout:
    """A command for `kernel`, a kernel in flight. After a preempt with `checkpoint` it runs on. A
    preempt with `whole` moves to memory all that is left of a preempted kernel on the SMs."""
    return data.StructLayout({"op": unsigned(4), "kernel": flight_number(g),
                              "slot": below(g.kernel_slots), "checkpoint": 1, "whole": 1})


def queue_action_done(g: Geometry) -> data.StructLayout:
    """While `valid` an action was carried out, and some SM `accepted` it or none did."""
    return data.StructLayout({"valid": 1, "accepted": 1, "what": queue_action(g)})


def checkpoint_request() -> data.StructLayout:
    """While `valid` kernels of a `priority` below this are to be checkpointed."""
    return data.StructLayout({"valid": 1, "priority": _priority_bits()})


def flight_orders() -> data.StructLayout:
    """Orders for the kernels of a queue. While the queue is `stuck` they are left alone. With
    `leave` they are to leave the SMs or to stay away. With `slot_needed` another queue needs their
    slots."""
    return data.StructLayout({"priority": _priority_bits(), "stuck": 1, "leave": 1,
                              "slot_needed": 1})


def flight_requests() -> data.StructLayout:
    """A bit for each of `REQUESTS`."""
    return data.StructLayout(dict.fromkeys(REQUESTS, 1))


class FlightPreemption(wiring.Component):
    """Follows one kernel in flight, and requests commands for it.

    ::

        runs --preempt--> saved -release-> away         while its queue says `leave`
          ^                 |               |
          +-----resume------+ <---adopt-----+           when it no longer does

    Parameters
    ----------
    g : Geometry
        Geometry with `queues`.

    Attributes
    ----------
    kernel : queue_kernel, in
        The kernel, if there is one.
    states, errors : arrays, in
        `KernelState` and `CommandError` of its kernel slot, by SM.
    orders : flight_orders, in
        How its queue has it treated.
    in_place : Signal(1), in
        A preempt from now on leaves some of the kernel on the SMs.
    retry : Signal(1), in
        A command that was refused may be requested again.
    settled : Signal(1), in
        States are those after all commands.
    checkpoint : checkpoint_request, in
        Has kernels checkpointed.
    done : queue_action_done, in
        An action for this kernel was carried out.
    adopts : Signal(1), in
        The kernel is being adopted into its slot from now on.
    discard : Signal(1), in
        The kernel does not come back if it is away.
    requests : flight_requests, out
        Commands that the kernel is to be given. All but `unadopt` pause after a refusal.
    active : Signal(1), out
        The kernel runs, or is to run.
    away : Signal(1), out
        It is in memory, and has no slot.
    saved : Signal(1), out
        It is preempted, and has a slot.
    adopting : Signal(1), out
        It is being adopted.
    lost : Signal(1), out
        High for one cycle: the kernel could not be adopted, and is away again; or it could not be
        resumed.
    dropped : Signal(1), out
        High for one cycle: the kernel was away, and is discarded.
    """

    kernel: View
    states: View
    errors: View
    orders: View
    in_place: Signal
    retry: Signal
    settled: Signal
    checkpoint: View
    done: View
    adopts: Signal
    discard: Signal
    requests: View
    active: Signal
    away: Signal
    saved: Signal
    adopting: Signal
    lost: Signal
    dropped: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernel": In(queue_kernel(g)), "states": In(data.ArrayLayout(KernelState, g.sms)),
            "errors": In(data.ArrayLayout(CommandError, g.sms)), "orders": In(flight_orders()),
            **{name: In(1) for name in ("in_place", "retry", "settled", "adopts", "discard")},
            "checkpoint": In(checkpoint_request()), "done": In(queue_action_done(g)),
            "requests": Out(flight_requests()),
            **{name: Out(1) for name in ("active", "away", "saved", "adopting", "lost",
                                         "dropped")},
        })

    def elaborate(self, platform: Any):
        m = Module()
        kernel, orders = self.kernel, self.orders
        resume_owed = Signal()  # preempted by this block, which resumes it
        refused = Signal()  # the last command was
        checkpoint_due = Signal()
        memory_lacks = Signal()  # some of it may not be in memory: its slot is not released
        resume_pending = Signal()  # its resume has not been seen to end
        resume_failed = Signal()
        states = [self.states[i] for i in range(self.geometry.sms)]
        errors = [self.errors[i] for i in range(self.geometry.sms)]
        on_sms = Signal()
        command_failed = Cat(error != CommandError.NONE for error in errors).any()
        anywhere = {state: Cat(own == state for own in states).any() for state in KernelState}
        runs = Signal()
        yields_slot = Signal()
        changing = Signal()  # what is under way is not to be disturbed
        rests = anywhere[KernelState.PREEMPTED] & ~changing
        m.d.comb += [
            on_sms.eq(kernel.started & ~self.away),
            runs.eq(on_sms & (anywhere[KernelState.RUNNING] | anywhere[KernelState.RESUMING])),
            changing.eq(anywhere[KernelState.PREEMPTING] | anywhere[KernelState.KILLING]
                        | anywhere[KernelState.ADOPTING]),
            self.saved.eq(on_sms & rests & ~anywhere[KernelState.RUNNING]
                          & ~anywhere[KernelState.RESUMING]),
            self.active.eq((self.away & ~orders.stuck) | (on_sms & (
                runs | changing | (self.saved & resume_owed & ~resume_failed)))),
            yields_slot.eq(resume_owed & self.saved & orders.leave & orders.slot_needed
                           & ~self.adopting)]
        wanted = {
            "preempt": runs & ~changing & orders.leave,
            "resume": (  # it may run on some SMs
                resume_owed & on_sms & rests & ~anywhere[KernelState.RESUMING] & ~orders.leave
                & ~self.adopting & ~resume_pending & ~resume_failed),
            "release": yields_slot & ~memory_lacks, "evict": yields_slot & memory_lacks,
            "checkpoint": (checkpoint_due & on_sms & anywhere[KernelState.RUNNING] & ~changing
                           & ~anywhere[KernelState.RESUMING] & ~orders.leave)}
        m.d.comb += self.requests.unadopt.eq(
            self.adopting & ~anywhere[KernelState.ADOPTING] & command_failed)
        m.d.comb += [self.requests[name].eq(value & ~refused) for name, value in wanted.items()]
        with m.If(self.settled & ~anywhere[KernelState.ADOPTING] & ~command_failed):
            m.d.sync += self.adopting.eq(0)
        with m.If(~kernel.started):
            m.d.sync += [resume_owed.eq(0), checkpoint_due.eq(0), resume_pending.eq(0),
                         resume_failed.eq(0)]
        with m.If(self.settled & self.away & self.discard):
            m.d.comb += self.dropped.eq(1)
            m.d.sync += self.away.eq(0)
        with m.If(self.checkpoint.valid & on_sms & (orders.priority < self.checkpoint.priority)):
            m.d.sync += checkpoint_due.eq(1)
        with m.If(self.settled & kernel.started & ~anywhere[KernelState.RESUMING]):
            self._see_resumed(m, on_sms & ~changing, states, errors, resume_owed, resume_pending,
                              resume_failed)
        was_stuck = Signal()
        m.d.sync += was_stuck.eq(orders.stuck)
        # A queue that goes on has its failed resume tried once more.
        with m.If(was_stuck & ~orders.stuck):
            m.d.sync += resume_failed.eq(0)
        self._see_done(m, resume_owed, refused, checkpoint_due, memory_lacks, resume_pending)
        with m.If(self.adopts):
            m.d.sync += [self.away.eq(0), self.adopting.eq(1), resume_owed.eq(1), refused.eq(0)]
        return m

    def _see_resumed(self, m: Module, rests: Value, states: Sequence[Value],
                     errors: Sequence[Value], resume_owed: Signal, resume_pending: Signal,
                     resume_failed: Signal):
        """See how the resume of the kernel has ended, if it had one.

        A kernel may rest (`rests`) in memory for an error, though it was not preempted here. It
        counts as not resumed, since memory has refused too often to bring it back.
        """
        absent = Signal(len(states))  # SMs where it is not back, for an error
        m.d.comb += absent.eq(Cat(
            (state == KernelState.PREEMPTED) & (error != CommandError.NONE)
            & (error != CommandError.ABORTED) for state, error in zip(states, errors, strict=True)))
        memory_refused = Cat((state == KernelState.PREEMPTED) & (
            (error == CommandError.BUS_ERROR) | (error == CommandError.BAD_IMAGE))
            for state, error in zip(states, errors, strict=True)).any()
        with m.If(resume_pending):
            m.d.sync += [resume_pending.eq(0), resume_failed.eq(absent.any()),
                         resume_owed.eq(absent.any())]
            m.d.comb += self.lost.eq(absent.any())
        with m.Elif(rests & ~resume_owed & memory_refused):
            m.d.sync += [resume_failed.eq(1), resume_owed.eq(1)]
            m.d.comb += self.lost.eq(1)

    def _see_done(self, m: Module, resume_owed: Signal, refused: Signal, checkpoint_due: Signal,
                  memory_lacks: Signal, resume_pending: Signal):
        """Note what became of an action."""
        accepted, what = self.done.accepted, self.done.what
        with m.If(self.retry):
            m.d.sync += refused.eq(0)
        with m.If(self.done.valid & ~accepted):
            m.d.sync += refused.eq(1)
        with m.If(self.done.valid):
            with m.Switch(what.op):
                with m.Case(Command.PREEMPT):
                    with m.If(what.checkpoint):
                        m.d.sync += checkpoint_due.eq(0)
                    with m.Elif(what.whole):  # refused by all SMs: all of it has gone before
                        m.d.sync += memory_lacks.eq(0)
                    with m.Elif(accepted):
                        m.d.sync += [resume_owed.eq(1), memory_lacks.eq(self.in_place),
                                     resume_pending.eq(0)]
                with m.Case(Command.RESUME):
                    with m.If(accepted):
                        m.d.sync += resume_pending.eq(1)
                with m.Case(Command.KILL):
                    with m.If(self.adopting):  # it may be on no SM: then all SMs refuse this
                        m.d.sync += [self.away.eq(1), self.adopting.eq(0)]
                        m.d.comb += self.lost.eq(1)
                with m.Case(Command.RELEASE):
                    m.d.sync += [self.away.eq(accepted), memory_lacks.eq(~accepted)]
