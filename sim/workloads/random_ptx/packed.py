"""Meaning of integer instructions on masks and on parts of words, from the pseudo-code of PTX ISA 9.7.1 and 9.7.9.

Operands are unsigned numbers of 32 bits; results are taken modulo 2**32.
"""

from __future__ import annotations

from collections.abc import Callable

from .bits import permute

__all__ = ["FORMS", "bit_mask", "extended", "nth_set", "dot_product", "packed", "pairwise"]

_ALL = (1 << 32) - 1


def _signed(x: int, bits: int = 32) -> int:
    return x - (x >> bits - 1 << bits)


def bit_mask(a: int, b: int, mode: str) -> int:
    """Return the result of ``bmsk``; `mode` is ``clamp`` or ``wrap``."""
    first, count = a & 31, b & 31
    low, total = _ALL << first & _ALL, first + count
    high, over = _ALL << total & _ALL, total >= 32
    if mode == "clamp":
        if a >= 32:
            over, low = True, 0
        over = over or b >= 32
    if over:
        high = 0
    elif count == 0:
        high = _ALL
    return low & ~high


def extended(a: int, b: int, mode: str, type: str) -> int:
    """Return the result of ``szext``."""
    bits, large = b & 31, b >= 32 and mode == "clamp"
    mask = 0 if large else _ALL << bits & _ALL
    sign = type == "s32" and bits != 0 and not large and a >> (bits - 1 & 31) & 1
    return a & ~mask | (mask if sign else 0)


def nth_set(mask: int, base: int, offset: int) -> int:
    """Return the result of ``fns``; no bit is set beyond 31."""
    offset = _signed(offset)
    if offset == 0:
        return base if base < 32 and mask >> base & 1 else _ALL
    place, count = base, abs(offset) - 1
    while 0 <= place < 32:
        if mask >> place & 1:
            if count == 0:
                return place
            count -= 1
        place += 1 if offset > 0 else -1
    return _ALL


def dot_product(a: int, b: int, c: int, opcode: str) -> int:
    """Return the result of ``dp4a`` or ``dp2a``; `opcode` is the whole opcode."""
    base, *modifiers = opcode.split(".")
    first, second = modifiers[-2:]
    each = 1 if base == "dp4a" else 2
    skipped = 2 if modifiers[0] == "hi" else 0
    for k in range(4 // each):
        x, y = a >> 8 * each * k & (1 << 8 * each) - 1, b >> 8 * (k + skipped) & 255
        c += (_signed(x, 8 * each) if first == "s32" else x) * (_signed(y, 8) if second == "s32" else y)
    return c


def packed(a: int, b: int, c: int, type: str) -> int:
    """Return the result of ``cvt.pack.sat`` to `type`."""
    bits = int(type[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type[0] == "s" else (0, (1 << bits) - 1)
    above, below = (min(max(_signed(x), low), high) & (1 << bits) - 1 for x in (a, b))
    return below | above << bits | (c << 2 * bits if bits < 16 else 0)


def pairwise(operation: Callable[[int, int], int], a: int, b: int, type: str) -> int:
    """Return the result of an operation on the half-words of a and b."""
    halves = [[x >> k & 0xFFFF for x in (a, b)] for k in (0, 16)]
    if type[0] == "s":
        halves = [[_signed(x, 16) for x in pair] for pair in halves]
    low, high = (operation(*pair) & 0xFFFF for pair in halves)
    return low | high << 16


FORMS: dict[str, Callable[[int, int, int], int]] = {
    **{f"bmsk.{mode}.b32 D, A, B": lambda a, b, c, mode=mode: bit_mask(a, b, mode) for mode in ("clamp", "wrap")},
    **{f"szext.{mode}.{type} D, A, B": lambda a, b, c, mode=mode, type=type: extended(a, b, mode, type)
       for mode in ("clamp", "wrap") for type in ("u32", "s32")},
    "fns.b32 D, A, B, C": nth_set,
    **{f"{opcode} D, A, B, C": lambda a, b, c, opcode=opcode: dot_product(a, b, c, opcode)
       for x in ("u32", "s32") for y in ("u32", "s32")
       for opcode in (f"dp4a.{x}.{y}", f"dp2a.lo.{x}.{y}", f"dp2a.hi.{x}.{y}")},
    **{f"cvt.pack.sat.{type}.s32 D, A, B": lambda a, b, c, type=type: packed(a, b, c, type) for type in ("u16", "s16")},
    **{f"cvt.pack.sat.{type}.s32.b32 D, A, B, C": lambda a, b, c, type=type: packed(a, b, c, type)
       for type in ("u8", "s8", "u4", "s4", "u2", "s2")},
    **{f"{name}.{type} D, A, B": lambda a, b, c, f=f, type=type: pairwise(f, a, b, type)
       for type in ("u16x2", "s16x2")
       for name, f in (("add", lambda x, y: x + y), ("min", min), ("max", max))},
    **{f"{name}.relu.s16x2 D, A, B": lambda a, b, c, f=f: pairwise(lambda x, y: max(f(x, y), 0), a, b, "s16x2")
       for name, f in (("min", min), ("max", max))},
    **{f"{name}.relu.s32 D, A, B": lambda a, b, c, f=f: max(f(_signed(a), _signed(b)), 0)
       for name, f in (("min", min), ("max", max))},
    **{f"prmt.b32{mode and '.' + mode} D, A, B, C": lambda a, b, c, mode=mode: permute(a, b, c, mode)
       for mode in ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16")},
}
"""Meanings of instructions, by their text with letters for operands."""
