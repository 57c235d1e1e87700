"""Meaning of the PTX instructions on bits and bytes in plain Python integers, from the pseudo-code of PTX ISA 9.7.1.

Operands are unsigned numbers of the operation's width; results are taken modulo the destination's width.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["extract", "insert", "highest", "permute", "BIT_UNARY", "BIT_TERNARY"]


def extract(a: int, position: int, length: int, bits: int, is_signed: bool) -> int:
    """Return the result of ``bfe``."""
    position, length, msb = position & 255, length & 255, bits - 1
    sbit = a >> min(position + length - 1, msb) & 1 if is_signed and length else 0
    return sum((a >> position + i & 1 if i < length and position + i <= msb else sbit) << i for i in range(bits))


def insert(a: int, b: int, position: int, length: int, bits: int) -> int:
    """Return the result of ``bfi``, which puts the low bits of a into b."""
    position, length = position & 255, length & 255
    for i in range(length):
        if position + i < bits:
            b = b & ~(1 << position + i) | (a >> i & 1) << position + i
    return b


def highest(a: int, bits: int, is_signed: bool, amount: bool) -> int:
    """Return the result of ``bfind``, with ``.shiftamt`` if `amount`."""
    if is_signed and a >> bits - 1:
        a = ~a & (1 << bits) - 1
    for i in range(bits - 1, -1, -1):
        if a >> i & 1:
            return bits - 1 - i if amount else i
    return 0xFFFF_FFFF


def permute(a: int, b: int, c: int, mode: str) -> int:
    """Return the result of ``prmt``; `mode` is empty or its modifier."""
    source = [*a.to_bytes(4, "little"), *b.to_bytes(4, "little")]
    k = c & 3
    order = {"f4e": [k, k + 1, k + 2, k + 3], "b4e": [k, k - 1 & 7, k - 2 & 7, k - 3 & 7], "rc8": [k] * 4,
             "ecl": [max(i, k) for i in range(4)], "ecr": [min(i, k) for i in range(4)],
             "rc16": [2 * (k & 1), 2 * (k & 1) + 1] * 2, "": [c >> 4 * i & 7 for i in range(4)]}[mode]
    found = [source[i] for i in order]
    if not mode:
        found = [byte if not c >> 4 * i + 3 & 1 else 255 * (byte >> 7) for i, byte in enumerate(found)]
    return int.from_bytes(bytes(found), "little")


def _absolute_difference(a: int, b: int, c: int, is_signed: bool) -> int:
    if is_signed:
        a, b = (x - (x >> 31 << 32) for x in (a, b))
    return c + abs(a - b)


BIT_UNARY: dict[int, dict[str, Callable[[int], int]]] = {
    bits: {f"brev.b{bits}": lambda a, bits=bits: int(f"{a:0{bits}b}"[::-1], 2)} for bits in (32, 64)}
"""One-operand instructions whose result has the operand's width, by width and mnemonic, with their meaning."""
BIT_UNARY[32] |= {"clz.b32": lambda a: 32 - a.bit_length(), "popc.b32": lambda a: f"{a:b}".count("1"),
                  "bfind.u32": lambda a: highest(a, 32, False, False),
                  "bfind.s32": lambda a: highest(a, 32, True, False),
                  "bfind.shiftamt.s32": lambda a: highest(a, 32, True, True)}
BIT_TERNARY: dict[str, Callable[[int, int, int], int]] = {
    "bfe.u32": lambda a, b, c: extract(a, b, c, 32, False), "bfe.s32": lambda a, b, c: extract(a, b, c, 32, True),
    "sad.s32": lambda a, b, c: _absolute_difference(a, b, c, True),
    "sad.u32": lambda a, b, c: _absolute_difference(a, b, c, False),
    **{f"prmt.b32{mode and '.' + mode}": lambda a, b, c, mode=mode: permute(a, b, c, mode)
       for mode in ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16")},
}
"""32-bit instructions of three operands."""
