"""The context image: what a preempted thread block (TB) looks like in memory, and how it is
committed.

A kernel's context control block (CCB) is an array of 128-byte entries, then the kernel's own
record, then one save area for each entry (Lin et al. IV-B, Fig. 12). There are
`Geometry.context_entries` entries, or twice as many on a machine with checkpoints. A TB has an
entry, or one on each of two *sides*, from its launch to its end, whatever slot it is in; n is
`places`::

    ccb_base                   entry 0 | entry 1 | ... | entry n-1 | record
    ccb_base + 128 * (n + 1)   area 0 (area_bytes) | area 1 | ...

The entry of a TB on side 1 is `context_entries` places behind that on side 0. On a machine with
more entries than TB slots it is the next place instead, so that the areas of the lowest entries
stand together: a kernel that uses no others has memory for no others.

An area holds one unbroken stream of 32-bit little-endian words:

* for each warp that has not exited, in any order, a **warp record**;
* then shared memory: one bit per 128-byte line of the TB (``ceil(lines / 32)`` words, set = saved),
  then the saved lines in ascending order. Absent if the TB has no shared memory;
* then the **encoding table**: one row for each warp record, in the order of the records. A row has
  an `Encoding` for each register that the kernel has (4 bits each, the lowest first; `row_words`
  words). So the table begins ``popcount(live_warps)`` rows before the end of the stream.

A warp record has, in this order:

* `WARP_HEADER` (a word);
* the lanes that are live, if some have `exited`;
* a vector of uniform registers, if there are `uniforms`;
* one word (one bit per lane) for each saved predicate in ascending order;
* one word for each uniform register of that vector in ascending order. If the record `repeats`,
  the other uniform registers of the record before are saved with the same values;
* the SIMT stack from the bottom up. Each entry has a `STACK_ENTRY` (a word), its active mask unless
  that is the `whole` of the live lanes, and its reconvergence PC if that is `Reconvergence.OWN`;
* the saved registers, encoded as `hw.arch.image.encodings` says. Registers that keep something of
  each lane come in ascending order, then the uniform and strided ones in ascending order. A
  register that follows from the records before has no words (`hw.arch.image.tb_history`).

A register's encoding is known only after the register was read. So a save that reads each register
once cannot put the encoding before the data. A restore finds the table from the entry and reads it
first. A bus beat moves several words of uniform and strided registers, while the register port
takes one register per cycle. These registers stand last in their record, so that neither bus nor
port waits for the other in a warp that has both kinds.

Checksums
---------
All three are CRC-32 as Ethernet and zlib have it. `stream_crc` is that of the stream up to the
encoding table, filled up with zero bytes to a whole beat of the bus; `table_crc` that of the
encoding table, which a restore reads first, each of its rows filled up to a multiple of four words;
`crc` that of the 64 bytes of the entry with 0 in its own place, so that it covers the other two,
the generation and the launch id. The states differ from one another in four bits and more.

Bases and increments
--------------------
(PEP III-C.) What was saved of a TB on one side may be the *base* of an *increment* on the other:
an image as any other, in which registers and shared lines that have not been written since the base
was saved are left out. Predicates, uniform registers, stacks and barriers it has whole. A resume
takes the base's registers and lines first, then the increment. `incremental` says that it is one,
and `base_crc` is the checksum of the base's entry, which covers that one's address, generation and
checksums. A base is `State.BASE`, if it was saved while its TB ran on, or `State.DEMOTED`, if its
TB has been resumed from it; its checksum is the one that it was written with, as `State.COMPLETE`
in the second case. No increment is the base of another.

What stays
----------
(Lin et al. III-A, Fig. 4.) On a machine with `Geometry.in_place` the registers of a TB may stay on
the SM when it is preempted, and so may its shared memory. Its image then says `registers_stay` or
`lines_stay` and has everything else. Its encoding table has no registers, or its bitmap no lines.
It is neither increment nor base.

When what stays is *evicted*, a second image is written on the other side, which *completes* the
first. Its state is `State.BASE`, and its `base_crc` is the checksum of the first one's entry. It
says `registers_stay` and `lines_stay` as the first does. It has a record for each of the same
warps, with the registers that were to be saved. That record has no state of the warp: all lanes are
live, and the stack is one entry deep, at PC 0. Launch id, place in the grid and local memory of the
entry are 0. A resume takes registers and lines of the second image first, then the first one, as it
takes a base and its increment. Neither is the base of an increment.

Commit protocol
---------------
The entry of a TB on the SM is never one that the machine has committed, so a save can begin with
the data:

1. Write the stream, then words 2 to 15 of the entry, then words 0 and 1 with `State.COMPLETE`,
   without waiting: an image that is torn is not believed.
2. Wait for all acknowledgements; only then free the TB's resources.

The machine knows which entries are complete, and the generation of each; no other one is looked at.

When all TBs of the kernel have left and everything is acknowledged, the kernel's **record** is
written as an entry is (`CCB_RECORD`): how far the grid is, which entries are complete, and a
checksum of their generations. With it a machine that knows nothing of the kernel can take it over
from memory (`hw.arch.commands.Command.ADOPT`): it believes the record if its checksum is right and
what it says of the grid fits the kernel, and then the entries that it names. Only a preempt after
which nothing of the kernel is left on the SM writes a record. As soon as anything of the kernel
runs again it is not believed any more: an entry that it names is `State.DEMOTED` by then or, if it
names none, the resume has first written the record's own state so.

A resume reads and checks a TB's whole stream; then it writes the state byte of the entry as
`State.DEMOTED`; when that is acknowledged the TB may issue its first instruction.

What a write did that was answered with an error is unknown. A TB of which a write of a save was
answered so was not saved, whatever its entry says. One whose `DEMOTED` was keeps its room and does
not run until a later head of its entry is acknowledged.
"""

from __future__ import annotations

import enum
import zlib
from collections.abc import Iterable, Sequence

from amaranth.hdl import Mux, Value
from amaranth.lib import data

from caesura.errors import InputError

from ..geometry import (
    CHUNK_WORDS,
    MAX_REGISTERS,
    PC_BITS,
    PREDICATES,
    SEGMENT_BYTES,
    UNIFORMS,
    WORD_BYTES,
    Geometry,
)
from .encodings import CODE_BITS, Number, row_words

__all__ = ["VERSION", "State", "Mechanism", "Capability", "CAPABILITIES", "mechanisms_of", "has",
           "lacks", "CCB_ENTRY", "CCB_RECORD", "WARP_HEADER", "STACK_ENTRY", "ENTRY_BYTES",
           "ENTRY_WORDS", "Reconvergence", "ENCODING_ROW", "HEADER_WORDS", "STACK_WORDS",
           "area_bound", "places", "place_of", "area_steps", "ccb_bytes", "entry_address",
           "record_address", "area_address", "entry_crc", "generations_crc", "stream_crcs",
           "to_words", "from_words"]

VERSION = 8
"""Format version, in every entry and record."""
ENTRY_BYTES = SEGMENT_BYTES
"""Stride of the CCB's entries."""


class State(enum.IntEnum):
    """State of a CCB entry."""

    FREE = 0
    COMPLETE = 0x5A
    DEMOTED = 0xA5
    BASE = 0x3C


class Capability(enum.Flag):
    """Properties of a preemption mechanism: all that hardware, driver and models ask of one."""

    STOPS_AT_POINTS = enum.auto()
    """Warps run on to a preemption point; without, they stop at their next instruction."""
    SAVES_LIVE_ONLY = enum.auto()
    """Saves valid shared lines, and registers, predicates and uniform registers that are live and
    were written; without, everything allocated is saved."""
    COMPRESSES = enum.auto()
    """Each register is saved in its shortest encoding; without, every one is saved as random."""
    FOLLOWS = enum.auto()
    """Registers and uniform registers that follow from the warp before are not saved."""


class Mechanism(enum.IntEnum):
    """How a TB is preempted (docs/preemption.md, Mechanisms)."""

    OCCUPIED = 0
    """Stop at the next instruction, save everything allocated."""
    LIVE = 1
    """Run to a preemption point, save what is live and was written, and valid shared lines
    (Lin et al. III-B)."""
    LIVE_CP = 2
    """The same as `LIVE`, with each register compressed by itself (Lin et al. III-C, warp
    level)."""
    LIVE_TB = 3
    """The same as `LIVE_CP`, but registers that follow from the warp before are left out
    (`hw.arch.image.tb_history`; Lin et al. III-C, TB level). Only with `Geometry.tb_compressor`."""

    @property
    def label(self) -> str:
        """Printed name, as in the papers: ``occupied``, ``live``, ``live+cp``,
        ``live+tb``."""
        return self.name.lower().replace("_", "+")

    def has(self, capability: Capability) -> bool:
        """Whether the mechanism has a capability."""
        return capability in CAPABILITIES[self]

    @classmethod
    def of(cls, label: str) -> Mechanism:
        """Return the mechanism printed as `label`.

        Raises
        ------
        ValueError
            If there is none; the message lists those there are.
        """
        for mechanism in cls:
            if mechanism.label == label:
                return mechanism
        raise InputError(f"no mechanism {label!r}; there are {', '.join(m.label for m in cls)}")


CAPABILITIES = {
    Mechanism.OCCUPIED: Capability(0),
    Mechanism.LIVE: Capability.STOPS_AT_POINTS | Capability.SAVES_LIVE_ONLY,
    Mechanism.LIVE_CP: (Capability.STOPS_AT_POINTS | Capability.SAVES_LIVE_ONLY
                        | Capability.COMPRESSES),
    Mechanism.LIVE_TB: (Capability.STOPS_AT_POINTS | Capability.SAVES_LIVE_ONLY
                        | Capability.COMPRESSES | Capability.FOLLOWS),
}
"""The one place that says which mechanism can do what."""


def mechanisms_of(g: Geometry) -> tuple[Mechanism, ...]:
    """Return the mechanisms that a machine has."""
    return tuple(each for each in Mechanism
                 if g.tb_compressor or not each.has(Capability.FOLLOWS))


def has(mechanism: Value, capability: Capability) -> Value:
    """Return whether a mechanism, as a value of the hardware, has a capability: one bit.

    The dispatcher refuses a number that is no mechanism; for one the answer is open.
    """
    return _among(mechanism, {each for each in Mechanism if each.has(capability)})


def lacks(mechanism: Value, capability: Capability) -> Value:
    """Return whether a mechanism, as a value of the hardware, lacks a capability: one bit."""
    return _among(mechanism, {each for each in Mechanism if not each.has(capability)})


def _among(mechanism: Value, wanted: set[Mechanism]) -> Value:
    """Return whether a mechanism is one of some, by a single comparison where one will do."""
    others = set(Mechanism) - wanted
    if len(others) == 1:
        return mechanism != others.pop()
    if len(wanted) == 1:
        return mechanism == wanted.pop()
    return mechanism.matches(*sorted(wanted))


CCB_ENTRY = data.StructLayout({
    "state": 8, "version": 8, "zero": 16,                   # word 0
    "crc": 32,                                              # word 1
    "register_image": 32,                                   # word 2: address of the stream
    "base_crc": 32,                                         # word 3: of an increment, else 0
    "length": 32,                                           # word 4: bytes of the stream
    "data_bytes": 32,                                       # word 5: registers and shared
    "launch_id": 32,                                        # word 6: linear TB index
    "ctaid_x": 32, "ctaid_y": 16, "ctaid_z": 16,            # words 7 and 8
    "live_warps": 32,                                       # word 9: bit per warp of the TB
    "mechanism": 8, "incremental": 1, "registers_stay": 1,  # word 10
    "lines_stay": 1, "none": 5, "registers": 8, "warps": 8,
    "local_base": 32,                                       # word 11: the TB's region, 0 if none
    "geometry_hash": 32,                                    # word 12
    "generation": 32,                                       # word 13: the preempt that wrote it
    "stream_crc": 32, "table_crc": 32,                      # words 14 and 15
})
"""A CCB entry; words 16 to 31 of its 128 bytes are reserved and not written."""
ENTRY_WORDS = CCB_ENTRY.size // 32
"""Words of an entry that are used."""

CCB_RECORD = data.StructLayout({
    "state": 8, "version": 8, "zero": 16,                   # word 0
    "crc": 32,                                              # word 1, as an entry's
    "launched": 32, "completed": 32,                        # words 2 and 3: TBs
    "next_x": 32, "next_y": 16, "next_z": 16,               # words 4 and 5: TB to launch next
    "saved": 32,                                            # word 6: bit per complete entry
    "generations": 32,                                      # word 7: `generations_crc`
    "grid_x": 32, "grid_y": 16, "grid_z": 16,               # words 8 and 9
    "code_base": 32, "const_base": 32,                      # words 10 and 11
    "geometry_hash": 32,                                    # word 12
    "generation": 32,                                       # word 13: the preempt that wrote it
    "exhausted": 1, "zeros": 31,                            # word 14: no TB to launch
    "sides": 32,                                            # word 15: of the saved entries
})
"""A kernel's record, as large as an entry; the words after it are reserved and not written."""

WARP_HEADER = data.StructLayout({
    "warp": 5, "launched": 5, "depth": 7, "predicates": 7, "barrier": 4, "waiting": 1, "exited": 1,
    "uniforms": 1, "repeats": 1})
"""First word of a warp record. The launched lanes are the first ``launched + 1``; `predicates` has
a bit for each saved predicate; `waiting` is 1 at a barrier; what `repeats` means is said in
`hw.arch.image.tb_history`. What `exited` and `uniforms` announce follows."""


class Reconvergence(enum.IntEnum):
    """Where a SIMT stack entry's reconvergence PC is found; the first that is right is saved."""

    NONE = 0
    """It has none: `PC_NONE`."""
    BELOW = 1
    """It is the PC of the entry below."""
    SAME = 2
    """It is that of the entry below."""
    OWN = 3
    """It is a word of its own."""


STACK_ENTRY = data.StructLayout({"pc": PC_BITS, "whole": 1, "reconv": 2, "none": 4})
"""First word of a SIMT stack entry (Lin et al. III: next PC, active mask, reconvergence PC);
`reconv` is a `Reconvergence`. Below the bottom entry there is one with neither PC."""

ENCODING_ROW = data.StructLayout({"codes": CODE_BITS * MAX_REGISTERS})
"""A row of the encoding table; its first `row_words` words are saved."""

HEADER_WORDS = 3
"""Most words before the predicates of a warp record."""
STACK_WORDS = 3
"""Most words of a stack entry."""


def area_bound(g: Geometry, warps: int, registers: int, shared_bytes: int) -> int:
    """Return the bytes a TB's save area must have: uncompressed worst case, metadata, deepest
    stack.

    Parameters
    ----------
    g : Geometry
    warps : int
        Warps of the TB.
    registers : int
        Vector registers of a thread.
    shared_bytes : int
        Shared memory of the TB.

    Returns
    -------
    int
        Bytes, a multiple of 128.
    """
    lines = -(-shared_bytes // SEGMENT_BYTES)
    record = (HEADER_WORDS + row_words(registers) + PREDICATES + UNIFORMS
              + STACK_WORDS * g.stack_depth)
    meta = warps * record + -(-lines // 32)
    total = meta * WORD_BYTES + warps * registers * g.vector_bytes + lines * SEGMENT_BYTES
    return -(-total // SEGMENT_BYTES) * SEGMENT_BYTES


def places(g: Geometry) -> int:
    """Return how many entries a CCB has: `Geometry.context_entries` on each side."""
    return g.context_entries << g.checkpoints


def place_of(g: Geometry, entry: Number, side: Number) -> Number:
    """Return which place of the CCB an entry has on a side."""
    if g.spare_entries and g.checkpoints:
        return entry << 1 | side
    if isinstance(side, int):
        return entry + side * g.context_entries
    return entry + Mux(side, g.context_entries, 0)


def area_steps(g: Geometry, area_bytes: Number) -> tuple[Number, Number]:
    """Return the bytes from an entry's save area to that of the next entry on the same side, and
    to that on side 1."""
    if g.spare_entries and g.checkpoints:
        return area_bytes << 1, area_bytes
    return area_bytes, g.context_entries * area_bytes


def ccb_bytes(g: Geometry, area_bytes: int, entries: int = 0) -> int:
    """Return the bytes of a kernel's CCB with the save areas of the lowest `entries`, which are all
    that it uses; 0 stands for as many as there are TB slots."""
    areas = (entries or g.tb_slots) << g.checkpoints
    return ENTRY_BYTES * (places(g) + 1) + areas * area_bytes


def entry_address(ccb_base: int, index: int) -> int:
    """Return the address of CCB entry `index`, below `places`."""
    return ccb_base + ENTRY_BYTES * index


def record_address(g: Geometry, ccb_base: int) -> int:
    """Return the address of the kernel's record."""
    return entry_address(ccb_base, places(g))


def area_address(g: Geometry, ccb_base: Number, area_bytes: Number, index: Number) -> Number:
    """Return the address of the save area of CCB entry `index`."""
    return ccb_base + ENTRY_BYTES * (places(g) + 1) + area_bytes * index


def entry_crc(words: Sequence[int]) -> int:
    """Return the checksum of a CCB entry or record, whatever stands in its place."""
    head, _, *body = words
    return zlib.crc32(b"".join(int(word).to_bytes(4, "little") for word in (head, 0, *body)))


def generations_crc(generations: Sequence[int]) -> int:
    """Return the checksum of the generations of all entries, 0 for one that is not complete."""
    return zlib.crc32(b"".join(each.to_bytes(4, "little") for each in generations))


def stream_crcs(g: Geometry, words: Iterable[int], records: int, registers: int
                ) -> tuple[int, int]:
    """Return the checksums of a stream up to its encoding table, and of the table.

    Parameters
    ----------
    g : Geometry
    words : iterable of int
        The stream.
    records : int
        Warp records in it.
    registers : int
        Vector registers of a thread.
    """
    row = row_words(registers)
    stream = b"".join(int(word).to_bytes(WORD_BYTES, "little") for word in words)
    end = len(stream) - WORD_BYTES * row * records
    rows = (stream[at:at + WORD_BYTES * row]
            for at in range(max(0, end), len(stream), WORD_BYTES * row))
    filling = bytes(-row % CHUNK_WORDS * WORD_BYTES)
    rest = stream[:max(0, end)]
    return (zlib.crc32(rest + bytes(-len(rest) % g.bus_bytes)),
            zlib.crc32(b"".join(each + filling for each in rows)))


def to_words(layout: data.StructLayout, **fields: int) -> list[int]:
    """Pack named fields (the rest 0) into 32-bit words, lowest first."""
    bits = 0
    for name, value in fields.items():
        place = layout[name]
        if not 0 <= value < 1 << place.width:
            raise ValueError(f"{name} = {value} does not fit {place.width} bits")
        bits |= value << place.offset
    return [bits >> low & 0xFFFF_FFFF for low in range(0, layout.size, 32)]


def from_words(layout: data.StructLayout, words: Iterable[int]) -> dict[str, int]:
    """Unpack 32-bit words, lowest first, into named fields."""
    bits = sum(int(word) << 32 * k for k, word in enumerate(words))
    return {name: bits >> place.offset & (1 << place.width) - 1 for name, place in layout}
