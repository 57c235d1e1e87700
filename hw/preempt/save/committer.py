"""Commit protocol: heads of CCB entries among the data bursts, and the acknowledgements that they
wait for.

::

    burst (final?) --+                      +--> request
                     +--> request register -+
    head ------------+         |            +--> grants --> beats (of the data,
    COMPLETE of the last final burst        |                      or composed for a head)
                               |
                               +--> marks (entry, number of the head)
                                             `--- ack number --> event

Acknowledgements come in order, so a head's number says when all before it are acknowledged. See
`arch.context` for the protocol; Lin et al. IV-B for the CCB.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, Geometry
from ...arch.image.context import ENTRY_BYTES, VERSION, State, place_of
from ...interfaces.payloads import below
from ...lib.stream_queue import StreamQueue
from ...memory.ports import WriteInterface, WritePort
from .segment_writer import data_burst, write_data

__all__ = ["HEAD_BYTES", "head", "head_event", "Committer"]

HEAD_BYTES = 8
"""Bytes of the head (words 0 and 1) of an entry."""
NUMBER_BITS = 16
"""Bits of a burst number: far more than can be outstanding."""


def head(g: Geometry) -> data.StructLayout:
    """A new state for CCB entry `entry` on a side, with its checksum unless it is
    `State.DEMOTED`."""
    return data.StructLayout({"entry": below(g.context_entries), "side": 1, "state": 8, "crc": 32})


def head_event(g: Geometry) -> data.StructLayout:
    """The head of `entry` on a side with `state` (and `crc`) was acknowledged; `valid` for one
    cycle.

    It is an `error` if the head failed, or any write before the head of an entry just saved.
    """
    return data.StructLayout({"valid": 1, "entry": below(g.context_entries), "side": 1, "state": 8,
                              "crc": 32, "error": 1})


class Committer(wiring.Component):
    """Merges heads and data bursts onto the write port and carries out the commit protocol.

    Behind the `final` burst of an entry its head is written, `State.COMPLETE` or `State.BASE`,
    unless a write has failed by then. Other heads go before data bursts. Of one that is
    `State.DEMOTED` only the byte of the state is written: it is the old one or the new one,
    whatever becomes of the write.

    With `cancel` nothing more is requested; bursts that were granted are ended with beats that
    write nothing.

    One beat and one request per cycle; a request is offered in the cycle after it was taken.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    ccb_base : Signal, in
        Address of the CCB of the kernel in hand; constant until `idle`.
    base : Signal, in
        Images are saved as bases; constant until `idle`.
    clear : Signal, in
        A command begins: forgets `error`.
    cancel : Signal, in
        Requests that are offered do not count any more; high until `idle`.
    burst, data : stream, in
        Bursts of a `SegmentWriter`.
    head : stream, in
        Heads to be written.
    event : out
        Each head's acknowledgement.
    error : Signal, out
        Set with any failed acknowledgement, from the next cycle, until `clear`.
    beats_pending : Signal, out
        Beats are being, or can be, written.
    idle : Signal, out
        Nothing offered, to be completed or unacknowledged.
    port : WritePort
    """

    ccb_base: Signal
    base: Signal
    clear: Signal
    cancel: Signal
    burst: stream.Interface
    data: stream.Interface
    head: stream.Interface
    event: View
    error: Signal
    beats_pending: Signal
    idle: Signal
    port: WriteInterface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "ccb_base": In(ADDRESS_BITS), "base": In(1), "clear": In(1), "cancel": In(1),
            "burst": In(stream.Signature(data_burst(g))),
            "data": In(stream.Signature(write_data(g))),
            "head": In(stream.Signature(head(g))), "event": Out(head_event(g)),
            "error": Out(1), "beats_pending": Out(1), "idle": Out(1), "port": Out(WritePort(g)),
        })
        self._request = data.StructLayout({
            "address": ADDRESS_BITS, "extra_beats": range(g.burst_beats), "head": 1, "saved": 1,
            "entry": below(g.context_entries), "side": 1, "state": 8, "crc": 32})
        self._mark = data.StructLayout({"entry": below(g.context_entries), "side": 1, "saved": 1,
                                        "state": 8, "crc": 32, "number": NUMBER_BITS})

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.grants = grants = StreamQueue(self._request, 4)
        m.submodules.marks = marks = StreamQueue(self._mark, 2 * g.tb_slots)
        complete = Signal(head(g))  # of the entry whose final burst was the last to be taken
        completes = Signal()        # it is to be written next
        valid = Signal()
        request = Signal(self._request)
        sent = Signal()
        issued = Signal(NUMBER_BITS)
        out = self.port.request
        m.d.comb += [
            out.valid.eq(valid & ~self.cancel & grants.input.ready & marks.input.ready),
            sent.eq(out.valid & out.ready),
            out.payload.address.eq(request.address),
            out.payload.extra_beats.eq(request.extra_beats),
            grants.input.valid.eq(sent), grants.input.payload.eq(request),
            marks.input.valid.eq(sent & request.head),
            *(marks.input.payload[name].eq(request[name])
              for name in ("entry", "side", "saved", "state", "crc")),
            marks.input.payload.number.eq(issued),
        ]
        with m.If(sent):
            m.d.sync += issued.eq(issued + 1)
        offered = self._choose(m, valid, request, ~valid | sent, complete, completes)
        self._beats(m, grants.output)
        acknowledged = self._acknowledge(m, marks.output)
        m.d.comb += [
            self.beats_pending.eq(valid | grants.output.valid),
            self.idle.eq(~valid & (self.cancel | ~offered) & (issued == acknowledged)),
        ]
        return m

    def _choose(self, m: Module, valid: Signal, request: View, free: Value, complete: View,
                completes: Signal):
        """Load the request register: what completes an entry first, then other heads, then
        data."""
        g, burst = self.geometry, self.burst.payload
        take_complete = Signal()
        take_head = Signal()
        take_burst = Signal()
        chosen = Signal(head(g))
        # An entry is completed at once, since only one such head is kept. Other heads are short,
        # and a TB waits for each.
        m.d.comb += [
            take_complete.eq(completes & ~self.error),
            take_head.eq(self.head.valid & ~take_complete),
            take_burst.eq(self.burst.valid & ~self.head.valid & ~take_complete),
            self.head.ready.eq(free & ~take_complete),
            self.burst.ready.eq(free & ~take_complete & ~self.head.valid),
            chosen.eq(Mux(take_complete, complete, self.head.payload)),
        ]
        with m.If(free):
            m.d.sync += [valid.eq(take_complete | take_head | take_burst), completes.eq(0)]
            with m.If(take_burst):
                m.d.sync += [request.address.eq(burst.address),
                             request.extra_beats.eq(burst.extra_beats), request.head.eq(0),
                             request.entry.eq(burst.entry), completes.eq(burst.final),
                             complete.entry.eq(burst.entry), complete.side.eq(burst.side),
                             complete.crc.eq(burst.crc),
                             complete.state.eq(Mux(self.base, State.BASE, State.COMPLETE))]
            with m.Else():
                m.d.sync += [
                    request.address.eq(self.ccb_base + ENTRY_BYTES * place_of(
                        g, chosen.entry, chosen.side)),
                    request.extra_beats.eq(Mux(chosen.state == State.DEMOTED, 0,
                                               max(1, HEAD_BYTES // g.bus_bytes) - 1)),
                    request.head.eq(1), request.saved.eq(take_complete),
                    *(request[name].eq(chosen[name]) for name in ("entry", "side", "state", "crc"))]
        with m.If(self.cancel):
            m.d.sync += [valid.eq(0), completes.eq(0)]
        return completes | self.head.valid | self.burst.valid

    def _beats(self, m: Module, grant: stream.Interface):
        """Write the beats of the granted bursts; a head is words 0 and 1, or the state alone."""
        g = self.geometry
        beat = self.port.beat
        count = Signal(range(g.burst_beats))
        of = grant.payload
        words = Cat(of.state, Const(VERSION, 8), Const(0, 16), of.crc)
        beat_taken = Signal()
        last = Signal()
        m.d.comb += [
            last.eq(count == of.extra_beats), beat.payload.last.eq(last),
            beat.valid.eq(grant.valid & (of.head | self.data.valid | self.cancel)),
            beat_taken.eq(beat.valid & beat.ready),
            self.data.ready.eq(grant.valid & ~of.head & beat.ready),
            grant.ready.eq(beat_taken & last),
        ]
        with m.If(of.head):
            m.d.comb += [beat.payload.data.eq(words >> 8 * g.bus_bytes * count
                                              if g.bus_bytes < HEAD_BYTES else words),
                         beat.payload.strobe.eq(Mux(of.state == State.DEMOTED, 1,
                                                    (1 << HEAD_BYTES) - 1))]
        with m.Else():
            m.d.comb += [beat.payload.data.eq(self.data.payload.data),
                         beat.payload.strobe.eq(self.data.payload.strobe)]
        with m.If(self.cancel):
            m.d.comb += beat.payload.strobe.eq(0)
        with m.If(beat_taken):
            m.d.sync += count.eq(Mux(last, 0, count + 1))

    def _acknowledge(self, m: Module, marks: stream.Interface):
        """Count acknowledgements; the one of a head is an event."""
        number = Signal(NUMBER_BITS)
        ack, mark = self.port.ack, marks.payload
        failed = Signal()
        marked = Signal()
        m.d.comb += [
            ack.ready.eq(1), failed.eq(ack.valid & ack.payload.error),
            marked.eq(ack.valid & marks.valid & (mark.number == number)),
            marks.ready.eq(marked), self.event.valid.eq(marked & ~self.cancel),
            *(self.event[name].eq(mark[name]) for name in ("entry", "side", "state", "crc")),
            self.event.error.eq(failed | mark.saved & self.error),
        ]
        with m.If(ack.valid):
            m.d.sync += number.eq(number + 1)
        with m.If(self.clear):
            m.d.sync += self.error.eq(0)
        with m.Elif(failed):
            m.d.sync += self.error.eq(1)
        return number
