"""The resources of which a thread block (TB) has a range: registers and shared memory."""

from __future__ import annotations

import enum

from caesura.hw.arch.geometry import REGISTER_BANKS, Geometry

from .kernel import Kernel
from .thread_block import ThreadBlock

__all__ = ["Resource"]


class Resource(enum.Enum):
    """A resource in whole units: rows of `REGISTER_BANKS` physical registers, lines of shared memory."""

    REGISTERS = enum.auto()
    LINES = enum.auto()

    def capacity(self, g: Geometry) -> int:
        """Return the units of an SM."""
        return g.register_rows if self is Resource.REGISTERS else g.shared_lines

    def size(self, kernel: Kernel) -> int:
        """Return the units of a TB."""
        return kernel.tb_registers // REGISTER_BANKS if self is Resource.REGISTERS else kernel.lines

    def start(self, tb: ThreadBlock) -> int:
        """Return where the range of a TB begins."""
        return tb.base // REGISTER_BANKS if self is Resource.REGISTERS else tb.first_line

    def place(self, tb: ThreadBlock, start: int) -> None:
        """Give a TB its range."""
        if self is Resource.REGISTERS:
            tb.base = start * REGISTER_BANKS
        else:
            tb.first_line = start
