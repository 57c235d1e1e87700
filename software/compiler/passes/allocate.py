"""Register allocation: graph colouring of vector registers and predicates, no spilling to memory.

1. Predicates are coloured with seven numbers; one that does not fit moves to a vector register.
2. A register that different operations need in different groups, or places of a group, gets a copy for each; coalescing
   takes most away again. The others are in their group from the start.
3. Copies are coalesced, those in deep loops first, and vector registers coloured. If that takes too many registers,
   every group gets registers of its own, and they are coloured again, with and without coalescing.
"""

from __future__ import annotations

from typing import Any

from caesura.hw.arch.geometry import PREDICATES

from ..analysis.loops import loop_depth
from ..errors import CompileError
from ..ir.kernel import Kernel, Op, Pred, Reg
from ..ir.spec import GROUPS, is_memory
from .coloring import color
from .interference import Interference, groups_of
from .spill_predicates import spill_predicate

__all__ = ["allocate"]


def allocate(kernel: Kernel, max_registers: int) -> None:
    """Replace virtual registers by physical ones (stage ``narrow``, immediates selected, to ``machine``).

    Raises
    ------
    CompileError
        If more than `max_registers` vector registers are needed; says how many.
    """
    predicates = _color_predicates(kernel)
    _separate_groups(kernel, _claimed_twice(kernel))
    vectors, count = _color_vectors(kernel, coalescing=True)
    if count > max_registers:
        _separate_groups(kernel, {reg for op in kernel.ops() for group in groups_of(op) for reg in group})
        vectors, count = min((_color_vectors(kernel, coalescing) for coalescing in (True, False)), key=lambda x: x[1])
    if count > max_registers:
        raise CompileError(f"kernel {kernel.name} needs {count} vector registers, the target has {max_registers}",
                           kernel.source)
    _rename(kernel, {**predicates, **vectors})


def _claimed_twice(kernel: Kernel) -> set[Reg]:
    """Return the registers that are in two different groups, or twice in one."""
    groups: dict[Reg, tuple[Reg, ...]] = {}
    found: set[Reg] = set()
    for op in kernel.ops():
        for group in groups_of(op):
            for reg in group:
                if groups.setdefault(reg, group) != group or group.count(reg) > 1:
                    found.add(reg)
    return found


def _separate_groups(kernel: Kernel, registers: set[Reg]) -> None:
    """Give each group that holds one of `registers` registers of its own, with copies, wherever it occurs."""
    for block in kernel.blocks:
        ops: list[Op] = []
        for op in block.ops:
            copies: dict[tuple[Reg, ...], tuple[Reg, ...]] = {}
            after: list[Op] = []
            for (result, start, width), group in zip(GROUPS.get(op.name, ()), groups_of(op), strict=True):
                if registers.isdisjoint(group):
                    continue
                if result:
                    own = tuple(kernel.fresh("r") for _ in group)
                    after = [Op("mov", (d,), (t,), op.guard, line=op.line) for d, t in zip(group, own, strict=True)]
                    op.defs = (*op.defs[:start], *own, *op.defs[start + width:])
                else:
                    if group not in copies:
                        copies[group] = own = tuple(kernel.fresh("r") for _ in group)
                        ops += [Op("mov", (t,), (s,), line=op.line) for t, s in zip(own, group, strict=True)]
                    op.uses = (*op.uses[:start], *copies[group], *op.uses[start + width:])
            ops += [op, *after]
        block.ops = ops


def _color_predicates(kernel: Kernel) -> dict[Reg, Reg]:
    temporaries: set[Reg] = set()
    while True:
        graph = Interference(kernel, "p")
        numbers = color(graph)
        over = [reg for reg, number in numbers.items() if number >= PREDICATES]
        if not over:
            return {reg: Reg("P", number) for reg, number in numbers.items()}
        crowded = {n for reg in over for n in graph.neighbours[reg]} | set(over)
        candidates = [reg for reg in crowded if reg not in temporaries]
        if not candidates:
            raise CompileError(f"kernel {kernel.name} needs more than {PREDICATES} predicates at once", kernel.source)
        temporaries |= spill_predicate(kernel, max(candidates, key=lambda reg: (len(graph.neighbours[reg]), reg)))


def _color_vectors(kernel: Kernel, coalescing: bool) -> tuple[dict[Reg, Reg], int]:
    graph = Interference(kernel, "r")
    if coalescing:
        depth = loop_depth(kernel)
        copies = [(depth[block.label], op) for block in kernel.blocks for op in block.ops
                  if op.name == "mov" and isinstance(op.uses[0], Reg)]
        for _, op in sorted(copies, key=lambda x: -x[0]):
            graph.coalesce(op.dest, op.uses[0])
    partners: dict[Reg, set[Reg]] = {}
    for op in kernel.ops():
        read = {graph.find(use) for use in op.uses if isinstance(use, Reg)} if not is_memory(op) else set()
        for reg in read:
            partners.setdefault(reg, set()).update(read - {reg})
    numbers = color(graph, partners)
    found = {reg: Reg("R", numbers[graph.find(reg)]) for reg in _vector_registers(kernel)}
    return found, max(numbers.values(), default=-1) + 1


def _vector_registers(kernel: Kernel) -> set[Reg]:
    return {reg for op in kernel.ops() for reg in (*op.written(), *op.read()) if reg.kind == "r"}


def _rename(kernel: Kernel, physical: dict[Reg, Reg]) -> None:
    def renamed(use: Any) -> Any:
        if isinstance(use, Reg):
            return physical[use]
        if isinstance(use, Pred) and use.reg is not None:
            return use._replace(reg=physical[use.reg])
        return use

    for block in kernel.blocks:
        for op in block.ops:
            op.defs = tuple(None if d is None else physical[d] for d in op.defs)
            op.uses = tuple(map(renamed, op.uses))
            op.guard = renamed(op.guard)
        block.ops = [op for op in block.ops if not (op.name == "mov" and op.dest == op.uses[0])]
        block.end.condition = renamed(block.end.condition)
