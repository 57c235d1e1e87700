"""The loads and stores of spilled values; `registers.spill` chooses the values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ..analysis.liveness import Liveness
from ..analysis.pressure import pressure_of_ops
from ..ir.kernel import Block, Imm, Kernel, Op, Reg

__all__ = ["Spilled", "rewrite"]

_LOAD, _STORE = "ld.local.b32", "st.local.b32"


@dataclass
class Spilled:
    """The spilled values so far.

    Attributes
    ----------
    slots : dict of Reg to int
        Local address of each value that lies in local memory.
    homes : dict of Reg to int
        Local address at which a register is stored as soon as it is written.
    once : set of Reg
        Registers that live from one operation to the next, or to the loads between; spilling them gains nothing.
    loads, stores : set of Op
        Loads and stores of spilled values.
    """

    slots: dict[Reg, int] = field(default_factory=dict)
    homes: dict[Reg, int] = field(default_factory=dict)
    once: set[Reg] = field(default_factory=set)
    loads: set[Op] = field(default_factory=set)
    stores: set[Op] = field(default_factory=set)


def rewrite(kernel: Kernel, victims: Collection[Reg], again: Mapping[Reg, Op], spilled: Spilled, limit: int,
            result: Liveness) -> None:
    """Let values of `kernel` live in registers only around the operations that take part in them.

    Parameters
    ----------
    kernel : Kernel
        Kernel of stage ``narrow``.
    victims : collection of Reg
        Values to be spilled.
    again : mapping of Reg to Op
        Operations that recompute some of them; the others have a place in local memory.
    spilled : Spilled
        Spilled values so far; updated.
    limit : int
        Number of vector registers; a register is kept for a later use while they suffice.
    result : Liveness
        Liveness of `kernel`.
    """
    for block in kernel.blocks:
        _BlockRewriter(kernel, block, set(victims), again, spilled, limit, result).run()


class _BlockRewriter:
    def __init__(self, kernel: Kernel, block: Block, victims: set[Reg], again: Mapping[Reg, Op], spilled: Spilled,
                 limit: int, result: Liveness):
        self._kernel, self._block, self._victims, self._again = kernel, block, victims, again
        self._spilled, self._limit = spilled, limit
        self._homes = spilled.homes.keys() & victims
        self._counts = self._without_victims(result)
        self._full = -1  # the last point, before or after an operation already rewritten, with no register to spare
        self._copies: dict[Reg, tuple[Reg, int]] = {}
        self._uses: dict[Reg, int] = {}
        self._ops: list[Op] = []

    def _without_victims(self, result: Liveness) -> list[int]:
        """Return the need before and after each operation, without victims that it does not read or write."""
        counts: list[int] = []
        for need in pressure_of_ops(self._block, result):
            staying = need.live & self._victims
            staying.difference_update(need.op.defs)
            counts += [need.after - len(staying), need.before - len(staying.difference(need.op.uses))]
        return counts[::-1]

    def run(self) -> None:
        for index, op in enumerate(self._block.ops):
            if op.defs and op.defs[0] in self._again:
                self._spilled.loads.discard(op)
                continue
            self._operation(op, index)
            for point in (2 * index, 2 * index + 1):
                if self._counts[point] >= self._limit:
                    self._full = point
        self._block.ops = self._ops
        self._spilled.once.update(self._homes)
        self._spilled.once.update(reg for reg, count in self._uses.items() if count == 1)

    def _operation(self, op: Op, index: int) -> None:
        if op in self._spilled.stores:
            self._ops.append(op)
            return
        reads = {use: self._loaded(use, index, op.line) for use in dict.fromkeys(op.uses) if use in self._victims}
        if reads:
            op.uses = tuple(reads.get(use, use) for use in op.uses)
        writes = {reg: self._written(reg, op, index, reads) for reg in op.written()
                  if reg in self._victims and reg not in self._homes}
        if writes:
            op.defs = tuple(d if d is None else writes.get(d, d) for d in op.defs)
        self._ops.append(op)
        for reg, copy in writes.items():
            store = Op(_STORE, (), (Imm(self._spilled.slots[reg]), copy), op.guard, line=op.line)
            self._spilled.stores.add(store)
            self._ops.append(store)

    def _loaded(self, reg: Reg, index: int, line: int) -> Reg:
        """Return a register with the value of `reg`, preferably one that has it already."""
        copy = self._kept(reg, index)
        if copy is None:
            copy = self._kernel.fresh("r")
            again = self._again.get(reg)
            if again is None:
                load = Op(_LOAD, (copy,), (Imm(self._spilled.slots[reg]),), line=line)
            else:
                load = Op(again.name, (copy,), again.uses, None, again.imm, line)
            self._spilled.loads.add(load)
            self._ops.append(load)
        self._uses[copy] = self._uses.get(copy, 0) + 1
        self._copies[reg] = copy, index
        return copy

    def _kept(self, reg: Reg, index: int) -> Reg | None:
        """Return the register that got the value at an earlier operation, if it can be kept until now."""
        copy, since = self._copies.get(reg, (None, 0))
        if copy is None or self._full > 2 * since:
            return None
        for point in range(2 * since + 1, 2 * index):
            self._counts[point] += 1
            if self._counts[point] >= self._limit:
                self._full = max(self._full, point)
        return copy

    def _written(self, reg: Reg, op: Op, index: int, reads: dict[Reg, Reg]) -> Reg:
        """Return the register that `op` writes instead of `reg`."""
        copy = reads.get(reg) if op.guard is not None else None
        whole = op.guard is None or copy is not None
        if copy is None:
            copy = self._kernel.fresh("r")
            self._uses[copy] = 1
        if op.guard is None:
            self._spilled.homes[copy] = self._spilled.slots[reg]
        elif not whole:  # defined in every lane, so that it is not live before
            self._ops.append(Op("mov", (copy,), (Imm(0),), line=op.line))
        if whole:
            self._copies[reg] = copy, index
        else:
            self._copies.pop(reg, None)
        return copy
