"""Ports of the command processor, and between its parts. Directions are the side's that gives
orders."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.commands import KernelState
from ..arch.faults import CommandError
from ..arch.geometry import Geometry
from ..arch.registers import register_map
from ..dispatch.footprint import footprint
from ..dispatch.tb_selection import SelectionPort
from ..interfaces.payloads import below
from ..interfaces.preemption import command, engine_result, switch_event
from ..interfaces.staying import staying_report

__all__ = ["BaseRequestPort", "DispatchPort", "EnginePort", "EngineRequestPort", "StatusPort",
           "bases_ended", "command_events"]


def bases_ended(g: Geometry) -> data.StructLayout:
    """Bases of `entries` of `kernel` have been saved for an announcement, or, with `failed`,
    refused; TBs of some entries may have ended before. `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "kernel": below(g.kernel_slots),
                              "entries": g.context_entries, "failed": 1})


class BaseRequestPort(wiring.Signature):
    """Bases that are to be saved for an announcement. Directions are the requester's.

    Attributes
    ----------
    entries : array of Signal(context_entries), out
        Vector per kernel: entries whose TBs are to be saved as bases.
    mechanism : Signal(4), out; patience : Signal(32), out; run_on : Signal, out
        How they are saved; with `run_on` TBs run on as each has its base.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "entries": Out(data.ArrayLayout(g.context_entries, g.kernel_slots)),
            "mechanism": Out(4), "patience": Out(32), "run_on": Out(1)})


def command_events(g: Geometry) -> data.StructLayout:
    """Events of commands, each high for one cycle; those of a kernel are vectors. The status of a
    kernel follows one cycle later."""
    fields = register_map()["event"].fields.values()
    return data.StructLayout({f.name: g.kernel_slots if f.name == "finished" else 1
                              for f in fields if f.name != "fault"})


class DispatchPort(wiring.Signature):
    """Kernels as command processor and dispatcher see them. Directions are the processor's.

    Attributes
    ----------
    start : Signal(kernel_slots), out
        Vector: the kernel begins anew; high in the cycle of the command.
    footprints : array of footprint, out
        The footprint of a TB of each started kernel.
    eligible : Signal(kernel_slots), out
        Vector: kernels of which TBs may be launched.
    kill : Signal(kernel_slots), out
        Vector: kernels that are being killed.
    discard : Signal(kernel_slots), out
        Vector: killed kernels of which no TB is launched or restored any more, so that TBs that
        have not been started can be removed.
    invalidate : Signal(1), out
        High in the cycle in which a start or resume is accepted.
    done : Signal(kernel_slots), in
        Vector: every TB of the kernel has been launched and completed.
    present : Signal(kernel_slots), in
        Vector: a TB of the kernel is resident.
    running : array of Signal(context_entries), in
        Vector per kernel: entries of its TBs on the SM that have been started.
    launching : struct, in
        A TB of `kernel` is being launched.
    room_freed : Signal(1), in
        A TB leaves the SM, or something that has stayed there of a TB.
    accesses_outstanding : Signal(1), in
        Memory still has to answer accesses of TBs that were killed.
    evict : Signal(tb_slots), in
        Vector: rows of the staying table that are in the way of a TB.
    stuck : Signal(kernel_slots), out; hopeless : Signal(kernel_slots), in
        Vectors: kernels of which memory has refused evictions too often; kernels of which a TB
        lacks room that only those evictions could make. Both exist only with `Geometry.in_place`.
    running_kernels, resuming_kernels : Signal(kernel_slots), out
        Vectors: kernels in state `KernelState.RUNNING`; kernels in state `KernelState.RESUMING`.
        Both exist only with `Geometry.watches`.
    forget : Signal(kernel_slots), out
        Likewise. Vector: no TB of these kernels is away any more. They begin anew, are killed, or
        have been preempted; a resume brings back all that is saved of a preempted one.
    selection : SelectionPort, out
        Announcements, and what becomes of TBs. Exists only with `Geometry.proactive`.
    """

    def __init__(self, g: Geometry):
        slots = g.kernel_slots
        yields = ("running_kernels", "resuming_kernels", "forget") if g.watches else ()
        super().__init__({
            "start": Out(slots), "footprints": Out(data.ArrayLayout(footprint(g), slots)),
            **{name: Out(slots) for name in ("eligible", "kill", "discard")},
            "invalidate": Out(1), "done": In(slots), "present": In(slots),
            "running": In(data.ArrayLayout(g.context_entries, slots)),
            "launching": In(data.StructLayout({"valid": 1, "kernel": below(slots)})),
            "room_freed": In(1), "accesses_outstanding": In(1), "evict": In(g.tb_slots),
            **({"stuck": Out(slots), "hopeless": In(slots)} if g.in_place else {}),
            **{name: Out(slots) for name in yields},
            **({"selection": Out(SelectionPort(g))} if g.proactive else {}),
        })


class EnginePort(wiring.Signature):
    """Commands to the preemption engine. Directions are the command processor's.

    Attributes
    ----------
    command : stream of preemption.command, out
        The next command.
    result : engine_result, in
        How that has ended; `valid` for one cycle.
    withdraw, hasten, cancel : Signal(1), out
        The preempt, or pass of a resume, in hand is withdrawn; waits for preemption points no more;
        is dropped since its kernel is killed. High until its result.
    flushing : Signal(1), in
        A cancelled command touches no TB any more.
    saved : Signal(kernel_slots), in
        Vector: a TB of the kernel is saved.
    in_memory : Signal(kernel_slots), in
        Vector: the record of the kernel is in memory, and nothing of it has run since.
    staying : staying_report, in
        Registers and lines of preempted TBs that stay on the SM.
    """

    def __init__(self, g: Geometry):
        slots = g.kernel_slots
        super().__init__({
            "command": Out(stream.Signature(command(g))), "result": In(engine_result()),
            "withdraw": Out(1), "hasten": Out(1), "cancel": Out(1), "flushing": In(1),
            "saved": In(slots), "in_memory": In(slots), "staying": In(staying_report(g)),
        })


class StatusPort(wiring.Signature):
    """The state of commands and kernels. Directions are the command processor's.

    Attributes
    ----------
    busy : Signal(1), out
        A preempt, resume, adoption or kill is in progress.
    error : CommandError, out
        The reason for which the last command was refused, `NONE` if it was taken.
    states, errors : arrays, out
        `KernelState` of each kernel; the `CommandError` with which its last preempt or resume
        ended.
    recorded : Signal(kernel_slots), out
        Vector: kernels in state PREEMPTED that are `in_memory`.
    switched : switch_event, out
        A preempt or resume has ended well.
    announced : Signal(kernel_slots), out; base_cycles : Signal(32), out
        Vector: kernels of the announcement; cycles in which bases were saved for one. Both exist
        only with `Geometry.proactive`.
    """

    def __init__(self, g: Geometry):
        slots = g.kernel_slots
        super().__init__({
            "busy": Out(1), "error": Out(CommandError),
            "states": Out(data.ArrayLayout(KernelState, slots)),
            "errors": Out(data.ArrayLayout(CommandError, slots)),
            "recorded": Out(slots), "switched": Out(switch_event(g)),
            **({"announced": Out(slots), "base_cycles": Out(32)} if g.proactive else {}),
        })


class EngineRequestPort(wiring.Signature):
    """Wishes of one kernel slot to the engine. Directions are the kernel slot's.

    Attributes
    ----------
    preempt_pending, resume_pending, adopt_pending : Signal(1), out
        A preempt, a pass of a resume, or an adoption is to be carried out.
    grace_active : Signal(1), out
        TBs of the kernel run to their end before a pending preempt.
    grace_left : Signal(32), out
        Cycles left of the last grace; one without end counts as if it had an end.
    first_pass : Signal(1), out
        A resume begins, so the next pass is its first; or the kernel begins anew. High for one
        cycle.
    held : Signal(1), in
        The engine has a command of this kernel, or gets it in this cycle.
    preempt_taken : Signal(1), in
        The engine gets the preempt in this cycle.
    drained : Signal(context_entries), out; again : Signal(1), out
        Vector: entries that the pending preempt spares besides, since their TBs drain. It is the
        second pass of one that selects. Both exist only with `Geometry.proactive`.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            **{name: Out(1) for name in ("preempt_pending", "resume_pending", "adopt_pending",
                                         "grace_active", "first_pass")},
            "grace_left": Out(32), "held": In(1), "preempt_taken": In(1),
            **({"drained": Out(g.context_entries), "again": Out(1)} if g.proactive else {})})
