"""Pattern table: how the registers of each warp of the stream in hand were saved."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.context import PATTERN_WORDS, Pattern
from ...arch.geometry import MAX_REGISTERS, Geometry
from ...interfaces.payloads import below
from ..formats.checksum import Checksum

__all__ = ["PatternTable"]


class PatternTable(wiring.Component):
    """Keeps a row for each warp record and shows one as vectors, a bit a register.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    record : Signal, in
        Number of the row that is written or shown.
    row : Signal, in; write : Signal, in
        The row comes in this cycle; that of record 0 begins a table.
    uniform, strided, saved : Signal, out
        Vectors of the row shown, combinational: what is saved as uniform, as strided, at all.
    crc : Signal(32), out
        Checksum of the rows that have come, one cycle after the last.
    """

    record: Signal
    row: data.View
    write: Signal
    uniform: Signal
    strided: Signal
    saved: Signal
    crc: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "record": In(below(g.max_block_warps)),
            "row": In(data.ArrayLayout(32, PATTERN_WORDS)), "write": In(1),
            "uniform": Out(MAX_REGISTERS), "strided": Out(MAX_REGISTERS),
            "saved": Out(MAX_REGISTERS), "crc": Out(32)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.patterns = patterns = Memory(shape=2 * MAX_REGISTERS,
                                                  depth=self.geometry.max_block_warps, init=[])
        m.submodules.checksum = checksum = Checksum(PATTERN_WORDS)
        write = patterns.write_port()
        read = patterns.read_port(domain="comb")
        row = Value.cast(self.row)
        codes = [read.data[2 * r:2 * r + 2] for r in range(MAX_REGISTERS)]
        m.d.comb += [
            write.addr.eq(self.record), write.data.eq(row), write.en.eq(self.write),
            checksum.data.eq(row), checksum.valid.eq(self.write),
            checksum.start.eq(self.write & (self.record == 0)), self.crc.eq(checksum.crc),
            read.addr.eq(self.record),
            self.uniform.eq(Cat(code == Pattern.UNIFORM for code in codes)),
            self.strided.eq(Cat(code == Pattern.STRIDED for code in codes)),
            self.saved.eq(Cat(code != Pattern.DEAD for code in codes)),
        ]
        return m
