"""Random video instructions and their meaning, from the pseudo-code of PTX ISA 9.7.18.

Intermediate results are exact. Operands are unsigned numbers of 32 bits; results are taken modulo 2**32.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable

__all__ = ["scalar", "vector", "multiply_add"]

Meaning = Callable[[int, int, int], int]
_TESTS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b, "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min, "vmax": max, "vavrg": lambda a, b: a + b + (a + b >= 0) >> 1}
_SECOND: dict[str, Callable[[int, int], int]] = {"add": lambda a, b: a + b, "min": min, "max": max}
_PARTS = ("", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1")
_TYPES = ("u32", "s32")


def _field(part: str) -> tuple[int, int]:
    bits = {"b": 8, "h": 16}.get(part[1:2], 32)
    return int(part[2:] or 0) * bits, bits


def _read(x: int, part: str, type: str) -> int:
    first, bits = _field(part)
    x = x >> first & (1 << bits) - 1
    return x - (x >> bits - 1 << bits) if type == "s32" else x


def _clamped(x: int, type: str, bits: int) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type == "s32" else (0, (1 << bits) - 1)
    return min(max(x, low), high)


def scalar(rng: random.Random) -> tuple[str, Meaning]:
    """Return a random scalar instruction except ``vmad``, with operands D, A, B, C, and its meaning."""
    name = rng.choice(("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vset", "vshl", "vshr"))
    to, of_a, of_b = (rng.choice(_TYPES) for _ in range(3))
    part_a, part_b = rng.choice(_PARTS), rng.choice(_PARTS)
    saturates, mode, test = name != "vset" and rng.random() < 0.5, "", rng.choice([*_TESTS])
    if name in ("vshl", "vshr"):
        of_b, mode = "u32", rng.choice(("clamp", "wrap"))
    if name == "vset":
        to = "u32"
    into, second = rng.choice((("", ""), (rng.choice(_PARTS[1:]), ""), ("", rng.choice([*_SECOND]))))
    words = [name, *([to] if name != "vset" else []), of_a, of_b, *(["sat"] if saturates else []),
             *([test] if name == "vset" else []), *([mode] if mode else []), *([second] if second else [])]
    last = ", C" if into or second else ""

    def meaning(a: int, b: int, c: int) -> int:
        x, y = _read(a, part_a, of_a), _read(b, part_b, of_b)
        if mode:
            y = min(y, 32) if mode == "clamp" else y & 31
            exact = x << y if name == "vshl" else x >> y
        else:
            exact = int(_TESTS[test](x, y)) if name == "vset" else _OPERATIONS[name](x, y)
        first, bits = _field(into)
        if saturates:
            exact = _clamped(exact, to, bits)
        if second:
            return _SECOND[second](exact, _read(c, "", to))
        mask = (1 << bits) - 1 << first
        return c & ~mask | exact << first & mask
    return f"{'.'.join(words)} D{into}, A{part_a}, B{part_b}{last}", meaning


def multiply_add(rng: random.Random) -> tuple[str, Meaning]:
    """Return a random ``vmad``, with operands D, A, B, C, and its meaning."""
    of_a, of_b = rng.choice(_TYPES), rng.choice(_TYPES)
    part_a, part_b = rng.choice(_PARTS), rng.choice(_PARTS)
    saturates, shift = rng.random() < 0.5, rng.choice((0, 7, 15))
    plus, minus = rng.choice(((False, ""), (True, ""), (False, "a"), (False, "b"), (False, "ab"), (False, "c"),
                              (False, "abc")))
    words = ["vmad", rng.choice(_TYPES), of_a, of_b, *(["po"] if plus else []), *(["sat"] if saturates else []),
             *([f"shr{shift}"] if shift else [])]
    signs = ["-" if x in minus else "" for x in "abc"]
    signed = "s32" in (of_a, of_b) or ("a" in minus) != ("b" in minus)

    def meaning(a: int, b: int, c: int) -> int:
        product = _read(a, part_a, of_a) * _read(b, part_b, of_b) * (-1 if ("a" in minus) != ("b" in minus) else 1)
        addend = _read(c, "", "s32" if signed else "u32") * (-1 if "c" in minus else 1)
        result = product + addend + plus >> shift
        return _clamped(result, "s32" if signed or "c" in minus else "u32", 32) if saturates else result
    return f"{'.'.join(words)} D, {signs[0]}A{part_a}, {signs[1]}B{part_b}, {signs[2]}C", meaning


def vector(rng: random.Random) -> tuple[str, Meaning]:
    """Return a random instruction on two half-words or four bytes, with operands D, A, B, C, and its meaning."""
    name, count = rng.choice(("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset")), rng.choice((2, 4))
    to, of_a, of_b = (rng.choice(_TYPES) for _ in range(3))
    test, bits, letter = rng.choice([*_TESTS]), 32 // count, "h" if count == 2 else "b"
    option = rng.choice(("", "add", "sat") if name != "vset" else ("", "add"))
    chosen = rng.choice(([], sorted(rng.sample(range(count), rng.randrange(1, count + 1)), reverse=True)))
    wanted = [rng.choice(([], [rng.randrange(2 * count) for _ in range(count)])) for _ in "ab"]
    words = [f"{name}{count}", *([to] if name != "vset" else []), of_a, of_b, *([test] if name == "vset" else []),
             *([option] if option else [])]
    parts = [f".{letter}{''.join(map(str, x))}" if x else "" for x in (chosen, *wanted)]

    def meaning(a: int, b: int, c: int) -> int:
        both = a | b << 32
        numbers = [(x or [*range(k * count, (k + 1) * count)][::-1])[::-1] for k, x in enumerate(wanted)]
        result = c
        for k in chosen or range(count):
            x, y = ((v := both >> bits * numbers[n][k] & (1 << bits) - 1) - (v >> bits - 1 << bits) * (type == "s32")
                    for n, type in enumerate((of_a, of_b)))
            value = int(_TESTS[test](x, y)) if name == "vset" else _OPERATIONS[name](x, y)
            if option == "sat":
                value = _clamped(value, to, bits)
            mask = (1 << bits) - 1 << bits * k
            result = result + value if option == "add" else result & ~mask | value << bits * k & mask
        return result
    return f"{'.'.join(words)} D{parts[0]}, A{parts[1]}, B{parts[2]}, C", meaning
