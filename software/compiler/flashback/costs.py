"""Costs of a context and of the work around it: bytes, and estimated cycles."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .blocks import FlashbackError, Register, RegisterClass

__all__ = ["Objective", "Costs", "WORD_BYTES"]

WORD_BYTES = 4


class Objective(enum.Enum):
    """The criterion that chooses a plan; the other criterion decides between equal plans."""

    SIZE = "size"
    LATENCY = "latency"


@dataclass(frozen=True)
class Costs:
    """The costs of one warp.

    Attributes
    ----------
    lanes : int
        Lanes of a warp, at least 1.
    bytes_per_cycle : float
        Throughput of the memory port, above 0.
    round_trip : int
        Cycles until memory acknowledges or answers.
    """

    lanes: int = 32
    bytes_per_cycle: float = 16.0
    round_trip: int = 200

    def __post_init__(self):
        if self.lanes < 1 or self.bytes_per_cycle <= 0 or self.round_trip < 0:
            raise FlashbackError(f"a warp has lanes and memory a speed: {self}")

    def size(self, reg: Register) -> int:
        """Return the bytes of a warp's register: one word or one bit per lane (in whole words), or one word."""
        if reg.kind is RegisterClass.VECTOR:
            return WORD_BYTES * self.lanes
        return WORD_BYTES * -(-self.lanes // 32) if reg.kind is RegisterClass.PREDICATE else WORD_BYTES

    def preemption_cycles(self, size: int, reverting: int) -> float:
        """Return the estimated cycles from the request to the last acknowledgement.

        They are those of the reverting instructions, then those of `size` bytes on the bus. Waits for outstanding
        results are not counted.
        """
        return reverting + size / self.bytes_per_cycle + self.round_trip

    def resume_cycles(self, size: int, again: int) -> float:
        """Return the estimated cycles until the warp is where it was.

        They are those of `size` bytes on the bus, then those of the instructions executed again and reverted.
        """
        return again + size / self.bytes_per_cycle + self.round_trip
