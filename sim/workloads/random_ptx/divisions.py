"""Random divisions and roots of a PTX kernel, which the compiler's library computes, inlined or called."""

from __future__ import annotations

from collections.abc import Callable

from . import exact
from .builder import Builder
from .operations import signed

__all__ = ["Divisions"]


def _integer(remainder: bool, kind: str) -> Callable[[int, int], int]:
    bits = int(kind[1:])

    def meaning(a: int, b: int) -> int:
        if kind[0] == "s":
            a, b = signed(a, bits), signed(b, bits)
        if b == 0:
            return -1
        quotient = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
        return a - quotient * b if remainder else quotient

    return meaning


def _table(bits: int) -> dict[str, tuple[int, Callable[..., int]]]:
    """Return opcode, number of operands and meaning of the operations of a width."""
    form, kind = (exact.F32, "f32") if bits == 32 else (exact.F64, "f64")
    one = exact.ONE if bits == 64 else 0x3F80_0000
    return {
        **{f"{name}.{sign}{bits}": (2, _integer(name == "rem", f"{sign}{bits}")) for name in ("div", "rem")
           for sign in "su"},
        f"div.rn.{kind}": (2, lambda a, b: exact.divide(a, b, form)),
        f"rcp.rn.{kind}": (1, lambda a: exact.divide(one, a, form)),
        f"sqrt.rn.{kind}": (1, lambda a: exact.square_root(a, form)),
    }


DIVISIONS = {bits: _table(bits) for bits in (32, 64)}


class Divisions(Builder):
    """Statements that divide or take roots."""

    def _divide(self) -> None:
        rng, guard, bits = self.rng, self._guard(), self.rng.choice((32, 64, 64))
        values = self.narrow if bits == 32 else self.wide
        opcode = rng.choice([name for name in DIVISIONS[bits] if not (self.s.portable and name.endswith("f64"))])
        count, meaning = DIVISIONS[bits][opcode]
        operands: list[tuple[str | int, int]] = [(rng.choice(values), bits) for _ in range(count)]
        if count == 2 and opcode.startswith(("div.s", "div.u", "rem.")) and rng.random() < 0.3:
            operands[1] = self._operand(bits), bits
        self.compute(opcode, rng.choice(values), bits, operands, meaning, guard)
