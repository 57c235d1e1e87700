"""Ports between an SM and its device, on devices with several SMs."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.commands import KernelState
from ..arch.faults import CommandError
from ..arch.geometry import ADDRESS_BITS, MAX_SMS, SEGMENT_BYTES, Geometry
from ..arch.registers import register_map
from .payloads import below
from .preemption import adoption, switch_event, tb_place

__all__ = ["TbSupplyPort", "OrderPort", "ReportPort", "SEGMENT_BITS", "SM_BITS", "WritesPort",
           "grid_size", "sm_number", "tb_claim", "tb_grant", "written_event"]

SEGMENT_BITS = ADDRESS_BITS - exact_log2(SEGMENT_BYTES)
"""Bits of the number of a memory segment."""
SM_BITS = exact_log2(MAX_SMS)
"""Bits of the number of an SM."""


def sm_number(g: Geometry) -> dict[str, wiring.Member]:
    """Return the port by which a block of an SM knows the SM's number, where a device gives it."""
    return {"sm_index": In(SM_BITS)} if g.has_uncore else {}


def tb_claim(g: Geometry) -> data.StructLayout:
    """An SM has room for a TB of `kernel`."""
    return data.StructLayout({"valid": 1, "kernel": below(g.kernel_slots)})


def tb_grant() -> data.StructLayout:
    """Answer to a claim, `valid` for one cycle: a TB, or that there is `none` left."""
    return data.StructLayout({"valid": 1, "none": 1, "launch_id": 32, "place": tb_place()})


def grid_size() -> data.StructLayout:
    """TBs of a grid in x, y, z; none of them 0."""
    return data.StructLayout({"x": 32, "y": 16, "z": 16})


class TbSupplyPort(wiring.Signature):
    """Where the fresh TBs of an SM come from. Directions are the SM's.

    Attributes
    ----------
    offered : Signal(kernel_slots), in
        Vector: kernels of which the SM may claim a TB.
    exhausted : Signal(kernel_slots), in
        Vector: every TB of the grid has been launched, somewhere.
    places : array of preemption.tb_place, in
        The TB that is launched next of each grid.
    done : Signal(kernel_slots), in
        Vector: every TB of the grid has been launched and completed, somewhere.
    claim : tb_claim, out
        Held until it is answered.
    grant : tb_grant, in
        The answer.
    warps : Signal(range(warps + 1)), out
        Warps on the SM.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "offered": In(g.kernel_slots), "exhausted": In(g.kernel_slots),
            "places": In(data.ArrayLayout(tb_place(), g.kernel_slots)), "done": In(g.kernel_slots),
            "claim": Out(tb_claim(g)), "grant": In(tb_grant()), "warps": Out(range(g.warps + 1))})


class OrderPort(wiring.Signature):
    """Puts the atomics of an SM in order with those of the others. Directions are the SM's.

    An SM owns a 128-byte segment of memory while it reads, changes and writes it: from the transfer
    of its number on `take` to `give`.

    Attributes
    ----------
    take : stream of Signal(SEGMENT_BITS), out
        The number of a segment; transferred when no SM owns it. It may be withdrawn or changed.
    give : struct, out
        `valid` for one cycle: `segment` is owned no more, its write is acknowledged.
    """

    def __init__(self):
        give = data.StructLayout({"valid": 1, "segment": SEGMENT_BITS})
        super().__init__({"take": Out(stream.Signature(SEGMENT_BITS)), "give": Out(give)})


def written_event() -> data.StructLayout:
    """Memory has acknowledged a write to `segment`; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "segment": SEGMENT_BITS})


class WritesPort(wiring.Signature):
    """Segments of memory that the SMs write; TBs wait for that. Directions are the SM's.

    Attributes
    ----------
    wrote : stream of Signal(SEGMENT_BITS), out
        A segment of which this SM has a write acknowledged.
    written : written_event, in
        One that any SM has written, this one included.
    """

    def __init__(self):
        super().__init__({"wrote": Out(stream.Signature(SEGMENT_BITS)),
                          "written": In(written_event())})


class ReportPort(wiring.Signature):
    """Reports an SM to its device. Directions are the SM's.

    Attributes
    ----------
    states, errors : array, out
        `KernelState` of each kernel slot, and the `CommandError` with which its last preempt or
        resume ended.
    recorded : Signal(kernel_slots), out
        Vector: kernels that are preempted, and all of which is in memory, with the record.
    switched : switch_event, out
        A preempt or resume has ended well.
    idle : Signal(kernel_slots), out
        Vector: nothing that the SM has launched of the kernel is left, on it or saved.
    start : Signal(kernel_slots), out
        Vector: the kernel begins anew, in this cycle.
    adopted : preemption.adoption, out
        A kernel is taken over from memory.
    accepted : Signal, out
        A command is written in this cycle, and taken.
    fault : Signal, out
        A fault record is waiting.
    grids : array of grid_size, out
        The grid of each kernel slot.
    share : Signal, out
        Register ``bus_share``.
    """

    def __init__(self, g: Geometry):
        slots = g.kernel_slots
        super().__init__({
            "states": Out(data.ArrayLayout(KernelState, slots)),
            "errors": Out(data.ArrayLayout(CommandError, slots)), "idle": Out(slots),
            "recorded": Out(slots), "switched": Out(switch_event(g)),
            "start": Out(slots), "adopted": Out(adoption(g)), "accepted": Out(1),
            "fault": Out(1), "grids": Out(data.ArrayLayout(grid_size(), slots)),
            "share": Out(register_map()["bus_share"].fields["beats"].width)})
