"""64-bit legalisation: every ``w`` register becomes two ``r`` registers, every 64-bit operation 32-bit ones.

A machine operation on 64-bit values (f64, 64-bit accesses and atomics) takes both words instead of one register.
Register allocation later treats them as a pair. An address narrows to the low half, since addresses have 32 bits. High
halves that only fed addresses are then dead, and dead code elimination removes their operations. A guarded 64-bit
operation is computed without guard into temporaries and moved under the guard, so that no temporary is live into it.
"""

from __future__ import annotations

from typing import Any

from ..ir.kernel import Imm, Kernel, Op, Pred, Reg, Use
from ..ir.spec import WIDE, is_memory
from .wide import EXPANSIONS, Emitter

__all__ = ["legalize"]


def legalize(kernel: Kernel) -> None:
    """Rewrite `kernel` from stage ``wide`` to stage ``narrow``."""
    halves: dict[Reg, tuple[Reg, Reg]] = {}

    def split(value: Use) -> tuple[Use, Use]:
        if isinstance(value, Imm):
            return Imm(value.value & 0xFFFF_FFFF), Imm(value.value >> 32)
        if value not in halves:
            halves[value] = (kernel.fresh("r"), kernel.fresh("r"))
        return halves[value]

    for block in kernel.blocks:
        ops: list[Op] = []
        for op in block.ops:
            if op.name in WIDE:
                ops += _expand(kernel, op, split)
            else:
                ops.append(_narrowed(op, split))
        block.ops = ops


def _narrowed(op: Op, split) -> Op:
    """Return a machine operation with both words of its 64-bit operands; addresses have the low word alone."""
    if not any([isinstance(x, Reg) and x.kind == "w" for x in op.defs + op.uses]):
        return op
    defs = tuple(half for d in op.defs for half in (split(d) if d is not None and d.kind == "w" else (d,)))
    words = [split(x) if isinstance(x, Reg) and x.kind == "w" else (x,) for x in op.uses]
    if is_memory(op):
        words[0] = words[0][:1]
    return Op(op.name, defs, tuple(half for x in words for half in x), op.guard, op.imm, op.line, op.volatile)


def _expand(kernel: Kernel, op: Op, split) -> list[Op]:
    kinds = WIDE[op.name].uses
    uses = [split(use) if kind == "w" else use for use, kind in zip(op.uses, kinds, strict=True)]
    dest = op.dest
    targets = split(dest) if dest.kind == "w" else (dest,)
    emitter = Emitter(kernel, op.line)
    made = EXPANSIONS[op.name](emitter, *uses)
    results: tuple[Any, ...] = (made,) if isinstance(made, (Reg, Imm)) else made
    ops = emitter.ops
    # Let the operation that made a result write the target itself, where it still needs no value that this changes.
    words = (word for use, kind in zip(uses, kinds, strict=True) for word in (use if kind == "w" else (use,)))
    sources = {word for word in words if isinstance(word, Reg)}
    direct = op.guard is None and not sources & set(targets)
    moves = []
    renamed: dict[Any, Reg] = {}
    for target, first in zip(targets, results, strict=True):
        result: Any = renamed.get(first, first)
        if direct and result in emitter.temporaries:
            _rename(ops, result, target)
            renamed[result] = target
        elif target.kind == "p":
            moves.append(Op("pand", (target,), (emitter.pred(result), emitter.true), op.guard, line=op.line))
        else:
            moves.append(Op("mov", (target,), (result,), op.guard, line=op.line))
    if len(moves) == 2 and moves[0].dest in moves[1].uses:  # a move must not overwrite what the other reads
        copy = kernel.fresh("r")
        moves = [Op("mov", (copy,), moves[1].uses, line=op.line), moves[0],
                 Op("mov", moves[1].defs, (copy,), op.guard, line=op.line)]
    return ops + moves


def _rename(ops: list[Op], old: Reg, new: Reg) -> None:
    for op in ops:
        if old in op.defs:
            op.defs = tuple([new if d is old else d for d in op.defs])
        if old in op.read():
            op.uses = tuple([new if u is old else Pred(new, u.negated) if isinstance(u, Pred) and u.reg is old else u
                             for u in op.uses])
