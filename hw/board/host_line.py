"""The host line: frames of a serial line, and the buffer that their data is in.

::

    received --> queue --> FrameReceiver --> frame
                               |
                               v
                             buffer <--> BufferPort
                               |
                               v
    sent <---------------- FrameSender <-- answer
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arch.board_protocol import CRC_BYTES, MAX_DATA
from ..interfaces.port import Port
from ..lib.stream_queue import StreamQueue
from .frames import FrameReceiver, FrameSender, answer_layout, frame_layout

__all__ = ["BufferPort", "HostLine"]

QUEUED_BYTES = 64
"""Bytes of the line that are held while a request is carried out; those beyond are lost."""


class BufferPort(wiring.Signature):
    """Reads and writes a byte of the buffer while no frame comes. Directions are the bridge's.

    Attributes
    ----------
    index : Signal, out
        Which byte.
    byte : Signal(8), in
        The byte that `index` named one cycle before.
    write : Signal(1), out; write_byte : Signal(8), out
        The byte at `index` becomes `write_byte`.
    """

    def __init__(self):
        super().__init__({"index": Out(range(MAX_DATA + CRC_BYTES)), "byte": In(8),
                          "write": Out(1), "write_byte": Out(8)})


class HostLine(wiring.Component):
    """Takes frames from the line, and puts answers on it.

    Parameters
    ----------
    patience : int
        Cycles without a byte after which a frame that has begun is given up.

    Attributes
    ----------
    received : stream of 8, in
        Bytes from the line; always taken.
    sent : stream of 8, out
        Bytes to the line.
    frame : stream of frame_layout, out
        A request; its data is in the buffer.
    answer : stream of answer_layout, in
        An answer; its data is in the buffer.
    buffer : BufferPort, in
        Access of the bridge to the buffer. The answer reads the buffer while it is valid.
    byte_pending : Signal(1), out
        A byte of the line waits.
    """

    received: stream.Interface
    sent: stream.Interface
    frame: stream.Interface
    answer: stream.Interface
    buffer: Port
    byte_pending: Signal

    def __init__(self, patience: int):
        self.patience = patience
        super().__init__({
            "received": In(stream.Signature(8)), "sent": Out(stream.Signature(8)),
            "frame": Out(stream.Signature(frame_layout())),
            "answer": In(stream.Signature(answer_layout())), "buffer": In(BufferPort()),
            "byte_pending": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.queue = queue = StreamQueue(8, QUEUED_BYTES)
        m.submodules.receiver = receiver = FrameReceiver(self.patience)
        m.submodules.sender = sender = FrameSender()
        m.submodules.buffer = buffer = Memory(shape=8, depth=MAX_DATA + CRC_BYTES, init=[])
        load = buffer.read_port()
        store = buffer.write_port()
        wiring.connect(m, queue.output, receiver.bytes)
        wiring.connect(m, receiver.frame, wiring.flipped(self.frame))
        wiring.connect(m, wiring.flipped(self.answer), sender.answer)
        wiring.connect(m, sender.bytes, wiring.flipped(self.sent))
        access = self.buffer
        m.d.comb += [
            queue.input.payload.eq(self.received.payload),
            queue.input.valid.eq(self.received.valid), self.received.ready.eq(1),
            self.byte_pending.eq(queue.output.valid),
            load.addr.eq(Mux(sender.answer.valid, sender.fetch.index, access.index)),
            sender.fetch.byte.eq(load.data), access.byte.eq(load.data),
            store.en.eq(receiver.store.valid | access.write),
            store.addr.eq(Mux(access.write, access.index, receiver.store.index)),
            store.data.eq(Mux(access.write, access.write_byte, receiver.store.byte))]
        return m
