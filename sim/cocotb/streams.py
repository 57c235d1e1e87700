"""Agents of streams: a driver, a sink and a monitor.

A stream has `payload`, `valid` and `ready`. An item passes in a cycle in which `valid` and `ready` are high. By the
rules of Amaranth and AXI, an offered item stays unchanged until it is taken. `StreamMonitor` checks this.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.triggers import Event, RisingEdge

from .ports import PortGroup

__all__ = ["StreamMonitor", "StreamSink", "StreamSource"]


class _Agent:
    """The common part of a stream's agents: a clock, and the frequency of pauses."""

    def __init__(self, stream: PortGroup, clock: Any, stall: float = 0.0, rng: random.Random | None = None):
        if not 0 <= stall < 1:
            raise ValueError(f"stall must be in [0, 1), not {stall}")
        self.stream, self.stall, self._clock = stream, stall, clock
        self._rng = rng or random.Random(0)
        self._task = cocotb.start_soon(self._run())

    def _pauses(self) -> bool:
        return self.stall > 0 and self._rng.random() < self.stall

    def stop(self) -> None:
        """Release the stream, so that another agent may use it."""
        self._task.cancel()

    async def _run(self) -> None:
        raise NotImplementedError


class StreamSource(_Agent):
    """Offers items in their order.

    Before each item it pauses for another cycle with probability `stall`, repeatedly.

    Parameters
    ----------
    stream : PortGroup
        An input of the block.
    clock : cocotb handle
    stall : float
        Probability of a pause, in [0, 1).
    rng : random.Random, optional
    """

    def __init__(self, stream: PortGroup, clock: Any, stall: float = 0.0, rng: random.Random | None = None):
        self._waiting: deque = deque()
        self._more, self._empty = Event(), Event()
        self._empty.set()
        stream.valid.value = 0
        super().__init__(stream, clock, stall, rng)

    def send(self, *items: Any) -> None:
        """Append items to the queue."""
        self._waiting.extend(items)
        if items:
            self._empty.clear()
            self._more.set()

    async def drained(self) -> None:
        """Wait until all items have been taken."""
        await self._empty.wait()

    async def _run(self) -> None:
        stream, edge = self.stream, RisingEdge(self._clock)
        while True:
            if not self._waiting:
                self._empty.set()
                self._more.clear()
                await self._more.wait()
                await edge
            while self._pauses():
                await edge
            stream.payload.value = self._waiting[0]
            stream.valid.value = 1
            await edge
            while "ready" in stream and not stream.ready.bits:
                await edge
            self._waiting.popleft()
            stream.valid.value = 0


class StreamMonitor(_Agent):
    """Monitors an input or output stream, and hands each item that passes to `received`.

    Parameters
    ----------
    stream : PortGroup
    clock : cocotb handle
    received : callable
        Called with each item, in the cycle in which it passes.
    steady : bool
        An offered item must stay until it is taken.

    Attributes
    ----------
    count : int
        Number of items seen.
    """

    def __init__(self, stream: PortGroup, clock: Any, received: Callable[[Any], None], steady: bool = True):
        self.count, self._received, self._steady = 0, received, steady
        super().__init__(stream, clock)

    async def _run(self) -> None:
        stream, offered = self.stream, None
        edge = RisingEdge(self._clock)
        while True:
            await edge
            bits = stream.payload.bits if stream.valid.bits else None
            if self._steady and offered is not None:
                assert bits == offered, f"offered {offered:#x}, then {'nothing' if bits is None else hex(bits)}"
            taken = bits is not None and ("ready" not in stream or stream.ready.bits)
            offered = None if taken else bits
            if taken:
                self.count += 1
                self._received(stream.payload.codec.decode(bits))


class StreamSink(StreamMonitor):
    """Takes the items of an output of the block, and pauses in a cycle with probability `stall`.

    Parameters
    ----------
    stream : PortGroup
    clock : cocotb handle
    received : callable
        Called with each item.
    stall : float
        Probability of a pause, in [0, 1).
    rng : random.Random, optional
    steady : bool
        An offered item must stay until it is taken.
    """

    def __init__(self, stream: PortGroup, clock: Any, received: Callable[[Any], None], stall: float = 0.0,
                 rng: random.Random | None = None, steady: bool = True):
        super().__init__(stream, clock, received, steady)
        self.stall, self._rng = stall, rng or random.Random(0)
        self._readying = cocotb.start_soon(self._ready())

    def stop(self) -> None:
        """Take no more items, so that another agent may use the stream."""
        self._readying.cancel()
        self.stream.ready.value = 0
        super().stop()

    async def _ready(self) -> None:
        edge = RisingEdge(self._clock)
        while True:
            self.stream.ready.value = int(not self._pauses())
            await edge
