"""Refusals by memory, counted for each kernel: a pause before the next try, and a limit. Kernels of
which nothing can be evicted."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry

__all__ = ["AGAIN_CYCLES", "REST_CYCLES", "TRIES", "MemoryRefusals", "StuckKernels"]

AGAIN_CYCLES = 256
"""Cycles for which what memory has refused is not tried again."""
TRIES = 8
"""Successive tries that memory may refuse before they are given up."""
REST_CYCLES = 16 * AGAIN_CYCLES
"""Cycles without a command after which an eviction that was given up is tried again."""


class MemoryRefusals(wiring.Component):
    """Makes the engine's own work for a kernel pause after memory has refused it, and gives it up
    after `TRIES` refusals in a row.

    The pauses of all kernels end together, `AGAIN_CYCLES` after the last refusal of any kernel. So
    a pause lasts `AGAIN_CYCLES` at least, and `AGAIN_CYCLES` times the number of kernels at most.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    refused, done : Signal(kernel_slots), in
        Vectors: something of the kernel was refused; was done.
    forget : Signal(kernel_slots), in
        Vector: what was refused of the kernel does not count any more.
    pausing : Signal(kernel_slots), out
        Vector: nothing is to be tried of these kernels, from the cycle after `refused` on.
    given_up : Signal(kernel_slots), out
        Vector, in the cycle of `refused`: that was the last try. The next one is the first again.
    """

    refused: Signal
    done: Signal
    forget: Signal
    pausing: Signal
    given_up: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({name: flow(g.kernel_slots) for name, flow in (
            ("refused", In), ("done", In), ("forget", In), ("pausing", Out), ("given_up", Out))})

    def elaborate(self, platform: Any):
        m = Module()
        # One counter serves all kernels: a new refusal extends the pauses that have begun.
        cycles_left = Signal(range(AGAIN_CYCLES))
        with m.If(self.refused.any()):
            m.d.sync += cycles_left.eq(AGAIN_CYCLES - 1)
        with m.Elif(cycles_left != 0):
            m.d.sync += cycles_left.eq(cycles_left - 1)
        m.d.sync += self.pausing.eq(Mux(cycles_left == 0, 0, self.pausing) & ~self.forget
                                    | self.refused)
        for k in range(self.geometry.kernel_slots):
            tries = Signal(range(TRIES), name=f"tries_{k}")
            m.d.comb += self.given_up[k].eq(self.refused[k] & (tries == TRIES - 1))
            with m.If(self.forget[k] | self.done[k] | self.given_up[k]):
                m.d.sync += tries.eq(0)
            with m.Elif(self.refused[k]):
                m.d.sync += tries.eq(tries + 1)
        return m


class StuckKernels(wiring.Component):
    """Remembers the kernels of which memory has refused an eviction too often: they are *stuck*.

    No plan makes room of what stays of a stuck kernel. So all kernels that want room try again when
    one becomes stuck, and when none is stuck any more. That is when a kernel begins or is resumed,
    or when the engine has had nothing to do for `REST_CYCLES`. By then all have tried that could,
    and memory may answer well again.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    given_up : Signal(kernel_slots), in
        Vector, for one cycle: kernels of which an eviction is given up.
    forget : Signal(), in
        No kernel is stuck from the next cycle on, but those that are `given_up` now.
    idle : Signal(), in
        The engine has no command, and is offered none.
    stuck : Signal(kernel_slots), out
        Vector, one cycle late.
    changes : Signal(), out
        `stuck` changes after this cycle.
    """

    given_up: Signal
    forget: Signal
    idle: Signal
    stuck: Signal
    changes: Signal

    def __init__(self, g: Geometry):
        super().__init__({"given_up": In(g.kernel_slots), "forget": In(1), "idle": In(1),
                          "stuck": Out(g.kernel_slots), "changes": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        cycles_left = Signal(range(REST_CYCLES))
        pause_over = Signal()
        stuck_next = Signal.like(self.stuck)
        m.d.comb += [pause_over.eq(self.forget | self.idle & (cycles_left == 0)),
                     stuck_next.eq(Mux(pause_over, 0, self.stuck) | self.given_up),
                     self.changes.eq(stuck_next != self.stuck)]
        m.d.sync += self.stuck.eq(stuck_next)
        with m.If(self.given_up.any()):
            m.d.sync += cycles_left.eq(REST_CYCLES - 1)
        with m.Elif(self.idle & (cycles_left != 0)):
            m.d.sync += cycles_left.eq(cycles_left - 1)
        return m
