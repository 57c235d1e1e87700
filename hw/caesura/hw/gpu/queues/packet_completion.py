"""Packet completion: writes times into a signal, and takes 1 from its value."""

from functools import partial

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, Geometry
from ...arch.packets import SIGNAL_END, SIGNAL_START, SIGNAL_VALUE
from ...interfaces.gpu_ports import SEGMENT_BITS, OrderPort
from ...interfaces.port import Port
from ...memory.pair_writer import PairWriter
from ...memory.ports import WriteInterface, WritePort
from ...memory.word_reader import read_word, words_job

__all__ = ["PacketCompletion"]


class PacketCompletion(wiring.Component):
    """Completes one packet at a time; one that has no signal in the cycle after `begin`.

    ::

        begin --> STAMP --> STAMP_END --> COUNT --> VALUE --> COUNT_DOWN --> done
                    |           |                     |        ^     |
                    +-----------+-- done, `refused` --+        +-----+ refused: once more

    The value is changed as atomics are, with its segment owned at the point of order; it is done in
    the cycle in which memory acknowledges that. Where memory answers with an error before the value
    was written nothing has been counted, and all is to be done once more later: it is `refused`.
    If the write of the value is answered with an error, memory may hold the old value or the new
    one. The segment stays owned then, and the same value is written until memory acknowledges it,
    or until `give_up`. The times are written before: a signal that cannot be written at all is
    refused there, and holds no other up.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    begin : Signal, in
    signal : Signal(ADDRESS_BITS), in
        Its address, 0 for none. This and `start` are held until `done`.
    start : Signal(64), in
        One of the times.
    cycle : Signal(64), in
        Now, the other time.
    give_up : Signal, in
        A value that memory does not take is not written once more.
    done : Signal, out; refused : Signal, out
        For one cycle; the signal is not as it is to be.
    insists : Signal, out
        The write of the value was refused, and is repeated.
    job, word : streams, out and in
        Of a `WordReader`.
    order : OrderPort, out
    write_port : WritePort, out
    wrote : stream of Signal(SEGMENT_BITS), out
        The segment of a signal that was written; only with `Geometry.watches`.
    """

    begin: Signal
    signal: Signal
    start: Signal
    cycle: Signal
    give_up: Signal
    done: Signal
    refused: Signal
    insists: Signal
    job: stream.Interface
    word: stream.Interface
    order: Port
    write_port: WriteInterface
    wrote: stream.Interface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "begin": In(1), "signal": In(ADDRESS_BITS), "start": In(64), "cycle": In(64),
            "give_up": In(1), "done": Out(1), "refused": Out(1), "insists": Out(1),
            "job": Out(stream.Signature(words_job())),
            "word": In(stream.Signature(read_word())), "order": Out(OrderPort()),
            "write_port": Out(WritePort(g)),
            **({"wrote": Out(stream.Signature(SEGMENT_BITS))} if g.watches else {}),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.writer = writer = PairWriter(self.geometry)
        wiring.connect(m, writer.port, wiring.flipped(self.write_port))
        self.telling = Signal(name="telling")
        if self.geometry.watches:
            m.d.comb += self.wrote.valid.eq(self.telling)
            with m.If(self.wrote.ready):
                m.d.sync += self.telling.eq(0)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.begin):
                    with m.If(self.signal == 0):
                        m.next = "NOTHING"
                    with m.Else():
                        m.next = "STAMP"
            for name, offset, word, then in (("STAMP", SIGNAL_START, self.start, "STAMP_END"),
                                             ("STAMP_END", SIGNAL_END, self.cycle, "COUNT")):
                self._write(m, writer, name, offset, word, partial(self._go, m, then),
                            partial(self._refuse, m))
            self._count(m, writer)
            with m.State("NOTHING"):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
        return m

    @staticmethod
    def _go(m, state):
        m.next = state

    def _refuse(self, m):
        """Memory does not take it: all is to be done once more."""
        m.d.comb += [self.done.eq(1), self.refused.eq(1)]
        m.next = "IDLE"

    def _give(self, m, written):
        """The segment has no owner any more; the signal is as it is to be if it was `written`."""
        segment = self.order.give.segment
        m.d.comb += self.order.give.valid.eq(1)
        m.d.sync += self.insists.eq(0)
        if written:
            m.d.comb += self.done.eq(1)
            if self.geometry.watches:
                m.d.sync += [self.telling.eq(1), self.wrote.payload.eq(segment)]
            m.next = "IDLE"
        else:
            self._refuse(m)

    def _insist(self, m):
        """Write the value once more, or give up."""
        with m.If(self.give_up):
            self._give(m, written=False)
        with m.Else():
            m.d.sync += self.insists.eq(1)
            m.next = "COUNT_DOWN"

    def _write(self, m, writer, name, offset, word, then, refused):
        """States that write a word, and wait until memory has it or has refused it."""
        with m.State(name):
            m.d.comb += [writer.pair.valid.eq(1), writer.pair.payload.data.eq(word),
                         writer.pair.payload.address.eq(self.signal + offset)]
            with m.If(writer.pair.ready):
                m.next = f"{name}_ACK"
        with m.State(f"{name}_ACK"):
            with m.If(writer.done):
                with m.If(writer.error):
                    refused()
                with m.Else():
                    then()

    def _count(self, m, writer):
        """Own the signal's segment while its value is read, counted down and written."""
        order, job, word = self.order, self.job, self.word
        segment = self.signal[len(self.signal) - len(order.take.payload):]
        value = [Signal(32, name=f"value_{k}") for k in range(2)]
        failed = Signal()
        m.d.comb += [order.take.payload.eq(segment), order.give.segment.eq(segment),
                     job.payload.address.eq(self.signal + SIGNAL_VALUE),
                     job.payload.words.eq(len(value))]
        with m.State("COUNT"):
            with m.If(~self.telling):  # of the one before
                m.d.comb += order.take.valid.eq(1)
                with m.If(order.take.ready):
                    m.next = "ASK"
        with m.State("ASK"):
            m.d.comb += job.valid.eq(1)
            m.d.sync += failed.eq(0)
            with m.If(job.ready):
                m.next = "VALUE"
        with m.State("VALUE"):
            m.d.comb += word.ready.eq(1)
            with m.If(word.valid):
                m.d.sync += [value[0].eq(value[1]), value[1].eq(word.payload.data),
                             failed.eq(failed | word.payload.error)]
                with m.If(word.payload.last):
                    m.next = "VALUE_READ"
        with m.State("VALUE_READ"):
            with m.If(failed):
                self._give(m, written=False)
            with m.Else():
                m.next = "COUNT_DOWN"
        self._write(m, writer, "COUNT_DOWN", SIGNAL_VALUE, Cat(value) - 1,
                    partial(self._give, m, written=True), partial(self._insist, m))
