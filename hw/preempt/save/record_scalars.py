"""The words that a `RecordWriter` writes of a warp: header, predicates, uniform registers, stack.

A predicate, a pair of uniform registers and a stack entry go in a cycle, as far as they follow one
another in four words.
"""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import data

from ...arch.geometry import PREDICATES, UNIFORMS
from ...arch.image.context import HEADER_WORDS, STACK_WORDS, Capability, has
from ...interfaces.port import Port
from ...lib.bits import chosen, lowest_number, spread, without_lowest
from ..formats.kept_uniforms import KeptUniforms
from ..formats.packer import CHUNK_WORDS
from ..formats.uniform_pairs import lowest_pair, uniform_pairs, without_lowest_pair
from .record import Record
from .record_words import words_of_entry, words_of_header

__all__ = ["ScalarStates"]


class ScalarStates:
    """Writes the record of the warp in hand.

    Parameters
    ----------
    record : Record
    view : View
        Control state of the warp that is saved.
    warps : WarpSavePort
        Its uniform registers.
    flags : RegisterFlagsPort
        Its predicates.
    live_scalars : Value
        Vector: live predicates, then uniform registers. With ``options.scramble`` the others are
        written inverted.
    """

    def __init__(self, record: Record, view: data.View, warps: Port, flags: Port,
                 live_scalars: Value):
        self.record, self.view, self.warps, self.flags = record, view, warps, flags
        self.inverted = Signal.like(live_scalars)
        self.values = [Signal(32, name=f"value_{k}") for k in range(2)]  # of a pair of uniforms
        m, count = record.m, len(live_scalars)
        read_uniforms = Signal(UNIFORMS)  # of which a pair is read
        m.d.comb += [
            read_uniforms.eq(Mux(record.compare_pending.any(), record.compare_pending,
                                 record.uniforms)),
            warps.uniform_select.eq(lowest_number(uniform_pairs(read_uniforms))),
            flags.predicate_select.eq(lowest_number(record.predicates)),
            self.inverted.eq(
                spread(record.accepted.options.scramble, count) & ~live_scalars),
            *(value.eq(read ^ spread(inverted, 32)) for value, read, inverted in zip(
                self.values, warps.uniform_values,
                self.inverted[PREDICATES:].word_select(warps.uniform_select, 2), strict=True))]

    def repeat(self):
        """Go on from the registers of a warp. Its uniform registers are compared with those of the
        record before if it may repeat those."""
        record = self.record
        m, last = record.m, record.last_uniforms
        m.d.sync += record.uniforms_repeat.eq(0)
        m.next = "REST"
        if record.geometry.tb_compressor:
            with m.If(has(record.accepted.options.mechanism, Capability.FOLLOWS) & last.any()
                      & ~(last & ~record.uniforms).any()):
                m.d.sync += [record.uniforms_repeat.eq(1),
                             record.compare_pending.eq(record.uniforms)]
                m.next = "COMPARE"

    def build_compare(self) -> Signal:
        """Build the state that compares uniform registers with those of the record before, which
        are kept as they are read. Return the vector of those of a pair that are written."""
        record, select = self.record, self.warps.uniform_select
        m = record.m
        pair_written = Signal(2)
        if not record.geometry.tb_compressor:
            return pair_written
        m.submodules.kept_uniforms = kept = KeptUniforms()
        pair_compared = record.compare_pending.word_select(select, 2)
        pair_same = Signal(2)
        others_pending = without_lowest_pair(record.compare_pending)
        m.d.comb += [
            kept.select.eq(select), kept.pair.eq(select),
            kept.write.eq(pair_compared | pair_written),
            Value.cast(kept.new).eq(Cat(self.values)),
            pair_same.eq(Cat(kept.values[k] == self.values[k] for k in range(2))
                         & pair_compared & record.last_uniforms.word_select(select, 2)),
        ]
        # The header says which uniform registers follow: they are compared before it is written.
        with m.State("COMPARE"):
            pair = record.uniforms.word_select(select, 2)
            m.d.sync += [record.compare_pending.eq(others_pending), pair.eq(pair & ~pair_same)]
            with m.If(~others_pending.any()):
                m.next = "REST"
        return pair_written

    def build_rest(self, pair_written: Signal):
        """Build the state that writes the record; its first chunk begins with the header."""
        record, view = self.record, self.view
        m = record.m
        predicate_written = Signal()
        pair = Signal(2)  # of a pair of uniform registers those that are to be saved
        uniforms_written = Signal(range(3))  # how many of them are
        entry_written = Signal()  # a stack entry is
        header_words = Signal(range(CHUNK_WORDS))
        size = Signal(range(STACK_WORDS + 1))  # words of the stack entry
        words_before = Signal(range(CHUNK_WORDS + 1))  # in front of it
        count = Signal(range(CHUNK_WORDS + 1))
        record_end = Signal()
        others_ready = Signal.like(record.warps_ready)  # besides the warp in hand
        other_predicates = without_lowest(record.predicates)
        other_uniforms = Signal(UNIFORMS)  # left after this chunk
        header, words_of_this = words_of_header(
            m, record.geometry, view, record.lanes_exited, record.predicates, record.uniforms,
            record.uniforms_repeat)
        entry, entry_words = words_of_entry(m, record.geometry, view, record.entry_below)
        words = self._words(header, header_words, entry, (predicate_written, pair,
                                                          uniforms_written))
        m.d.comb += [
            header_words.eq(Mux(record.header_written, 0, words_of_this)),
            size.eq(entry_words), predicate_written.eq(record.predicates.any()),
            pair.eq(lowest_pair(record.uniforms)),
            uniforms_written.eq(Mux(
                other_predicates.any()
                | (header_words + predicate_written + pair[0] + pair[1] > CHUNK_WORDS),
                0, pair[0] + pair[1])),
            other_uniforms.eq(Mux(uniforms_written != 0, without_lowest_pair(record.uniforms),
                                  record.uniforms)),
            words_before.eq(header_words + predicate_written + uniforms_written),
            entry_written.eq(~other_predicates.any() & ~other_uniforms.any()
                             & (words_before + size <= CHUNK_WORDS)),
            count.eq(words_before + Mux(entry_written & (view.depth != 0), size, 0)),
            record_end.eq(entry_written & (record.stack_entry + 1 >= view.depth)),
            others_ready.eq(record.warps_ready & ~(1 << record.warp)),
        ]
        with m.State("REST"):
            with m.If(record.emit(words, count, last=record_end,
                                  registers=record_end & (record.register_count != 0))):
                m.d.sync += record.header_written.eq(1)
                with m.If(predicate_written):
                    m.d.sync += record.predicates.eq(other_predicates)
                m.d.sync += record.uniforms.eq(other_uniforms)
                with m.If(uniforms_written != 0):
                    m.d.comb += pair_written.eq(pair)
                with m.If(entry_written):
                    m.d.sync += [record.stack_entry.eq(record.stack_entry + 1),
                                 record.entry_below.pc.eq(view.pc),
                                 record.entry_below.reconv.eq(view.reconv)]
                with m.If(record_end):
                    self._next_warp(others_ready)

    def _words(self, header: Value, header_words: Value, entry: Value,
               written: Sequence[Value]) -> Value:
        """Return the words of a chunk: so many of the header, then a predicate, a pair of uniform
        registers and a stack entry, as far as they are written."""
        predicate_written, pair, uniforms_written = written
        low, high = self.values
        lanes = self.flags.predicate_value ^ spread(
            self.inverted[:PREDICATES].bit_select(self.flags.predicate_select, 1),
            self.record.geometry.warp_size)
        # The chunk is built from its last word to the first, a stack entry, so that each part only
        # shifts the parts behind it.
        last_words, with_uniforms, with_predicate, words = (
            Signal(32 * CHUNK_WORDS, name=f"words_{k}") for k in range(4))
        self.record.m.d.comb += [
            last_words.eq(entry),
            with_uniforms.eq(Mux(uniforms_written[1], Cat(low, high, last_words), Mux(
                uniforms_written[0], Cat(Mux(pair[0], low, high), last_words), last_words))),
            with_predicate.eq(Mux(predicate_written, Cat(
                lanes, Const(0, 32 - len(lanes)), with_uniforms), with_uniforms)),
            words.eq(chosen({number: Cat(header[:32 * number], with_predicate)
                             for number in range(HEADER_WORDS + 1)}, header_words)),
        ]
        return words

    def _next_warp(self, others_ready: Signal):
        """End the record; go on with another warp that can be saved, if there is one, at once."""
        record = self.record
        m = record.m
        m.d.sync += [record.warps_saved.eq(record.warps_saved | (1 << record.warp)),
                     record.live_warps.eq(record.live_warps | (1 << self.view.block_warp)),
                     record.last_uniforms.eq(record.all_uniforms)]
        m.next = "WARP"
        with m.If(others_ready.any()):
            m.d.sync += [record.warp.eq(lowest_number(others_ready)), record.stack_entry.eq(0)]
            m.next = "VIEW"
