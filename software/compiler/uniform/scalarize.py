"""Warp-uniform values move to uniform registers, and their computation to the uniform data path.

`selection` chooses the values. Each of their registers becomes one of kind ``u``, and its operations become those of
the uniform data path. A comparison of such values sets its predicate from there too. Their readers change as follows:

1. A vector operation that has a place for a uniform register (`ir.spec.UNIFORM_PLACES`) names it there, its operands
   exchanged if need be.
2. Elsewhere the value is moved to a vector register just before. A constant, a parameter or a special register is
   read again instead.

An operation without operands leaves its loops: a register that holds the value meanwhile costs no context. Values that
find no place among the machine's registers stay where they were.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..analysis.dominance import immediate_dominators
from ..analysis.loops import loop_depth
from ..analysis.uniformity import Uniformity, uniformity
from ..ir.kernel import Block, Kernel, Op, Pred, Reg
from ..ir.spec import is_constant
from .coloring import color_uniform
from .operations import misplaced, runs_uniform, swapped
from .selection import choose

__all__ = ["use_uniform_registers"]


def use_uniform_registers(kernel: Kernel) -> None:
    """Rewrite `kernel` (stage ``narrow``, immediates selected) with uniform registers, already placed (kind ``U``)."""
    facts = uniformity(kernel)
    inside: set[Reg] = set()
    excluded: set[Reg] = set()
    while True:
        trial = _Rewrite(kernel, facts, choose(kernel, facts, excluded), inside)
        places, over = color_uniform(trial.kernel, facts.flow, facts.meet, facts.divergent)
        if not over:
            break
        for reg in over:
            origins = trial.origins[reg]
            (excluded if origins <= inside or reg not in trial.hoisted else inside).update(origins)
    for op in trial.kernel.ops():
        if not places.keys().isdisjoint(op.defs):
            op.defs = tuple([places.get(d, d) if d is not None else None for d in op.defs])
        if not places.keys().isdisjoint(op.uses):
            op.uses = tuple([places.get(use, use) if isinstance(use, Reg) else use for use in op.uses])
    kernel.blocks = trial.kernel.blocks


class _Rewrite:
    """One attempt.

    Attributes
    ----------
    kernel : Kernel
        Resulting kernel; operations that it shares with the original name no register of kind ``u``.
    origins : dict of Reg to set of Reg
        Former registers of each register of kind ``u``.
    hoisted : set of Reg
        Registers of kind ``u`` whose definition left a loop.
    """

    def __init__(self, kernel: Kernel, facts: Uniformity, chosen: set[Reg], inside: set[Reg]):
        self.origins: dict[Reg, set[Reg]] = {}
        self.hoisted: set[Reg] = set()
        self._facts = facts
        self._chosen = chosen
        self._fresh = kernel.fresh
        self._uniform: dict[Reg, Reg] = {}
        self._constants: dict[Reg, Op] = {}
        self._ahead: dict[str, dict[tuple, Op]] = {}
        self._find_constants(kernel)
        self._hoist(kernel, inside)
        blocks = [Block(block.label, self._block(block), block.end) for block in kernel.blocks]
        self.kernel = replace(kernel, blocks=blocks)
        self._drop_unread()

    def _find_constants(self, kernel: Kernel) -> None:
        several: set[Reg] = set()
        for op in kernel.ops():
            for reg in op.written():
                if reg in self._constants or not is_constant(op):
                    several.add(reg)
                self._constants[reg] = op
        self._constants = {reg: op for reg, op in self._constants.items() if reg not in several}

    def _hoist(self, kernel: Kernel, inside: set[Reg]) -> None:
        """Move constants defined in loops ahead of them, but for those of `inside`; equal ones share a definition."""
        depth = loop_depth(kernel)
        above = immediate_dominators(kernel)
        for block in kernel.blocks:
            for op in block.ops if depth[block.label] else ():
                if is_constant(op) and op.dest in self._chosen and op.dest in self._constants.keys() - inside:
                    label = block.label
                    while depth[label] and above[label] != label:
                        label = above[label]
                    if not depth[label]:
                        self._put_ahead(self._ahead.setdefault(label, {}), op)

    def _put_ahead(self, ahead: dict[tuple, Op], op: Op) -> None:
        key = op.name, op.uses, op.imm
        if key not in ahead:
            ahead[key] = Op("u" + op.name, (self._fresh("u"),), op.uses, None, op.imm, op.line)
        self._uniform[op.dest] = ahead[key].dest
        self.hoisted.add(ahead[key].dest)
        self.origins.setdefault(ahead[key].dest, set()).add(op.dest)

    def _of(self, value: Any) -> Any:
        """Return the uniform register of a chosen register; other registers stay."""
        if not isinstance(value, Reg) or value not in self._chosen:
            return value
        if value not in self._uniform:
            self._uniform[value] = self._fresh("u")
            self.origins[self._uniform[value]] = {value}
        return self._uniform[value]

    def _block(self, block: Block) -> list[Op]:
        ops: list[Op] = []
        for op in block.ops:
            if not runs_uniform(op, self._chosen, self._facts.registers):
                self._vector(op, ops)
            elif self._of(op.defs[0]) not in self.hoisted:
                self._scalar(op, ops)
        return ops + list(self._ahead.get(block.label, {}).values())

    def _scalar(self, op: Op, ops: list[Op]) -> None:
        defs, uses = tuple(map(self._of, op.defs)), tuple(map(self._of, op.uses))
        if op.name != "sel":
            ops.append(Op("u" + op.name, defs, uses, op.guard, op.imm, op.line))
            return
        a, b, condition = uses
        assert isinstance(condition, Pred)
        if defs[0] == a:
            a, b, condition = b, a, condition.inverted()
        if defs[0] != b:
            ops.append(Op("umov", defs, (b,), line=op.line))
        ops.append(Op("umov", defs, (a,), condition, line=op.line))

    def _vector(self, op: Op, ops: list[Op]) -> None:
        if self._chosen.isdisjoint(op.uses):
            ops.append(op)
            return
        op, wrong = misplaced(op, self._chosen, swapped)
        copies = {reg: self._fresh("r") for reg in sorted(wrong)}
        for reg, copy in copies.items():
            constant = self._constants.get(reg)
            if constant is not None:
                ops.append(Op(constant.name, (copy,), constant.uses, None, constant.imm, op.line or constant.line))
            else:
                ops.append(Op("mov", (copy,), (self._of(reg),), line=op.line))
        uses = tuple(copies[use] if use in copies else self._of(use) for use in op.uses)
        ops.append(Op(op.name, op.defs, uses, op.guard, op.imm, op.line, op.volatile))

    def _drop_unread(self) -> None:
        read = {reg for op in self.kernel.ops() for reg in op.read()}
        for block in self.kernel.blocks:
            block.ops = [op for op in block.ops if not op.defs or op.defs[0] is None or op.defs[0].kind != "u"
                         or op.defs[0] in read]
