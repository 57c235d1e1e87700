"""Packet completion: writes times into a signal, and takes 1 from its value."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value, ValueLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, Geometry
from ...arch.packets import SIGNAL_END, SIGNAL_START, SIGNAL_VALUE
from ...interfaces.gpu_ports import SEGMENT_BITS, OrderPort
from ...interfaces.port import Port
from ...memory.pair_writer import PairWriter
from ...memory.ports import WriteInterface, WritePort
from ...memory.word_reader import read_word, words_job

__all__ = ["PAUSE_CYCLES", "TRIES", "PacketCompletion"]

TRIES = 8
"""Successive reads of a value that memory may refuse after it has refused the value's write. Then
the completion is uncertain."""
PAUSE_CYCLES = 64
"""Cycles between two such reads."""


class PacketCompletion(wiring.Component):
    """Completes one packet at a time; one that has no signal in the cycle after `begin`.

    ::

        begin --> STAMP --> STAMP_END --> COUNT --> VALUE --> COUNT_DOWN --> done
                    |           |           ^         |           | refused
                    +-----------+-----------|---------+           v
                          `refused`      no times               CHECK <--> PAUSE

    The value is changed as atomics are, with its segment owned at the point of order. The packet is
    done in the cycle in which memory acknowledges the write. If memory answers with an error before
    the value is written, nothing has been counted. The completion is `refused`, and everything is
    done once more later. If the write of the value is answered with an error, memory may hold the
    old value or the new one. The segment stays owned then, and the value is read. The new value
    completes the packet; the old one says that nothing has been counted. Memory may refuse these
    reads `TRIES` times, with a pause before each but the first, or hold another value. Then the
    completion is `uncertain`. Thus memory holds others up for a bounded time.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    begin : Signal, in
    signal : Signal(ADDRESS_BITS), in
        Its address, 0 for none. This and `start` are held until `done`.
    timed : Signal, in
        Times are written; held as well.
    start : Signal(64), in
        One of the times.
    cycle : Signal(64), in
        Now, the other time.
    give_up : Signal, in
        A value whose write memory has refused is not read.
    done : Signal, out; refused : Signal, out
        High for one cycle. With `refused` the signal was not changed as wanted.
    uncertain : Signal, out
        High with `refused`, unless the completion was given up: it is not known whether the value
        was counted down.
    insists : Signal, out
        The write of the value was refused, and what memory holds is being read.
    job, word : streams, out and in
        Streams of a `WordReader`.
    order : OrderPort, out
    write_port : WritePort, out
    wrote : stream of Signal(SEGMENT_BITS), out
        The segment of a signal that was written, or may have been and is not tried again; only
        with `Geometry.watches`.
    """

    begin: Signal
    signal: Signal
    timed: Signal
    start: Signal
    cycle: Signal
    give_up: Signal
    done: Signal
    refused: Signal
    uncertain: Signal
    insists: Signal
    job: stream.Interface
    word: stream.Interface
    order: Port
    write_port: WriteInterface
    wrote: stream.Interface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "begin": In(1), "signal": In(ADDRESS_BITS), "timed": In(1), "start": In(64),
            "cycle": In(64), "give_up": In(1), "done": Out(1), "refused": Out(1),
            "uncertain": Out(1), "insists": Out(1),
            "job": Out(stream.Signature(words_job())),
            "word": In(stream.Signature(read_word())), "order": Out(OrderPort()),
            "write_port": Out(WritePort(g)),
            **({"wrote": Out(stream.Signature(SEGMENT_BITS))} if g.watches else {}),
        })

    @property
    def _notice_pending(self) -> Value:
        """Whether the write of a signal has not been told to the SMs yet."""
        return self.wrote.valid if self.geometry.watches else Const(0)

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.writer = writer = PairWriter(self.geometry)
        wiring.connect(m, writer.port, wiring.flipped(self.write_port))
        if self.geometry.watches:
            with m.If(self.wrote.ready):
                m.d.sync += self.wrote.valid.eq(0)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.begin):
                    with m.If(self.signal == 0):
                        m.next = "NOTHING"
                    with m.Elif(self.timed):
                        m.next = "STAMP"
                    with m.Else():
                        m.next = "COUNT"
            self._write(m, writer, "STAMP", SIGNAL_START, self.start, partial(self._go, m,
                        "STAMP_END"), partial(self._refuse, m), ~self._notice_pending)
            self._write(m, writer, "STAMP_END", SIGNAL_END, self.cycle,
                        partial(self._go, m, "COUNT"), partial(self._refuse, m))
            self._count(m, writer)
            # A packet without a signal is done a cycle after `begin`, as the port promises.
            with m.State("NOTHING"):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
        return m

    @staticmethod
    def _go(m: Module, state: str):
        m.next = state

    def _tell(self, m: Module):
        """Tell the SMs that the signal has been written."""
        if self.geometry.watches:
            m.d.sync += [self.wrote.valid.eq(1), self.wrote.payload.eq(self.order.give.segment)]

    def _refuse(self, m: Module):
        """End a completion that memory has refused; it is done once more unless it is given up."""
        m.d.comb += [self.done.eq(1), self.refused.eq(1)]
        with m.If(self.give_up):  # the times may have been written
            self._tell(m)
        m.next = "IDLE"

    def _give(self, m: Module):
        """Give the segment back to the point of order."""
        m.d.comb += self.order.give.valid.eq(1)
        m.d.sync += self.insists.eq(0)

    def _nothing_counted(self, m: Module):
        self._give(m)
        self._refuse(m)

    def _counted(self, m: Module):
        self._give(m)
        self._tell(m)
        m.d.comb += self.done.eq(1)
        m.next = "IDLE"

    def _leave(self, m: Module, uncertain: ValueLike):
        """End a completion whose value may have been written or not; it is read no more."""
        self._give(m)
        self._tell(m)
        m.d.comb += [self.done.eq(1), self.refused.eq(1), self.uncertain.eq(uncertain)]
        m.next = "IDLE"

    def _write(self, m: Module, writer: PairWriter, name: str, offset: int, word: Value,
               then: Callable[[], None], refused: Callable[[], None], may: ValueLike = 1):
        """States that write a word, when it `may` be, and wait until memory has it or has refused
        it."""
        with m.State(name):
            m.d.comb += [writer.pair.valid.eq(may), writer.pair.payload.data.eq(word),
                         writer.pair.payload.address.eq(self.signal + offset)]
            with m.If(may & writer.pair.ready):
                m.next = f"{name}_ACK"
        with m.State(f"{name}_ACK"):
            with m.If(writer.done):
                with m.If(writer.error):
                    refused()
                with m.Else():
                    then()

    def _read(self, m: Module, name: str, words: Sequence[Signal], failed: Signal):
        """States that read the value, and whether that `failed`, and go on to `name`."""
        job, word = self.job, self.word
        with m.State(f"{name}_ASK"):
            m.d.comb += job.valid.eq(1)
            m.d.sync += failed.eq(0)
            with m.If(job.ready):
                m.next = f"{name}_WORDS"
        with m.State(f"{name}_WORDS"):
            m.d.comb += word.ready.eq(1)
            with m.If(word.valid):
                m.d.sync += [words[0].eq(words[1]), words[1].eq(word.payload.data),
                             failed.eq(failed | word.payload.error)]
                with m.If(word.payload.last):
                    m.next = name

    def _count(self, m: Module, writer: PairWriter):
        """Own the signal's segment while its value is read, counted down and written."""
        order, job = self.order, self.job
        segment = self.signal[len(self.signal) - len(order.take.payload):]
        value = [Signal(32, name=f"value_{k}") for k in range(2)]
        failed = Signal()
        m.d.comb += [order.take.payload.eq(segment), order.give.segment.eq(segment),
                     job.payload.address.eq(self.signal + SIGNAL_VALUE),
                     job.payload.words.eq(len(value))]
        # The notice of the signal before is told first: there is one register for it.
        with m.State("COUNT"):
            with m.If(~self._notice_pending):
                m.d.comb += order.take.valid.eq(1)
                with m.If(order.take.ready):
                    m.next = "VALUE_ASK"
        self._read(m, "VALUE", value, failed)
        with m.State("VALUE"):
            with m.If(failed):
                self._nothing_counted(m)
            with m.Else():
                m.next = "COUNT_DOWN"
        less = Signal(64)
        m.d.comb += less.eq(Cat(value) - 1)
        self._write(m, writer, "COUNT_DOWN", SIGNAL_VALUE, less, partial(self._counted, m),
                    partial(self._doubt, m))
        self._check(m, Cat(value), less, failed)

    def _doubt(self, m: Module):
        """Look at the value in memory after its write was refused, unless it is given up."""
        with m.If(self.give_up):
            self._leave(m, uncertain=0)
        with m.Else():
            m.d.sync += self.insists.eq(1)
            m.next = "CHECK_ASK"

    def _check(self, m: Module, value: Value, less: Value, failed: Signal):
        """Find out whether memory holds the `value` or the one that is `less`."""
        found = [Signal(32, name=f"found_{k}") for k in range(2)]
        tries = Signal(range(TRIES))
        pause = Signal(range(PAUSE_CYCLES))
        self._read(m, "CHECK", found, failed)
        # Only the new value completes the packet; any value but the old one leaves it uncertain.
        with m.State("CHECK"):
            m.d.sync += [pause.eq(PAUSE_CYCLES - 1), tries.eq(0)]
            with m.If(self.give_up):
                self._leave(m, uncertain=0)
            with m.Elif(failed & (tries != TRIES - 1)):
                m.d.sync += tries.eq(tries + 1)
                m.next = "PAUSE"
            with m.Elif(~failed & (Cat(found) == less)):
                self._counted(m)
            with m.Elif(~failed & (Cat(found) == value)):
                self._nothing_counted(m)
            with m.Else():
                self._leave(m, uncertain=1)
        # The segment stays owned meanwhile, so that no other access changes the value.
        with m.State("PAUSE"):
            m.d.sync += pause.eq(pause - 1)
            with m.If(self.give_up):
                m.d.sync += tries.eq(0)
                self._leave(m, uncertain=0)
            with m.Elif(pause == 0):
                m.next = "CHECK_ASK"
