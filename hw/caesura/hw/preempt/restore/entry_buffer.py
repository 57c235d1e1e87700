"""Entry buffer: the first 64 bytes of every CCB entry, and what is wrong with them."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.context import CCB_ENTRY, PATTERN_WORDS, VERSION, State
from ...arch.geometry import SEGMENT_BYTES, WORD_BYTES, Geometry
from ...interfaces.payloads import below
from ...lib.bits import popcount
from ..formats.accepted_command import accepted_command
from ..formats.packer import CHUNK_WORDS

__all__ = ["ENTRY_WORDS", "ENTRY_ROWS", "EntryBuffer"]

ENTRY_WORDS = CCB_ENTRY.size // 32
"""Words of an entry that are used."""
ENTRY_ROWS = ENTRY_WORDS // CHUNK_WORDS
"""Rows of four words of an entry."""
_HEAD, _IMAGE, _PLACE = 0, 1, 2


class EntryBuffer(wiring.Component):
    """Receives all entries in order, checks those that are `State.COMPLETE`, and shows one at a
    time.

    An entry is bad if its format version or geometry hash differs from this machine's, if its
    registers, warps or pattern groups differ from the kernel's, if it names a warp that the kernel
    has not, or if its stream does not fit the save area, is too short for its pattern table or does
    not start at a segment.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    accepted : in
    clear : Signal, in
        Forget everything; wait for `tb_slots` entries.
    words, level : in
    take : Signal, out
        From an `Unpacker`; words are taken four at a time until the last entry is in.
    full : Signal, out
        All entries are in.
    complete, bad : Signal, out
        Entries that can be resumed (bit vector); one of them is bad.
    select : Signal, in
        Entry shown by `entry`.
    load : Signal, in
        Read the selected entry: `entry` is right `ENTRY_ROWS` cycles after, if `select` stays.
    entry : Signal, out
    loaded : Signal, out
        `entry` shows the selected entry; low from the cycle after `load` until then.
    """

    accepted: data.View
    clear: Signal
    words: data.View
    level: Signal
    take: Signal
    full: Signal
    complete: Signal
    bad: Signal
    select: Signal
    load: Signal
    entry: data.View
    loaded: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "accepted": In(accepted_command(g)), "clear": In(1),
            "words": In(data.ArrayLayout(32, CHUNK_WORDS)),
            "level": In(range(CHUNK_WORDS + 1)),
            "take": Out(range(CHUNK_WORDS + 1)), "full": Out(1),
            "complete": Out(g.tb_slots), "bad": Out(1),
            "select": In(below(g.tb_slots)), "load": In(1),
            "entry": Out(CCB_ENTRY), "loaded": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        rows = g.tb_slots * ENTRY_ROWS
        m.submodules.memory = memory = Memory(shape=32 * CHUNK_WORDS, depth=rows, init=[])
        write = memory.write_port()
        read = memory.read_port(domain="comb")
        count = Signal(range(rows + 1), init=rows)
        go = Signal()
        m.d.comb += [
            self.full.eq(count == rows), go.eq(~self.full & (self.level == CHUNK_WORDS)),
            write.addr.eq(count), write.data.eq(Value.cast(self.words)), write.en.eq(go),
        ]
        with m.If(go):
            m.d.comb += self.take.eq(CHUNK_WORDS)
            m.d.sync += count.eq(count + 1)
            self._check(m, count[:ENTRY_ROWS.bit_length() - 1],
                        count >> ENTRY_ROWS.bit_length() - 1)
        with m.If(self.clear):
            m.d.sync += [count.eq(0), self.complete.eq(0), self.bad.eq(0)]

        step = Signal(range(ENTRY_ROWS + 1), init=ENTRY_ROWS)
        m.d.comb += [self.loaded.eq(step == ENTRY_ROWS),
                     read.addr.eq(self.select * ENTRY_ROWS + step)]
        bits = Value.cast(self.entry)
        with m.If(self.load):
            m.d.sync += step.eq(0)
        with m.Elif(~self.loaded):
            m.d.sync += [step.eq(step + 1),
                         bits.word_select(step[:2], 32 * CHUNK_WORDS).eq(read.data)]
        return m

    def _check(self, m, row, number):
        """Judge the row that arrives; rows of an entry that is not complete do not matter."""
        g, s, words = self.geometry, self.accepted, Value.cast(self.words)
        found = Signal()
        current = Signal()
        wrong = Signal()
        length = Signal(32)
        part = 32 * CHUNK_WORDS
        fields = [data.View(
            CCB_ENTRY, Cat(Const(0, part * k), words, Const(0, CCB_ENTRY.size - part * (k + 1))))
                  for k in range(ENTRY_ROWS)]
        head, image, place = fields[_HEAD], fields[_IMAGE], fields[_PLACE]
        m.d.comb += [found.eq(head.state == State.COMPLETE),
                     current.eq(self.complete.bit_select(number, 1))]
        with m.Switch(row):
            with m.Case(_HEAD):
                m.d.sync += self.complete.eq(self.complete | (found << number))
                m.d.comb += wrong.eq(found & ((head.version != VERSION) | (
                    head.geometry_hash != g.hash) | (head.register_image % SEGMENT_BYTES != 0)))
            with m.Case(_IMAGE):
                m.d.sync += length.eq(image.length)
                m.d.comb += wrong.eq(current & ((image.length > s.area_bytes)
                                                | (image.length % WORD_BYTES != 0)))
            with m.Case(_PLACE):
                m.d.comb += wrong.eq(current & (
                    (place.registers != s.registers) | (place.warps != s.warps)
                    | (place.pag != s.pag) | (place.live_warps >> s.warps).any()
                    | (length < popcount(place.live_warps) * PATTERN_WORDS * WORD_BYTES)))
        with m.If(wrong):
            m.d.sync += self.bad.eq(1)
