"""Encoding table: how the registers of each warp of the stream in hand were saved."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import CHUNK_WORDS, MAX_REGISTERS, Geometry
from ...arch.image.encodings import (
    CODE_BITS,
    MAX_ROW_WORDS,
    SMALLEST_GROUP,
    Encoding,
    encoded_words,
)
from ...arch.image.tb_history import known_encodings
from ...interfaces.payloads import below
from ...interfaces.port import Port
from ...lib.bits import popcount
from ..compress.register_encoder import by_lane
from ..compress.tb_history import followed
from ..formats.checksum import ChecksumPort, checksum_of

__all__ = ["ROW_PARTS", "EncodingTable"]

ROW_PARTS = MAX_ROW_WORDS // CHUNK_WORDS
"""Parts of four words in which a row comes, at most."""


class EncodingTable(wiring.Component):
    """Keeps a row for each warp record and shows one.

    A part of a row is written a cycle; reading is combinational. What is counted of a row is
    counted as it comes.

    Parameters
    ----------
    g : Geometry
    shared : bool
        Use a checksum outside, which the block has a port for, not one of its own.

    Attributes
    ----------
    record : Signal, in
        Number of the row that is written or shown.
    words : Signal, in; part : Signal, in; write : Signal, in
        Four words of the row come in this cycle, filled up with zeros. Part 0 of a row begins it;
        part 0 of record 0 begins a table.
    codes : Signal, out
        The row shown, combinational: one `Encoding` per register.
    by_lane, saved : Signal(MAX_REGISTERS), out
        Vectors of the row shown: registers of which something is kept of each lane, and these with
        those that are uniform or strided or follow.
    follows, followed : Signal(MAX_REGISTERS), out
        Vectors of the row shown: registers that follow those of rows before, and those that others
        may follow; none on a machine without the TB-level compressor.
    group_words : Signal, out
        Words of the uniform and strided registers of the row shown.
    strange : Signal, out
        The row shown has a code that this machine does not use.
    crc : Signal(32), out
        Checksum of the rows that have come, one cycle after the last.
    checksum : ChecksumPort, out
        If `shared`.
    """

    record: Signal
    words: data.View
    part: Signal
    write: Signal
    codes: Signal
    by_lane: Signal
    saved: Signal
    follows: Signal
    followed: Signal
    group_words: Signal
    strange: Signal
    crc: Signal
    checksum: Port

    def __init__(self, g: Geometry, *, shared: bool = False):
        self.geometry, self.shared = g, shared
        most = 2 * g.warp_size // SMALLEST_GROUP * MAX_REGISTERS
        super().__init__({
            **({"checksum": Out(ChecksumPort(CHUNK_WORDS))} if shared else {}),
            "record": In(below(g.max_block_warps)),
            "words": In(data.ArrayLayout(32, CHUNK_WORDS)), "part": In(range(ROW_PARTS)),
            "write": In(1), "codes": Out(CODE_BITS * MAX_REGISTERS),
            "by_lane": Out(MAX_REGISTERS), "saved": Out(MAX_REGISTERS),
            "follows": Out(MAX_REGISTERS),
            "followed": Out(MAX_REGISTERS), "group_words": Out(range(most + 1)), "strange": Out(1),
            "crc": Out(32)})

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        row = data.ArrayLayout(32 * CHUNK_WORDS, ROW_PARTS)
        m.submodules.rows = rows = Memory(shape=row, depth=g.max_block_warps, init=[])
        checksum = checksum_of(m, self, CHUNK_WORDS)
        write = rows.write_port(granularity=1)
        read = rows.read_port(domain="comb")
        words = Value.cast(self.words)
        codes = [self.codes[CODE_BITS * r:CODE_BITS * r + CODE_BITS] for r in range(MAX_REGISTERS)]
        m.d.comb += [
            write.addr.eq(self.record),
            write.en.eq(Mux(self.write, Mux(self.part == 0, ~0, 1 << self.part), 0)),
            Value.cast(write.data).eq(Mux(self.part == 0, words, words.replicate(ROW_PARTS))),
            checksum.data.eq(words), checksum.valid.eq(self.write),
            checksum.start.eq(self.write & (self.record == 0) & (self.part == 0)),
            self.crc.eq(checksum.crc),
            read.addr.eq(self.record), self.codes.eq(read.data),
            self.by_lane.eq(Cat((code != Encoding.DEAD) & by_lane(code) for code in codes)),
            self.saved.eq(Cat(code != Encoding.DEAD for code in codes)),
        ]
        self._count(m, words)
        if g.tb_compressor:
            m.d.comb += [self.follows.eq(Cat(code == Encoding.FOLLOWS for code in codes)),
                         self.followed.eq(Cat(followed(g, code) for code in codes))]
        return m

    def _count(self, m: Module, words: Value):
        """Count the words of the registers of each row, and look for strange codes, part by
        part."""
        g, known = self.geometry, known_encodings(self.geometry)
        found = data.StructLayout({"words": self.group_words.shape(), "strange": 1})
        m.submodules.counts = counts = Memory(shape=found, depth=g.max_block_warps, init=[])
        write = counts.write_port()
        read = counts.read_port(domain="comb")
        before = Signal(found)  # in the parts of the row before,
        here = Signal(found)  # and with this
        codes = [words[low:low + CODE_BITS] for low in range(0, len(words), CODE_BITS)]
        sizes = {}
        for encoding in known:
            if encoding.group:
                sizes.setdefault(encoded_words(encoding, g.warp_size), []).append(encoding)
        fresh = self.part == 0
        m.d.comb += [
            here.words.eq(Mux(fresh, 0, before.words) + sum(
                popcount([code.matches(*alike) for code in codes]) * size
                for size, alike in sizes.items())),
            here.strange.eq(~fresh & before.strange | Cat(
                ~code.matches(Encoding.DEAD, *known) for code in codes).any()),
            write.addr.eq(self.record), write.data.eq(here), write.en.eq(self.write),
            read.addr.eq(self.record), self.group_words.eq(read.data.words),
            self.strange.eq(read.data.strange),
        ]
        with m.If(self.write):
            m.d.sync += before.eq(here)
