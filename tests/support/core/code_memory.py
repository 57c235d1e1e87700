"""A memory with code, behind the instruction cache."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry

__all__ = ["CODE_BASE", "CODE_STRIDE", "CodeMemory"]

CODE_BASE = 0x1_0008
"""Address of the first kernel's code (not the start of a cache line)."""
CODE_STRIDE = 0x4000
"""Distance of the other kernels' code."""


class CodeMemory:
    """Code behind the instruction cache, with a latency; lines in `failing` answer with an error."""

    def __init__(self, g: Geometry, port, latency: int):
        self.g, self.port, self.latency = g, port, latency
        self.bytes: dict[int, int] = {}
        self.failing: set[int] = set()
        self.beats: deque = deque()

    def load(self, address: int, words: Sequence[int]) -> None:
        for k, word in enumerate(words):
            for j in range(8):
                self.bytes[address + 8 * k + j] = word >> 8 * j & 0xFF

    def drive(self, ctx, now: int) -> None:
        ready = bool(self.beats) and self.beats[0][0] <= now
        ctx.set(self.port.request.ready, 1)
        ctx.set(self.port.beat.valid, ready)
        if ready:
            ctx.set(self.port.beat.payload, self.beats[0][1])

    def sample(self, ctx, now: int) -> None:
        if self.beats and self.beats[0][0] <= now and ctx.get(self.port.beat.ready):
            self.beats.popleft()
        if ctx.get(self.port.request.valid):
            address = ctx.get(self.port.request.payload.address)
            beats = ctx.get(self.port.request.payload.extra_beats) + 1
            size = self.g.bus_bytes
            for k in range(beats):
                data = sum(self.bytes.get(address + k * size + j, 0xFF) << 8 * j for j in range(size))
                error = address // SEGMENT_BYTES * SEGMENT_BYTES in self.failing
                self.beats.append((now + self.latency + k, {"data": data, "last": k == beats - 1, "error": error}))
