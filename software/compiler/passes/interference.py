"""Interference of virtual registers, and coalescing of copies under the constraints of register groups.

Two registers interfere if one is written where the other is live afterwards (Chaitin), a copy ``d = s`` excepted for d
and s. Plain per-thread liveness is enough even under divergence, since every lane has its own word of a vector
register and lanes that are masked off keep theirs.

A *group* is what must lie in consecutive, aligned registers: the data of a 64- or 128-bit access, a 64-bit value that
an f64 operation or an atomic reads or writes; every other register is a group of one. Coalescing merges two registers,
and thereby their groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..analysis.liveness import liveness
from ..ir.kernel import Kernel, Op, Reg
from ..ir.spec import GROUPS

__all__ = ["Group", "Interference", "groups_of"]


@dataclass(eq=False)
class Group:
    """Registers in consecutive places.

    Attributes
    ----------
    width : int
        Places, 1, 2 or 4; the first is aligned to it.
    members : dict of int to Reg
        Representative of the register class in each place.
    """

    width: int
    members: dict[int, Reg] = field(default_factory=dict)


def groups_of(op: Op) -> list[tuple[Reg, ...]]:
    """Return the registers that `op` (stage ``narrow`` with immediates selected, or ``machine``) needs in groups."""
    return [(op.defs if result else op.uses)[start:start + width]  # pyright: ignore[reportReturnType]
            for result, start, width in GROUPS.get(op.name, ())]


class Interference:
    """The interference graph of one register kind; a register is in one group, always in the same place.

    Attributes
    ----------
    neighbours : dict of Reg to set of Reg
        Between representatives.
    groups : dict of Reg to (Group, int)
        Group of a representative and its place.
    """

    def __init__(self, kernel: Kernel, kind: str):
        self.neighbours: dict[Reg, set[Reg]] = {}
        self.groups: dict[Reg, tuple[Group, int]] = {}
        self._merged: dict[Reg, Reg] = {}
        self._build(kernel, kind)

    def _build(self, kernel: Kernel, kind: str) -> None:
        result = liveness(kernel)
        for block in kernel.blocks:
            for _, op, live in result.backward(block):
                defs = [d for d in op.written() if d.kind == kind]
                for reg in (*defs, *(r for r in op.read() if r.kind == kind)):
                    self.neighbours.setdefault(reg, set())
                copied = op.uses[0] if op.name == "mov" and op.guard is None else None
                for d in defs:
                    for other in (*live, *defs):
                        if other.kind == kind and other != d and other != copied:
                            self.neighbours[d].add(other)
                            self.neighbours.setdefault(other, set()).add(d)
            if block.end.condition is not None and block.end.condition.reg is not None and kind == "p":
                self.neighbours.setdefault(block.end.condition.reg, set())
        for op in kernel.ops() if kind == "r" else ():
            for registers in groups_of(op):
                if registers[0] not in self.groups:
                    group = Group(len(registers), dict(enumerate(registers)))
                    for place, reg in enumerate(registers):
                        self.groups[reg] = (group, place)
        for reg in self.neighbours:
            self.groups.setdefault(reg, (Group(1, {0: reg}), 0))

    def find(self, reg: Reg) -> Reg:
        """Return the representative of a register."""
        while reg in self._merged:
            reg = self._merged[reg]
        return reg

    def coalesce(self, a: Reg, b: Reg) -> bool:
        """Give two registers one place if nothing forbids it; returns whether they share one now."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return True
        big, at = self.groups[a]
        small, place = self.groups[b]
        if small.width > big.width:
            big, at, small, place = small, place, big, at
        shift = at - place
        if big is small or shift < 0 or shift % small.width or shift + small.width > big.width:
            return False
        for where, reg in small.members.items():
            other = big.members.get(where + shift)
            if other is not None and other in self.neighbours[reg]:
                return False
        for where, reg in small.members.items():
            other = big.members.get(where + shift)
            if other is None:
                big.members[where + shift] = reg
                self.groups[reg] = (big, where + shift)
            else:
                self._merge(other, reg)
        return True

    def _merge(self, kept: Reg, gone: Reg) -> None:
        for other in self.neighbours.pop(gone):
            self.neighbours[other].discard(gone)
            self.neighbours[other].add(kept)
            self.neighbours[kept].add(other)
        del self.groups[gone]
        self._merged[gone] = kept
