"""Interference of virtual registers, and coalescing of copies under the constraints of register groups.

Two registers interfere if one is written where the other is live afterwards (Chaitin). A copy ``d = s`` does not make d
and s interfere. Plain per-thread liveness suffices even under divergence: every lane has its own word of a vector
register, and masked lanes keep theirs.

A *group* is a set of values that need consecutive, aligned registers: the data of a 64- or 128-bit access, or a 64-bit
value that an f64 operation or an atomic reads or writes. Every other register is a group of one. Coalescing merges two
registers, and thereby their groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..analysis.liveness import liveness
from ..ir.kernel import Kernel, Op, Reg
from ..ir.spec import groups

__all__ = ["Group", "Interference", "groups_of"]


@dataclass(eq=False, slots=True)
class Group:
    """Registers in consecutive places.

    Attributes
    ----------
    width : int
        Number of places, 1, 2 or 4; the first is aligned to it.
    members : dict of int to int
        Node in each place.
    """

    width: int
    members: dict[int, int] = field(default_factory=dict)


def groups_of(op: Op) -> list[tuple[Reg, ...]]:
    """Return the registers that `op` (stage ``narrow`` with immediates selected, or ``machine``) needs in groups."""
    return [(op.defs if result else op.uses)[start:start + width]  # pyright: ignore[reportReturnType]
            for result, start, width in groups(op)]


class Interference:
    """The interference graph of one register kind; a register is in one group, always in the same place.

    Nodes are numbers; they number registers in the order in which the kernel names them.

    Attributes
    ----------
    registers : list of Reg
        Register of each node, before any was merged.
    numbers : dict of Reg to int
        Node of each register.
    neighbours : list of set of int
        Neighbours of each node that represents its class; they are such nodes themselves.
    groups : list of (Group, int)
        Group and place of a node that represents its class.
    """

    def __init__(self, kernel: Kernel, kind: str):
        self.numbers: dict[Reg, int] = {}
        self.registers = [reg for reg in _registers(kernel) if reg.kind == kind]
        self.numbers.update(zip(self.registers, range(len(self.registers)), strict=True))
        self.neighbours: list[set[int]] = [set() for _ in self.registers]
        self.groups: list[tuple[Group, int]] = []
        self._merged = list(range(len(self.registers)))
        self._connect(kernel)
        self._group(kernel, kind)

    def _connect(self, kernel: Kernel) -> None:
        result, numbers, near = liveness(kernel), self.numbers, self.neighbours
        named = numbers.keys()
        if not named:
            return
        for block in kernel.blocks:
            live = {numbers[reg] for reg in result.live_out[block.label] if reg in numbers}
            condition = block.end.condition
            if condition is not None and condition.reg is not None and condition.reg in numbers:
                live.add(numbers[condition.reg])
            for op in reversed(block.ops):
                made = [numbers[reg] for reg in op.defs if reg in numbers]
                if made:
                    copied = numbers.get(op.uses[0], -1) if op.name == "mov" and op.guard is None else -1
                    around = live.union(made) if len(made) > 1 else live
                    for node in made:
                        found = around.difference(near[node], (node, copied))
                        near[node] |= found
                        for other in found:
                            near[other].add(node)
                    if op.guard is None:
                        live.difference_update(made)
                if not named.isdisjoint(op.read()):
                    live.update([numbers[reg] for reg in op.read() if reg in numbers])

    def _group(self, kernel: Kernel, kind: str) -> None:
        found: dict[int, tuple[Group, int]] = {}
        for op in filter(groups, kernel.ops()) if kind == "r" else ():
            for registers in groups_of(op):
                nodes = [self.numbers[reg] for reg in registers]
                if nodes[0] not in found:
                    group = Group(len(nodes), dict(enumerate(nodes)))
                    found.update((node, (group, place)) for place, node in enumerate(nodes))
        self.groups = [found.get(node) or (Group(1, {0: node}), 0) for node in range(len(self.registers))]

    def find(self, node: int) -> int:
        """Return the node that represents the class of a node."""
        while self._merged[node] != node:
            self._merged[node] = node = self._merged[self._merged[node]]
        return node

    def representatives(self) -> list[int]:
        """Return the nodes that represent a class."""
        return [node for node, other in enumerate(self._merged) if node == other]

    def coalesce(self, a: Reg, b: Reg) -> bool:
        """Give two registers one place if nothing forbids it; return whether they share one now."""
        first, second = self.find(self.numbers[a]), self.find(self.numbers[b])
        if first == second:
            return True
        big, at = self.groups[first]
        small, place = self.groups[second]
        if small.width > big.width:
            big, at, small, place = small, place, big, at
        shift = at - place
        if big is small or shift < 0 or shift % small.width or shift + small.width > big.width:
            return False
        for where, node in small.members.items():
            other = big.members.get(where + shift)
            if other is not None and other in self.neighbours[node]:
                return False
        for where, node in small.members.items():
            other = big.members.get(where + shift)
            if other is None:
                big.members[where + shift] = node
                self.groups[node] = (big, where + shift)
            else:
                self._merge(other, node)
        return True

    def _merge(self, kept: int, gone: int) -> None:
        for other in self.neighbours[gone]:
            self.neighbours[other].discard(gone)
            self.neighbours[other].add(kept)
        self.neighbours[kept] |= self.neighbours[gone]
        self.neighbours[gone] = set()
        self._merged[gone] = kept


def _registers(kernel: Kernel) -> dict[Reg, None]:
    """Return the registers of a kernel in the order in which it names them."""
    found: list[Reg] = []
    for block in kernel.blocks:
        for op in block.ops:
            found += op.written()
            found += op.read()
        if block.end.condition is not None and block.end.condition.reg is not None:
            found.append(block.end.condition.reg)
    return dict.fromkeys(found)
