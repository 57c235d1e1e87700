"""What the campaigns of preemptions on the RTL have in common."""

from collections.abc import Sequence

from caesura.sim.memory import MemoryTiming
from caesura.sim.rtl.transport import RtlTransport

__all__ = ["NEAR", "bring_memory_near", "chunk_of"]

NEAR = 50
"""Cycles of memory latency that keep runs short."""


def bring_memory_near(transport: RtlTransport) -> None:
    """Have memory answer after `NEAR` cycles, all else as the geometry says."""
    transport.set_timing(MemoryTiming.of(transport.geometry.replace(memory_latency=NEAR)))


def chunk_of(cycles: Sequence[int], number: int, chunks: int) -> Sequence[int]:
    """Return one of so many chunks, numbered from 0, of about the same length."""
    return cycles[len(cycles) * number // chunks:len(cycles) * (number + 1) // chunks]
