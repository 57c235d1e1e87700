"""Random f32 statements of a PTX kernel, on its 32-bit values and on registers of type f32."""

from __future__ import annotations

from collections.abc import Callable

from .builder import Builder
from .floats import (
    BINARY_F32,
    FROM_INTEGER,
    TERNARY_F32,
    TESTS_F32,
    TO_INTEGER,
    UNARY_F32,
    compare_f32,
)
from .tree import Guard, Thread

__all__ = ["Floating", "Single"]

LITERALS = (0, 0x8000_0000, 0x3F80_0000, 0xBF80_0000, 0x3F00_0000, 0x4049_0FDB, 0x7F80_0000, 0x0000_0001, 0x7FC0_0001,
            0x4B80_0000, 0x7F7F_FFFF, 0x3480_0000)
OPEN = ("neg.f32", "abs.f32")
"""Operations whose result for a NaN depends on the machine."""
BASES = (0, 0x3C00_0000, 0x3C00_0000, 0x4000_0000, 0x4C00_0000, 0x7C00_0000)
"""Bases of exponents; a value drawn near to one keeps the three low bits of its own exponent."""


class Single(int):
    """An f32 literal, by its bits."""

    def __str__(self) -> str:
        return f"0f{int(self):08X}"


class Floating(Builder):
    """Statements with f32 operands."""

    def _float(self) -> None:
        rng, guard = self.rng, self._guard()
        kind = rng.random()
        if kind < 0.15:
            table = rng.choice((FROM_INTEGER, TO_INTEGER, UNARY_F32))
            source = rng.choice(self.narrow) if table is FROM_INTEGER else self._number()
            self._calculate(table, [source], guard)
        elif kind < 0.25:
            self._calculate(UNARY_F32, [self._source()], guard)
        elif kind < 0.6:
            self._calculate(BINARY_F32, [self._source(), self._source()], guard)
        elif kind < 0.8:
            self._calculate(TERNARY_F32, [self._source(), self._source(), self._source()], guard)
        elif kind < 0.9:
            self._test(rng.choice(self.flags))
        else:
            self._select_float(guard)

    def _calculate(self, table: dict[str, Callable[..., int]], sources: list[str | int], guard: Guard | None) -> None:
        """Compute into a 32-bit value, directly or through an f32 register."""
        opcode = self.rng.choice([name for name in table if not (self.s.portable and name in OPEN)])
        dest = self.rng.choice(self.narrow)
        operands = [(source, 32) for source in sources]
        if table is TO_INTEGER or self.rng.random() < 0.6:
            self.compute(opcode, dest, 32, operands, table[opcode], guard)
            return
        result = self.fresh("%f")
        self.compute(opcode, result, 32, operands, table[opcode])
        self.compute("mov.b32", dest, 32, [(result, 32)], lambda a: a, guard)

    def _source(self) -> str | int:
        kind = self.rng.random()
        if kind < 0.15:
            return Single(self.rng.choice(LITERALS) if self.rng.random() < 0.7 else self.rng.getrandbits(32))
        return self._number()

    def _number(self) -> str:
        """Return a register with one of the values, unchanged or drawn near to a chosen exponent."""
        rng, value = self.rng, self.rng.choice(self.narrow)
        if rng.random() < 0.3:
            return value
        part, near = self.fresh("%r"), self.fresh("%r")
        keep = rng.choice((0x83FF_FFFF, 0x83FF_FFFF, 0x83FF_F000, 0x8380_0000))
        self.compute("and.b32", part, 32, [(value, 32), (keep, 32)], lambda a, b: a & b)
        self.compute("or.b32", near, 32, [(part, 32), (rng.choice(BASES), 32)], lambda a, b: a | b)
        return near

    def _test(self, flag: str) -> None:
        """Set a flag from an f32 comparison, alone or combined with another flag."""
        rng = self.rng
        test, combine = rng.choice(TESTS_F32), rng.choice(("", "", "and", "or", "xor"))
        a, b, other = self._number(), self._source(), rng.choice(self.flags)
        guard = self._guard() if flag in self._set_before else None
        self._set_before.add(flag)

        def effect(thread: Thread) -> None:
            outcome, q = int(compare_f32(test, thread.get(a), thread.get(b))), thread.values[other]
            thread.values[flag] = {"": outcome, "and": outcome & q, "or": outcome | q, "xor": outcome ^ q}[combine]

        if combine:
            self.emit(f"setp.{test}.{combine}.f32 \t{flag}, {a}, {b}, {other}", effect, guard)
        else:
            self.emit(f"setp.{test}.f32 \t{flag}, {a}, {b}", effect, guard)

    def _select_float(self, guard: Guard | None) -> None:
        dest, a, b, flag = self.rng.choice(self.narrow), self._source(), self._source(), self.rng.choice(self.flags)

        def effect(thread: Thread) -> None:
            thread.values[dest] = thread.get(a if thread.values[flag] else b)

        self.emit(f"selp.f32 \t{dest}, {a}, {b}, {flag}", effect, guard)
