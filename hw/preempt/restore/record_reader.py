"""Record reader: receives a kernel's record and judges it."""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...arch.image.context import CCB_RECORD, VERSION, State
from ...interfaces.payloads import kernel_info, unusable_entries
from ...interfaces.port import Port
from ...lib.bits import popcount
from ..formats.checksum import ChecksumPort, checksum_of
from ..formats.packer import CHUNK_WORDS
from ..save.kernel_record import RECORD_ROWS

__all__ = ["RecordReader"]

_CRC_WORD = CCB_RECORD["crc"].offset // 32


class RecordReader(wiring.Component):
    """Receives the four rows of a record (`arch.context.CCB_RECORD`).

    A record is bad

    * if its state is not `State.COMPLETE`;
    * if its checksum, its format version or its geometry hash is wrong;
    * if its grid, code or constants are not those of the kernel;
    * if the number of complete entries is not that of TBs launched and not completed;
    * if a complete entry is one that the kernel may not use, or on a side that there is not;
    * if the TB to be launched next is none of the grid.

    `CHUNK_WORDS` words are taken per cycle, as soon as they are there.

    Parameters
    ----------
    g : Geometry
    shared : bool
        Use a checksum outside, which the block has a port for, not one of its own.

    Attributes
    ----------
    clear : Signal, in
        Forget everything; wait for a record.
    kernel : in
        The kernel that it should be of.
    words, level : in
    take : Signal, out
        From an `Unpacker`; words are taken four at a time until the record is in.
    full : Signal, out
        It is in and judged.
    bad : Signal, out
        It is not believed.
    record : Signal, out
        The fields of the record.
    checksum : ChecksumPort, out
        If `shared`.
    """

    clear: Signal
    kernel: data.View
    words: data.View
    level: Signal
    take: Signal
    full: Signal
    bad: Signal
    record: data.View
    checksum: Port

    def __init__(self, g: Geometry, *, shared: bool = False):
        self.geometry, self.shared = g, shared
        super().__init__({
            **({"checksum": Out(ChecksumPort(CHUNK_WORDS))} if shared else {}),
            "clear": In(1), "kernel": In(kernel_info(g)),
            "words": In(data.ArrayLayout(32, g.window_words)),
            "level": In(range(g.window_words + 1)),
            "take": Out(range(CHUNK_WORDS + 1)), "full": Out(1), "bad": Out(1),
            "record": Out(CCB_RECORD),
        })

    def elaborate(self, platform: Any):
        m = Module()
        checksum = checksum_of(m, self, CHUNK_WORDS)
        row = Signal(range(RECORD_ROWS + 1), init=RECORD_ROWS)
        row_taken = Signal()
        wrong = Signal()  # a row that has come says something else than it should
        m.d.comb += [
            self.full.eq(row == RECORD_ROWS),
            row_taken.eq(~self.full & (self.level >= CHUNK_WORDS)),
            checksum.start.eq(self.clear), checksum.valid.eq(row_taken),
            checksum.data.eq(Cat(Mux((row == 0) & (k == _CRC_WORD), 0, self.words[k])
                                 for k in range(CHUNK_WORDS))),
            self.bad.eq(wrong | self._wrong(m) | (checksum.crc != self.record.crc)),
        ]
        with m.If(row_taken):
            m.d.comb += self.take.eq(CHUNK_WORDS)
            m.d.sync += wrong.eq(self._wrong_row(row) | (row != 0) & wrong)
            m.d.sync += [row.eq(row + 1), Value.cast(self.record).word_select(
                row[:2], 32 * CHUNK_WORDS).eq(Value.cast(self.words)[:32 * CHUNK_WORDS])]
        with m.If(self.clear):
            m.d.sync += row.eq(0)
        return m

    def _wrong_row(self, row: Value) -> Value:
        """Return whether the row that comes does not say what there is no choice of: so that is
        not kept."""
        part, kernel = 32 * CHUNK_WORDS, self.kernel
        words = Value.cast(self.words)[:part]
        head, _, grid, end = (data.View(CCB_RECORD, Cat(
            Const(0, part * k), words, Const(0, CCB_RECORD.size - part * (k + 1))))
            for k in range(RECORD_ROWS))
        same = ("grid_x", "grid_y", "grid_z", "code_base", "const_base")
        return Array([
            (head.state != State.COMPLETE) | (head.version != VERSION) | (head.zero != 0),
            Const(0), Cat(grid[name] != kernel[name] for name in same).any(),
            (end.geometry_hash != self.geometry.hash) | (end.zeros != 0)])[row[:2]]

    def _wrong(self, m: Module) -> Value:
        """Return whether it says what cannot be of the kernel."""
        g, record, kernel = self.geometry, self.record, self.kernel
        outside = Signal()  # the next TB is none of the grid
        m.d.comb += outside.eq(Mux(
            record.exhausted,
            (record.next_x != 0) | (record.next_y != 0) | (record.next_z != kernel.grid_z),
            (record.next_x >= kernel.grid_x) | (record.next_y >= kernel.grid_y)
            | (record.next_z >= kernel.grid_z)))
        beyond = (record.saved >> g.context_entries).any()
        if g.spare_entries:
            beyond |= (record.saved & unusable_entries(g, kernel.entries)).any()
        return (
            beyond | outside
            | (record.sides & ~(record.saved if g.checkpoints else 0)).any()
            | (record.launched - record.completed != popcount(record.saved[:g.context_entries])))
