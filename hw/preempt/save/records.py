"""Record writer: the words of a TB's image that are not data, and the list of the data to be
fetched.

For each warp as it stops a record header, predicates, uniform registers and SIMT stack; then the
bitmap of shared lines (`arch.context`; Lin et al. IV-B and Fig. 13, left). The data (registers,
lines) follows each piece: the tag of its last chunk says what. What ends a TB is the `Closer`'s,
since it depends on how the registers were compressed.
"""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import (
    ADDRESS_BITS,
    MAX_REGISTERS,
    PC_BITS,
    PC_NONE,
    PREDICATES,
    UNIFORMS,
    Geometry,
)
from ...arch.image.context import (
    ENTRY_BYTES,
    HEADER_WORDS,
    STACK_WORDS,
    Capability,
    area_address,
    has,
    lacks,
    place_of,
)
from ...arch.isa.liveness import LIVE_BITS, LIVE_REST
from ...interfaces.payloads import below, rows_per_line
from ...interfaces.port import Port
from ...interfaces.preemption import resident_tb
from ...interfaces.preemption_port import RegisterFlagsPort, WarpSavePort
from ...interfaces.staying import staying_mask, staying_warp
from ...lib.bits import chosen, lowest_number, popcount, spread, window, without_lowest
from ..formats.accepted_command import accepted_command
from ..formats.kept_uniforms import KeptUniforms
from ..formats.packer import CHUNK_WORDS, chunk, stream_words
from ..formats.uniform_pairs import lowest_pair, uniform_pairs, without_lowest_pair
from .closer import ORIGIN, closing_job, tb_origin
from .committer import HEAD_BYTES
from .line_fetch import GROUP, line_item
from .record_words import words_of_entry, words_of_header
from .register_fetch import register_item
from .segment_writer import write_job

__all__ = ["piece", "save_target", "RecordWriter"]

def piece(g: Geometry) -> data.StructLayout:
    """Tag of the last chunk of a piece: what follows it.

    `rows` rows of shared memory, or the `registers` of one item, or what `closes` the TB.
    """
    return data.StructLayout({"rows": range(g.shared_lines * rows_per_line(g) + 1),
                              "registers": 1, "closes": 1})


def save_target(g: Geometry) -> data.StructLayout:
    """A TB to be saved, its slot and its row of the TB table, and the side on which it is; of an
    `increment` what is not in the base, whose checksum is `base_crc`.

    If its `registers` or `lines` stay on the SM, row `staying` of the `StayingTable` is its. With
    `evict` these are saved of a TB that has left: its `row` has entry, base and first line, and in
    place of its warp slots its warps; `base_crc` is the checksum of the image that this one
    completes.
    """
    return data.StructLayout({"tb": below(g.tb_slots), "row": resident_tb(g), "side": 1,
                              "increment": 1, "base_crc": 32, "registers": 1, "lines": 1,
                              "staying": below(g.tb_slots), "evict": 1})


class _Registers:
    """What is remembered of the TB in hand."""

    def __init__(self, g: Geometry):
        # The TB in hand: its slot, its row of the TB table, its area, and its warps saved so far.
        self.tb = Signal(below(g.tb_slots))
        self.row = Signal(resident_tb(g))
        self.side = Signal()
        self.increment = Signal()
        self.base_crc = Signal(32)
        self.registers_stay = Signal()
        self.lines_stay = Signal()
        self.staying = Signal(below(g.tb_slots))
        self.evict = Signal()
        self.area = Signal(ADDRESS_BITS)
        self.saved = Signal(g.warps)
        self.ready = Signal(g.warps)  # of its warps those that can be saved
        self.live_warps = Signal(32)
        self.bank = Signal()
        self.ended = Signal()
        # The warp in hand: registers to be saved, how many, and what of its record is left.
        self.warp = Signal(below(g.warps))
        self.mask = Signal(MAX_REGISTERS)
        self.valid = Signal(MAX_REGISTERS)
        self.count = Signal(range(MAX_REGISTERS + 1))
        self.predicates = Signal(PREDICATES)
        self.uniforms = Signal(UNIFORMS)
        self.headed = Signal()
        self.exited = Signal()
        # Uniform registers of the record before; of the warp in hand all that are saved, and those
        # to be compared with the values kept.
        self.before = Signal(UNIFORMS)
        self.repeats = Signal()
        self.all_uniforms = Signal(UNIFORMS)
        self.compared = Signal(UNIFORMS)
        self.entry = Signal(6)
        self.below = Signal(data.StructLayout({"pc": PC_BITS, "reconv": PC_BITS}))
        # The bitmap word in hand, and the lines listed.
        self.group = Signal(range(g.shared_lines + 1))
        self.lines = Signal(range(g.shared_lines + 1))
        # What the `Closer` is told.
        self.metadata_words = Signal(stream_words(g))
        self.records = Signal(range(g.max_block_warps + 1))
        self.items = Signal(range(g.max_block_warps + 1))
        self.listed = Signal(g.max_block_warps)
        self.registers = Signal(32)


class RecordWriter(wiring.Component):
    """Walks one TB at a time.

    Warps are taken as they stop; exited warps have no record. Of a warp that stands at a preemption
    point or a barrier a mechanism that saves what is live saves the registers, predicates and
    uniform registers that are live there and written, of one stopped between points all that are
    written. A TB none of whose warps is left when it would be completed (it finished, or was killed
    by a fault) has `ended`: its stream is closed, its entry gets no body. With `restart` every warp
    has a record, one that has exited too: it is as it was launched, and nothing else of the TB is
    saved (flushing: Chimera). A warp takes 2 cycles for
    its registers, one more for its choice if it has to be waited for, and then one for each
    predicate, pair of uniform registers and stack entry, while the data of the one before is
    fetched and written; its header goes with what follows it, and so do the last predicate with the
    first uniform registers and the last of these with the first stack entry, as far as four words
    reach. If it may repeat the uniform registers of the warp before, each pair of those takes a
    cycle more, in which they are compared, and only those that differ are written.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    accepted : in
        The command; constant while `idle` is low.
    target : stream, in
        The next TB; ready while idle.
    origin : closer.tb_origin, out
        What the TB that is taken in this cycle is.
    close : stream, out
        A TB whose records and lines are all listed.
    job : stream, out
        Units to be written: the stream and the entry's body.
    chunk : stream, out
        Words, with a `piece` as tag; each piece ends with a flush, the TB's last has `closes`.
    registers, lines : stream, out
        Data to be fetched, in the order of the pieces.
    idle, waiting : Signal, out
        No TB in hand; TB in hand has only running warps left.
    stopped, exited : Signal(warps), in
        Vectors: warps that can be saved; warps that have no record.
    warps : WarpSavePort, out
        Control state and uniform registers of the warp in hand.
    flags : RegisterFlagsPort, out
        Its valid and dirty registers and its predicates.
    lines_valid, lines_dirty : Signal(shared_lines), in
        Vectors: lines of shared memory that hold something; that are not in the base.
    keep : staying_mask, out
        A warp of a TB of which something stays, and its registers, which stay if the TB's do; to
        the `StayingMasks`.
    kept : staying_warp, out; mask : Signal(MAX_REGISTERS), in
        Those of a warp of which they are saved now.
    """

    accepted: data.View
    target: stream.Interface
    origin: data.View
    close: stream.Interface
    stopped: Signal
    exited: Signal
    warps: Port
    flags: Port
    lines_valid: Signal
    lines_dirty: Signal
    job: stream.Interface
    chunk: stream.Interface
    registers: stream.Interface
    lines: stream.Interface
    idle: Signal
    waiting: Signal
    keep: data.View
    kept: data.View
    mask: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "keep": Out(staying_mask(g)), "kept": Out(staying_warp(g)), "mask": In(MAX_REGISTERS),
            "accepted": In(accepted_command(g)), "target": In(stream.Signature(save_target(g))),
            "origin": Out(tb_origin()), "close": Out(stream.Signature(closing_job(g))),
            "stopped": In(g.warps), "exited": In(g.warps),
            "warps": Out(WarpSavePort(g)), "flags": Out(RegisterFlagsPort(g)),
            "lines_valid": In(g.shared_lines), "lines_dirty": In(g.shared_lines),
            "job": Out(stream.Signature(write_job(g))),
            "chunk": Out(stream.Signature(chunk(piece(g)))),
            "registers": Out(stream.Signature(register_item(g))),
            "lines": Out(stream.Signature(line_item(g))), "idle": Out(1), "waiting": Out(1),
        })

    @property
    def _restart(self) -> Value:
        """TBs are saved as they were launched."""
        return self.accepted.options.restart if self.geometry.restart else Const(0)

    def _evict(self, regs: _Registers) -> Value:
        """What stayed of a TB that has left is saved."""
        return regs.evict if self.geometry.in_place else Const(0)

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        regs = _Registers(g)

        select = self.warps.window.select
        asked = Signal(UNIFORMS)  # uniform registers of which a pair is read
        m.d.comb += asked.eq(Mux(regs.compared.any(), regs.compared, regs.uniforms))
        m.d.comb += [select.warp.eq(regs.warp), select.entry.eq(regs.entry),
                     self.flags.warp.eq(regs.warp),
                     self.flags.predicate_select.eq(lowest_number(regs.predicates)),
                     self.warps.uniform_select.eq(lowest_number(uniform_pairs(asked)))]
        sent = self.chunk.valid & self.chunk.ready
        with m.If(sent):
            m.d.sync += regs.metadata_words.eq(regs.metadata_words + self.chunk.payload.count)
        self._closing(m, regs)
        view = self._view(m, regs)
        with m.FSM():
            self._select(m, regs)
            self._record(m, regs, view)
            self._shared(m, regs)
            self._finish(m, regs)
        return m

    def _closing(self, m: Module, regs: _Registers):
        """Offer the facts that the `Closer` needs."""
        close = self.close.payload
        m.d.comb += [
            close.tb.eq(regs.tb), close.area.eq(regs.area), close.side.eq(regs.side),
            close.increment.eq(regs.increment), close.base_crc.eq(regs.base_crc),
            close.evict.eq(regs.evict), close.registers_stay.eq(regs.registers_stay),
            close.lines_stay.eq(regs.lines_stay),
            close.bank.eq(regs.bank), close.ended.eq(regs.ended),
            close.written.eq(regs.saved.any()),
            close.live_warps.eq(regs.live_warps), close.records.eq(regs.records),
            close.listed.eq(regs.listed), close.items.eq(regs.items),
            close.registers.eq(regs.registers),
            close.metadata_words.eq(regs.metadata_words), close.lines.eq(regs.lines),
        ]
        m.d.comb += close.entry.eq(regs.row.entry)

    def _emit(self, m: Module, words: Value, count: ValueLike, last: ValueLike = 0,
              **tag: ValueLike):
        """Offer a chunk; `last` ends its piece, with the given fields of the tag.
        Returns its `ready`."""
        payload = self.chunk.payload
        m.d.comb += [self.chunk.valid.eq(1), Value.cast(payload.words).eq(Cat(words)),
                     payload.count.eq(count), payload.flush.eq(last)]
        m.d.comb += [payload.tag[name].eq(value) for name, value in tag.items()]
        return self.chunk.ready

    def _select(self, m: Module, regs: _Registers):
        """Take a TB, then its warps one by one as they stop."""
        g, row, s = self.geometry, regs.row, self.accepted
        running = Signal(g.warps)
        ready = regs.ready
        evict = self._evict(regs).replicate(g.warps)
        # They have no record.
        gone = self.exited & ~self._restart.replicate(g.warps) & ~evict
        m.d.comb += [running.eq(row.warps & ~regs.saved & ~gone),
                     ready.eq(running & (self.stopped | self.exited | evict))]
        with m.State("IDLE"):
            m.d.comb += [
                self.idle.eq(1), self.target.ready.eq(1),
                self.origin.valid.eq(self.target.valid), self.origin.bank.eq(regs.bank),
                *(self.origin[name].eq(self.target.payload.row[name]) for name in ORIGIN)]
            m.d.sync += [
                regs.tb.eq(self.target.payload.tb),
                row.eq(self.target.payload.row), regs.saved.eq(0),
                *(regs_of.eq(self.target.payload[name]) for name, regs_of in (
                    ("side", regs.side), ("increment", regs.increment),
                    ("base_crc", regs.base_crc))),
                regs.live_warps.eq(0), regs.metadata_words.eq(0),
                regs.registers.eq(0), regs.lines.eq(0), regs.group.eq(0), regs.records.eq(0),
                regs.items.eq(0), regs.listed.eq(0), regs.ended.eq(0), regs.before.eq(0)]
            if g.in_place:
                m.d.sync += [regs_of.eq(self.target.payload[name]) for name, regs_of in (
                    ("registers", regs.registers_stay), ("lines", regs.lines_stay),
                    ("staying", regs.staying), ("evict", regs.evict))]
            with m.If(self.target.valid):
                m.next = "OPEN"
        with m.State("OPEN"):
            m.d.sync += regs.area.eq(area_address(
                g, s.ccb_base, s.area_bytes, place_of(g, row.entry, regs.side)))
            m.next = "WARP"
        with m.State("WARP"):
            m.d.comb += self.waiting.eq(running.any() & ~ready.any())
            m.d.sync += [regs.warp.eq(lowest_number(ready)), regs.entry.eq(0)]
            with m.If(ready.any()):
                m.next = "VIEW"
                with m.If(~regs.saved.any()):
                    m.next = "STREAM"
            with m.Elif(~running.any()):
                m.next = "END"
                with m.If(~regs.saved.any()):
                    m.d.sync += regs.ended.eq(1)
                    m.next = "CLOSE"
                with m.Elif(s.lines != 0):
                    m.next = "BITMAP"
        with m.State("STREAM"):
            m.d.comb += [self.job.payload.address.eq(regs.area),
                         self.job.payload.entry.eq(regs.row.entry),
                         self.job.payload.side.eq(regs.side), self.job.valid.eq(1)]
            with m.If(self.job.ready):
                m.next = "VIEW"

    def _record(self, m: Module, regs: _Registers, view: data.View):
        """List the registers of one warp, and write its record."""
        s, item = self.accepted, self.registers.payload
        live = Signal(MAX_REGISTERS)
        everything = Signal()  # the vector says nothing
        wanted = Signal(MAX_REGISTERS)  # registers that a whole image has
        bits = Signal(LIVE_BITS)
        scalars = Signal(PREDICATES + UNIFORMS)  # live predicates, then uniform registers
        saved = ((scalars | s.options.scramble.replicate(len(scalars)))
                 & ~self._restart.replicate(len(scalars)))
        uniforms = self.warps.uniforms_written & saved[PREDICATES:]
        m.d.comb += [
            everything.eq(view.between | lacks(s.options.mechanism, Capability.SAVES_LIVE_ONLY)),
            bits.eq(view.live_vector | s.allocated | everything.replicate(LIVE_BITS)),
            scalars.eq(Cat(bits[LIVE_BITS - 1 - number] for number in range(len(scalars)))),
            live.eq(Cat(view.live_vector[:LIVE_REST],
                        view.live_vector[LIVE_REST].replicate(MAX_REGISTERS - LIVE_REST))
                    | view.between.replicate(MAX_REGISTERS)),
            wanted.eq(s.allocated & (
                live & (self.flags.valid | s.options.scramble.replicate(MAX_REGISTERS))
                | spread(lacks(s.options.mechanism, Capability.SAVES_LIVE_ONLY), MAX_REGISTERS))),
        ]
        with m.State("VIEW"):
            m.d.sync += [regs.valid.eq(self.flags.valid),
                         regs.predicates.eq(self.flags.predicates_written & saved[:PREDICATES]),
                         regs.uniforms.eq(uniforms), regs.all_uniforms.eq(uniforms),
                         regs.headed.eq(0), regs.mask.eq(wanted),
                         regs.exited.eq(view.live != view.launched),
                         regs.below.pc.eq(PC_NONE), regs.below.reconv.eq(PC_NONE)]
            with m.If(regs.increment):
                m.d.sync += regs.mask.eq(wanted & ~(self.flags.valid & ~self.flags.dirty))
            with m.If(self._restart):
                m.d.sync += regs.mask.eq(0)
            if self.geometry.in_place:
                self._stay(m, regs, view, wanted)
            m.next = "ITEM"
        with m.State("ITEM"):
            count, some = popcount(regs.mask), regs.mask.any()
            m.d.comb += [
                item.warp.eq(regs.warp), item.base.eq(view.base),
                item.mask.eq(regs.mask), item.valid.eq(regs.valid),
                item.raw.eq(lacks(s.options.mechanism, Capability.COMPRESSES)),
                item.counted.eq(view.live), item.scramble.eq(s.options.scramble),
                item.of.record.eq(regs.records), item.opens.eq(regs.items == 0),
                item.of.bank.eq(regs.bank), item.stays.eq(self._evict(regs)),
                self.registers.valid.eq(some)]
            m.d.sync += regs.count.eq(count)
            with m.If(self.registers.ready | ~some):
                m.d.sync += [regs.registers.eq(regs.registers + count),
                             regs.records.eq(regs.records + 1),
                             regs.items.eq(regs.items + some),
                             regs.listed.eq(regs.listed | (some << regs.records))]
                m.next = "REST"
                self._repeat(m, regs)
        wrong = Signal.like(scalars)  # written inverted
        values = [Signal(32, name=f"value_{k}") for k in range(2)]
        m.d.comb += wrong.eq(spread(s.options.scramble, len(scalars)) & ~scalars)
        m.d.comb += [written.eq(value ^ spread(inverted, 32)) for written, value, inverted in zip(
            values, self.warps.uniform_values,
            wrong[PREDICATES:].word_select(self.warps.uniform_select, 2), strict=True)]
        written = self._keep(m, regs, values)
        self._rest(m, regs, view, wrong[:PREDICATES], values, written)

    def _stay(self, m: Module, regs: _Registers, view: data.View, wanted: Value):
        """Have a warp remembered of whose TB something stays, and the registers that stay if they
        do; or save what has stayed."""
        s = self.accepted
        with m.If(regs.evict):
            m.d.sync += [
                regs.valid.eq(self.mask), regs.predicates.eq(0), regs.uniforms.eq(0),
                regs.all_uniforms.eq(0),
                regs.mask.eq(Mux(regs.registers_stay, Mux(
                    lacks(s.options.mechanism, Capability.SAVES_LIVE_ONLY) | s.options.scramble,
                    s.allocated, self.mask), 0))]
        with m.Elif(regs.registers_stay | regs.lines_stay):
            m.d.comb += self.keep.valid.eq(1)
            with m.If(regs.registers_stay):
                m.d.sync += regs.mask.eq(0)
        m.d.comb += [
            self.keep.of.row.eq(regs.staying), self.keep.of.warp.eq(view.block_warp),
            self.keep.mask.eq(wanted & self.flags.valid),
            self.kept.row.eq(regs.staying), self.kept.warp.eq(regs.warp),
        ]

    def _view(self, m: Module, regs: _Registers):
        """Return the control state that is saved of the warp in hand: its own, or that of its
        launch, or of what has stayed of it any."""
        view = Signal.like(self.warps.window.view)
        m.d.comb += view.eq(self.warps.window.view)
        with m.If(self._evict(regs)):
            m.d.comb += [view.live.eq(~0), view.launched.eq(~0), view.waiting.eq(0),
                         view.depth.eq(1), view.pc.eq(0), view.mask.eq(~0),
                         view.reconv.eq(PC_NONE), view.block_warp.eq(regs.warp),
                         view.base.eq(regs.row.base + regs.warp * self.accepted.registers)]
        with m.Elif(self._restart):
            m.d.comb += [view.live.eq(view.launched), view.waiting.eq(0), view.depth.eq(1),
                         view.pc.eq(0), view.mask.eq(view.launched), view.reconv.eq(PC_NONE)]
        return view

    def _repeat(self, m: Module, regs: _Registers):
        """Leave the registers of a warp; have its uniform registers compared with those of the
        record before if it may repeat those."""
        m.d.sync += regs.repeats.eq(0)
        if self.geometry.tb_compressor:
            with m.If(has(self.accepted.options.mechanism, Capability.FOLLOWS) & regs.before.any()
                      & ~(regs.before & ~regs.uniforms).any()):
                m.d.sync += [regs.repeats.eq(1), regs.compared.eq(regs.uniforms)]
                m.next = "COMPARE"

    def _keep(self, m: Module, regs: _Registers, values: Sequence[Value]):
        """Keep the uniform registers that are read for the next record, and compare them with those
        of the record before. Returns the vector of those of a pair that are written."""
        written = Signal(2)
        if not self.geometry.tb_compressor:
            return written
        m.submodules.kept_uniforms = kept = KeptUniforms()
        select = self.warps.uniform_select
        among = regs.compared.word_select(select, 2)  # of the pair those to be compared
        same = Signal(2)
        rest = without_lowest_pair(regs.compared)
        m.d.comb += [
            kept.select.eq(select), kept.pair.eq(select), kept.write.eq(among | written),
            Value.cast(kept.new).eq(Cat(values)),
            same.eq(Cat(kept.values[k] == values[k] for k in range(2))
                    & among & regs.before.word_select(select, 2)),
        ]
        with m.State("COMPARE"):
            m.d.sync += [regs.compared.eq(rest),
                         regs.uniforms.word_select(select, 2).eq(
                             regs.uniforms.word_select(select, 2) & ~same)]
            with m.If(~rest.any()):
                m.next = "REST"
        return written

    def _rest(self, m: Module, regs: _Registers, view: data.View, wrong: Value,
              values: Sequence[Value], written: Signal):
        """Write a record: a predicate, a pair of uniform registers and a stack entry a cycle, as
        far as they follow one another in four words; the first chunk begins with the header.

        The predicates in the vector `wrong` are written inverted; `values` are those of the pair of
        uniform registers, and `written` becomes which of them are written.
        """
        predicate = Signal()  # one is written
        pair = Signal(2)  # of a pair of uniform registers those that are to be saved
        uniform = Signal(range(3))  # how many of them are written
        stack = Signal()
        head = Signal(range(CHUNK_WORDS))  # words of the header
        size = Signal(range(STACK_WORDS + 1))  # words of the stack entry
        before = Signal(range(CHUNK_WORDS + 1))  # words in front of it
        count = Signal(range(CHUNK_WORDS + 1))
        last = Signal()
        others = Signal.like(regs.ready)  # warps that can be saved besides
        predicates = without_lowest(regs.predicates)
        uniforms = Signal(UNIFORMS)  # left after this chunk
        header, header_words = words_of_header(m, self.geometry, view, regs.exited,
                                               regs.predicates, regs.uniforms, regs.repeats)
        entry, entry_words = words_of_entry(m, self.geometry, view, regs.below)
        low, high = values
        lanes = self.flags.predicate_value ^ spread(
            wrong.bit_select(self.flags.predicate_select, 1), self.geometry.warp_size)
        # From its last word to the first: a stack entry, and what comes in front of it.
        last_words, with_uniforms, with_predicate, words = (
            Signal(32 * CHUNK_WORDS, name=f"words_{k}") for k in range(4))
        m.d.comb += [
            last_words.eq(entry),
            with_uniforms.eq(Mux(uniform[1], Cat(low, high, last_words), Mux(
                uniform[0], Cat(Mux(pair[0], low, high), last_words), last_words))),
            with_predicate.eq(Mux(predicate, Cat(
                lanes, Const(0, 32 - self.geometry.warp_size), with_uniforms), with_uniforms)),
            words.eq(chosen({number: Cat(header[:32 * number], with_predicate)
                             for number in range(HEADER_WORDS + 1)}, head)),
            head.eq(Mux(regs.headed, 0, header_words)),
            size.eq(entry_words), predicate.eq(regs.predicates.any()),
            pair.eq(lowest_pair(regs.uniforms)),
            uniform.eq(Mux(predicates.any() | (head + predicate + pair[0] + pair[1] > CHUNK_WORDS),
                           0, pair[0] + pair[1])),
            uniforms.eq(Mux(uniform != 0, without_lowest_pair(regs.uniforms), regs.uniforms)),
            before.eq(head + predicate + uniform),
            stack.eq(~predicates.any() & ~uniforms.any() & (before + size <= CHUNK_WORDS)),
            count.eq(before + Mux(stack & (view.depth != 0), size, 0)),
            last.eq(stack & (regs.entry + 1 >= view.depth)),
            others.eq(regs.ready & ~(1 << regs.warp)),
        ]
        with m.State("REST"):
            with m.If(self._emit(m, words, count, last=last,
                                 registers=last & (regs.count != 0))):
                m.d.sync += regs.headed.eq(1)
                with m.If(predicate):
                    m.d.sync += regs.predicates.eq(predicates)
                m.d.sync += regs.uniforms.eq(uniforms)
                with m.If(uniform != 0):
                    m.d.comb += written.eq(pair)
                with m.If(stack):
                    m.d.sync += [regs.entry.eq(regs.entry + 1), regs.below.pc.eq(view.pc),
                                 regs.below.reconv.eq(view.reconv)]
                with m.If(last):
                    m.d.sync += [regs.saved.eq(regs.saved | (1 << regs.warp)),
                                 regs.live_warps.eq(regs.live_warps | (1 << view.block_warp))]
                    m.d.sync += regs.before.eq(regs.all_uniforms)
                    m.next = "WARP"
                    with m.If(others.any()):
                        m.d.sync += [regs.warp.eq(lowest_number(others)), regs.entry.eq(0)]
                        m.next = "VIEW"

    def _shared(self, m: Module, regs: _Registers):
        """Write the bitmap of the shared lines, then list the lines."""
        g, s, item = self.geometry, self.accepted, self.lines.payload
        first = Signal(range(g.shared_lines + 1))  # first line of the group, in the SM
        left = Signal(range(g.shared_lines + 1))  # lines from there to the TB's end
        bits = Signal(GROUP)  # lines saved
        written = Signal(GROUP)  # lines that are valid
        dirty = Signal(GROUP)
        total = Signal.like(regs.lines)  # lines listed up to here
        last = Signal()  # the last group
        # They are not in this image.
        stays = regs.lines_stay ^ regs.evict if g.in_place else Const(0)
        m.d.comb += [
            first.eq(regs.row.first_line + regs.group * GROUP),
            left.eq(s.lines - regs.group * GROUP),
            last.eq(left <= GROUP), written.eq(window(m, self.lines_valid, first, GROUP)),
            dirty.eq(window(m, self.lines_dirty, first, GROUP)),
            bits.eq(Mux(last, (Const(1, 1) << left[:6]) - 1, ~Const(0, GROUP))
                    & (written | spread(
                        lacks(s.options.mechanism, Capability.SAVES_LIVE_ONLY), GROUP))
                    & ~spread(self._restart | stays, GROUP)
                    & ~(written & ~dirty & regs.increment.replicate(GROUP))),
            total.eq(regs.lines + popcount(bits)),
        ]
        with m.State("BITMAP"):
            with m.If(self._emit(m, bits, 1, last=last, rows=total * rows_per_line(g))):
                m.d.sync += [regs.lines.eq(total), regs.group.eq(Mux(last, 0, regs.group + 1))]
                with m.If(last):
                    m.next = "LINES"
        with m.State("LINES"):
            m.d.comb += [item.line.eq(first), item.mask.eq(bits), item.valid.eq(written),
                         self.lines.valid.eq(bits.any())]
            with m.If(self.lines.ready | ~bits.any()):
                m.d.sync += regs.group.eq(regs.group + 1)
                with m.If(last):
                    m.next = "END"

    def _finish(self, m: Module, regs: _Registers):
        """Leave the rest of the TB to the `Closer`;
        the entry has a body unless the TB has ended meanwhile."""
        s, skip = self.accepted, HEAD_BYTES % self.geometry.bus_bytes
        with m.State("END"):
            m.d.sync += regs.ended.eq(~(regs.row.warps & ~self.exited).any() & ~self._evict(regs))
            with m.If(self._emit(m, Const(0), 0, last=1, closes=1)):
                m.next = "BODY"
        with m.State("BODY"):
            m.d.comb += [self.job.valid.eq(~regs.ended), self.job.payload.entry.eq(regs.row.entry),
                         self.job.payload.side.eq(regs.side),
                         self.job.payload.address.eq(
                             s.ccb_base + HEAD_BYTES - skip + ENTRY_BYTES * (
                                 place_of(self.geometry, regs.row.entry, regs.side)))]
            with m.If(regs.ended | self.job.ready):
                m.next = "CLOSE"
        with m.State("CLOSE"):
            m.d.comb += self.close.valid.eq(1)
            with m.If(self.close.ready):
                m.d.sync += regs.bank.eq(~regs.bank)
                m.next = "IDLE"
