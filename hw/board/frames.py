"""Frames of the serial line (`hw.arch.board_protocol`): SLIP and CRC, taken apart and put together.

::

    bytes --> [escapes] --> [CRC-32, count] --> frame: header and verdict
                                  |
                                  +--> store: the data, into a buffer

    answer: header, size --> [header, buffer by fetch, CRC-32] --> [escapes] --> bytes
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import In, Out

from ..arch.board_protocol import (
    CRC_BYTES,
    END,
    ESC,
    ESCAPED_END,
    ESCAPED_ESC,
    HEADER_BYTES,
    MAX_DATA,
    Status,
)
from ..interfaces.port import Port

__all__ = ["Fetch", "FrameReceiver", "FrameSender", "Store", "answer_layout", "frame_layout",
           "header_layout"]

_COUNTED = HEADER_BYTES + MAX_DATA + CRC_BYTES
"""Bytes of the longest frame."""


class Store(wiring.Signature):
    """A byte into the buffer.

    Attributes
    ----------
    valid : Signal(1), out
    index : Signal, out
        Below `MAX_DATA` + `CRC_BYTES`: the CRC is stored too, since only the end of a frame tells
        that it was one.
    byte : Signal(8), out
    """

    def __init__(self):
        super().__init__({"valid": Out(1), "index": Out(range(MAX_DATA + CRC_BYTES)),
                          "byte": Out(8)})


class Fetch(wiring.Signature):
    """A byte from the buffer.

    Attributes
    ----------
    index : Signal, out
    byte : Signal(8), in
        Byte at the index of one cycle before.
    """

    def __init__(self):
        super().__init__({"index": Out(range(MAX_DATA + CRC_BYTES)), "byte": In(8)})


def header_layout() -> data.StructLayout:
    """Header of a request."""
    return data.StructLayout({"sequence": 8, "request": 8, "address": 32, "size": 16})


def frame_layout() -> data.StructLayout:
    """A frame that has come: its header, how many bytes of data are in the buffer, `Status`."""
    return data.StructLayout({"header": header_layout(), "stored": range(_COUNTED + 1),
                              "status": 8})


def answer_layout() -> data.StructLayout:
    """An answer: its header, and how many bytes of data are in the buffer."""
    return data.StructLayout({"header": 8 * HEADER_BYTES, "size": range(MAX_DATA + 1)})


class FrameReceiver(wiring.Component):
    """Takes frames apart, one byte per cycle.

    A frame is offered two cycles after its last `END`, and no byte is taken until it is. Frames
    without a byte are none. The data of one that is not right has been stored as well.

    Parameters
    ----------
    patience : int
        Cycles without a byte after which a frame that has begun is given up (`TRUNCATED`).

    Attributes
    ----------
    bytes : stream of 8, in
    frame : stream of frame_layout, out
        `status` is `DONE` if it is whole; the header means something only if there was room for
        one.
    store : Store, out
    """

    bytes: stream.Interface
    frame: stream.Interface
    store: Port

    def __init__(self, patience: int):
        self.patience = patience
        super().__init__({"bytes": In(stream.Signature(8)),
                          "frame": Out(stream.Signature(frame_layout())), "store": Out(Store())})

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.crc = crc = CRC32_ISO_HDLC().create()
        frame = self.frame.payload
        count = Signal(range(_COUNTED + 1))
        silence = Signal(range(self.patience + 1))
        escaped = Signal()
        bad = Signal()
        long = Signal()
        ends = Signal()  # the END of a frame was taken in the cycle before: the CRC is right now
        begun = Signal()
        byte_accepted = Signal()
        plain = Signal()
        byte = Signal(8)
        received = self.bytes.payload
        full = count == _COUNTED
        m.d.comb += [
            begun.eq((count != 0) | escaped | bad),
            self.bytes.ready.eq(~ends & ~self.frame.valid),
            byte_accepted.eq(self.bytes.valid & self.bytes.ready),
            byte.eq(Mux(escaped, Mux(received == ESCAPED_END, END, ESC), received)),
            plain.eq(byte_accepted & (received != END) & (escaped | (received != ESC))),
            crc.start.eq(self.frame.valid & self.frame.ready), crc.data.eq(byte),
            crc.valid.eq(plain & ~full),
            self.store.valid.eq(plain & ~full & (count >= HEADER_BYTES)),
            self.store.index.eq(count - HEADER_BYTES), self.store.byte.eq(byte),
        ]
        m.d.sync += ends.eq(byte_accepted & (received == END) & begun)
        with m.If(byte_accepted):
            m.d.sync += [escaped.eq(~escaped & (received == ESC)), silence.eq(0)]
            with m.If(escaped & (received != ESCAPED_END) & (received != ESCAPED_ESC)):
                m.d.sync += bad.eq(1)
        with m.Elif(begun & ~ends & ~self.frame.valid):
            m.d.sync += silence.eq(silence + 1)
        with m.If(plain):
            m.d.sync += [count.eq(Mux(full, count, count + 1)), long.eq(full)]
            with m.If(count < HEADER_BYTES):
                m.d.sync += frame.header.eq(Cat(frame.header.as_value()[8:], byte))
        gives_up = begun & ~byte_accepted & (silence == self.patience) & ~self.frame.valid
        with m.If((ends | gives_up) & ~self.frame.valid):
            m.d.sync += [self.frame.valid.eq(1), frame.stored.eq(count - HEADER_BYTES - CRC_BYTES),
                         frame.status.eq(self._verdict(crc, count, bad, long, gives_up))]
        with m.If(self.frame.valid & self.frame.ready):
            m.d.sync += [self.frame.valid.eq(0), count.eq(0), escaped.eq(0), bad.eq(0), long.eq(0),
                         silence.eq(0)]
        return m

    def _verdict(self, crc: Any, count: Value, bad: Value, long: Value, gives_up: Value):
        """Return the status of a frame that has ended."""
        whole = crc.match_detected & ~bad & (count >= HEADER_BYTES + CRC_BYTES)
        return Mux(gives_up, Status.TRUNCATED, Mux(long, Status.TOO_LONG,
                                                   Mux(whole, Status.DONE, Status.DAMAGED)))


class FrameSender(wiring.Component):
    """Puts an answer together: a byte every one or two cycles, as the line takes them.

    Attributes
    ----------
    answer : stream of answer_layout, in
        Taken when its last byte has been.
    fetch : Fetch, out
    bytes : stream of 8, out
    """

    answer: stream.Interface
    fetch: Port
    bytes: stream.Interface

    def __init__(self):
        super().__init__({"answer": In(stream.Signature(answer_layout())), "fetch": Out(Fetch()),
                          "bytes": Out(stream.Signature(8))})

    def elaborate(self, platform: Any):
        m = Module()
        crc: Any = CRC32_ISO_HDLC().create()  # the stubs know another `Signal`
        m.submodules.crc = crc
        escaped: Any = Signal()  # the first byte of a pair has been sent
        index = Signal(range(MAX_DATA + 1))
        answer = self.answer.payload
        header = Signal(8 * HEADER_BYTES)
        check = Signal(8 * CRC_BYTES)
        last = Signal()
        m.d.comb += [self.fetch.index.eq(index), last.eq(index == answer.size)]
        with m.FSM(name="sender"):
            with m.State("IDLE"):
                with m.If(self.answer.valid):
                    m.d.comb += crc.start.eq(1)
                    m.d.sync += [index.eq(0), header.eq(answer.header)]
                    m.next = "OPEN"
            with m.State("OPEN"):
                self._mark(m, "HEADER")
            with m.State("HEADER"):
                with m.If(self._send(m, crc, escaped, header[:8], True)):
                    m.d.sync += [header.eq(header >> 8), index.eq(index + 1)]
                    with m.If(index == HEADER_BYTES - 1):
                        m.d.sync += index.eq(0)
                        m.next = "FETCH"
            with m.State("FETCH"):
                m.next = "DATA"
                with m.If(last):
                    m.d.sync += [check.eq(crc.crc), index.eq(0)]
                    m.next = "CRC"
            with m.State("DATA"):
                with m.If(self._send(m, crc, escaped, self.fetch.byte, True)):
                    m.d.sync += index.eq(index + 1)
                    m.next = "FETCH"
            with m.State("CRC"):
                with m.If(self._send(m, crc, escaped, check[:8], False)):
                    m.d.sync += [check.eq(check >> 8), index.eq(index + 1)]
                    with m.If(index == CRC_BYTES - 1):
                        m.next = "CLOSE"
            with m.State("CLOSE"):
                self._mark(m, "DONE")
            with m.State("DONE"):
                m.d.comb += self.answer.ready.eq(1)
                m.next = "IDLE"
        return m

    def _mark(self, m: Module, then: str) -> None:
        """Send an END."""
        m.d.comb += [self.bytes.valid.eq(1), self.bytes.payload.eq(END)]
        with m.If(self.bytes.ready):
            m.next = then

    def _send(self, m: Module, crc: Any, escaped: Any, byte: Value, counted: bool) -> Signal:
        """Send a byte, or the two that stand for it; return whether the last of them is taken."""
        special = (byte == END) | (byte == ESC)
        pair = Mux(byte == END, ESCAPED_END, ESCAPED_ESC)
        done = Signal()
        m.d.comb += [
            self.bytes.valid.eq(1),
            self.bytes.payload.eq(Mux(escaped, pair, Mux(special, ESC, byte))),
            done.eq(self.bytes.ready & (escaped | ~special)),
            crc.data.eq(byte), crc.valid.eq(done & counted),
        ]
        with m.If(self.bytes.ready):
            m.d.sync += escaped.eq(special & ~escaped)
        return done
