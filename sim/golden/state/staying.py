"""The state of a preempted thread block (TB) that stays on the SM: `hw.arch.image.context`, What stays."""

from __future__ import annotations

from typing import NamedTuple

from caesura.hw.arch.image.context import Mechanism

from .resource import Resource
from .thread_block import ThreadBlock

__all__ = ["Stay", "NOTHING", "Staying"]


class Stay(NamedTuple):
    """Which resources of a TB stay; true if any does."""

    registers: bool = False
    lines: bool = False

    def __bool__(self) -> bool:
        return self.registers or self.lines

    def holds(self, resource: Resource) -> bool:
        """Return whether one of them stays."""
        return self.registers if resource is Resource.REGISTERS else self.lines


NOTHING = Stay()


class Staying:
    """A row of the table of what stays.

    Parameters
    ----------
    tb : ThreadBlock
        As it was stopped; it is not on the SM any more, its ranges that stay are.
    stay : Stay
    mechanism : Mechanism
        Mechanism of its preempt.
    scramble : bool
    masks : dict of int to int
        Mask per warp that has not exited: one bit for each register that the mechanism would have saved.
    crc : int
        Checksum of the entry of its image.
    """

    def __init__(self, tb: ThreadBlock, stay: Stay, mechanism: Mechanism, scramble: bool, masks: dict[int, int],
                 crc: int):
        self.tb, self.stay, self.mechanism, self.scramble, self.masks = tb, stay, mechanism, scramble, masks
        self.crc = crc

    def give_back(self, tb: ThreadBlock) -> None:
        """Give a TB that comes back what stays of it, where it is."""
        if self.stay.registers:
            tb.base = self.tb.base
            for warp, before in zip(tb.warps, self.tb.warps, strict=True):
                warp.valid = self.masks.get(warp.index, 0)
                kept = [r for r in range(len(warp.registers)) if warp.valid >> r & 1]
                warp.registers[kept] = before.registers[kept]
        if self.stay.lines:
            tb.first_line, tb.lines_valid = self.tb.first_line, self.tb.lines_valid
            tb.shared[:] = self.tb.shared
