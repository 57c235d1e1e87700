"""A first-in first-out queue between two streams of any shape."""

from typing import Any

from amaranth.hdl import Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["StreamQueue"]


class _BufferedFifo(wiring.Component):
    """`amaranth.lib.fifo.SyncFIFOBuffered` in a memory whose read during a write is undefined.

    Such a read never happens, since a word is written before `inner_level` counts it.

    Block RAM of many FPGAs gives any value then. Around it Yosys adds two flip-flops per bit to
    give the old word of `SyncFIFOBuffered`. So the read is a register behind a combinational port,
    which tools merge into the memory. An attribute marks the memory.

    Parameters
    ----------
    width, depth : int

    Attributes
    ----------
    w_data, w_en : Signal, in; w_rdy : Signal, out
    r_data, r_rdy : Signal, out; r_en : Signal, in
    level : Signal, out
        Words held.
    """

    w_data: Signal
    w_en: Signal
    w_rdy: Signal
    r_data: Signal
    r_rdy: Signal
    r_en: Signal
    level: Signal

    def __init__(self, width: int, depth: int):
        self.width, self.depth = width, depth
        super().__init__({
            "w_data": In(width), "w_en": In(1), "w_rdy": Out(1), "r_data": Out(width),
            "r_rdy": Out(1), "r_en": In(1), "level": Out(range(depth + 1))})

    def elaborate(self, platform: Any):
        m = Module()
        inner = self.depth - 1
        attributes: Any = {"no_rw_check": 1, "ram_style": "block"}  # the stubs know strings alone
        m.submodules.storage = storage = Memory(shape=self.width, depth=inner, init=[],
                                                attrs=attributes)
        write = storage.write_port()
        read = storage.read_port(domain="comb")
        produce = Signal(range(inner))
        consume = Signal(range(inner))
        inner_level = Signal(range(inner + 1))
        r_rdy = Signal()
        data = Signal(self.width, reset_less=True)
        enter = Signal()
        leave = Signal()
        m.d.comb += [
            self.w_rdy.eq(inner_level != inner), enter.eq(self.w_rdy & self.w_en),
            leave.eq((inner_level != 0) & (~r_rdy | self.r_en)), self.r_rdy.eq(r_rdy),
            write.addr.eq(produce), write.data.eq(self.w_data), write.en.eq(enter),
            read.addr.eq(consume), self.r_data.eq(data), self.level.eq(inner_level + r_rdy),
        ]
        m.d.sync += inner_level.eq(inner_level + enter - leave)
        for place, moves in ((produce, enter), (consume, leave)):
            with m.If(moves):
                m.d.sync += place.eq(Mux(place == inner - 1, 0, place + 1))
        with m.If(leave):
            m.d.sync += [data.eq(read.data), r_rdy.eq(1)]
        with m.Elif(self.r_en):
            m.d.sync += r_rdy.eq(0)
        return m


class StreamQueue(wiring.Component):
    """Queue of `depth` payloads; one in and one out per cycle.

    Parameters
    ----------
    shape : ShapeLike
        Payload of both streams.
    depth : int
        Payloads it holds, 1 or more (2 or more if `buffered`).
    buffered : bool
        Use a memory with a registered read: two cycles from in to out instead of one.

    Attributes
    ----------
    input, output : stream
    level : Signal, out
        Payloads held.

    Raises
    ------
    ValueError
        If `depth` is too small.
    """

    input: stream.Interface
    output: stream.Interface
    level: Signal

    def __init__(self, shape: ShapeLike, depth: int, *, buffered: bool = False):
        if depth < 1 + buffered:
            raise ValueError(f"depth must be {1 + buffered} or more, not {depth}")
        self.depth, self.buffered = depth, buffered
        self.width = Shape.cast(shape).width
        super().__init__({"input": In(stream.Signature(shape)),
                          "output": Out(stream.Signature(shape)), "level": Out(range(depth + 1))})

    def elaborate(self, platform: Any):
        m = Module()
        kind = _BufferedFifo if self.buffered else fifo.SyncFIFO
        m.submodules.fifo = queue = kind(width=self.width, depth=self.depth)
        m.d.comb += [
            queue.w_data.eq(Value.cast(self.input.payload)), queue.w_en.eq(self.input.valid),
            self.input.ready.eq(queue.w_rdy),
            Value.cast(self.output.payload).eq(queue.r_data), self.output.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.output.ready),
            # The stubs lack the level.
            self.level.eq(queue.level),  # pyright: ignore[reportAttributeAccessIssue]
        ]
        return m
