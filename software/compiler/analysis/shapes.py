"""The values that a register can have over the lanes of a warp, as an abstract domain: uniform, strided, random.

A `Shape` says how a value changes from lane to lane, among the lanes that are active together. Arithmetic is modulo
2**32, as in the encodings of a context image (`hw.arch.image.encodings`). The shapes, from the least to the most that
is known, are

1. **random**: nothing.
2. **strided**: one step from each lane to the next, the same in all lanes of a pattern analysing group. The step may be
   unknown, and may then differ from group to group.
3. **uniform**: a step of 0.
4. **whole**: a known step, which also leads from the base of each group to the next one.
5. **constant**: uniform, and the value is known.
"""

from __future__ import annotations

from typing import NamedTuple

from caesura.hw.arch.isa.opcodes import AluOp

__all__ = ["Shape", "RANDOM", "UNIFORM", "joined", "constant", "strided", "result_shape"]

_MASK = 0xFFFF_FFFF


class Shape(NamedTuple):
    """The change of a value over the lanes.

    Attributes
    ----------
    stride : int or None
        Step from a lane to the next one, the same in all lanes of a group; 0: uniform. None: the step is not known, and
        groups may have different ones.
    whole : bool
        Whether ``value = base + stride * lane`` holds over the warp as a whole; else it holds in each pattern analysing
        group by itself, and bases may differ.
    value : int or None
        Value of a known constant; else None.
    random : bool
        Whether nothing is known; the other fields do not count then.
    """

    stride: int | None = 0
    whole: bool = True
    value: int | None = None
    random: bool = False

    @property
    def uniform(self) -> bool:
        """Whether the value is the same in all active lanes of each group."""
        return self.stride == 0 and not self.random

    def __str__(self) -> str:
        if self.random:
            return "random"
        if self.value is not None:
            return f"= {_signed(self.value)}"
        return "uniform" if self.uniform else "stride ?" if self.stride is None else f"stride {_signed(self.stride)}"


def _signed(word: int) -> int:
    return word - (word >> 31 << 32)


RANDOM = Shape(None, False, None, True)
UNIFORM = Shape()


def constant(value: int) -> Shape:
    """Return the shape of a known number."""
    return Shape(0, True, value & _MASK)


def strided(stride: int | None, whole: bool) -> Shape:
    """Return the shape of a value with a step between lanes."""
    return Shape(None if stride is None else stride & _MASK, whole and stride is not None)


def joined(a: Shape, b: Shape) -> Shape:
    """Return the shape of a value that has one of two shapes, the same one in all lanes that are together."""
    if a == b:
        return a
    if a.random or b.random:
        return RANDOM
    return strided(a.stride if a.stride == b.stride else None, a.whole and b.whole)


def _sum(a: Shape, b: Shape, sign: int = 1) -> Shape:
    if a.random or b.random:
        return RANDOM
    if a.value is not None and b.value is not None:
        return constant(a.value + sign * b.value)
    if a.stride is None or b.stride is None:
        return strided(None, False)
    return strided(a.stride + sign * b.stride, a.whole and b.whole)


def _product(a: Shape, b: Shape) -> Shape:
    if a.value is None:
        a, b = b, a
    if a.value is not None:
        if b.value is not None:
            return constant(a.value * b.value)
        if a.value == 0:
            return constant(0)
        return RANDOM if b.random else strided(None if b.stride is None else a.value * b.stride, b.whole)
    if not a.uniform:
        a, b = b, a
    if not a.uniform or b.random:
        return RANDOM
    return strided(0 if b.uniform else None, a.whole and b.whole)


def _left_shift(a: Shape, b: Shape) -> Shape:
    if b.value is not None:
        return _product(a, constant(1 << b.value if b.value < 32 else 0))
    return _product(a, Shape(0, b.whole) if b.uniform else RANDOM)  # a product with an unknown power of two


def _chosen(condition: Shape, a: Shape, b: Shape) -> Shape:
    """Return the shape of one of two values, chosen by a condition."""
    if condition.value is not None:
        return a if condition.value else b
    if a == b and a.value is not None:
        return a
    if not condition.uniform:
        return RANDOM
    both = joined(a, b)
    return both if condition.whole or both.random else both._replace(whole=False)


_MINUS_ONE = constant(-1)
_LINEAR = {
    AluOp.MOV: lambda a: a,
    AluOp.IADD: _sum,
    AluOp.ISUB: lambda a, b: _sum(a, b, -1),
    AluOp.IRSUB: lambda a, b: _sum(b, a, -1),
    AluOp.IMUL_LO: _product,
    AluOp.IMAD_LO: lambda a, b, c: _sum(_product(a, b), c),
    AluOp.NOT: lambda a: _sum(_MINUS_ONE, a, -1),
    AluOp.SHL: _left_shift,
    AluOp.SEL: lambda a, b, pa: _chosen(pa, a, b),
    AluOp.IADDC: lambda a, b, pa: _sum(_sum(a, b), pa),
    AluOp.ISUBC: lambda a, b, pa: _sum(_sum(_sum(a, b, -1), _MINUS_ONE), pa),
}
"""Operations that keep more than uniformity."""


def result_shape(alu: AluOp | None, operands: list[Shape]) -> Shape:
    """Return the shape of an operation's first vector result.

    Parameters
    ----------
    alu : AluOp or None
        Operation of the ALU. None: an operation of another unit, whose result is an unknown function of its operands,
        the same function in every lane.
    operands : list of Shape
        Shapes of the operands; a predicate is a `value` of 0 or 1.
    """
    if alu is not None and alu in _LINEAR:
        return _LINEAR[alu](*operands)
    if all(shape.uniform for shape in operands):
        return Shape(0, all(shape.whole for shape in operands))
    return RANDOM
