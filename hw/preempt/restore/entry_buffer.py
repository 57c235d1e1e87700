"""Entry buffer: the first 64 bytes of every CCB entry, and what is wrong with them."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, WORD_BYTES, Geometry
from ...arch.image.context import (
    CCB_ENTRY,
    ENTRY_BYTES,
    ENTRY_WORDS,
    VERSION,
    State,
    area_steps,
    mechanisms_of,
    places,
)
from ...interfaces.payloads import below
from ...interfaces.port import Port
from ...lib.bits import popcount
from ..formats.accepted_command import accepted_command
from ..formats.checksum import ChecksumPort, checksum_of
from ..formats.found_entry import found_entry
from ..formats.packer import CHUNK_WORDS
from ..formats.stream_extent import stream_extent

__all__ = ["ENTRY_ROWS", "EntryBuffer"]

ENTRY_ROWS = ENTRY_WORDS // CHUNK_WORDS
"""Rows of four words of an entry."""
_HEAD, _IMAGE, _SIZES, _ORIGIN = range(ENTRY_ROWS)
_CRC_WORD = CCB_ENTRY["crc"].offset // 32


class EntryBuffer(wiring.Component):
    """Receives all entries in order, then, if some of them are increments or completed by a second
    image, those on the other sides in the same order; checks those that are saved, the bases of
    increments and second images, and shows one at a time.

    A saved entry is bad if its state is not `State.COMPLETE`, if its checksum is wrong, if its
    format version, geometry hash, generation or length of stream is not the one expected, if its
    registers or warps differ from the kernel's, if it names no warp or one that the
    kernel has not, if its stream does not begin with its save area, is longer than that, or is
    no longer than its encoding table, or if it is no increment though one is expected, of the base
    that is expected, or the reverse. For a base the same holds, but that its state is `State.BASE`
    or `State.DEMOTED`, and that its checksum is the one expected, with the state that it was
    written with; it is not an increment itself. A second image is `State.BASE`, and names the one
    that it completes. Each is without the registers or lines that it is expected to be without; a
    second image says of them what the first does.

    Timing
    ------
    Four words are taken in each cycle in which they are there, so an entry takes a quarter of
    `ENTRY_WORDS`; it is judged in the cycle after its last ones.

    Parameters
    ----------
    g : Geometry
    shared : bool
        Use a checksum outside, which the block has a port for, not one of its own.

    Attributes
    ----------
    accepted : in
    clear : Signal, in
        Forget everything; wait for `context_entries` entries, or twice as many.
    saved, sides : Signal(context_entries), in
        Vectors: entries that are looked at, and on which sides they are. Constant from `clear` on.
    increments : Signal(context_entries), in
        Vector: those that are increments; with `accepted.adopt` from the cycle after `arrived` on.
    without_registers, without_lines, completed : Signal(context_entries), in
        Vectors: those without registers, without lines; those that a second image completes.
        Likewise.
    number, of_base : Signal, out
    generation, crc : Signal(32), in; extent : in
        The entry that arrives, or it is that on the other side; the generation that an entry has to
        have, the checksum of its base's or, if it is completed, its own, and the length of its
        stream. With `accepted.adopt` only `crc` counts, for what is on the other side.
    arrived, arrived_base : Signal, out; found : out
        The last of a saved entry, or of a base, is taken in this cycle; what it says.
    first_full : Signal, out
        All entries that are no bases are in.
    words, level : in
    take : Signal, out
        From an `Unpacker`; words are taken four at a time until the last entry is in.
    full : Signal, out
        All entries are in and judged.
    bad : Signal, out
        One that is saved is bad.
    select, select_base : Signal, in
        Entry shown by `entry`, or it is that of its base.
    load : Signal, in
        Show the selected entry from the next cycle on.
    entry : Signal, out
        The entry that was selected last with `load`.
    checksum : ChecksumPort, out
        If `shared`.
    """

    accepted: data.View
    clear: Signal
    saved: Signal
    sides: Signal
    increments: Signal
    without_registers: Signal
    without_lines: Signal
    completed: Signal
    number: Signal
    of_base: Signal
    generation: Signal
    crc: Signal
    extent: data.View
    arrived: Signal
    arrived_base: Signal
    found: data.View
    first_full: Signal
    words: data.View
    level: Signal
    take: Signal
    full: Signal
    bad: Signal
    select: Signal
    select_base: Signal
    load: Signal
    entry: data.View
    checksum: Port

    def __init__(self, g: Geometry, *, shared: bool = False):
        self.geometry, self.shared = g, shared
        super().__init__({
            **({"checksum": Out(ChecksumPort(CHUNK_WORDS))} if shared else {}),
            "accepted": In(accepted_command(g)), "clear": In(1), "saved": In(g.context_entries),
            "sides": In(g.context_entries), "increments": In(g.context_entries),
            **{name: In(g.context_entries)
               for name in ("without_registers", "without_lines", "completed")},
            "number": Out(below(g.context_entries)), "of_base": Out(1), "generation": In(32),
            "crc": In(32), "extent": In(stream_extent(g)),
            "arrived": Out(1), "arrived_base": Out(1), "found": Out(found_entry(g)),
            "first_full": Out(1),
            "words": In(data.ArrayLayout(32, g.window_words)),
            "level": In(range(g.window_words + 1)),
            "take": Out(range(CHUNK_WORDS + 1)), "full": Out(1), "bad": Out(1),
            "select": In(below(g.context_entries)), "select_base": In(1), "load": In(1),
            "entry": Out(CCB_ENTRY),
        })

    @property
    def pairs(self) -> Value:
        """Entries to which one on the other side belongs."""
        return self.increments | (self.completed if self.geometry.in_place else 0)

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        rows = g.context_entries * ENTRY_ROWS
        m.submodules.memory = memory = Memory(
            shape=data.ArrayLayout(32 * CHUNK_WORDS, ENTRY_ROWS), init=[],
            depth=1 << len(self.number) + g.checkpoints)
        write = memory.write_port(granularity=1)
        read = memory.read_port(domain="comb")
        shown = Signal.like(read.addr)  # the entry is held by its number
        row = Signal(range(ENTRY_ROWS))
        count = Signal(range(rows + 1), init=rows)
        more = Signal()  # bases follow
        go = Signal()
        judging = Signal()  # the checksum of the last entry is there in this cycle
        m.d.comb += [
            self.first_full.eq(self.of_base | (count == rows) & ~judging),
            more.eq((self.pairs & self.saved).any() if g.checkpoints else 0),
            self.full.eq((count == rows) & ~judging & (self.of_base | ~more)),
            go.eq((count != rows) & (self.level >= CHUNK_WORDS)),
            self.number.eq(count >> ENTRY_ROWS.bit_length() - 1),
            row.eq(count), write.addr.eq(Cat(self.number, self.of_base)), write.en.eq(go << row),
            Value.cast(write.data).eq(
                Value.cast(self.words)[:32 * CHUNK_WORDS].replicate(ENTRY_ROWS)),
            read.addr.eq(shown),
            Value.cast(self.entry).eq(Value.cast(read.data)),
        ]
        self._check(m, go, row, judging)
        with m.If(self.load):
            m.d.sync += shown.eq(Cat(self.select, self.select_base))
        with m.If(go):
            m.d.comb += self.take.eq(CHUNK_WORDS)
            m.d.sync += count.eq(count + 1)
        with m.If(self.first_full & ~self.of_base & more):
            m.d.sync += [count.eq(0), self.of_base.eq(1)]
        with m.If(self.clear):
            m.d.sync += [count.eq(0), self.of_base.eq(0), self.bad.eq(0)]
        return m

    def _check(self, m: Module, go: Value, row: Value, judging: Signal):
        """Judge the row that arrives; rows of an entry that is not saved do not matter."""
        g, s, words = self.geometry, self.accepted, Value.cast(self.words)[:32 * CHUNK_WORDS]
        of_entry = checksum_of(m, self, CHUNK_WORDS)
        counts = Signal()  # the entry in hand is a saved one, or the base of one
        increment = Signal()  # it is expected to be one
        second = Signal()  # it completes another
        without = Signal(2)  # registers, lines that it is expected to be without
        if g.in_place:
            m.d.comb += [
                second.eq(self.of_base & self.completed.bit_select(self.number, 1)),
                without.eq(Cat(vector.bit_select(self.number, 1) for vector in (
                    self.without_registers, self.without_lines)))]
        wrong = Signal()
        area = Signal(ADDRESS_BITS)  # save area of the entry in hand on side 0
        first_area = s.ccb_base + ENTRY_BYTES * (places(g) + 1)
        step, to_side = area_steps(g, s.area_bytes)
        other_side = self.sides.bit_select(self.number, 1) ^ self.of_base
        names = Signal(32)  # the base that the entry in hand names
        says = Signal()  # it says that it is an increment
        leaves = Signal(2)  # or without registers, lines
        length = Signal(32)
        expected = Signal(32)
        warps = Signal.like(self.extent.warps)  # of the entry in hand
        part = 32 * CHUNK_WORDS
        head, image, sizes, origin = (data.View(
            CCB_ENTRY, Cat(Const(0, part * k), words, Const(0, CCB_ENTRY.size - part * (k + 1))))
                  for k in range(ENTRY_ROWS))
        state = Mux(self.of_base & ~second & (head.state == State.DEMOTED), State.COMPLETE,
                    head.state)
        m.d.comb += [
            increment.eq(self.increments.bit_select(self.number, 1) & ~self.of_base),
            counts.eq(self.saved.bit_select(self.number, 1)
                      & (~self.of_base | self.pairs.bit_select(self.number, 1))),
            of_entry.data.eq(Mux(row == _HEAD, Cat(
                state, words[8:32], *(Mux(k == _CRC_WORD, 0, self.words[k])
                                      for k in range(1, CHUNK_WORDS))), words)),
            of_entry.start.eq(go & (row == _HEAD)), of_entry.valid.eq(go),
        ]
        with m.Switch(row):
            with m.Case(_HEAD):
                m.d.comb += wrong.eq(
                    Mux(self.of_base, (head.state != State.BASE)
                        & (second | (head.state != State.DEMOTED))
                        | ~second & (head.crc != self.crc), head.state != State.COMPLETE)
                    | (head.version != VERSION) | (head.zero != 0)
                    | (head.register_image != area + Mux(other_side, to_side, 0))
                    | Mux(self.of_base, head.base_crc != Mux(second, self.crc, 0), ~s.adopt & (
                        head.base_crc != Mux(increment, self.crc, 0))))
            with m.Case(_IMAGE):
                m.d.comb += wrong.eq((image.length > s.area_bytes)
                                     | (image.length % WORD_BYTES != 0)
                                     | (image.data_bytes > image.length)
                                     | ~s.adopt & (image.length // WORD_BYTES
                                                   != self.extent.words))
            with m.Case(_SIZES):
                m.d.comb += wrong.eq(
                    (sizes.registers != s.registers) | (sizes.warps != s.warps)
                    | Mux(self.of_base, sizes.incremental != 0, Mux(
                        s.adopt, (sizes.incremental > g.checkpoints)
                        | names.any() & (sizes.incremental == 0)
                        | sizes.incremental & (sizes.registers_stay | sizes.lines_stay),
                        sizes.incremental != increment))
                    | (sizes.none != 0) | (~s.adopt | self.of_base | (not g.in_place))
                    & (Cat(sizes.registers_stay, sizes.lines_stay) != without)
                    | (sizes.mechanism > max(mechanisms_of(g)))
                    | (sizes.live_warps >> s.warps).any() | ~sizes.live_warps.any()
                    | (length <= popcount(sizes.live_warps) * s.row_words * WORD_BYTES)
                    | ~s.adopt & (popcount(sizes.live_warps) != self.extent.warps))
            with m.Case(_ORIGIN):
                m.d.comb += wrong.eq((origin.geometry_hash != g.hash)
                                     | ~s.adopt & ~self.of_base
                                     & (origin.generation != self.generation))
        last = go & counts & (row == _ORIGIN)
        m.d.comb += [self.arrived.eq(last & ~self.of_base),
                     self.arrived_base.eq(last & self.of_base),
                     self.found.generation.eq(origin.generation), self.found.crc.eq(expected),
                     self.found.increment.eq(says), self.found.base_crc.eq(names),
                     self.found.registers_stay.eq(leaves[0]), self.found.lines_stay.eq(leaves[1]),
                     self.found.extent.words.eq(length // WORD_BYTES),
                     self.found.extent.warps.eq(warps)]
        m.d.sync += judging.eq(last)
        with m.If(go):
            m.d.sync += [expected.eq(Mux(row == _HEAD, head.crc, expected)),
                         names.eq(Mux(row == _HEAD, head.base_crc, names)),
                         says.eq(Mux(row == _SIZES, sizes.incremental, says)),
                         length.eq(Mux(row == _IMAGE, image.length, length)),
                         warps.eq(Mux(row == _SIZES, popcount(sizes.live_warps), warps)),
                         area.eq(area + Mux(row == _ORIGIN, step, 0))]
            if g.in_place:
                m.d.sync += leaves.eq(Mux(
                    row == _SIZES, Cat(sizes.registers_stay, sizes.lines_stay), leaves))
        with m.If(go & counts & wrong | judging & (of_entry.crc != expected)):
            m.d.sync += self.bad.eq(1)
        with m.If(self.clear | self.first_full & ~self.of_base):
            m.d.sync += area.eq(first_area)
