"""Collector: encoded registers are sorted into rows and packed words; codes and sizes are noted.

::

    encoded --+--> something of each lane: rows --------------> rows
              +--> uniform, strided --> Packer ----> queue --> words
              +--> last of an item ---------------------------> items (how many rows it has)
              +--> rows of the encoding table, words of each TB
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import MAX_REGISTERS, Geometry
from ...arch.image.encodings import CODE_BITS, SMALLEST_GROUP, Encoding
from ...lib.bits import one_hot, spread_each
from ...lib.stream_queue import StreamQueue
from ..compress.register_encoder import by_lane, encoded_beat, shares
from ..formats.packer import Packer, packed, register_words, stream_words
from .register_fetch import record_number, register_tag

__all__ = ["rows_ahead", "kept_row", "item_rows", "tb_data", "Collector"]

ITEMS_AHEAD = 16
"""Warps whose registers are all read and wait to be written."""


def rows_ahead(g: Geometry) -> int:
    """Rows read while the bus is busy with earlier ones, or with shared lines: the wider it is, the
    sooner it has taken those."""
    return max(16, 4 * g.chunk_words)


def kept_row(g: Geometry) -> data.StructLayout:
    """Words that are kept of a row of lanes: the first `lane_words` of `words`.

    In the `first` row of a register whose lanes share bits the word `shared` comes before them."""
    return data.StructLayout({"words": data.ArrayLayout(32, g.lanes), "shared": 32,
                              "code": Encoding, "first": 1})


def item_rows(g: Geometry):
    """Shape of the number of rows of a warp's registers."""
    return range(MAX_REGISTERS * g.beats + 1)


def tb_data(g: Geometry) -> data.StructLayout:
    """Counts of a TB that is collected: warps whose registers are all in,
    and the words of all its registers."""
    return data.StructLayout({"items": range(g.max_block_warps + 1), "words": stream_words(g)})


class Collector(wiring.Component):
    """Takes an encoded beat a cycle (two cycles for 8 words of a uniform or strided register, but
    for a wide bus).

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    input : stream, in
        Output of a `RegisterEncoder` that carries a `register_tag`.
    rows : stream, out
        Rows of the registers that keep something of each lane, in order.
    words : stream, out
        Words of the uniform and strided registers of each item, in groups, ended by a flush
        even if there are none; all words of an item can be held, whether they are taken or not.
    items : stream, out
        Rows of each item, once its last register has come: not after the first row of the next
        item.
    select : in; vector : Signal, out
        Row of the encoding table of a record, combinational; right once its TB's `collected` has
        counted it.
    collected : array of tb_data, out
        Counts of the TB of each bank.
    clear : Signal, in
        Banks (bit vector) whose TB is done with.
    busy : Signal, out
    """

    input: stream.Interface
    rows: stream.Interface
    words: stream.Interface
    items: stream.Interface
    select: data.View
    vector: Signal
    collected: data.View
    clear: Signal
    busy: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "input": In(stream.Signature(encoded_beat(g, register_tag(g)))),
            "rows": Out(stream.Signature(kept_row(g))),
            "words": Out(stream.Signature(packed(g.chunk_words))),
            "items": Out(stream.Signature(item_rows(g))),
            "select": In(record_number(g)), "vector": Out(CODE_BITS * MAX_REGISTERS),
            "collected": Out(data.ArrayLayout(tb_data(g), 2)), "clear": In(2), "busy": Out(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, entering = self.geometry, self.input.payload
        most = register_words(g)
        longest = 2 * g.warp_size // SMALLEST_GROUP  # words of a uniform or strided register
        groups = g.regs_per_thread * longest // g.chunk_words + 2
        m.submodules.rows = rows = StreamQueue(kept_row(g), rows_ahead(g), buffered=True)
        m.submodules.packer = packer = Packer(g.chunk_words, words_in=most)
        m.submodules.words = words = StreamQueue(packed(g.chunk_words), groups, buffered=True)
        m.submodules.items = items = StreamQueue(item_rows(g), ITEMS_AHEAD)
        wiring.connect(m, packer.beat, words.input)
        for name, queue in (("rows", rows), ("words", words), ("items", items)):
            wiring.connect(m, queue.output, wiring.flipped(getattr(self, name)))

        lanewise = Signal()  # the row, not words of groups, is kept
        ends = Signal()  # the last register of an item
        second = Signal()  # the first compressed words were taken
        more = Signal()  # these are the first of more than are taken in a cycle
        row_goes = Signal()
        chunk_goes = Signal()
        item_goes = Signal()
        register_taken = Signal()  # the register is taken
        small = Value.cast(entering.words)[:32 * longest]
        row = rows.input.payload
        count = Signal(item_rows(g))
        m.d.comb += [
            lanewise.eq(by_lane(entering.code)),
            ends.eq(entering.last & entering.tag.ends),
            more.eq(~lanewise & (entering.count > most) & ~second),
            row_goes.eq(~lanewise | rows.input.ready),
            chunk_goes.eq((lanewise & ~ends) | packer.chunk.ready),
            item_goes.eq(~ends | items.input.ready),
            self.input.ready.eq(row_goes & chunk_goes & item_goes & ~more),
            register_taken.eq(self.input.valid & self.input.ready),
            rows.input.valid.eq(register_taken & lanewise),
            Value.cast(row.words).eq(Value.cast(entering.words)[:32 * g.lanes]),
            row.shared.eq(entering.shared), row.code.eq(entering.code),
            row.first.eq(entering.first),
            items.input.valid.eq(register_taken & ends), items.input.payload.eq(count + lanewise),
            packer.chunk.valid.eq(self.input.valid & (~lanewise | ends) & row_goes & item_goes),
            Value.cast(packer.chunk.payload.words).eq(small.word_select(second, 32 * most)),
            packer.chunk.payload.count.eq(Mux(
                lanewise, 0, Mux(more, most, entering.count - Mux(second, most, 0)))),
            packer.chunk.payload.flush.eq(ends & ~more),
            self.busy.eq(packer.beat.valid | rows.output.valid | words.output.valid
                         | items.output.valid),
        ]
        with m.If(packer.chunk.valid & packer.chunk.ready):
            m.d.sync += second.eq(more)
        with m.If(register_taken):
            m.d.sync += count.eq(Mux(ends, 0, count + lanewise))
        self._note(m, register_taken, ends)
        return m

    def _note(self, m: Module, register_taken: Value, ends: Value):
        """Keep the rows of the encoding table; count words and items of both banks."""
        g, entering = self.geometry, self.input.payload
        rows = 1 << record_number(g).size
        m.submodules.vectors = vectors = Memory(
            shape=data.ArrayLayout(CODE_BITS, MAX_REGISTERS), depth=rows, init=[])
        m.submodules.masks = masks = Memory(shape=MAX_REGISTERS, depth=rows, init=[])
        write = vectors.write_port(granularity=1)
        last = masks.write_port()
        read = vectors.read_port(domain="comb")
        mask = masks.read_port(domain="comb")
        of = entering.tag.of
        arrives = Signal(MAX_REGISTERS)  # the register that has come, one bit per register
        listed = Signal(MAX_REGISTERS)  # those of the row up to here
        updated = Signal(MAX_REGISTERS)
        words = Signal(range(len(entering.words) + 1))  # of the beat
        m.d.comb += [
            arrives.eq(Mux(entering.last, one_hot(entering.tag.register, MAX_REGISTERS), 0)),
            updated.eq(listed | arrives),
            words.eq(entering.count + (entering.first & by_lane(entering.code)
                                       & shares(entering.code))),
            write.addr.eq(of), write.en.eq(Mux(register_taken, arrives, 0)),
            Value.cast(write.data).eq(Value.cast(entering.code).replicate(MAX_REGISTERS)),
            last.addr.eq(of), last.data.eq(updated), last.en.eq(register_taken & ends),
            read.addr.eq(self.select), mask.addr.eq(self.select),
            self.vector.eq(Value.cast(read.data) & spread_each(mask.data, CODE_BITS)),
        ]
        with m.If(register_taken):
            m.d.sync += listed.eq(Mux(ends, 0, updated))
            for bank in range(2):
                with m.If(of.bank == bank):
                    m.d.sync += [self.collected[bank].words.eq(self.collected[bank].words + words),
                                 self.collected[bank].items.eq(self.collected[bank].items + ends)]
        for bank in range(2):
            with m.If(self.clear[bank]):
                m.d.sync += self.collected[bank].eq(0)
