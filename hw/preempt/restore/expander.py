"""Expander: writes the uniform, strided and scrambled registers of restored warps (Lin et al. Fig.
13, restoring)::

    chunks of words --> queue --> Unpacker --+--> (TbDecompressor) --> GroupDecoder --> beats
    warps ------------> queue --> walk ------+
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import MAX_REGISTERS, Geometry
from ...arch.image.encodings import CODE_BITS, SMALLEST_GROUP, Encoding, encoded_words
from ...interfaces.payloads import below, physical
from ...lib.bits import lowest_number, without_lowest
from ...lib.stream_queue import StreamQueue
from ..compress.group_decoder import GroupDecoder, decoded_beat, group_words, grouped
from ..compress.tb_compressor import TbDecompressor
from ..formats.packer import register_words
from ..formats.unpacker import Unpacker, word_beat
from .tbs_under_way import TbsUnderWay

__all__ = ["WORDS_AHEAD", "expansion", "expanded_tag", "Expander"]

WORDS_AHEAD = 1024
"""Words that wait while registers are written."""
WARPS_AHEAD = 16
"""Warps whose registers wait to be written."""


def expansion(g: Geometry) -> data.StructLayout:
    """Registers of a warp to be written: those that are uniform or strided by their `codes` from
    words, those that follow without, and the `dead` ones. `bank` tells TBs that follow each other
    apart; the first job of a TB `opens` it."""
    return data.StructLayout({"warp": below(g.warps), "base": physical(g),
                              "codes": CODE_BITS * MAX_REGISTERS, "dead": MAX_REGISTERS, "bank": 1,
                              "opens": 1})


def expanded_tag(g: Geometry) -> data.StructLayout:
    """Where a beat belongs; it is of the last register of its job if that `ends`, of the first of
    its TB if that `opens`."""
    return data.StructLayout({"warp": below(g.warps), "base": physical(g), "register": 6,
                              "ends": 1, "opens": 1, "bank": 1})


class Expander(wiring.Component):
    """Walks the registers of a warp in ascending order, one register beat a cycle.

    A register of 8 words takes two cycles, but for a wide bus. No cycle is lost between warps.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    job : stream, in
        An `expansion` with at least one register.
    words : stream, in
        The words of the jobs, in order, in chunks that jobs may not share.
    output : stream, out
        `group_decoder.decoded_beat` with an `expanded_tag`.
    pending : Signal(2), out
        Banks of which something is not written yet.
    """

    job: stream.Interface
    words: stream.Interface
    output: stream.Interface
    pending: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "job": In(stream.Signature(expansion(g))),
            "words": In(stream.Signature(word_beat(g.chunk_words))),
            "output": Out(stream.Signature(decoded_beat(g, expanded_tag(g)))), "pending": Out(2),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, most = self.geometry, register_words(self.geometry)
        # Words of a register that are taken in a cycle.
        sizes = {min(encoded_words(each, g.warp_size), most) for each in Encoding if each.group}
        sizes -= {0}
        m.submodules.jobs = jobs = StreamQueue(expansion(g), WARPS_AHEAD)
        m.submodules.chunks = chunks = StreamQueue(
            word_beat(g.chunk_words), WORDS_AHEAD // g.chunk_words, buffered=True)
        m.submodules.unpacker = unpacker = Unpacker(g.chunk_words, most, sorted(sizes))
        m.submodules.decoder = decoder = GroupDecoder(g, expanded_tag(g))
        m.submodules.under_way = under_way = TbsUnderWay(WARPS_AHEAD + 2 + g.tb_compressor)
        wiring.connect(m, wiring.flipped(self.job), jobs.input)
        wiring.connect(m, wiring.flipped(self.words), chunks.input)
        wiring.connect(m, chunks.output, unpacker.beat)
        wiring.connect(m, decoder.output, wiring.flipped(self.output))

        out = self._decode(m, decoder)
        job = Signal(expansion(g))
        # The register in hand is found a cycle ahead: its code is one of all those of the job.
        some = Signal()  # there is one
        bit = Signal(range(MAX_REGISTERS))
        code = Signal(CODE_BITS)
        count = Signal(range(2 * g.warp_size // SMALLEST_GROUP + 1))  # its words
        rest = Signal(MAX_REGISTERS)  # registers of the job after it
        coming = Signal(MAX_REGISTERS)  # that in hand in the next cycle, and those after it
        codes = Signal.like(job.codes)
        lowest = Signal.like(bit)
        need = Signal(range(most + 1))  # words of it to take in this cycle
        there = Signal()  # they have come
        early = Signal()
        held = Signal(32 * most)
        second = Signal()
        words = Value.cast(unpacker.words)
        m.d.comb += [
            coming.eq(rest), codes.eq(job.codes), lowest.eq(lowest_number(coming)),
            count.eq(Mux(code.matches(Encoding.DEAD, Encoding.FOLLOWS), 0, group_words(g, code))),
            early.eq((count > most) & ~second), need.eq(Mux(count > most, most, count)),
            there.eq(some & (unpacker.level >= need)),
            out.valid.eq(there & ~early),
            Value.cast(out.payload.words).eq(Mux(second, Cat(held, words), words)),
            out.payload.code.eq(code),
            out.payload.tag.warp.eq(job.warp),
            out.payload.tag.base.eq(job.base), out.payload.tag.register.eq(bit),
            out.payload.tag.ends.eq(~rest.any()), out.payload.tag.bank.eq(job.bank),
            out.payload.tag.opens.eq(job.opens),
            jobs.output.ready.eq(~some | (there & ~early & out.ready & ~rest.any())),
        ]
        with m.If(there & (early | out.ready)):
            m.d.comb += unpacker.take.eq(need)
            m.d.sync += [held.eq(words), second.eq(early)]
            with m.If(~early):
                m.d.sync += job.opens.eq(0)
        with m.If(jobs.output.valid & jobs.output.ready):
            of = jobs.output.payload
            m.d.comb += [coming.eq(grouped(of.codes) | of.dead), codes.eq(of.codes)]
            m.d.sync += job.eq(of)
        with m.If(jobs.output.valid & jobs.output.ready | there & ~early & out.ready):
            m.d.sync += [some.eq(coming.any()), bit.eq(lowest), rest.eq(without_lowest(coming)),
                         code.eq(codes.word_select(lowest, CODE_BITS))]
        written, of_job = self.output.payload, self.job.payload
        m.d.comb += [
            under_way.begins.eq(self.job.valid & self.job.ready), under_way.begun.eq(of_job.bank),
            under_way.ends.eq(self.output.valid & self.output.ready & written.last
                              & written.tag.ends),
            under_way.ended.eq(written.tag.bank), self.pending.eq(under_way.pending),
        ]
        return m

    def _decode(self, m: Module, decoder: GroupDecoder):
        """Return the stream of registers to be decoded."""
        g = self.geometry
        if not g.tb_compressor:
            return decoder.input
        m.submodules.tb_decompressor = decompressor = TbDecompressor(g, expanded_tag(g))
        wiring.connect(m, decompressor.output, decoder.input)
        return decompressor.input
