"""Selection of immediate forms: constants stay where the instruction set has a place for them.

Operands are swapped where that helps; every other constant is moved into a register just before its use. An offset
that an atomic has no room for is added to its address.
"""

from __future__ import annotations

from ..ir.kernel import Imm, Kernel, Op, Reg
from ..ir.spec import GROUPS, is_memory, machine_opcode, offset_fits

__all__ = ["select_immediates"]


def select_immediates(kernel: Kernel) -> None:
    """Rewrite `kernel` (stage ``narrow``) so that every operation has an encoding."""
    for block in kernel.blocks:
        ops: list[Op] = []
        for op in block.ops:
            _swap(op)
            _pack_shuffle(op)
            if is_memory(op):
                _shorten_offset(kernel, op, ops)
            if machine_opcode(op) is None:
                _materialise(kernel, op, ops)
            ops.append(op)
        block.ops = ops


def _swap(op: Op) -> None:
    if len(op.uses) < 2 or not isinstance(op.uses[0], Imm) or isinstance(op.uses[1], Imm) or is_memory(op):
        return
    a, b, *rest = op.uses
    if op.name == "isub":
        op.name, op.uses = "irsub", (b, a)
    elif op.name == "sel":
        op.uses = (b, a, rest[0].inverted())


def _pack_shuffle(op: Op) -> None:
    """Put constant b and c of a shuffle without predicate result into one immediate."""
    if op.name.startswith("shfl.") and len(op.uses) == 3 and op.defs[1] is None:
        a, b, c = op.uses
        if isinstance(b, Imm) and isinstance(c, Imm):
            op.name += ".i"
            op.defs, op.uses = op.defs[:1], (a, Imm(b.value & 31 | (c.value & 0x1F1F) << 8))


def _shorten_offset(kernel: Kernel, op: Op, ops: list[Op]) -> None:
    base, *data = op.uses
    fixed = isinstance(base, Imm)
    if offset_fits(op, op.imm + (base.value if fixed else 0)):
        return
    address = kernel.fresh("r")
    if fixed:
        ops.append(Op("mov", (address,), (Imm((base.value + op.imm) & 0xFFFF_FFFF),), line=op.line))
    else:
        ops.append(Op("iadd", (address,), (base, Imm(op.imm)), line=op.line))
    op.uses, op.imm = (address, *data), 0


def _materialise(kernel: Kernel, op: Op, ops: list[Op]) -> None:
    """Move one constant into a register if that is enough, else all of them; the words of a pair into two."""
    original = op.uses
    places = [k for k, use in enumerate(original) if isinstance(use, Imm) and not (k == 0 and is_memory(op))]
    word = {start + k: k for result, start, width in GROUPS.get(op.name, ()) if not result for k in range(width)}
    for chosen in (*([k] for k in places), places):
        constants: dict[tuple[Imm, int], Reg] = {}
        uses = list(original)
        for k in chosen:
            key = original[k], word.get(k, 0)
            if key not in constants:
                constants[key] = kernel.fresh("r")
            uses[k] = constants[key]
        op.uses = tuple(uses)
        if machine_opcode(op) is not None:
            ops += [Op("mov", (reg,), (value,), line=op.line) for (value, _), reg in constants.items()]
            return
