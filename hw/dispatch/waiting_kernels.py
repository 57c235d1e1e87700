"""Kernels that wait for room: of which no fresh thread block (TB) is tried for now."""

from typing import Any

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.payloads import below

__all__ = ["WaitingKernels", "attempt_failure"]


def attempt_failure(g: Geometry) -> data.StructLayout:
    """A TB of `kernel` has found no room; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "kernel": below(g.kernel_slots)})


class WaitingKernels(wiring.Component):
    """Remembers the kernels of which a fresh TB has found no room since something left the SM.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    eligible : Signal(kernel_slots), in
        Vector: kernels of which fresh TBs may be launched.
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew, so the slot may have another kernel now.
    room_changed : Signal(1), in
        Something has left the SM: all kernels are tried again.
    failure : attempt_failure, in
        A fresh TB has found no room.
    request : Signal(kernel_slots), out
        Vector: kernels of which a fresh TB is to be tried.
    blocked : Signal(kernel_slots), out
        Vector: kernels that wait.
    """

    eligible: Signal
    start: Signal
    room_changed: Signal
    failure: data.View
    request: Signal
    blocked: Signal

    def __init__(self, g: Geometry):
        super().__init__({
            "eligible": In(g.kernel_slots), "start": In(g.kernel_slots), "room_changed": In(1),
            "failure": In(attempt_failure(g)), "request": Out(g.kernel_slots),
            "blocked": Out(g.kernel_slots)})

    def elaborate(self, platform: Any):
        m = Module()
        remaining = self.blocked & ~self.start
        m.d.comb += self.request.eq(self.eligible & ~self.blocked)
        with m.If(self.room_changed):
            m.d.sync += self.blocked.eq(0)
        with m.Elif(self.start.any()):
            m.d.sync += self.blocked.eq(remaining)
        with m.If(self.failure.valid & ~self.room_changed):
            m.d.sync += self.blocked.eq(remaining | (Const(1) << self.failure.kernel))
        return m
