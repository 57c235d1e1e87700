"""Instruction cache: direct mapped, 128-byte lines, one fill at a time, hits under a miss,
next line fetched along."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import ADDRESS_BITS, INSTRUCTION_BYTES, SEGMENT_BYTES, Geometry
from .ports import ReadInterface, ReadPort

__all__ = ["InstructionCache"]

_OFFSET_BITS = exact_log2(SEGMENT_BYTES)
_WORD_BITS = 8 * INSTRUCTION_BYTES
WORDS = 3
"""Words a lookup returns: a preemption point has two, and the instruction behind it comes with
them."""
_BANKS = 4


class InstructionCache(wiring.Component):
    """Direct-mapped cache of `icache_lines` lines of 128 bytes, filled over a `ReadPort`.

    One lookup per cycle; its response comes in the next cycle. A miss starts a fill unless one is
    under way. It is not remembered: the request has to come again after `filled`. Other lines go on
    hitting meanwhile, and the line being replaced until its first beat arrives. The line after the
    missing one is fetched along if it is not there; an error of that one is ignored.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    request : In(valid, address)
        Byte address of an instruction word (a multiple of 8).
    response : Out(hit, error, words, more)
        Answer to the request of the cycle before; a request without `hit` and `error` has missed.
        `error`: the memory failed to deliver the line. `words` begins with the word that was
        requested; `more` of the words after it are in the same line.
    filled : Signal(), out
        A line came, well or with an error, in this cycle or the one before; requests from the next
        cycle on see it.
    invalidate : Signal(), in
        Forget every line, the one being filled included.
    forget : Signal(), in
        Requests that missed may not come again. Errors of the lines being filled are not told then,
        and a request that still comes fetches its line again.
    lingering : Signal(), out
        Lines that were being filled at the last `forget` still are.
    port : ReadPort
        Up to two bursts outstanding. Every beat is taken when it comes, also while the second is
        asked for: memory may take no request before it has answered the last.
    """

    request: data.View
    response: data.View
    filled: Signal
    invalidate: Signal
    forget: Signal
    lingering: Signal
    port: ReadInterface

    def __init__(self, g: Geometry):
        self.geometry, self._line_bits = g, exact_log2(g.icache_lines)
        super().__init__({
            "request": In(data.StructLayout({"valid": 1, "address": ADDRESS_BITS})),
            "response": Out(data.StructLayout({
                "hit": 1, "error": 1, "words": data.ArrayLayout(_WORD_BITS, WORDS),
                "more": range(WORDS)})),
            "filled": Out(1), "invalidate": In(1), "forget": In(1), "lingering": Out(1),
            "port": Out(ReadPort(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.tags = tags = Memory(shape=ADDRESS_BITS - _OFFSET_BITS - self._line_bits,
                                          depth=g.icache_lines, init=[])
        rows = g.icache_lines * SEGMENT_BYTES // (_BANKS * INSTRUCTION_BYTES)
        # word k is in bank k mod 4
        banks = [Memory(shape=_WORD_BITS, depth=rows, init=[]) for _ in range(_BANKS)]
        for number, bank in enumerate(banks):
            m.submodules[f"bank_{number}"] = bank
        valid = Signal(g.icache_lines)
        failed = Signal(data.StructLayout({"valid": 1, "line": ADDRESS_BITS - _OFFSET_BITS}))
        miss = Signal()
        address = self._lookup(m, tags, banks, valid, failed, miss)
        self._fill(m, tags, banks, valid, failed, miss, address)
        return m

    def _lookup(self, m: Module, tags: Memory, banks: Sequence[Memory], valid: Value,
                failed: data.View, miss: Signal) -> Signal:
        """Look up a word and those after it; return the address looked up in the cycle before."""
        line_end = _OFFSET_BITS + self._line_bits
        requested = self.request.address
        looked = Signal()
        present = Signal()
        address = Signal(ADDRESS_BITS)
        words_behind = ~address[3:_OFFSET_BITS]  # words of the line behind this one
        read_tag = tags.read_port()
        m.d.comb += [read_tag.en.eq(self.request.valid),
                     read_tag.addr.eq(requested[_OFFSET_BITS:line_end])]
        words = []  # of each bank
        for number, bank in enumerate(banks):
            read = bank.read_port()
            m.d.comb += [read.en.eq(self.request.valid),
                         read.addr.eq(requested[5:line_end] + (requested[3:5] > number))]
            words.append(read.data)
        m.d.sync += looked.eq(self.request.valid)
        with m.If(self.request.valid):
            m.d.sync += [address.eq(requested),
                         present.eq(valid.bit_select(requested[_OFFSET_BITS:line_end], 1)
                                    & ~self.invalidate)]
        m.d.comb += [
            self.response.hit.eq(looked & present & (read_tag.data == address[line_end:])),
            self.response.error.eq(looked & failed.valid & (failed.line == address[_OFFSET_BITS:])),
            self.response.more.eq(Mux(words_behind < WORDS - 1, words_behind, WORDS - 1)),
            miss.eq(looked & ~self.response.hit & ~self.response.error),
        ]
        with m.Switch(address[3:5]):
            for first in range(_BANKS):
                with m.Case(first):
                    m.d.comb += [self.response.words[k].eq(words[(first + k) % _BANKS])
                                 for k in range(WORDS)]
        return address

    def _write_ports(self, m: Module, banks: Sequence[Memory], slot: Value, beat: Value,
                     write: Value):
        """Connect the write ports of the words: a beat has two of them, one, or half of one."""
        bus_bits = 8 * self.geometry.bus_bytes
        granule = min(bus_bits, _WORD_BITS)
        parts = _WORD_BITS // granule  # beats of a word, if more than one
        part_bits = exact_log2(parts)
        word = beat[part_bits:]
        both = bus_bits > _WORD_BITS
        for number, bank in enumerate(banks):
            port = bank.write_port(granularity=granule)
            data_in = self.port.beat.payload.data
            part = (data_in[_WORD_BITS * (number % 2):][:_WORD_BITS] if both
                    else data_in.replicate(parts))
            here = write & (word[0] == number // 2 if both else word[:2] == number)
            m.d.comb += [
                port.addr.eq(Cat(word[1:] if both else word[2:], slot)), port.data.eq(part),
                port.en.eq(here.replicate(parts) & (1 << beat[:part_bits] if part_bits else 1)),
            ]

    def _fill(self, m: Module, tags: Memory, banks: Sequence[Memory], valid: Signal,
              failed: data.View, miss: Value, address: Value):
        """Fetch the line of a miss, and the next (`ahead`) if it is not there."""
        g = self.geometry
        line = Signal(ADDRESS_BITS - _OFFSET_BITS)
        slot = line[:self._line_bits]
        beat = Signal(range(g.burst_beats))
        write = Signal()
        ahead = Signal()  # the line that comes is the next one
        early = Signal()  # the next one is asked for while the one that was missed comes
        two = Signal()
        discard = Signal()  # invalidated while it came
        error = Signal()
        arriving = Signal()  # the last beat, in this cycle
        arrived = Signal()  # in the one before
        port = self.port
        write_tag = tags.write_port()
        next_tag = tags.read_port()
        self._write_ports(m, banks, slot, beat, write)
        following = Signal.like(line)
        next_slot = following[:self._line_bits]
        present = valid.bit_select(next_slot, 1) & (next_tag.data == following[self._line_bits:])
        m.d.comb += [
            following.eq(line + 1), next_tag.addr.eq(next_slot),
            write_tag.addr.eq(slot),
            write_tag.data.eq(line[self._line_bits:]), write_tag.en.eq(write),
            port.request.payload.address.eq(Cat(Const(0, _OFFSET_BITS),
                                                Mux(early, following, line))),
            port.request.payload.extra_beats.eq(g.burst_beats - 1),
        ]
        m.d.comb += self.filled.eq(arriving | arrived)
        m.d.sync += [discard.eq(discard | self.invalidate), arrived.eq(arriving),
                     self.lingering.eq(self.lingering | self.forget)]
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [beat.eq(0), discard.eq(0), error.eq(0),
                             ahead.eq(0), line.eq(address[_OFFSET_BITS:]), self.lingering.eq(0)]
                # with `arrived` it may be a miss of the line that has just come
                with m.If(miss & ~arrived):
                    m.d.sync += [failed.valid.eq(0), discard.eq(self.invalidate),
                                 self.lingering.eq(self.forget)]
                    m.next = "REQUEST"
            with m.State("REQUEST"):
                m.d.comb += port.request.valid.eq(1)
                with m.If(port.request.ready):
                    m.d.sync += two.eq(1)
                    m.next = "AHEAD"
                    with m.If(ahead):
                        m.next = "FILL"
            # beats are taken whether or not this request is: memory may have room for one
            with m.State("AHEAD"):
                next_requested = port.request.ready | present
                m.d.comb += [port.request.valid.eq(~present), early.eq(1),
                             port.beat.ready.eq(1)]
                m.d.sync += two.eq(~present)
                with m.If(next_requested):
                    m.next = "FILL"
                with m.If(arriving & present):
                    m.next = "IDLE"
                with m.Elif(arriving & ~next_requested):
                    m.next = "REQUEST"
            with m.State("FILL"):
                m.d.comb += port.beat.ready.eq(1)
                with m.If(arriving & (ahead | ~two)):
                    m.next = "IDLE"
        with m.If(port.beat.valid & port.beat.ready):
            bad = error | port.beat.payload.error
            dropped = discard | self.invalidate
            m.d.comb += write.eq(1)
            m.d.sync += [beat.eq(beat + 1), error.eq(bad), valid.bit_select(slot, 1).eq(
                port.beat.payload.last & ~bad & ~dropped)]
            with m.If(port.beat.payload.last):
                m.d.comb += arriving.eq(1)
                m.d.sync += [beat.eq(0), error.eq(0), line.eq(following), ahead.eq(1)]
                with m.If(~ahead):
                    forgotten = self.lingering | self.forget
                    m.d.sync += [failed.valid.eq(bad & ~dropped & ~forgotten),
                                 failed.line.eq(line)]
        with m.If(self.invalidate):
            m.d.sync += valid.eq(0)
        with m.If(self.invalidate | self.forget):
            m.d.sync += failed.valid.eq(0)
