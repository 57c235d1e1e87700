"""A first-in first-out queue between two streams of any shape."""

from amaranth.hdl import Module, Shape, Signal, Value
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StreamQueue"]


class StreamQueue(wiring.Component):
    """Queue of `depth` payloads; one in and one out a cycle.

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

    def __init__(self, shape, depth: int, *, buffered: bool = False):
        if depth < 1 + buffered:
            raise ValueError(f"depth must be {1 + buffered} or more, not {depth}")
        self.depth, self.buffered = depth, buffered
        self.width = Shape.cast(shape).width
        super().__init__({"input": In(stream.Signature(shape)),
                          "output": Out(stream.Signature(shape)), "level": Out(range(depth + 1))})

    def elaborate(self, platform):
        m = Module()
        kind = fifo.SyncFIFOBuffered if self.buffered else fifo.SyncFIFO
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
