"""Ports and payloads for thread blocks (TBs) that yield until memory changes (GPUpIO VII,
"Hardware yield instruction")."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from .gpu_ports import SEGMENT_BITS
from .payloads import below

__all__ = ["LeavePort", "YieldPort", "watch_event", "notice", "leaving_tb"]


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


class LeavePort(wiring.Signature):
    """TBs that leave the SM by themselves, and come back. Directions are the `YieldUnit`'s.

    Attributes
    ----------
    leave : leaving_tb, out
        A TB is to be saved.
    leave_taken : Signal(1), in
        The engine begins to save it in this cycle.
    leave_ended : Signal(1), in
        That TB has been saved, or its save has failed; or those that came back have done so.
    leave_pausing : Signal(kernel_slots), in
        Vector: memory has refused to save a TB of these kernels, so none is to leave.
    wake_entries : array of Signal(context_entries), out
        Vector per kernel: the entry of the TB that comes back next, if one is ready.
    wake_taken : Signal(kernel_slots), in
        Vector: the engine begins to bring back the TB of this kernel.
    wake_lacks_room : Signal(1), in
        TBs that are to come back have found no room since a TB left the SM.
    resume_excluded : array of Signal(context_entries), out
        Vector per kernel: entries of TBs that have left since the resume of their kernel began.
        That resume does not bring them back.
    """

    def __init__(self, g: Geometry):
        slots = g.kernel_slots
        entries = data.ArrayLayout(g.context_entries, slots)
        super().__init__({
            "leave": Out(leaving_tb(g)), "leave_taken": In(1), "leave_ended": In(1),
            "leave_pausing": In(slots), "wake_entries": Out(entries), "wake_taken": In(slots),
            "wake_lacks_room": In(1), "resume_excluded": Out(entries)})
