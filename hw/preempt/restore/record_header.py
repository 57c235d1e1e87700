"""The header of a warp's record, and the initialisation of the warp (`StreamParser`)."""

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import data, stream

from ...arch.geometry import MAX_REGISTERS, UNIFORMS
from ...arch.image.context import WARP_HEADER
from ...arch.isa.liveness import LIVE_BITS, LIVE_REST
from ...interfaces.payloads import below
from ...lib.bits import popcount, spread
from .encoding_table import EncodingTable
from .parse import Parse
from .record_scalars import ScalarStates

__all__ = ["HeaderStates", "build_load"]


class HeaderStates:
    """Takes a header, judges it, and has its warp initialised.

    Parameters
    ----------
    parse : Parse
    table : EncodingTable
    scalars : ScalarStates
        The first words of the warp's state go with its initialisation.
    warp_init : stream of payloads.warp_init
        Warps for the core.
    state : stream of state_writer.warp_state
        Warps for the `StateWriter`.
    expansion : stream of expander.expansion
        Warps for the `Expander`.
    """

    def __init__(self, parse: Parse, table: EncodingTable, scalars: ScalarStates,
                 warp_init: stream.Interface, state: stream.Interface,
                 expansion: stream.Interface):
        self.parse, self.table, self.scalars = parse, table, scalars
        self.warp_init, self.state, self.expansion = warp_init, state, expansion

    def build_record(self, failed: Value):
        """Build the state that takes a header, unless the words have `failed`."""
        parse = self.parse
        m, place, words = parse.m, parse.stream.place, parse.words
        header = data.View(WARP_HEADER, words[0])
        number = Signal(below(parse.geometry.max_block_warps))
        uniforms = Signal(UNIFORMS)  # whose values are in the record
        repeated = parse.last_uniforms & header.repeats.replicate(UNIFORMS)
        m.d.comb += [
            number.eq(header.warp),
            uniforms.eq(Mux(header.uniforms, Mux(header.exited, words[2], words[1]), 0))]
        with m.State("RECORD"):
            self._take_codes()
            with m.If(failed):
                m.next = "SKIP"
            with m.Else():
                # How many words the header has is known once its first one is there.
                _, words_taken = parse.need(
                    1 + header.exited + header.uniforms,
                    known=(parse.level != 0) | (parse.few_words_left == 0))
                with m.If(words_taken):
                    m.d.sync += [
                        parse.header.eq(header),
                        parse.scalars_left.eq(popcount(header.predicates) + popcount(uniforms)),
                        parse.live_lanes.eq(Mux(header.exited, words[1], ~0)),
                        parse.uniforms.eq(uniforms),
                        parse.repeated_uniforms.eq(repeated & ~uniforms),
                        parse.last_uniforms.eq(repeated | uniforms),
                        parse.warp.eq(place.slots[number]),
                        parse.base.eq(place.base + number * parse.accepted.registers)]
                    m.next = "INIT"

    def _take_codes(self):
        """Take what the codes of a warp say while its header comes, a cycle before it is needed:
        all of them are looked at for each of it."""
        parse, table, accepted = self.parse, self.table, self.parse.accepted
        m = parse.m
        follows_nothing = ((table.follows & ~parse.followed_registers).any()
                           if parse.geometry.tb_compressor else 0)
        m.d.comb += [table.record.eq(parse.record), parse.next_targets.eq(table.by_lane)]
        m.d.sync += [
            parse.codes_wrong.eq(
                (table.saved & ~accepted.allocated).any() | table.strange | follows_nothing),
            parse.expander_needed.eq(
                (table.group_words != 0) | (table.follows | self._scrambled()).any()),
            parse.group_words.eq(table.group_words)]
        parse.aim(table)

    def _stayed(self) -> Value:
        """Return whether the registers of the TB have stayed on the SM."""
        return self.parse.stream.stayed if self.parse.geometry.in_place else Const(0)

    def _scrambled(self) -> Value:
        """Return the vector of registers that get random bits, since they are not saved."""
        parse, accepted = self.parse, self.parse.accepted
        return accepted.allocated & ~self.table.saved & spread(
            accepted.options.scramble & ~parse.stream.increment & ~self._stayed(), MAX_REGISTERS)

    def _absurd(self, number: Value) -> Value:
        """Return whether the header, of warp `number`, makes no sense."""
        parse, g, header = self.parse, self.parse.geometry, self.parse.header
        return (
            # It names a warp that there cannot be, or that is not to come.
            (number >= g.max_block_warps) | ~parse.record_pending.bit_select(number, 1)
            # Its stack is empty, or deeper than the SM's.
            | (header.depth == 0) | (header.depth > g.stack_depth)
            | parse.codes_wrong
            # An increment of a warp that its base has not.
            | parse.stream.increment & ~parse.base_records.bit_select(number, 1)
            # It repeats uniform registers, which this machine cannot.
            | (0 if g.tb_compressor else header.repeats))

    def build_init(self):
        """Build the state that initialises the warp of a header, and takes the first words of its
        state."""
        parse, g, table = self.parse, self.parse.geometry, self.table
        m, header = parse.m, parse.header
        number = Signal(8)
        launched = Signal.like(parse.live_lanes)
        absurd = Signal()
        expanding = parse.expander_needed
        m.d.comb += [number.eq(header.warp), absurd.eq(self._absurd(number)),
                     launched.eq((Const(2, 2) << header.launched) - 1)]
        self._payloads(number, launched)
        with m.State("INIT"):
            outputs_ready = self.state.ready & (self.expansion.ready | ~expanding) & ~absurd
            words_there, words_taken, state_parsed = self.scalars.hand_over(
                header.depth, outputs_ready & self.warp_init.ready)
            m.d.comb += [
                table.record.eq(parse.record),
                self.warp_init.valid.eq(
                    words_there & outputs_ready & self.scalars.chunk.ready),
                self.state.valid.eq(words_taken & ~parse.stream.base),
                self.expansion.valid.eq(words_taken & expanding),
            ]
            self._warp(number, launched)
            with m.If(absurd):
                m.next = "SKIP"
            with m.Elif(words_taken):
                m.d.sync += [
                    parse.record.eq(parse.record + 1),
                    parse.followed_registers.eq(parse.followed_registers | table.followed),
                    parse.expander_opened.eq(parse.expander_opened | expanding),
                    parse.record_pending.eq(parse.record_pending & ~(1 << number))]
                if g.in_place:
                    m.d.sync += parse.state_parsed.eq(state_parsed)
                load = [(self._stayed(), "LOAD")] if g.in_place else []
                parse.go_on(*load, (~state_parsed, "STATE"), (parse.targets.any(), "DATA"),
                            (parse.group_words != 0, "EXPANSION"),
                            ((parse.record_pending & ~(1 << number)).any(), "RECORD"))

    def _payloads(self, number: Value, launched: Value):
        """Describe the warp to the writer of the state and to the expander."""
        parse, header = self.parse, self.parse.header
        state, job = self.state.payload, self.expansion.payload
        parse.m.d.comb += [
            state.warp.eq(parse.warp), state.predicates.eq(header.predicates),
            state.uniforms.eq(parse.uniforms), state.repeated.eq(parse.repeated_uniforms),
            state.depth.eq(header.depth), state.live.eq(parse.live_lanes & launched),
            state.bank.eq(parse.bank),
            job.warp.eq(parse.warp), job.base.eq(parse.base), job.bank.eq(parse.bank),
            job.codes.eq(self.table.codes), job.opens.eq(~parse.expander_opened),
            job.dead.eq(self._scrambled()),
        ]

    def _warp(self, number: Value, launched: Value):
        """The warp that is initialised."""
        parse, g, header, saved = (self.parse, self.parse.geometry, self.parse.header,
                                   self.table.saved)
        init = self.warp_init.payload
        live_unknown = parse.stream.increment  # what is live is not in this stream
        if g.in_place:
            live_unknown = live_unknown | parse.stream.elsewhere
        parse.m.d.comb += [
            init.warp.eq(parse.warp), init.block_warp.eq(number), init.base.eq(parse.base),
            init.launched.eq(launched), init.live.eq(parse.live_lanes & launched),
            init.waiting.eq(header.waiting), init.barrier.eq(header.barrier),
            # of predicates and uniform registers only those saved are written
            init.live_vector.eq(Cat(saved[:LIVE_REST], saved[LIVE_REST:].any())
                                | ~parse.accepted.allocated[:LIVE_BITS]
                                | spread(live_unknown, LIVE_BITS)),
            init.kept.eq(parse.stream.increment),
        ]


def build_load(parse: Parse, load: stream.Interface, mask_select: data.View, mask: Signal):
    """Build the state that makes those registers of a warp valid again that have stayed where they
    are (`StayingMasks`)."""
    m = parse.m
    m.d.comb += [mask_select.row.eq(parse.stream.staying), mask_select.warp.eq(parse.header.warp),
                 load.payload.warp.eq(parse.warp), load.payload.valid.eq(mask)]
    with m.State("LOAD"):
        m.d.comb += load.valid.eq(1)
        with m.If(load.ready):
            parse.go_on((~parse.state_parsed, "STATE"), (parse.targets.any(), "DATA"),
                        (parse.group_words != 0, "EXPANSION"),
                        (parse.record_pending.any(), "RECORD"))
