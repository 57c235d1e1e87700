"""Switch counters: how often each kernel was taken off the SM, in which way, and brought back
(registers ``kernel[k].switches_*``)."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.commands import Switch
from ..arch.geometry import Geometry
from ..interfaces.preemption import switch_event

__all__ = ["kernel_switches", "SwitchCounters"]


def kernel_switches() -> data.StructLayout:
    """Preempts and resumes of a kernel that have ended well, by `Switch`; modulo 2**32."""
    return data.StructLayout({kind.name.lower(): 32 for kind in Switch})


class SwitchCounters(wiring.Component):
    """Counts the switches of each kernel; one adder serves all.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    switched : switch_event, in
    clear : Signal(kernel_slots), in
        Vector: the kernel begins anew, or is taken over from memory. It has no switch in that
        cycle.
    counts : array of kernel_switches, out
        Counts by kernel slot; they change a cycle after the event.
    """

    switched: data.View
    clear: Signal
    counts: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "switched": In(switch_event(g)), "clear": In(g.kernel_slots),
            "counts": Out(data.ArrayLayout(kernel_switches(), g.kernel_slots)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        switched = self.switched
        count_before = Signal(32)
        counts_before = Signal(kernel_switches())
        m.d.comb += counts_before.eq(self.counts[switched.kernel])
        with m.Switch(switched.kind):
            for kind in Switch:
                with m.Case(kind):
                    m.d.comb += count_before.eq(counts_before[kind.name.lower()])
        for k in range(self.geometry.kernel_slots):
            for kind in Switch:
                with m.If(switched.valid & (switched.kernel == k) & (switched.kind == kind)):
                    m.d.sync += self.counts[k][kind.name.lower()].eq(count_before + 1)
            with m.If(self.clear[k]):
                m.d.sync += self.counts[k].eq(0)
        return m
