"""Deferral to a smaller context (CS-Defer: Lin et al., SC 2016, as used in CTXBack II-B and IV-C).

A warp that is stopped before an instruction may execute the next ones first, and then saves the registers live there.
The stopping place of each instruction is chosen in advance, over branches too. The direction of a branch is not known,
so its worst side counts. So a warp

1. stops before an instruction, or goes on, whichever is better if each later instruction does its best, and
2. executes at most `window` instructions, and passes no limit (barrier, fence, call).

The estimate counts the cycles of those instructions, or `running` if that is given. It counts neither branches nor
waits for instructions that were issued before (CTXBack V-B).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .blocks import Effect, Instruction
from .costs import Objective
from .program import Program
from .search import WINDOW

__all__ = ["Deferral", "Deferrals"]


class Deferral(NamedTuple):
    """The place that a warp runs on to; if branches lead to several, the worst.

    Attributes
    ----------
    stop : int
        Address of the instruction before which it stops; its own if it does not run on.
    size : int
        Bytes that are live there.
    latency : float
        Estimated cycles of the preemption.
    """

    stop: int
    size: int
    latency: float

    def rank(self, objective: Objective) -> tuple[float, float]:
        """Return the sort key of deferrals and plans, the better one first."""
        return (self.size, self.latency) if objective is Objective.SIZE else (self.latency, self.size)


class Deferrals:
    """The best deferral of every instruction of a kernel.

    Parameters
    ----------
    program : Program
    objective : Objective
    window : int
        Most instructions that a warp runs on. Time grows with the product of this and the length of the program.
    running : callable, optional
        Returns the cycles that a warp takes to run on by an instruction; `Instruction.cycles` unless given.
    """

    def __init__(self, program: Program, objective: Objective, window: int = WINDOW,
                 running: Callable[[Instruction], float] = lambda instruction: instruction.cycles):
        self._objective = objective
        self._start = {code.start: base for code, base in zip(program.blocks, _bases(program), strict=True)}
        count = sum(len(code.block.instructions) + 1 for code in program.blocks)
        self._stop = np.zeros(count, np.int64)
        self._size, self._latency = np.zeros(count), np.zeros(count)
        cycles, passable = np.zeros(count), np.zeros(count, bool)
        ends = []
        for code in program.blocks:
            base, block = self._start[code.start], code.block
            last = base + len(block.instructions)
            sizes = [sum(map(program.costs.size, live)) for live in block.live]
            self._size[base:last + 1] = sizes
            self._latency[base:last + 1] = [program.costs.preemption_cycles(size, 0) for size in sizes]
            self._stop[base:last + 1] = range(code.start, code.start + len(sizes))
            cycles[base:last] = list(map(running, block.instructions))
            passable[base:last] = [instruction.effect is not Effect.LIMIT for instruction in block.instructions]
            ends.append((last, [self._start[to] for to in code.successors]))
        for _ in range(window):
            if not self._step(cycles, passable, ends):
                break

    def at(self, start: int, index: int) -> Deferral:
        """Return the best deferral at instruction `index` of the block at `start`, or at its end."""
        place = self._start[start] + index
        return Deferral(int(self._stop[place]), int(self._size[place]), float(self._latency[place]))

    def _step(self, cycles: np.ndarray, passable: np.ndarray, ends: list[tuple[int, list[int]]]) -> bool:
        """Let every warp go on by one instruction more where that is better; return whether any does."""
        size, latency, stop = (np.append(known[1:], 0) for known in (self._size, self._latency, self._stop))
        latency = latency + cycles
        first, second = (self._size, self._latency), (size, latency)
        if self._objective is Objective.LATENCY:
            first, second = first[::-1], second[::-1]
        better = passable & ((second[0] < first[0]) | (second[0] == first[0]) & (second[1] < first[1]))
        taken = [(last, self._worst(after)) for last, after in ends if after]
        self._size, self._latency = np.where(better, size, self._size), np.where(better, latency, self._latency)
        self._stop = np.where(better, stop, self._stop)
        changed = bool(better.any())
        for last, worst in taken:
            own = Deferral(int(self._stop[last]), int(self._size[last]), float(self._latency[last]))
            if worst.rank(self._objective) < own.rank(self._objective):
                self._stop[last], self._size[last], self._latency[last] = worst
                changed = True
        return changed

    def _worst(self, places: list[int]) -> Deferral:
        found = [Deferral(int(self._stop[place]), int(self._size[place]), float(self._latency[place]))
                 for place in places]
        return max(found, key=lambda one: one.rank(self._objective))


def _bases(program: Program) -> list[int]:
    """Return the place of each block's first instruction among all instructions and ends of blocks."""
    return list(itertools.accumulate((len(code.block.instructions) + 1 for code in program.blocks), initial=0))[:-1]
