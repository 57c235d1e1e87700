"""Images of the golden model in memory: a thread block (TB) is written with its committed CCB entry, and read back."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_ENTRY, ENTRY_WORDS, State
from caesura.hw.arch.image.image_reader import BadImage

from .context_image import restore
from .control_block import place, read_base, read_completion, read_saved
from .state.kernel import Kernel, SavedEntry
from .state.sm import Sm
from .state.thread_block import ThreadBlock
from .stream_writer import SavedBlock

__all__ = ["COUNTED", "counts", "write_image", "read_entries", "read_image"]

COUNTED = "save_data_bytes", "save_metadata_bytes", "save_registers", "save_lines", "save_tbs", "save_warps"
"""Counters of what a preempt has saved."""


def counts(block: SavedBlock) -> dict[str, int]:
    """Return what an image adds to these counters."""
    data = block.entry["data_bytes"]
    metadata = block.entry["length"] - data + 4 * ENTRY_WORDS
    return dict(zip(COUNTED, (data, metadata, block.registers, block.lines, 1, block.entry["live_warps"].bit_count()),
                    strict=True))


def write_image(sm: Sm, tb: ThreadBlock, side: int, block: SavedBlock, state: State, generation: int,
                base_crc: int = 0) -> int:
    """Write an image of a TB on a side, and its entry; return the checksum of the entry."""
    descriptor, words = tb.kernel.descriptor, sm.views[2]
    number = place(sm, tb.entry, side)
    area = context.area_address(sm.g, descriptor.ccb_base, descriptor.area_bytes, number)
    words[area // 4:area // 4 + len(block.stream)] = block.stream
    entry = context.to_words(CCB_ENTRY, state=state, generation=generation, register_image=area, base_crc=base_crc,
                             **block.entry)
    entry[1] = context.entry_crc(entry)
    address = context.entry_address(descriptor.ccb_base, number) // 4
    words[address:address + ENTRY_WORDS] = entry
    return entry[1]


def read_entries(sm: Sm, kernel: Kernel, index: int) -> list[dict[str, int]]:
    """Return the entry of a saved TB and, if it is not all there is of it in memory, the other: that of its base, or
    of what completes it.

    Raises
    ------
    BadImage
        If what is in memory is not what was saved.
    """
    saved = kernel.saved[index]
    entry = read_saved(sm, kernel, index, saved.side)
    if SavedEntry.of(entry, saved.side) != saved:
        raise BadImage(f"{SavedEntry.of(entry, saved.side)}, not {saved}")
    if saved.incremental:
        return [entry, read_base(sm, kernel, index, entry, saved.side, kernel.bases[index].crc)]
    if saved.stayed and sm.staying_of(kernel, index) is None:
        return [entry, read_completion(sm, kernel, index, entry, saved.side)]
    return [entry]


def read_image(sm: Sm, kernel: Kernel, index: int, scramble: np.random.Generator | None) -> ThreadBlock:
    """Return the TB of an entry, with what is on the SM of it; raises as `read_entries`."""
    words = sm.views[2]
    (entry, stream), *others = ((each, words[each["register_image"] // 4:][:each["length"] // 4])
                                for each in read_entries(sm, kernel, index))
    return restore(kernel, index, entry, stream, scramble, others[0] if others else None,
                   sm.staying_of(kernel, index))
