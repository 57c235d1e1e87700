"""Queue preemption: which kernels leave the SMs for those of queues with a higher priority, and
when they come back."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ...arch.commands import Command, KernelState
from ...arch.faults import CommandError
from ...arch.geometry import Geometry
from ...arch.registers import device_register_map
from ...interfaces.payloads import below
from ...lib.bits import encode, lowest, pick

__all__ = ["QueuePreemption", "queue_action", "queue_kernel"]


def queue_kernel(g: Geometry) -> data.StructLayout:
    """What a queue has: a kernel that was `started`, in a `slot` unless it is away; or it is
    `roomless`, a kernel that finds no slot. It begins nothing while it is `stuck`."""
    control = device_register_map()["queue[0].control"].fields
    return data.StructLayout({"started": 1, "slot": below(g.kernel_slots), "roomless": 1,
                              "stuck": 1, "priority": control["priority"].width})


def queue_action(g: Geometry) -> data.StructLayout:
    """A command for the kernel of a queue; of a preempt: `checkpoint`, it runs on; `whole`, what is
    left of a preempted kernel on the SMs goes to memory."""
    return data.StructLayout({"op": unsigned(4), "queue": below(g.queues),
                              "slot": below(g.kernel_slots), "checkpoint": 1, "whole": 1})


class QueuePreemption(wiring.Component):
    """Chooses commands for kernels of queues, by the priorities of their queues.

    ::

        runs --preempt--> saved --kill--> away          while a queue with a higher priority has
          ^                 |               |           a kernel that runs or wants to
          +-----resume------+ <---adopt-----+           when none has any more

    A kernel that is saved keeps its kernel slot until one of a higher priority needs it: then the
    slot is killed, and what memory holds of the kernel is adopted into another slot later (`back`).
    One that has stayed on the SMs in part, or that memory refused, is preempted once more before
    that, as a whole. What others have preempted they resume. The kernel of a queue that is stopped
    keeps its slot, and runs to its end.

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
    kernels : array of queue_kernel, in
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
    brought : Signal(queues), in
        Vector: the kernel is being adopted into its slot from now on.
    discard : Signal(queues), in
        Vector: a kernel that is away will not come back.
    away : Signal(queues), out
        Vector: the kernel is in memory, and has no slot.
    back : Signal(queues), out
        Vector: it is away, and may come back now.
    saved : Signal(queues), out
        Vector: the kernel is preempted, and has a slot.
    adopting : Signal(queues), out
        Vector: it is being adopted.
    lost : Signal(queues), out
        Vector, for one cycle: it could not be adopted, and is away again.
    dropped : Signal(queues), out
        Vector, for one cycle: it was away, and is discarded.
    """

    enable: Signal
    keeps: Signal
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
        slots, sms, queues = g.kernel_slots, g.sms, g.queues
        priority = queue_kernel(g)["priority"].width
        super().__init__({
            "enable": In(1), "keeps": In(1),
            "kernels": In(data.ArrayLayout(queue_kernel(g), queues)),
            "states": In(data.ArrayLayout(data.ArrayLayout(KernelState, slots), sms)),
            "errors": In(data.ArrayLayout(data.ArrayLayout(CommandError, slots), sms)),
            "free": In(1), "again": In(1), "look": In(1),
            "remind": In(data.StructLayout({"valid": 1, "priority": priority})),
            "action": Out(data.StructLayout({"valid": 1, "what": queue_action(g)})),
            "done": In(data.StructLayout({"valid": 1, "accepted": 1, "what": queue_action(g)})),
            "brought": In(queues), "discard": In(queues),
            **{name: Out(queues) for name in ("away", "back", "saved", "adopting", "lost",
                                              "dropped")},
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        wants = Signal(g.queues)  # has a kernel that runs, or is to
        off = Signal(g.queues)  # is to leave the SMs, or to stay away
        hungry = Signal(g.queues)  # wants a kernel slot
        mine = Signal(g.queues)  # preempted by this block, which resumes it
        tried = Signal(g.queues)  # a command was refused
        due = Signal(g.queues)  # to be checkpointed
        bound = Signal(g.queues)  # some of it may be on the SMs: its slot is not killed
        chosen = {name: Signal(g.queues, name=name) for name in (
            "unadopt", "kill", "evict", "preempt", "resume", "checkpoint")}
        for q in range(g.queues):
            kernel = self.kernels[q]
            higher = Cat(self.kernels[p].priority > kernel.priority for p in range(g.queues))
            m.d.comb += [off[q].eq(self.enable & ~kernel.stuck & (wants & higher).any()),
                         hungry[q].eq(kernel.roomless | (self.away[q] & ~off[q] & ~kernel.stuck)),
                         self.back[q].eq(self.away[q] & ~off[q] & self.free)]
            self._judge(m, q, wants, off, (hungry & higher).any() & ~self.free, mine, due,
                        bound, chosen)
        blocked = {name: Mux(name == "unadopt", 0, tried) for name in chosen}
        self._choose(m, {name: vector & ~blocked[name] for name, vector in chosen.items()})
        self._carry_out(m, mine, tried, due, bound)
        return m

    def _judge(self, m, q, wants, off, needed, mine, due, bound, chosen):
        """See what is to be done with the kernel of a queue; others have need of its slot if it is
        `needed`."""
        kernel, g = self.kernels[q], self.geometry
        here = Signal(name=f"here_{q}")
        m.d.comb += here.eq(kernel.started & ~self.away[q])
        states = [pick([self.states[i][k] for k in range(g.kernel_slots)], kernel.slot)
                  for i in range(g.sms)]
        failed = Cat(pick([self.errors[i][k] for k in range(g.kernel_slots)], kernel.slot)
                     != CommandError.NONE for i in range(g.sms)).any()
        anywhere = {state: Cat(own == state for own in states).any() for state in KernelState}
        runs = Signal(name=f"runs_{q}")
        yields = Signal(name=f"yields_{q}")  # its slot
        moves = Signal(name=f"moves_{q}")  # what is under way is not to be disturbed
        m.d.comb += [
            runs.eq(here & (anywhere[KernelState.RUNNING] | anywhere[KernelState.RESUMING])),
            moves.eq(anywhere[KernelState.PREEMPTING] | anywhere[KernelState.KILLING]
                     | anywhere[KernelState.ADOPTING]),
            self.saved[q].eq(here & anywhere[KernelState.PREEMPTED] & ~moves
                             & ~anywhere[KernelState.RUNNING] & ~anywhere[KernelState.RESUMING]),
            wants[q].eq(kernel.roomless | (self.away[q] & ~kernel.stuck) | (here & (
                runs | moves | (self.saved[q] & mine[q])))),
            chosen["unadopt"][q].eq(self.adopting[q] & ~anywhere[KernelState.ADOPTING] & failed),
            chosen["preempt"][q].eq(runs & ~moves & off[q]),
            chosen["resume"][q].eq(mine[q] & self.saved[q] & ~off[q] & ~self.adopting[q]),
            yields.eq(mine[q] & self.saved[q] & off[q] & needed & ~self.adopting[q]),
            chosen["kill"][q].eq(yields & ~failed & ~bound[q]),
            chosen["evict"][q].eq(yields & (failed | bound[q])),
            chosen["checkpoint"][q].eq(due[q] & here & anywhere[KernelState.RUNNING] & ~moves
                                       & ~anywhere[KernelState.RESUMING] & ~off[q]),
        ]
        with m.If(self.look & ~anywhere[KernelState.ADOPTING] & ~failed):
            m.d.sync += self.adopting[q].eq(0)
        with m.If(~kernel.started):
            m.d.sync += [mine[q].eq(0), due[q].eq(0)]
        with m.If(self.look & self.away[q] & self.discard[q]):
            m.d.comb += self.dropped[q].eq(1)
            m.d.sync += self.away[q].eq(0)
        with m.If(self.remind.valid & here & (kernel.priority < self.remind.priority)):
            m.d.sync += due[q].eq(1)

    def _choose(self, m, chosen):
        """Show one of the commands: what frees something comes first."""
        commands = {"unadopt": Command.KILL, "kill": Command.KILL, "evict": Command.PREEMPT,
                    "preempt": Command.PREEMPT, "resume": Command.RESUME,
                    "checkpoint": Command.PREEMPT}
        what = self.action.what
        for name in reversed(chosen):
            one = Signal(self.geometry.queues, name=f"one_{name}")
            m.d.comb += one.eq(lowest(chosen[name]))
            with m.If(chosen[name].any()):
                m.d.comb += [
                    self.action.valid.eq(1), what.op.eq(commands[name]),
                    what.queue.eq(encode(one)), what.checkpoint.eq(name == "checkpoint"),
                    what.whole.eq(name == "evict"),
                    what.slot.eq(pick([self.kernels[q].slot for q in range(self.geometry.queues)],
                                      encode(one)))]

    def _carry_out(self, m, mine, tried, due, bound):
        """Note what became of an action."""
        done, what = self.done, self.done.what
        with m.If(self.again):
            m.d.sync += tried.eq(0)
        for q in range(self.geometry.queues):
            it = done.valid & (what.queue == q)
            with m.If(it & ~done.accepted):
                m.d.sync += tried[q].eq(1)
            with m.If(it):
                with m.Switch(what.op):
                    with m.Case(Command.PREEMPT):
                        with m.If(what.checkpoint):
                            m.d.sync += due[q].eq(0)
                        with m.Elif(what.whole):  # taken by nobody: all of it has gone before
                            m.d.sync += bound[q].eq(0)
                        with m.Elif(done.accepted):
                            m.d.sync += [mine[q].eq(1), bound[q].eq(self.keeps)]
                    with m.Case(Command.RESUME):
                        with m.If(done.accepted):
                            m.d.sync += mine[q].eq(0)
                    with m.Case(Command.KILL):
                        with m.If(self.adopting[q]):  # it may be on no SM: then nobody takes this
                            m.d.sync += [self.away[q].eq(1), self.adopting[q].eq(0)]
                            m.d.comb += self.lost[q].eq(1)
                        with m.Elif(done.accepted):
                            m.d.sync += self.away[q].eq(1)
            with m.If(self.brought[q]):
                m.d.sync += [self.away[q].eq(0), self.adopting[q].eq(1), mine[q].eq(1),
                             tried[q].eq(0)]
