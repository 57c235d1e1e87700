"""What the engine keeps of the command in hand and of its kernel."""

from amaranth.lib import data

from ...arch.encodings import MAX_ROW_WORDS
from ...arch.geometry import ADDRESS_BITS, MAX_REGISTERS, Geometry
from ...interfaces.payloads import below

__all__ = ["accepted_command"]


def accepted_command(g: Geometry) -> data.StructLayout:
    """Constants of a command.

    `again`: a later pass of a resume. `adopt`: neither preempt nor resume. `restart`: TBs
    begin anew when they are resumed. `checkpoint`: they are saved as bases, and run on;
    `incremental`: of those that have a base the increment is saved. `grace_used`: by a preempt, in
    cycles, before it was taken. `spared`: entries of TBs that it leaves on the SM.
    `yields`: TBs leave or come back by themselves; only with `Geometry.watches`.
    `trap`: warps go on in the preemption routines of their kernel; only with `Geometry.traps`.
    `in_place`: what nobody needs stays on the SM; `evict`: what has stayed of a TB is saved;
    there is room to be made for `newcomer_tbs` TBs of kernel slot `newcomer`.
    `lines` is the shared memory of a TB in 128-byte lines, `allocated` has a bit for each of a
    thread's `registers`, `generation` is the one that a preempt writes; a row of the encoding table
    has `row_words` words.
    """
    newcomer = {"newcomer": 4, "newcomer_tbs": 6} if g.in_place else {}
    return data.StructLayout({
        "kernel": below(g.kernel_slots), "again": 1, "adopt": 1, "mechanism": 4, "scramble": 1,
        "gang": 1, "restart": 1, "checkpoint": 1, "incremental": 1, "in_place": 1, "evict": 1,
        "grace_used": 32, "spared": g.context_entries, "generation": 32,
        "ccb_base": ADDRESS_BITS, "area_bytes": 32, "registers": 7, "warps": 6,
        "lines": range(g.shared_lines + 1), "allocated": MAX_REGISTERS,
        **({"trap": 1} if g.traps else {}), **({"yields": 1} if g.watches else {}),
        "row_words": range(MAX_ROW_WORDS + 1), **newcomer,
    })
