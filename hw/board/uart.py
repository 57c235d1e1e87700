"""A UART: 8 bits, no parity, one stop bit, lowest bit first; the line is high when it is idle.

::

    rx --> [two flip-flops] --> UartReceiver ----> received
    tx <----------------------- UartTransmitter <-- sent
"""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["Uart", "UartReceiver", "UartTransmitter"]

LEAST_DIVISOR = 4
"""Cycles of a bit, at least: its middle has to be found."""


def _check(divisor: int) -> int:
    if divisor < LEAST_DIVISOR:
        raise ValueError(f"divisor must be {LEAST_DIVISOR} or more, not {divisor}")
    return divisor


class UartReceiver(wiring.Component):
    """Bytes from a line.

    A byte is offered in the middle of its stop bit, 9.5 bits and 2 to 3 cycles after the line fell.
    It is offered until it is taken or the next one has come, which then takes its place. One whose
    stop bit is low is dropped; the line has to be high again before the next one begins. A start
    bit that is not low in its middle is none.

    Parameters
    ----------
    divisor : int
        Cycles of a bit, 4 or more.

    Attributes
    ----------
    rx : Signal(1), in
        Input from another clock domain, or from none.
    received : stream of 8, out

    Raises
    ------
    ValueError
        If the divisor is too small.
    """

    rx: Signal
    received: stream.Interface

    def __init__(self, divisor: int):
        self.divisor = _check(divisor)
        super().__init__({"rx": In(1), "received": Out(stream.Signature(8))})

    def elaborate(self, platform: Any):
        m = Module()
        line = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.rx, line, init=1)
        cycles_remaining = Signal(range(self.divisor))  # cycles to the middle of the next bit
        bits = Signal(8)
        count = Signal(range(8))
        with m.If(self.received.ready):
            m.d.sync += self.received.valid.eq(0)
        with m.If(cycles_remaining != 0):
            m.d.sync += cycles_remaining.eq(cycles_remaining - 1)
        middle = cycles_remaining == 0
        with m.FSM(name="receiver"):
            with m.State("IDLE"):
                with m.If(~line):
                    m.d.sync += cycles_remaining.eq(self.divisor // 2 - 1)
                    m.next = "START"
            with m.State("START"):
                with m.If(middle):
                    m.d.sync += [cycles_remaining.eq(self.divisor - 1), count.eq(0)]
                    with m.If(line):
                        m.next = "IDLE"
                    with m.Else():
                        m.next = "BITS"
            with m.State("BITS"):
                with m.If(middle):
                    m.d.sync += [cycles_remaining.eq(self.divisor - 1),
                                 bits.eq(Cat(bits[1:], line)), count.eq(count + 1)]
                    with m.If(count == 7):
                        m.next = "STOP"
            with m.State("STOP"):
                with m.If(middle):
                    with m.If(line):
                        m.d.sync += [self.received.payload.eq(bits), self.received.valid.eq(1)]
                        m.next = "IDLE"
                    with m.Else():
                        m.next = "BREAK"
            with m.State("BREAK"):
                with m.If(line):
                    m.next = "IDLE"
        return m


class UartTransmitter(wiring.Component):
    """Bytes to a line, 10 bits each, one after the other without a gap.

    Parameters
    ----------
    divisor : int
        Cycles of a bit, 4 or more.

    Attributes
    ----------
    tx : Signal(1), out
        From a flip-flop; it falls a cycle after a byte has been taken.
    sent : stream of 8, in

    Raises
    ------
    ValueError
        If the divisor is too small.
    """

    tx: Signal
    sent: stream.Interface

    def __init__(self, divisor: int):
        self.divisor = _check(divisor)
        super().__init__({"tx": Out(1), "sent": In(stream.Signature(8))})

    def elaborate(self, platform: Any):
        m = Module()
        bits = Signal(10, init=0x3FF)
        cycles_remaining = Signal(range(self.divisor))
        count = Signal(range(10))
        last = Signal()
        m.d.comb += [self.tx.eq(bits[0]), last.eq((cycles_remaining == 0) & (count == 0)),
                     self.sent.ready.eq(last)]
        with m.If(cycles_remaining != 0):
            m.d.sync += cycles_remaining.eq(cycles_remaining - 1)
        with m.Elif(count != 0):
            m.d.sync += [cycles_remaining.eq(self.divisor - 1), count.eq(count - 1),
                         bits.eq(Cat(bits[1:], Const(1, 1)))]
        with m.If(last & self.sent.valid):
            m.d.sync += [bits.eq(Cat(Const(0, 1), self.sent.payload, Const(1, 1))),
                         cycles_remaining.eq(self.divisor - 1), count.eq(9)]
        return m


class Uart(wiring.Component):
    """Both directions of a line.

    Parameters
    ----------
    divisor : int
        Cycles of a bit, 4 or more.

    Attributes
    ----------
    rx : Signal(1), in; tx : Signal(1), out
    received : stream of 8, out; sent : stream of 8, in
        Described in `UartReceiver` and `UartTransmitter`.

    Raises
    ------
    ValueError
        If the divisor is too small.
    """

    rx: Signal
    tx: Signal
    received: stream.Interface
    sent: stream.Interface

    def __init__(self, divisor: int):
        self.divisor = _check(divisor)
        super().__init__({"rx": In(1), "tx": Out(1), "received": Out(stream.Signature(8)),
                          "sent": In(stream.Signature(8))})

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.receiver = receiver = UartReceiver(self.divisor)
        m.submodules.transmitter = transmitter = UartTransmitter(self.divisor)
        m.d.comb += [receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx)]
        wiring.connect(m, receiver.received, wiring.flipped(self.received))
        wiring.connect(m, wiring.flipped(self.sent), transmitter.sent)
        return m
