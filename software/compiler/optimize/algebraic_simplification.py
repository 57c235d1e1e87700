"""Algebraic simplification of single operations: constants are folded, identities removed, carries dropped."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..ir.kernel import FALSE, TRUE, Imm, Kernel, Op, Pred, Reg, Use
from ..ir.spec import SIGNATURES

__all__ = ["COMMUTES", "simplify"]

_MASK = 0xFFFF_FFFF
COMMUTES = {"iadd", "imul.lo", "imul.hi.s", "imul.hi.u", "and", "or", "xor", "imin.s", "imin.u", "imax.s", "imax.u",
             "setp.eq", "setp.ne", "imad.lo", "iaddc", "pand", "por", "pxor", "fmin", "fmax",
             *(f"{name}.{mode}" for name in ("fadd", "fmul") for mode in ("rn", "rz", "rm", "rp"))}
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ltu": "gtu", "leu": "geu", "gtu": "ltu", "geu": "leu"}


def _signed(value: int) -> int:
    return value - (value >> 31 << 32)


def _shift(a: int, b: int, name: str) -> int:
    if name == "shr.s":
        return _signed(a) >> min(b, 31)
    return 0 if b > 31 else a << b if name == "shl" else a >> b


_FOLD: dict[str, Callable[..., int]] = {
    "iadd": lambda a, b: a + b, "isub": lambda a, b: a - b, "irsub": lambda a, b: b - a,
    "imul.lo": lambda a, b: a * b, "imul.hi.u": lambda a, b: a * b >> 32,
    "imul.hi.s": lambda a, b: _signed(a) * _signed(b) >> 32, "imad.lo": lambda a, b, c: a * b + c,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "not": lambda b: ~b,
    **{name: lambda a, b, name=name: _shift(a, b, name) for name in ("shl", "shr.u", "shr.s")},
    "shf.l": lambda a, b, c: (b << 32 | a) << (c & 31) >> 32, "shf.r": lambda a, b, c: (b << 32 | a) >> (c & 31),
    "imin.s": lambda a, b: min(a, b, key=_signed), "imax.s": lambda a, b: max(a, b, key=_signed),
    "imin.u": min, "imax.u": max, "iabs": lambda b: abs(_signed(b)),
    "sext.8": lambda b: (b & 0xFF ^ 0x80) - 0x80, "sext.16": lambda b: (b & 0xFFFF ^ 0x8000) - 0x8000,
}
_TEST: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}


def simplify(kernel: Kernel) -> bool:
    """Simplify every operation of `kernel` (stage ``narrow``); return whether anything changed.

    It skips operations that have not changed since no rule held for them. An ``and`` is examined again if the possible
    values of its operand have changed.
    """
    bits = _significant_bits(kernel) if any(map(_is_mask, kernel.ops())) else {}

    def rewritten(op: Op) -> list[Op] | None:
        facts = op.name, op.defs, op.uses, op.guard  # all that `_rewrite` looks at, and `bits`
        if op.simple == facts:
            return None
        made = _rewrite(op, bits) if _can_change(op) else None
        if made is None and op.name != "and":
            op.simple = facts
        return made

    return kernel.replace_ops(rewritten)


def _is_mask(op: Op) -> bool:
    """Return whether it keeps the low bits of a register."""
    if op.name != "and" or not isinstance(op.uses[1], Imm) or not isinstance(op.uses[0], Reg):
        return False
    mask = op.uses[1].value
    return mask & (mask + 1) == 0


def _can_change(op: Op) -> bool:
    """Return whether a rule can hold for it; most operations are filtered out here."""
    return op.name in _WITHOUT_CONSTANT or Imm in map(type, op.uses) or op.guard is FALSE


def _copy(op: Op, value: Use) -> list[Op]:
    return [Op("mov", op.defs, (value,), op.guard, line=op.line)]


def _set(op: Op, value: Pred, dest: Reg | None = None) -> list[Op]:
    return [Op("pand", (dest or op.dest,), (value, TRUE), op.guard, line=op.line)]


def _again(op: Op, name: str, *uses: Use) -> list[Op]:
    return [Op(name, op.defs, uses, op.guard, line=op.line)]


def _rewrite(op: Op, bits: dict[Reg, int]) -> list[Op] | None:
    """Return the replacement of `op`; None if it stays."""
    if op.guard is FALSE:
        return []
    name, uses = op.name, op.uses
    if name in ("pand", "por", "pxor"):
        return _predicate(op)
    if name in ("iaddc", "isubc"):
        return _carry(op)
    if name == "sel":
        return _select(op)
    if name in _FOLD and all(isinstance(use, Imm) for use in uses):
        return _copy(op, Imm(_FOLD[name](*(use.value for use in uses)) & _MASK))
    if name.startswith("setp."):
        return _comparison(op)
    if name.startswith("fsetp.") and isinstance(uses[0], Imm) and not isinstance(uses[1], Imm):
        test = name.removeprefix("fsetp.")
        return _again(op, f"fsetp.{_SWAPPED.get(test, test)}", uses[1], uses[0])
    if name in COMMUTES and isinstance(uses[0], Imm) and not isinstance(uses[1], Imm):
        return _again(op, name, uses[1], uses[0], *uses[2:])
    if name == "imad.lo":
        return _multiply_add(op)
    if name.startswith(("ffma.", "dfma.")):
        return _fused(op)
    if len(uses) == 2 and isinstance(uses[1], Imm):
        return _with_constant(op, uses[0], uses[1].value, bits)
    return None


_WITHOUT_CONSTANT = frozenset(
    name for name in SIGNATURES if name in ("pand", "por", "pxor", "iaddc", "isubc", "sel", "imad.lo")
    or name.startswith(("setp.", "ffma.", "dfma.")))
"""Operations that are examined without a constant operand too."""


def _with_constant(op: Op, a: Use, b: int, bits: dict[Reg, int]) -> list[Op] | None:
    name = op.name
    if (b == 0 and name in ("iadd", "isub", "or", "xor", "shl", "shr.u", "shr.s")) \
            or (name == "imul.lo" and b == 1) or (name == "and" and b == _MASK):
        return _copy(op, a)
    if b == 0 and name in ("imul.lo", "imul.hi.s", "imul.hi.u", "and", "imin.u"):
        return _copy(op, Imm(0))
    if name == "and" and isinstance(a, Reg) and b & (b + 1) == 0 and bits.get(a, 32) <= b.bit_length():
        return _copy(op, a)
    if name == "isub":
        return _again(op, "iadd", a, Imm(-b & _MASK))
    if name == "imul.hi.u" and b & (b - 1) == 0:
        return _again(op, "shr.u", a, Imm(33 - b.bit_length()))
    if name == "imul.hi.s" and b & (b - 1) == 0 and b >> 31 == 0:
        return _again(op, "shr.s", a, Imm(min(33 - b.bit_length(), 31)))
    return None


def _multiply_add(op: Op) -> list[Op] | None:
    a, b, c = op.uses
    if c == Imm(0):
        return _again(op, "imul.lo", a, b)
    if b == Imm(0):
        return _copy(op, c)
    if b == Imm(1):
        return _again(op, "iadd", a, c)
    if isinstance(a, Imm) and isinstance(b, Imm):
        return _again(op, "iadd", c, Imm(a.value * b.value & _MASK))
    return None


def _fused(op: Op) -> list[Op] | None:
    """Return the product if the addend is a zero without effect: -0 (unless rounded down), or +0 on a square."""
    width = len(op.uses) // 3
    a, b, c = (op.uses[k:k + width] for k in range(0, 3 * width, width))
    negative = c[-1] == Imm(1 << 31) and not op.name.endswith(".rm")
    if c[:-1] != (Imm(0),) * (width - 1) or not (negative or c[-1] == Imm(0) and a == b):
        return None
    return _again(op, op.name.replace("fma", "mul"), *a, *b)


def _comparison(op: Op) -> list[Op] | None:
    _, test, *sign = op.name.split(".")
    a, b = op.uses
    if isinstance(a, Imm) and isinstance(b, Imm):
        values = (_signed(a.value), _signed(b.value)) if sign == ["s"] else (a.value, b.value)
        return _set(op, TRUE if _TEST[test](*values) else FALSE)
    if isinstance(a, Imm):
        return _again(op, ".".join(["setp", _SWAPPED.get(test, test), *sign]), b, a)
    if b == Imm(0) and sign == ["u"] and test in ("lt", "ge"):
        return _set(op, FALSE if test == "lt" else TRUE)
    if a == b:
        return _set(op, TRUE if test in ("eq", "le", "ge") else FALSE)
    return None


def _select(op: Op) -> list[Op] | None:
    a, b, p = op.uses
    if p.reg is None:
        return _copy(op, b if p.negated else a)
    return _copy(op, a) if a == b else None


def _predicate(op: Op) -> list[Op] | None:
    a, b = op.uses
    if a.reg is None and b.reg is not None:
        return _again(op, op.name, b, a)
    if b.reg is not None:
        return None
    if op.name == "pand":
        if b == TRUE:
            return None  # the canonical copy
        return _set(op, FALSE)
    if op.name == "por":
        return _set(op, TRUE if b == TRUE else a)
    return _set(op, a.inverted() if b == TRUE else a)


def _carry(op: Op) -> list[Op] | None:
    a, b, carry = op.uses
    plain = FALSE if op.name == "iaddc" else TRUE  # carry-in of a sum without carry
    if carry != plain:
        return None
    if op.defs[1] is None:
        return [Op("iadd" if op.name == "iaddc" else "isub", op.defs[:1], (a, b), op.guard, line=op.line)]
    if b == Imm(0):
        return [Op("mov", op.defs[:1], (a,), op.guard, line=op.line), *_set(op, plain, op.defs[1])]
    if a == Imm(0) and op.name == "iaddc":
        return [Op("mov", op.defs[:1], (b,), op.guard, line=op.line), *_set(op, plain, op.defs[1])]
    return None


@functools.cache
def _loaded_bits(name: str) -> int:
    """Return the low bits that can be nonzero in the result of an operation, if it is a load."""
    return int(name.rsplit("u", 1)[1]) if name.startswith("ld.") and name.endswith((".u8", ".u16")) else 32


def _significant_bits(kernel: Kernel) -> dict[Reg, int]:
    """Return, for registers whose every definition shows it, the low bits that can be nonzero."""
    found: dict[Reg, int] = {}
    for op in kernel.ops():
        bits = _loaded_bits(op.name)
        if op.name == "and" and isinstance(op.uses[1], Imm):
            bits = op.uses[1].value.bit_length()
        elif op.name == "shr.u" and isinstance(op.uses[1], Imm):
            bits = 32 - min(op.uses[1].value, 32)
        elif op.name == "mov" and isinstance(op.uses[0], Imm):
            bits = op.uses[0].value.bit_length()
        for reg in op.written():
            found[reg] = bits if bits == 32 else max(found.get(reg, 0), bits)
    return found
