"""Spilling: values that find no register are recomputed where they are used, or kept in local memory.

An operation may need more vector registers than there may be (`analysis.pressure`). While one does, values are
candidates that are live across such operations without taking part in them. The price of a candidate is the number of
loads and stores without it, each counted ten times for every loop around it, divided by the operations that it
relieves. The cheapest go first.

1. A constant, a special register, a parameter or a word of constant memory that is defined once is recomputed before
   each use. A value that was loaded from its place in local memory is loaded again.
2. Any other value is stored behind each definition, under the definition's guard, and loaded before each use. A later
   use in the same block takes the same register while there is one to spare.

Places in local memory are offsets of the thread's own (`ir.spaces`), behind the kernel's variables. Values that are
never live together share them. Each lane has its own word, so divergence changes nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from dataclasses import dataclass, field

from ..analysis.liveness import Liveness, liveness
from ..analysis.loops import loop_depth
from ..analysis.pressure import pressure, pressure_of_ops
from ..errors import CompileError
from ..ir.kernel import Imm, Kernel, Op, Reg
from ..ir.spaces import MAX_LOCAL_BYTES
from ..ir.spec import is_constant
from .spill_code import Spilled, rewrite

__all__ = ["Spiller", "TooFewRegisters"]

_DEEPEST = 6
_LOOP_FACTOR = 10


class TooFewRegisters(Exception):
    """An operation needs more registers than there are, with everything else in local memory."""


@dataclass(slots=True)
class _Crowd:
    """A point at which `excess` registers too many are needed."""

    excess: int


@dataclass(slots=True)
class _Value:
    """The facts about a register that could be spilled: its crowds, and the price of doing without it."""

    crowds: list[_Crowd] = field(default_factory=list)
    loads: int = 0
    stores: int = 0
    definitions: list[Op] = field(default_factory=list)


class Spiller:
    """Reduces the registers that a kernel (stage ``narrow``, immediates selected) needs at once.

    Parameters
    ----------
    kernel : Kernel
    slots : collection of Reg, optional
        Registers of routines, which are never spilled.
    """

    def __init__(self, kernel: Kernel, slots: Collection[Reg] = ()):
        self._kernel = kernel
        self._spilled = Spilled()
        self._spilled.once.update(slots)
        depth = loop_depth(kernel)
        self._weight = {label: _LOOP_FACTOR ** min(depth[label], _DEEPEST) for label in depth}

    def reduce_pressure(self, limit: int) -> None:
        """Make `limit` vector registers enough.

        Raises
        ------
        TooFewRegisters
            If that is impossible.
        CompileError
            If local memory is too small.
        """
        while pressure(self._kernel, result := liveness(self._kernel)) > limit:
            values = self._values()
            crowds = self._crowds(values, result, limit)
            victims = self._choose(values, crowds)
            again = {reg: values[reg].definitions[0] for reg in victims if self._computable(values[reg])}
            self._spilled.slots |= {reg: self._spilled.homes[reg] for reg in victims if reg in self._spilled.homes}
            self._place([reg for reg in victims if reg not in again and reg not in self._spilled.homes], result)
            rewrite(self._kernel, victims, again, self._spilled, limit, result)

    # Choice of victims

    def _values(self) -> dict[Reg, _Value]:
        values: dict[Reg, _Value] = {}
        for block in self._kernel.blocks:
            weight = self._weight[block.label]
            for op in block.ops:
                for reg in dict.fromkeys(use for use in op.uses if isinstance(use, Reg) and use.kind == "r"):
                    values.setdefault(reg, _Value()).loads += weight
                for reg in op.defs:
                    if reg is not None and reg.kind == "r":
                        value = values.setdefault(reg, _Value())
                        value.stores += weight
                        value.definitions.append(op)
        return values

    def _crowds(self, values: dict[Reg, _Value], result: Liveness, limit: int) -> list[_Crowd]:
        """Find the points that need too many registers, and enter them at the values that can be spared there."""
        crowds: list[_Crowd] = []

        def add(excess: int, spared: set[Reg]) -> None:
            if excess > 0:
                crowds.append(_Crowd(excess))
                for reg in spared:
                    if reg not in self._spilled.once:
                        values[reg].crowds.append(crowds[-1])

        for block in self._kernel.blocks:
            if not block.ops:
                through = {reg for reg in result.live_in[block.label] if reg.kind == "r"}
                add(len(through) - limit, through)
            for need in pressure_of_ops(block, result):
                if max(need.before, need.after) > limit:
                    staying = need.live.difference(need.op.defs)
                    add(need.before - limit, staying.difference(need.op.uses))
                    add(need.after - limit, staying)
        return crowds

    def _choose(self, values: dict[Reg, _Value], crowds: list[_Crowd]) -> list[Reg]:
        """Return the values to spill: always the one that costs least for each crowd that it still relieves."""
        def rank(reg: Reg) -> float:
            value = values[reg]
            relieved = sum(crowd.excess > 0 for crowd in value.crowds)
            stores = 0 if self._computable(value) or reg in self._spilled.homes else value.stores
            return (value.loads + stores) / relieved if relieved else 0.0

        queue = [(cost, reg) for reg in values if (cost := rank(reg))]
        heapq.heapify(queue)
        chosen: list[Reg] = []
        while queue:
            _, reg = heapq.heappop(queue)
            cost = rank(reg)
            if not cost:
                continue
            if queue and (cost, reg) > queue[0]:
                heapq.heappush(queue, (cost, reg))
                continue
            chosen.append(reg)
            for crowd in values[reg].crowds:
                crowd.excess -= 1
        if any(crowd.excess > 0 for crowd in crowds):
            raise TooFewRegisters
        return sorted(chosen)

    def _computable(self, value: _Value) -> bool:
        """Return whether the only definition gives the same value anywhere (case 1)."""
        if len(value.definitions) != 1:
            return False
        op = value.definitions[0]
        if op.guard is not None or len(op.defs) != 1 or op.volatile:
            return False
        if op.name.startswith("ld.const."):
            return isinstance(op.uses[0], Imm)
        return is_constant(op) or op in self._spilled.loads

    # Places in memory

    def _place(self, stored: list[Reg], result: Liveness) -> None:
        """Give values places in local memory; values live together get different ones."""
        wanted = set(stored)
        near: dict[Reg, set[Reg]] = {reg: set() for reg in stored}
        for block in self._kernel.blocks if stored else ():
            for need in pressure_of_ops(block, result):
                for made in need.op.defs:
                    if made in wanted:
                        for other in wanted & need.live - {made}:
                            near[made].add(other)  # pyright: ignore[reportArgumentType]
                            near[other].add(made)  # pyright: ignore[reportArgumentType]
        first = -(-self._kernel.local_bytes // 4) * 4
        for reg in stored:
            taken = {self._spilled.slots[other] for other in near[reg] if other in self._spilled.slots}
            slot = next(s for s in range(first, first + 4 * len(taken) + 4, 4) if s not in taken)
            self._spilled.slots[reg] = slot
            grown = max(slot + 4 - self._kernel.local_bytes, 0)
            self._kernel.local_bytes += grown
            self._kernel.spill_bytes += grown
        if self._kernel.local_bytes > MAX_LOCAL_BYTES:
            raise CompileError(f"kernel {self._kernel.name} needs {self._kernel.local_bytes} bytes of local memory a "
                               "thread", self._kernel.source, supported=f"{MAX_LOCAL_BYTES} bytes")
