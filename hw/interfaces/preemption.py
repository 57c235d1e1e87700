"""Payloads between the dispatcher and the preemption engine."""

from amaranth.lib import data

from ..arch.commands import Switch
from ..arch.faults import CommandError
from ..arch.geometry import ADDRESS_BITS, Geometry
from . import payloads as payload

__all__ = ["resident_tb", "command", "preempt_options", "engine_result", "switch_event",
           "tb_place", "admission", "admitted", "entry_event", "kernel_progress", "adoption",
           "counters", "activity"]


def resident_tb(g: Geometry) -> data.StructLayout:
    """One row of the TB table: what the dispatcher knows of a TB slot.

    `started` is set once its warps run; `warps` has a bit for each warp slot it owns; `base` is its
    first physical register (a multiple of 4), `first_line` its first shared-memory line, `lines`
    how many it has; `local_base` is the address of its local memory, if its kernel has any; `entry`
    is its entry of the kernel's CCB, its own from launch to end.
    """
    below = payload.below
    return data.StructLayout({
        "valid": 1, "started": 1, "kernel": below(g.kernel_slots), "launch_id": 32,
        "ctaid_x": 32, "ctaid_y": 16, "ctaid_z": 16, "base": payload.physical(g),
        "first_line": range(g.shared_lines + 1), "lines": range(g.shared_lines + 1),
        "warps": g.warps, "local_base": ADDRESS_BITS, "entry": below(g.context_entries),
    })


def preempt_options(g: Geometry) -> data.StructLayout:
    """How a preempt is carried out, and the resume after it (`hw.arch.way`): handed on whole.

    The members but the last are fields of register ``command``. `spared` is a vector of the entries
    whose TBs stay on the SM. A preempt in place makes room for `newcomer_tbs` TBs of kernel slot
    `newcomer`.
    """
    newcomer = {"newcomer": 4, "newcomer_tbs": 6} if g.in_place else {}
    return data.StructLayout({"mechanism": 4, "scramble": 1, "gang": 1, "restart": 1,
                              "checkpoint": 1, "incremental": 1, "in_place": 1, "trap": 1,
                              "spared": g.context_entries, **newcomer})


def command(g: Geometry) -> data.StructLayout:
    """A preempt (`resume` = 0), or a pass of a resume, of one kernel; `again`: not the first pass
    of that resume. Or, with `adopt`, a kernel is to be taken over from memory; or, with `evict`,
    row `staying` of the staying table is to be written there. The dispatcher has checked kernel
    state and mechanism, and given a preempt its grace, of which it took `grace_used` cycles. With
    `yields` (only with `Geometry.watches`) TBs leave and come back by themselves while the kernel
    runs: those that are not `spared`. With `announced` (only with `Geometry.proactive`) bases are
    saved for an announcement while the kernel runs, and with `hold` their TBs wait for the last
    one; a preempt that is not the first pass of one
    that selects is `again` one."""
    return data.StructLayout({"resume": 1, "again": 1, "adopt": 1, "evict": 1,
                              "staying": payload.below(g.tb_slots),
                              "kernel": payload.below(g.kernel_slots), "grace_used": 32,
                              **({"yields": 1} if g.watches else {}),
                              **({"announced": 1, "hold": 1} if g.proactive else {}),
                              "patience": 32, "options": preempt_options(g)})


def engine_result() -> data.StructLayout:
    """How a command has ended; `valid` for one cycle.

    With `left` saved TBs stay behind, for want of room or because the resume was withdrawn. With
    `saved` a preempt has saved TBs. With `at_once` it told warps to stop at their next
    instruction."""
    return data.StructLayout({"valid": 1, "error": CommandError, "left": 1, "saved": 1,
                              "at_once": 1})


def switch_event(g: Geometry) -> data.StructLayout:
    """A preempt or resume of `kernel` has ended well, and how; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "kernel": payload.below(g.kernel_slots), "kind": Switch})


def tb_place() -> data.StructLayout:
    """Coordinates of a TB."""
    return data.StructLayout({"x": 32, "y": 16, "z": 16})


def admission(g: Geometry) -> data.StructLayout:
    """A TB to be given room: the dispatcher allocates registers, shared memory, warp slots and a TB
    slot.

    A restored TB has its `entry` already, and its local memory at `local_base`; its registers may
    be there from physical register `base` on, its `lines` of shared memory from `first_line` on.
    """
    return data.StructLayout({"kernel": payload.below(g.kernel_slots), "launch_id": 32,
                              "ctaid_x": 32, "ctaid_y": 16,
                              "ctaid_z": 16, "local_base": ADDRESS_BITS,
                              "entry": payload.below(g.context_entries), "registers": 1, "lines": 1,
                              "base": payload.physical(g),
                              "first_line": range(g.shared_lines + 1)})


def admitted(g: Geometry) -> data.StructLayout:
    """Answer to an admission (`valid` for one cycle): slots by warp of the TB.

    Warp k of the TB gets slot ``slots[k]`` and first physical register ``base + k * registers``. A
    `bad` one has got nothing: its local memory is not that of its entry.
    """
    below = payload.below
    return data.StructLayout({"valid": 1, "full": 1, "bad": 1, "tb": below(g.tb_slots),
                              "base": payload.physical(g), "first_line": range(g.shared_lines + 1),
                              "slots": data.ArrayLayout(below(g.warps), g.max_block_warps)})


def entry_event(g: Geometry) -> data.StructLayout:
    """The TB of `entry` of `kernel` has ended; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "kernel": payload.below(g.kernel_slots),
                              "entry": payload.below(g.context_entries)})


def kernel_progress() -> data.StructLayout:
    """How far a kernel is: TBs launched and completed, the coordinates of the TB to be launched
    next, and whether there is none (`exhausted`)."""
    return data.StructLayout({"launched": 32, "completed": 32, "next_x": 32, "next_y": 16,
                              "next_z": 16, "exhausted": 1})


def adoption(g: Geometry) -> data.StructLayout:
    """A kernel is taken over from memory with its `progress`, `saved` having a bit for each entry
    that is complete; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "kernel": payload.below(g.kernel_slots),
                              "saved": g.context_entries, "progress": kernel_progress()})


def counters() -> data.StructLayout:
    """Counters of the last preempt and resume and of evictions, named and defined as in the
    register map."""
    names = ("save_cycles", "drain_cycles", "save_data_bytes", "save_metadata_bytes",
             "save_registers", "save_lines", "save_tbs", "save_warps", "restore_cycles",
             "resume_cycles", "restore_bytes", "grace_cycles", "evicted_tbs", "evicted_bytes")
    return data.StructLayout({name: 32 for name in names})


def activity(g: Geometry) -> data.StructLayout:
    """Signals that the cycle counters of the engine count, for simulations.

    `taken` is high in the cycle in which a command of `kernel` is taken; `resume` says whether that
    is a resume. During a preempt `dropped` is high when the engine is done with a TB, and
    `draining` while nothing can be saved. During a resume `started` is high when a TB starts.
    """
    return data.StructLayout({"taken": 1, "resume": 1,
                              "kernel": payload.below(g.kernel_slots), "draining": 1,
                              "dropped": 1, "started": 1})
