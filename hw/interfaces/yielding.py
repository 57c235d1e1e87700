"""What core and dispatcher tell each other of thread blocks (TBs) that yield until memory changes
(GPUpIO VII, "Hardware yield instruction")."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from .gpu_ports import SEGMENT_BITS
from .payloads import below

__all__ = ["YieldPort", "watch_event", "notice", "leaving_tb"]


def watch_event(g: Geometry) -> data.StructLayout:
    """The TB of `warp` watches `segment` from the next cycle on; `valid` for one cycle. What it is
    about to read there is requested in this cycle or later."""
    return data.StructLayout({"valid": 1, "warp": below(g.warps), "segment": SEGMENT_BITS})


def notice() -> data.StructLayout:
    """The host has written segments `first` to `last`; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "first": SEGMENT_BITS, "last": SEGMENT_BITS})


def leaving_tb(g: Geometry) -> data.StructLayout:
    """The TB of `entry` of `kernel` is to leave the SM."""
    return data.StructLayout({"valid": 1, "kernel": below(g.kernel_slots),
                              "entry": below(g.context_entries)})


class YieldPort(wiring.Signature):
    """Directions are the front end's.

    Attributes
    ----------
    waits : Signal(tb_slots), out
        Vector: TBs whose warps that count all wait at a ``bar.yield``, and are not to stop.
    hold : Signal(tb_slots), in
        Vector: those of them that are not released in this cycle. May depend on `waits`.
    cancel : Signal(warps), out
        Vector: the warp that retires an ``unwatch``.
    """

    def __init__(self, g: Geometry):
        super().__init__({"waits": Out(g.tb_slots), "hold": In(g.tb_slots),
                          "cancel": Out(g.warps)})
