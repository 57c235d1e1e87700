"""The TB that a `RecordWriter` has in hand: its registers, and what its states have in common.

The writer is one state machine in several files: `records` (the TB, its warps one by one),
`record_registers`, `record_scalars`, `shared_lines`.
"""

from amaranth.hdl import Cat, Const, Module, Signal, Value, ValueLike
from amaranth.lib import data, stream

from ...arch.geometry import (
    ADDRESS_BITS,
    MAX_REGISTERS,
    PC_BITS,
    PREDICATES,
    UNIFORMS,
    Geometry,
)
from ...interfaces.payloads import below
from ...interfaces.preemption import resident_tb
from ..formats.packer import stream_words

__all__ = ["Record"]


class Record:
    """Registers of the TB in hand, and of the warp in hand.

    Parameters
    ----------
    m : Module
        Of the writer; the state machine is built in it.
    g : Geometry
    accepted : View
        The command.
    chunk : stream of packer.chunk
        Where words are offered.
    """

    def __init__(self, m: Module, g: Geometry, accepted: data.View, chunk: stream.Interface):
        self.m, self.geometry, self.accepted, self.chunk = m, g, accepted, chunk
        # The TB in hand: its slot, its row of the TB table, its area, its warps.
        self.tb = Signal(below(g.tb_slots))
        self.row = Signal(resident_tb(g))
        self.side = Signal()
        self.increment = Signal()
        self.base_crc = Signal(32)
        self.registers_stay = Signal()
        self.lines_stay = Signal()
        self.staying_row = Signal(below(g.tb_slots))
        self.evict = Signal()
        self.area = Signal(ADDRESS_BITS)
        self.warps_saved = Signal(g.warps)
        self.warps_ready = Signal(g.warps)  # that can be saved
        self.live_warps = Signal(32)
        self.bank = Signal()
        self.tb_ended = Signal()
        self.group = Signal(range(g.shared_lines + 1))  # the bitmap word in hand
        # The warp in hand: registers to be saved, and what of its record is left.
        self.warp = Signal(below(g.warps))
        self.saved_registers = Signal(MAX_REGISTERS)
        self.valid_registers = Signal(MAX_REGISTERS)
        self.register_count = Signal(range(MAX_REGISTERS + 1))
        self.predicates = Signal(PREDICATES)
        self.uniforms = Signal(UNIFORMS)
        self.header_written = Signal()
        self.lanes_exited = Signal()
        self.stack_entry = Signal(6)
        self.entry_below = Signal(data.StructLayout({"pc": PC_BITS, "reconv": PC_BITS}))
        # Uniform registers of the record before; of the warp in hand all that are saved, and those
        # to be compared with the values kept.
        self.last_uniforms = Signal(UNIFORMS)
        self.uniforms_repeat = Signal()
        self.all_uniforms = Signal(UNIFORMS)
        self.compare_pending = Signal(UNIFORMS)
        # Facts for the `Closer`.
        self.metadata_words = Signal(stream_words(g))
        self.records = Signal(range(g.max_block_warps + 1))
        self.items = Signal(range(g.max_block_warps + 1))
        self.records_with_item = Signal(g.max_block_warps)
        self.registers_listed = Signal(32)
        self.lines_listed = Signal(range(g.shared_lines + 1))
        with m.If(chunk.valid & chunk.ready):
            m.d.sync += self.metadata_words.eq(self.metadata_words + chunk.payload.count)

    @property
    def restarting(self) -> Value:
        """TBs are saved as they were launched."""
        return self.accepted.options.restart if self.geometry.restart else Const(0)

    @property
    def evicting(self) -> Value:
        """Registers or lines that stayed of a TB that has left are saved."""
        return self.evict if self.geometry.in_place else Const(0)

    def emit(self, words: Value, count: ValueLike, last: ValueLike = 0, **tag: ValueLike):
        """Offer a chunk; `last` ends its piece, with the given fields of the tag.
        Returns its `ready`."""
        m, payload = self.m, self.chunk.payload
        m.d.comb += [self.chunk.valid.eq(1), Value.cast(payload.words).eq(Cat(words)),
                     payload.count.eq(count), payload.flush.eq(last)]
        m.d.comb += [payload.tag[name].eq(value) for name, value in tag.items()]
        return self.chunk.ready
