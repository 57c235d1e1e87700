"""Facts about the command in hand and its kernel that the engine keeps."""

from amaranth.lib import data

from ...arch.geometry import ADDRESS_BITS, MAX_REGISTERS, Geometry
from ...arch.image.encodings import MAX_ROW_WORDS
from ...interfaces.payloads import below
from ...interfaces.preemption import preempt_options

__all__ = ["accepted_command"]


def accepted_command(g: Geometry) -> data.StructLayout:
    """Constants of a command.

    `again` marks a later pass of a resume, and `adopt` a command that is neither preempt nor
    resume. With `evict` registers or lines that have stayed of a TB are saved. `options` says how a
    preempt is carried out. Its `trap`, which a machine without traps does not keep, is 0 for a
    kernel without preemption routines. `grace_used` is the grace that a preempt took, in cycles,
    before it was taken. With `yields` TBs leave or come back by themselves; only with
    `Geometry.watches`. With `announced` bases are saved for an announcement, and with
    `hold` their TBs wait for the last one; both only with `Geometry.proactive`.

    `lines` is the shared memory of a TB in 128-byte lines. `allocated` has a bit for each of a
    thread's `registers`. A preempt writes `generation`. A row of the encoding table has `row_words`
    words.
    """
    options = {name: shape for name, shape in preempt_options(g).members.items()
               if g.traps or name != "trap"}
    return data.StructLayout({
        "kernel": below(g.kernel_slots), "again": 1, "adopt": 1, "evict": 1,
        "options": data.StructLayout(options), "grace_used": 32, "generation": 32,
        "ccb_base": ADDRESS_BITS, "area_bytes": 32, "registers": 7, "warps": 6,
        "lines": range(g.shared_lines + 1), "allocated": MAX_REGISTERS,
        **({"yields": 1} if g.watches else {}),
        **({"announced": 1, "hold": 1} if g.proactive else {}),
        "row_words": range(MAX_ROW_WORDS + 1),
    })
