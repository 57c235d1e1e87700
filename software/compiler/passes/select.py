"""Selection of immediate forms: constants stay where the instruction set has a place for them.

Operands are swapped where that helps; every other constant is moved into a register just before its use.
"""

from __future__ import annotations

from ..ir.kernel import Imm, Kernel, Op, Reg
from ..ir.spec import is_memory, machine_opcode

__all__ = ["select_immediates"]


def select_immediates(kernel: Kernel) -> None:
    """Rewrite `kernel` (stage ``narrow``) so that every operation has an encoding."""
    for block in kernel.blocks:
        ops: list[Op] = []
        for op in block.ops:
            _swap(op)
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


def _materialise(kernel: Kernel, op: Op, ops: list[Op]) -> None:
    """Move one constant into a register if that is enough, else all of them."""
    original = op.uses
    places = [k for k, use in enumerate(original) if isinstance(use, Imm) and not (k == 0 and is_memory(op))]
    for chosen in (*([k] for k in places), places):
        constants: dict[Imm, Reg] = {original[k]: kernel.fresh("r") for k in chosen}
        op.uses = tuple(constants[use] if k in chosen else use for k, use in enumerate(original))
        if machine_opcode(op) is not None:
            ops += [Op("mov", (reg,), (value,), line=op.line) for value, reg in constants.items()]
            return
