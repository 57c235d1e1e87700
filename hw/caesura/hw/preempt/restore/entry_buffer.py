"""Entry buffer: the first 64 bytes of every CCB entry, and what is wrong with them."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.context import (
    CCB_ENTRY,
    ENTRY_BYTES,
    ENTRY_WORDS,
    VERSION,
    State,
    mechanisms_of,
)
from ...arch.geometry import ADDRESS_BITS, WORD_BYTES, Geometry
from ...interfaces.payloads import below
from ...lib.bits import popcount
from ..formats.accepted_command import accepted_command
from ..formats.checksum import Checksum
from ..formats.packer import CHUNK_WORDS
from ..formats.stream_extent import stream_extent

__all__ = ["ENTRY_ROWS", "EntryBuffer"]

ENTRY_ROWS = ENTRY_WORDS // CHUNK_WORDS
"""Rows of four words of an entry."""
_HEAD, _IMAGE, _SIZES, _ORIGIN = range(ENTRY_ROWS)
_CRC_WORD = CCB_ENTRY["crc"].offset // 32


class EntryBuffer(wiring.Component):
    """Receives all entries in order, checks those that are saved, and shows one at a time.

    A saved entry is bad if its state is not `State.COMPLETE`, if its checksum is wrong, if its
    format version, geometry hash, generation or length of stream is not the one expected, if its
    registers or warps differ from the kernel's, if it names no warp or one that the
    kernel has not, or if its stream does not begin with its save area, is longer than that, or is
    no longer than its encoding table.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    accepted : in
    clear : Signal, in
        Forget everything; wait for `tb_slots` entries.
    saved : Signal(tb_slots), in
        Vector: entries that are looked at. Constant from `clear` on.
    number : Signal, out; generation : Signal(32), in; extent : in
        The entry that arrives, the generation that it has to have, and the length of its stream;
        any with `accepted.adopt`.
    arrived : Signal, out; found : Signal(32), out; found_extent : out
        The last of a saved entry is taken in this cycle; its generation, and the length of its
        stream.
    words, level : in
    take : Signal, out
        From an `Unpacker`; words are taken four at a time until the last entry is in.
    full : Signal, out
        All entries are in and judged.
    bad : Signal, out
        One that is saved is bad.
    select : Signal, in
        Entry shown by `entry`.
    load : Signal, in
        Show the selected entry from the next cycle on.
    entry : Signal, out
        The entry that was selected last with `load`.
    """

    accepted: data.View
    clear: Signal
    saved: Signal
    number: Signal
    generation: Signal
    extent: data.View
    arrived: Signal
    found: Signal
    found_extent: data.View
    words: data.View
    level: Signal
    take: Signal
    full: Signal
    bad: Signal
    select: Signal
    load: Signal
    entry: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "accepted": In(accepted_command(g)), "clear": In(1), "saved": In(g.tb_slots),
            "number": Out(below(g.tb_slots)), "generation": In(32),
            "extent": In(stream_extent(g)),
            "arrived": Out(1), "found": Out(32), "found_extent": Out(stream_extent(g)),
            "words": In(data.ArrayLayout(32, g.window_words)),
            "level": In(range(g.window_words + 1)),
            "take": Out(range(CHUNK_WORDS + 1)), "full": Out(1), "bad": Out(1),
            "select": In(below(g.tb_slots)), "load": In(1),
            "entry": Out(CCB_ENTRY),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        rows = g.tb_slots * ENTRY_ROWS
        m.submodules.memory = memory = Memory(
            shape=data.ArrayLayout(32 * CHUNK_WORDS, ENTRY_ROWS), depth=g.tb_slots, init=[])
        write = memory.write_port(granularity=1)
        read = memory.read_port()
        row = Signal(range(ENTRY_ROWS))
        count = Signal(range(rows + 1), init=rows)
        go = Signal()
        judging = Signal()  # the checksum of the last entry is there in this cycle
        m.d.comb += [
            self.full.eq((count == rows) & ~judging),
            go.eq((count != rows) & (self.level >= CHUNK_WORDS)),
            self.number.eq(count >> ENTRY_ROWS.bit_length() - 1),
            row.eq(count), write.addr.eq(self.number), write.en.eq(go << row),
            Value.cast(write.data).eq(
                Value.cast(self.words)[:32 * CHUNK_WORDS].replicate(ENTRY_ROWS)),
            read.addr.eq(self.select), read.en.eq(self.load),
            Value.cast(self.entry).eq(Value.cast(read.data)),
        ]
        self._check(m, go, row, judging)
        with m.If(go):
            m.d.comb += self.take.eq(CHUNK_WORDS)
            m.d.sync += count.eq(count + 1)
        with m.If(self.clear):
            m.d.sync += [count.eq(0), self.bad.eq(0)]
        return m

    def _check(self, m, go, row, judging):
        """Judge the row that arrives; rows of an entry that is not saved do not matter."""
        g, s, words = self.geometry, self.accepted, Value.cast(self.words)[:32 * CHUNK_WORDS]
        m.submodules.checksum = of_entry = Checksum(CHUNK_WORDS)
        counts = Signal()  # the entry in hand is a saved one
        wrong = Signal()
        area = Signal(ADDRESS_BITS)  # save area of the entry in hand
        within = Signal(ADDRESS_BITS)  # place of its shared memory in there
        first_area = s.ccb_base + ENTRY_BYTES * (g.tb_slots + 1)
        length = Signal(32)
        expected = Signal(32)
        warps = Signal.like(self.extent.warps)  # of the entry in hand
        part = 32 * CHUNK_WORDS
        head, image, sizes, origin = (data.View(
            CCB_ENTRY, Cat(Const(0, part * k), words, Const(0, CCB_ENTRY.size - part * (k + 1))))
                  for k in range(ENTRY_ROWS))
        m.d.comb += [
            counts.eq(self.saved.bit_select(self.number, 1)),
            of_entry.data.eq(Cat(Mux((row == _HEAD) & (k == _CRC_WORD), 0, self.words[k])
                                 for k in range(CHUNK_WORDS))),
            of_entry.start.eq(row == _HEAD), of_entry.valid.eq(go),
        ]
        with m.Switch(row):
            with m.Case(_HEAD):
                m.d.comb += within.eq(head.shared_image - area)
                m.d.comb += wrong.eq(
                    (head.state != State.COMPLETE) | (head.version != VERSION)
                    | (head.zero != 0) | (head.register_image != area)
                    | Mux(s.lines == 0, head.shared_image != 0, within >= s.area_bytes))
            with m.Case(_IMAGE):
                m.d.comb += wrong.eq((image.length > s.area_bytes)
                                     | (image.length % WORD_BYTES != 0)
                                     | (image.data_bytes > image.length)
                                     | ~s.adopt & (image.length // WORD_BYTES
                                                   != self.extent.words))
            with m.Case(_SIZES):
                m.d.comb += wrong.eq(
                    (sizes.registers != s.registers) | (sizes.warps != s.warps)
                    | (sizes.none != 0) | (sizes.mechanism > max(mechanisms_of(g)))
                    | (sizes.live_warps >> s.warps).any() | ~sizes.live_warps.any()
                    | (length <= popcount(sizes.live_warps) * s.row_words * WORD_BYTES)
                    | ~s.adopt & (popcount(sizes.live_warps) != self.extent.warps))
            with m.Case(_ORIGIN):
                m.d.comb += wrong.eq((origin.geometry_hash != g.hash)
                                     | ~s.adopt & (origin.generation != self.generation))
        m.d.comb += [self.arrived.eq(go & counts & (row == _ORIGIN)),
                     self.found.eq(origin.generation),
                     self.found_extent.words.eq(length // WORD_BYTES),
                     self.found_extent.warps.eq(warps)]
        m.d.sync += judging.eq(self.arrived)
        with m.If(go):
            m.d.sync += [expected.eq(Mux(row == _HEAD, head.crc, expected)),
                         length.eq(Mux(row == _IMAGE, image.length, length)),
                         warps.eq(Mux(row == _SIZES, popcount(sizes.live_warps), warps)),
                         area.eq(area + Mux(row == _ORIGIN, s.area_bytes, 0))]
        with m.If(go & counts & wrong | judging & (of_entry.crc != expected)):
            m.d.sync += self.bad.eq(1)
        with m.If(self.clear):
            m.d.sync += area.eq(first_area)
