"""Commit protocol: heads of CCB entries among the data bursts, and who waits for which
acknowledgement.

::

    burst (final?) --+                      +--> request
                     +--> request register -+
    head ------------+         |            +--> grants --> beats (of the data,
    wanted (COMPLETE)          |                                   or composed for a head)
                               |
                               +--> marks (entry, number of the burst)
                                             `--- ack number --> event, `wanted`

Acknowledgements come in order, so a burst's number says when all before it are acknowledged. See
`arch.context` for the protocol; Lin et al. IV-B for the CCB.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ...arch.context import ENTRY_BYTES, VERSION, State
from ...arch.geometry import ADDRESS_BITS, Geometry
from ...interfaces.payloads import below
from ...lib.bits import lowest_number, without_lowest
from ...lib.stream_queue import StreamQueue
from ...memory.ports import WriteInterface, WritePort
from .segment_writer import data_burst, write_data

__all__ = ["HEAD_BYTES", "head", "head_event", "Committer"]

HEAD_BYTES = 8
"""Bytes of the head (words 0 and 1) of an entry."""
NUMBER_BITS = 16
"""Bits of a burst number: far more than can be outstanding."""


def head(g: Geometry) -> data.StructLayout:
    """A new state for CCB entry `entry`."""
    return data.StructLayout({"entry": below(g.tb_slots), "state": 3, "generation": 16})


def head_event(g: Geometry) -> data.StructLayout:
    """The head of `entry` with `state` was acknowledged; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "entry": below(g.tb_slots), "state": 3, "error": 1})


class Committer(wiring.Component):
    """Merges heads and data bursts onto the write port and carries out the commit protocol.

    When the `final` burst of an entry and all before it are acknowledged without an error, the
    entry's `State.COMPLETE` head is written by itself. Heads go before data bursts; a data burst
    waits until its entry is in `opened`.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    ccb_base, generation : Signal, in
        Of the kernel in hand; constant until `idle`.
    clear : Signal, in
        A command begins: forgets `error`.
    opened : Signal, in
        Entries (bit vector) whose data may be written.
    burst, data : stream, in
        From a `SegmentWriter`.
    head : stream, in
        Heads to be written.
    event : out
        Each head's acknowledgement.
    error : Signal, out
        Set with any failed acknowledgement, from the next cycle, until `clear`; no entry is
        completed then.
    sending : Signal, out
        Beats are being, or can be, written.
    idle : Signal, out
        Nothing offered, to be completed or unacknowledged.
    port : WritePort
    """

    ccb_base: Signal
    generation: Signal
    clear: Signal
    opened: Signal
    burst: stream.Interface
    data: stream.Interface
    head: stream.Interface
    event: View
    error: Signal
    sending: Signal
    idle: Signal
    port: WriteInterface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "ccb_base": In(ADDRESS_BITS), "generation": In(16),
            "clear": In(1), "opened": In(g.tb_slots),
            "burst": In(stream.Signature(data_burst(g))),
            "data": In(stream.Signature(write_data(g))),
            "head": In(stream.Signature(head(g))), "event": Out(head_event(g)),
            "error": Out(1), "sending": Out(1), "idle": Out(1), "port": Out(WritePort(g)),
        })
        self._request = data.StructLayout({
            "address": ADDRESS_BITS, "extra_beats": range(g.burst_beats), "head": 1, "final": 1,
            "entry": below(g.tb_slots), "state": 3, "generation": 16})
        self._mark = data.StructLayout({"entry": below(g.tb_slots), "final": 1,
                                        "state": 3, "number": NUMBER_BITS})

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        m.submodules.grants = grants = StreamQueue(self._request, 4)
        m.submodules.marks = marks = StreamQueue(self._mark, 2 * g.tb_slots)
        wanted = Signal(g.tb_slots)  # entries to be marked COMPLETE
        completing = Signal()        # one of them, the lowest, is taken
        valid = Signal()
        request = Signal(self._request)
        sent = Signal()
        issued = Signal(NUMBER_BITS)
        out = self.port.request
        m.d.comb += [
            out.valid.eq(valid & grants.input.ready & marks.input.ready),
            sent.eq(out.valid & out.ready),
            out.payload.address.eq(request.address),
            out.payload.extra_beats.eq(request.extra_beats),
            grants.input.valid.eq(sent), grants.input.payload.eq(request),
            marks.input.valid.eq(sent & (request.head | request.final)),
            marks.input.payload.entry.eq(request.entry),
            marks.input.payload.final.eq(request.final),
            marks.input.payload.state.eq(request.state), marks.input.payload.number.eq(issued),
        ]
        with m.If(sent):
            m.d.sync += issued.eq(issued + 1)
        offered = self._choose(m, valid, request, ~valid | sent, wanted, completing)
        self._beats(m, grants.output)
        acknowledged = self._acknowledge(m, marks.output, wanted, completing)
        m.d.comb += [
            self.sending.eq(valid | grants.output.valid),
            self.idle.eq(~valid & ~offered & (issued == acknowledged)),
        ]
        return m

    def _choose(self, m, valid, request, free, wanted, completing):
        """Load the request register: completions first, then other heads, then data."""
        g = self.geometry
        take_wanted = Signal()
        take_head = Signal()
        take_burst = Signal()
        burst = self.burst.payload
        entry = Signal(below(g.tb_slots))
        opened = self.opened.bit_select(burst.entry, 1)
        m.d.comb += [take_wanted.eq(wanted.any()),
                     take_head.eq(self.head.valid & ~take_wanted),
                     take_burst.eq(self.burst.valid & opened & ~self.head.valid & ~take_wanted),
                     self.head.ready.eq(free & ~take_wanted),
                     self.burst.ready.eq(free & opened & ~take_wanted & ~self.head.valid)]
        m.d.comb += entry.eq(Mux(take_wanted, lowest_number(wanted), self.head.payload.entry))
        with m.If(free):
            m.d.sync += valid.eq(take_wanted | take_head | take_burst)
            with m.If(take_burst):
                m.d.sync += [request.address.eq(burst.address),
                             request.extra_beats.eq(burst.extra_beats),
                             request.head.eq(0), request.final.eq(burst.final),
                             request.entry.eq(burst.entry)]
            with m.Else():
                m.d.sync += [
                    request.address.eq(self.ccb_base + entry * ENTRY_BYTES), request.head.eq(1),
                    request.extra_beats.eq(max(1, HEAD_BYTES // g.bus_bytes) - 1),
                    request.final.eq(0), request.entry.eq(entry),
                    request.state.eq(Mux(take_wanted, State.COMPLETE, self.head.payload.state)),
                    request.generation.eq(Mux(take_wanted, self.generation,
                                              self.head.payload.generation))]
        m.d.comb += completing.eq(free & take_wanted)
        return take_wanted | self.head.valid | self.burst.valid

    def _beats(self, m, grant):
        """Write the beats of the granted bursts; a head is words 0 and 1."""
        g = self.geometry
        beat = self.port.beat
        count = Signal(range(g.burst_beats))
        of = grant.payload
        words = Cat(of.state, Const(0, 5), Const(VERSION, 8), of.generation, Const(g.hash, 32))
        go = Signal()
        last = Signal()
        m.d.comb += [
            last.eq(count == of.extra_beats), beat.payload.last.eq(last),
            beat.valid.eq(grant.valid & (of.head | self.data.valid)),
            go.eq(beat.valid & beat.ready),
            self.data.ready.eq(grant.valid & ~of.head & beat.ready), grant.ready.eq(go & last),
        ]
        with m.If(of.head):
            m.d.comb += [beat.payload.data.eq(words >> 8 * g.bus_bytes * count
                                              if g.bus_bytes < HEAD_BYTES else words),
                         beat.payload.strobe.eq((1 << HEAD_BYTES) - 1)]
        with m.Else():
            m.d.comb += [beat.payload.data.eq(self.data.payload.data),
                         beat.payload.strobe.eq(self.data.payload.strobe)]
        with m.If(go):
            m.d.sync += count.eq(Mux(last, 0, count + 1))

    def _acknowledge(self, m, marks, wanted, completing):
        """Count acknowledgements; the one of a marked burst is an event,
        or makes a completion wanted."""
        entry = marks.payload.entry
        number = Signal(NUMBER_BITS)
        ack = self.port.ack
        failed = Signal()
        marked = Signal()
        m.d.comb += [
            ack.ready.eq(1), failed.eq(ack.valid & ack.payload.error),
            marked.eq(ack.valid & marks.valid & (marks.payload.number == number)),
            marks.ready.eq(marked),
            self.event.valid.eq(marked & ~marks.payload.final), self.event.entry.eq(entry),
            self.event.state.eq(marks.payload.state), self.event.error.eq(failed),
        ]
        with m.If(ack.valid):
            m.d.sync += number.eq(number + 1)
        with m.If(self.clear):
            m.d.sync += self.error.eq(0)
        with m.Elif(failed):
            m.d.sync += self.error.eq(1)
        kept = Mux(completing, without_lowest(wanted), wanted)
        completes = Signal.like(wanted)
        with m.If(marked & marks.payload.final & ~failed & ~self.error):
            m.d.comb += completes.eq(1 << entry)
        m.d.sync += wanted.eq(kept | completes)
        return number
