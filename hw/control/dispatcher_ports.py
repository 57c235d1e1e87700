"""Ports of the dispatcher of one SM, besides its `DispatchPort`."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..dispatch.faults import fault_record
from ..dispatch.tb_profile import kernel_profile, tb_age
from ..dispatch.tb_selection import selection_counts
from ..interfaces.payloads import tb_event
from ..interfaces.preemption import (
    admission,
    admitted,
    adoption,
    entry_event,
    kernel_progress,
    resident_tb,
)
from ..interfaces.preemption_port import WarpLaunchPort
from ..interfaces.staying import plan, plan_request, staying_report

__all__ = ["DispatchStatusPort", "EngineTbPort", "kernel_counts"]


def kernel_counts() -> data.StructLayout:
    """TBs of a kernel that were launched, have completed, or were ended by a fault, since its
    start."""
    return data.StructLayout({"launched": 32, "completed": 32, "faults": 32})


class EngineTbPort(wiring.Signature):
    """TBs that the preemption engine saves and restores. Directions are the engine's.

    Attributes
    ----------
    admit : stream of admission, out; admitted : admitted, in
        A TB that needs room, and the answer.
    launch : WarpLaunchPort, out
        Restored warps and TBs.
    claim : Signal(tb_slots), out
        Vector: TBs that are being saved. They are not freed when they end.
    release : tb_event, out
        The TB is saved, or given back by a resume: its resources become free.
    adopted : adoption, out
        A kernel is taken over from memory.
    staying : staying_report, out
        Registers and lines of preempted TBs that stay on the SM.
    resident : array of resident_tb, in
        The TB table.
    ended : entry_event, in
        A TB has ended.
    progress : array of kernel_progress, in
        The progress of each kernel.
    plan_request : staying.plan_request, out; plan : staying.plan, in
        Asks which of the preempted TBs can stay; exists only with `Geometry.in_place`.
    away : array of Signal(context_entries), in
        Vector per kernel: entries of TBs that have left by themselves. Exists only with
        `Geometry.watches`.
    """

    def __init__(self, g: Geometry):
        slots = g.kernel_slots
        super().__init__({
            "admit": Out(stream.Signature(admission(g))), "admitted": In(admitted(g)),
            "launch": Out(WarpLaunchPort(g)), "claim": Out(g.tb_slots), "release": Out(tb_event(g)),
            "adopted": Out(adoption(g)), "staying": Out(staying_report(g)),
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "ended": In(entry_event(g)),
            "progress": In(data.ArrayLayout(kernel_progress(), slots)),
            **({"plan_request": Out(plan_request(g)), "plan": In(plan(g))} if g.in_place else {}),
            **({"away": In(data.ArrayLayout(g.context_entries, slots))} if g.watches else {}),
        })


class DispatchStatusPort(wiring.Signature):
    """The state of TBs and of their counts. Directions are the dispatcher's.

    Attributes
    ----------
    resident : array of resident_tb, out
        The TB table.
    tb_count, warp_count : Signal, out
        TBs and warps resident.
    kernels : array of kernel_counts, out
        The counts of each kernel slot.
    renewed : Signal(kernel_slots), out
        Vector: the kernel begins anew, or is taken over from memory.
    fault : fault_record, out; fault_count : Signal(32), out
        The first fault while no record was pending; TBs ended by a fault since reset.
    ages : array of tb_age, out; profiles : array of kernel_profile, out
        Progress of a TB by TB slot; costs of TBs by kernel slot. Both exist only with
        `Geometry.profile`.
    selections : selection_counts, out
        Cases of TBs, and bases. Exists only with `Geometry.proactive`.
    away : array of Signal(context_entries), out; yields : array of Signal(32), out
        Vector per kernel: entries of TBs that are away. TBs of each kernel that have left by
        themselves since its start. Both exist only with `Geometry.watches`.
    """

    def __init__(self, g: Geometry):
        slots = g.kernel_slots
        super().__init__({
            "resident": Out(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            "tb_count": Out(range(g.tb_slots + 1)), "warp_count": Out(range(g.warps + 1)),
            "kernels": Out(data.ArrayLayout(kernel_counts(), slots)), "renewed": Out(slots),
            "fault": Out(fault_record(g)), "fault_count": Out(32),
            **({"ages": Out(data.ArrayLayout(tb_age(), g.tb_slots)),
                "profiles": Out(data.ArrayLayout(kernel_profile(), slots))} if g.profile else {}),
            **({"selections": Out(selection_counts())} if g.proactive else {}),
            **({"away": Out(data.ArrayLayout(g.context_entries, slots)),
                "yields": Out(data.ArrayLayout(32, slots))} if g.watches else {}),
        })
