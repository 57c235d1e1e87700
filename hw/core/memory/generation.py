"""Accesses whose warp was forgotten: which they are, and whether any is left."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Backlog", "generation_of", "is_stale"]


def generation_of(generations: data.View, warp: Value) -> Value:
    """Return the generation of warp slot `warp`.

    Parameters
    ----------
    generations : View(payloads.generations)
    warp : Value
    """
    return Cat(plane.bit_select(warp, 1) for plane in generations)


def is_stale(generations: data.View, access: data.View) -> Value:
    """Return whether the warp of an access with fields `warp` and `generation` was forgotten."""
    return generation_of(generations, access.warp) != access.generation


class Backlog(wiring.Component):
    """Whether something that was in a queue at a certain time is still there.

    Parameters
    ----------
    depth : int
        Most that is in the queue, in which all leaves in the order in which it enters.

    Attributes
    ----------
    enter, leave : Signal(1), in
        Something comes into the queue, leaves it, in this cycle.
    mark : Signal(1), in
        The time: what is in the queue after this cycle counts.
    pending : Signal(1), out
        Some of what was there at the last `mark` is, from the cycle after that.
    """

    enter: Signal
    leave: Signal
    mark: Signal
    pending: Signal

    def __init__(self, depth: int):
        self.depth = depth
        super().__init__({"enter": In(1), "leave": In(1), "mark": In(1), "pending": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        within = Signal(range(self.depth + 1))
        after = Signal(range(self.depth + 1))
        marked = Signal(range(self.depth + 1))
        m.d.comb += [after.eq(within + self.enter - self.leave), self.pending.eq(marked != 0)]
        m.d.sync += within.eq(after)
        with m.If(self.mark):
            m.d.sync += marked.eq(after)
        with m.Elif(self.leave & self.pending):
            m.d.sync += marked.eq(marked - 1)
        return m
