"""Loads: segments are requested ahead, gathered as their bus beats arrive, and written to the
registers.

::

    segment --+--> read_port.request
              |
              +--> outstanding (load_queue segments) --+
                                                       v
    read_port.beat ------------------------------> gather --copy--> rows --shift--> write
"""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.faults import Fault
from ...arch.geometry import ADDRESS_BITS, PC_BITS, WORD_BYTES, Geometry
from ...arch.isa.opcodes import Size
from ...interfaces import payloads as payload
from ...memory.ports import ReadInterface, ReadPort
from .access_size import extra_registers, extract
from .coalescer import OFFSET_BITS, segment
from .generation import Backlog, is_stale

__all__ = ["access_fault", "LoadUnit"]


def access_fault(g: Geometry) -> data.StructLayout:
    """A fault on its way to the `fault` port."""
    return data.StructLayout({"kind": Fault, "warp": payload.below(g.warps),
                              "pc": PC_BITS, "address": ADDRESS_BITS})


def _outstanding(g: Geometry) -> data.StructLayout:
    """Record of a requested segment; a `void` one was not requested and gives nothing."""
    return data.StructLayout({
        "warp": payload.below(g.warps), "base": payload.physical(g),
        "pc": PC_BITS, "d": 6, "size": Size,
        "address": ADDRESS_BITS, "mask": g.warp_size,
        "offset": data.ArrayLayout(OFFSET_BITS, g.warp_size),
        "first": 1, "last": 1, "void": 1, "generation": payload.GENERATION_BITS,
    })


class LoadUnit(wiring.Component):
    """Reads whole segments and writes the destination registers, in order of the segments.

    Segments of any warps are outstanding together, up to `load_queue`. A bus beat is taken every
    cycle; as it passes, each lane captures its words from the beat. In the cycle after a segment's
    last beat the lanes are copied to the rows of the write port, where 8- and 16-bit values are
    extended. The next segment is gathered while they are written. Register k's beats go out
    together, then those of register k + 1. Lanes outside the mask are written as zeros.

    A segment with `kind` set, or with a failed beat, writes its registers with empty masks. The
    segments after it of the same instruction do the same. A failed beat is reported once per
    instruction, as BUS_ERROR at the lowest lane. A segment whose warp was forgotten is not
    reported; the generation of its writes and completions shows that it was forgotten.

    Attributes
    ----------
    segment : stream of segment, in
        Loads only. One whose `kind` is set has been reported already; it needs no request.
    generations : payloads.generations, in; forget : Signal(1), in; lingering : Signal(1), out
        Described in `CompletionPort`.
    write : stream of tagged register_write, out
    done : tagged warp_event, out
        One cycle, after the last write of an instruction was accepted.
    fault : stream of access_fault, out
    read_port : ReadPort
    """

    segment: stream.Interface
    generations: data.View
    forget: Signal
    lingering: Signal
    write: stream.Interface
    done: data.View
    fault: stream.Interface
    read_port: ReadInterface

    def __init__(self, g: Geometry, slots: int):
        self.geometry = g
        super().__init__({
            "segment": In(stream.Signature(segment(g, slots))),
            "generations": In(payload.generations(g)), "forget": In(1), "lingering": Out(1),
            "write": Out(stream.Signature(payload.tagged(payload.register_write(g)))),
            "done": Out(payload.tagged(payload.warp_event(g))),
            "fault": Out(stream.Signature(access_fault(g))),
            "read_port": Out(ReadPort(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        rows_free = Signal()
        copy = Signal()
        gathered = Signal()
        part = data.StructLayout({"segment": _outstanding(g), "failed": 1, "report": 1})
        current = Signal(part)
        report = Signal()
        arriving, arrives = self._request(m)
        words = self._gather(m, arriving)
        self._complete(m, arriving, arrives, current, gathered, ~gathered | copy)
        m.d.comb += [
            self.fault.payload.kind.eq(Fault.BUS_ERROR),
            self.fault.payload.warp.eq(current.segment.warp),
            self.fault.payload.pc.eq(current.segment.pc),
            self.fault.payload.address.eq(current.segment.address),
            report.eq(current.report & ~is_stale(self.generations, current.segment)),
            self.fault.valid.eq(gathered & rows_free & report),
            copy.eq(gathered & rows_free & (self.fault.ready | ~report)),
        ]
        # beside those in `arrives` one is gathered, one written
        m.submodules.backlog = backlog = Backlog(g.load_queue + 2)
        m.d.comb += [backlog.enter.eq(arrives.w_en), backlog.mark.eq(self.forget),
                     backlog.leave.eq(self._write(m, words, current, copy, rows_free)),
                     self.lingering.eq(backlog.pending)]
        return m

    def _request(self, m: Module):
        """Request the segment on the port and remember it;
        return the oldest one remembered, and `pop`."""
        g, offered = self.geometry, self.segment
        arriving = Signal(_outstanding(g))
        entry = Signal(_outstanding(g))
        m.submodules.outstanding = queue = fifo.SyncFIFOBuffered(width=entry.shape().size,
                                                                 depth=g.load_queue)
        request = self.read_port.request
        m.d.comb += [entry[name].eq(offered.payload[name]) for name in (
            "warp", "base", "pc", "d", "size", "address", "mask", "offset", "first", "last",
            "generation")]
        m.d.comb += [
            entry.void.eq(offered.payload.kind != Fault.NONE),
            request.valid.eq(offered.valid & queue.w_rdy & ~entry.void),
            request.payload.address.eq(Cat(Const(0, OFFSET_BITS),
                                           offered.payload.address[OFFSET_BITS:])),
            request.payload.extra_beats.eq(g.burst_beats - 1),
            offered.ready.eq(queue.w_rdy & (request.ready | entry.void)),
            queue.w_en.eq(offered.valid & offered.ready), queue.w_data.eq(entry),
            arriving.eq(queue.r_data),
        ]
        return arriving, queue

    def _gather(self, m: Module, arriving: data.View):
        """Capture the words of each lane as their beat passes; return ``[k][lane]`` words."""
        g, beat = self.geometry, self.read_port.beat
        number = Signal(range(g.burst_beats))
        with m.If(beat.valid & beat.ready):
            m.d.sync += number.eq(Mux(beat.payload.last, 0, number + 1))
        on_bus = [beat.payload.data.word_select(w, 32) for w in range(g.bus_words)]
        within = exact_log2(g.bus_words)
        words = [[Signal(32, name=f"word_{k}_{i}") for i in range(g.warp_size)] for k in range(4)]
        with m.If(beat.valid & beat.ready):
            for k, lanes in enumerate(words):
                for word, offset in zip(lanes, arriving.offset, strict=True):
                    place = offset[exact_log2(WORD_BYTES):] | k
                    m.d.sync += word.eq(Mux(place[within:] == number,
                                            _choose(on_bus, place[:within]), word))
        return words

    def _complete(self, m: Module, arriving: data.View, queue: fifo.SyncFIFOBuffered,
                  current: data.View, gathered: Signal, free: Value):
        """Move on to the next segment after the last beat of this one."""
        beat = self.read_port.beat
        complete = Signal()
        spoiled = Signal()
        abandoned = Signal()
        earlier_failed = Signal()  # a segment of this instruction failed before
        error = Signal()
        m.d.comb += [
            beat.ready.eq(queue.r_rdy & ~arriving.void & free),
            complete.eq(queue.r_rdy & free & (arriving.void | (beat.valid & beat.payload.last))),
            queue.r_en.eq(complete), earlier_failed.eq(abandoned & ~arriving.first),
            error.eq(spoiled | (beat.valid & beat.ready & beat.payload.error)),
        ]
        with m.If(beat.valid & beat.ready):
            m.d.sync += spoiled.eq(error & ~complete)
        with m.If(complete):
            m.d.sync += [current.segment.eq(arriving),
                         current.failed.eq(error | earlier_failed | arriving.void),
                         current.report.eq(error & ~earlier_failed), gathered.eq(1),
                         abandoned.eq((error | earlier_failed) & ~arriving.last)]
        with m.Elif(free):
            m.d.sync += gathered.eq(0)

    def _write(self, m: Module, words: Sequence[Sequence[Value]], current: data.View, copy: Value,
               rows_free: Signal):
        """Copy the gathered words to the rows, and shift those out of the write port; return when
        a segment is done with."""
        g, write = self.geometry, self.write
        busy = Signal()  # rows are written
        final = Signal()  # they are the instruction's last
        leave = Signal()
        finish = Signal()  # the last row of the segment
        mask = Signal(g.warp_size)  # lanes left, this beat's lowest
        k = Signal(2)  # which register
        extra = Signal(2)  # registers less one
        out, done = write.payload, self.done
        m.d.comb += [
            write.valid.eq(busy), leave.eq(busy & write.ready),
            finish.eq(leave & out.last & (k == extra)),
            rows_free.eq(~busy | finish), out.last.eq(out.beat == g.beats - 1),
            out.release.eq(out.last & final), out.mask.eq(mask[:g.lanes]),
        ]
        m.d.sync += [done.valid.eq(finish & final), done.warp.eq(out.warp),
                     done.generation.eq(out.generation)]
        number = Signal.like(out.register)
        m.d.comb += out.register.eq(number | k)
        with m.If(copy):
            arrived = current.segment
            m.d.sync += [busy.eq(1), out.warp.eq(arrived.warp),
                         out.generation.eq(arrived.generation),
                         out.base.eq(arrived.base), number.eq(arrived.d),
                         out.beat.eq(0), final.eq(arrived.last),
                         mask.eq(Mux(current.failed, 0, arrived.mask)),
                         k.eq(0), extra.eq(extra_registers(arrived.size))]
        with m.Elif(leave):
            m.d.sync += [busy.eq(~finish), mask.eq(mask.rotate_right(g.lanes)),
                         out.beat.eq(Mux(out.last, 0, out.beat + 1)), k.eq(k + out.last)]
        for i in range(g.lanes):
            self._lane(m, i, [lanes[i::g.lanes] for lanes in words], current, copy, leave)
        return finish

    def _lane(self, m: Module, i: int, words: Sequence[Sequence[Value]], current: data.View,
              copy: Value, leave: Value):
        """The rows of lane `i` of a beat: its words of each beat, of each register."""
        g, arrived = self.geometry, current.segment
        rows = [Signal(32, name=f"row_{i}_{r}") for r in range(4 * g.beats)]
        m.d.comb += self.write.payload.data[i].eq(rows[0])
        with m.If(copy):
            for k, lanes in enumerate(words):
                for beat, word in enumerate(lanes):
                    lane = beat * g.lanes + i
                    value = word if k else extract(word, arrived.offset[lane][:2], arrived.size)
                    lane_loaded = arrived.mask[lane] & ~current.failed
                    m.d.sync += rows[k * g.beats + beat].eq(Mux(lane_loaded, value, 0))
        with m.Elif(leave):
            m.d.sync += [here.eq(following)
                         for here, following in zip(rows, [*rows[1:], 0], strict=True)]


def _choose(values: Sequence[Value], index: Value):
    """``values[index]`` as a tree of multiplexers."""
    while len(values) > 1:
        values = [Mux(index[0], odd, even)
                  for even, odd in zip(values[::2], values[1::2], strict=True)]
        index = index[1:]
    return values[0]
