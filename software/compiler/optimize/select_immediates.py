"""Selection of immediate forms: constants stay where the instruction set has a place for them.

Operands are swapped where that helps. Any other constant is moved into a register just before its use, or taken from a
register that has held it for a short time (`WINDOW`) in the same block. An offset that does not fit an atomic is added
to its address.
"""

from __future__ import annotations

from ..ir.kernel import Imm, Kernel, Op, Reg
from ..ir.spec import GROUPS, UNIFORM_PLACES, is_memory, machine_opcode, offset_fits

__all__ = ["WINDOW", "select_immediates"]

WINDOW = 16
"""Operations after which a constant is moved again rather than kept: a register is worth more."""
_ANY = Reg("r", 0)


class _Constants:
    """Constants in registers, by value and by their place.

    A place that can be a uniform register has registers of its own, and so does each word of a pair.
    """

    def __init__(self, kernel: Kernel):
        self._kernel = kernel
        self._held: dict[tuple, tuple[Reg, int]] = {}

    def get(self, key: tuple, ops: list[Op], line: int) -> Reg:
        """Return a register with the constant ``key[0]`` for an operation that comes after `ops`."""
        reg, at = self._held.get(key, (None, 0))
        if reg is None or len(ops) - at > WINDOW:
            reg = self._kernel.fresh("r")
            ops.append(Op("mov", (reg,), key[:1], line=line))
        self._held[key] = reg, len(ops)
        return reg


def select_immediates(kernel: Kernel) -> None:
    """Rewrite `kernel` (stage ``narrow``) so that every operation has an encoding."""
    for block in kernel.blocks:
        ops: list[Op] = []
        constants = _Constants(kernel)
        for op in block.ops:
            _swap(op)
            _pack_shuffle(op)
            if is_memory(op):
                _shorten_offset(kernel, op, ops)
            if machine_opcode(op) is None:
                _materialise(constants, op, ops)
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


def _materialise(constants: _Constants, op: Op, ops: list[Op]) -> None:
    """Take one constant from a register if that is enough, else all of them; the words of a pair from two."""
    original = op.uses
    places = [k for k, use in enumerate(original) if isinstance(use, Imm) and not (k == 0 and is_memory(op))]
    word = {start + k: k for result, start, width in GROUPS.get(op.name, ()) if not result for k in range(width)}
    for chosen in (*([k] for k in places), places):
        probe = Op(op.name, op.defs, tuple(_ANY if k in chosen else use for k, use in enumerate(original)), imm=op.imm)
        if machine_opcode(probe) is not None:
            alone = [original[k] for k in chosen].count
            keys = {k: (original[k], word.get(k, 0), UNIFORM_PLACES.get(op.name) == k and alone(original[k]) == 1)
                    for k in chosen}
            op.uses = tuple(constants.get(keys[k], ops, op.line) if k in keys else use
                            for k, use in enumerate(original))
            return
