"""Expansions of 64-bit operations into 32-bit ones.

An expansion takes an `Emitter` and the operands (a pair ``(low, high)`` for a 64-bit one). It returns the result: a
pair, a register, or a predicate register. Every value it makes is in a fresh temporary with one definition.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.kernel import FALSE, TRUE, Imm, Kernel, Op, Pred, Reg, Use

__all__ = ["EXPANSIONS", "Emitter", "Pair"]

Pair = tuple[Use, Use]
_ZERO = Imm(0)


class Emitter:
    """Collects the operations of one expansion.

    Attributes
    ----------
    ops : list of Op
    temporaries : set of Reg
        Registers of results so far; each is defined once.
    """

    true = TRUE

    def __init__(self, kernel: Kernel, line: int):
        self.ops: list[Op] = []
        self.temporaries: set[Reg] = set()
        self._kernel = kernel
        self._line = line

    def _fresh(self, kind: str) -> Reg:
        reg = self._kernel.fresh(kind)
        self.temporaries.add(reg)
        return reg

    @staticmethod
    def pred(reg: Reg) -> Pred:
        """Return the predicate register as an operand."""
        return Pred(reg)

    def op(self, name: str, *uses: Use) -> Reg:
        """Emit an operation with a vector result; return the result."""
        result = self._fresh("r")
        self.ops.append(Op(name, (result,), uses, line=self._line))
        return result

    def test(self, name: str, *uses: Use) -> Reg:
        """Emit an operation with a predicate result; return the result."""
        result = self._fresh("p")
        self.ops.append(Op(name, (result,), uses, line=self._line))
        return result

    def carry(self, name: str, a: Use, b: Use, carry: Pred) -> tuple[Reg, Pred]:
        """Emit ``iaddc`` or ``isubc``; return sum and carry."""
        result, out = self._fresh("r"), self._fresh("p")
        self.ops.append(Op(name, (result, out), (a, b, carry), line=self._line))
        return result, Pred(out)


def _add(e: Emitter, a: Pair, b: Pair) -> Pair:
    low, carry = e.carry("iaddc", a[0], b[0], FALSE)
    return low, e.carry("iaddc", a[1], b[1], carry)[0]


def _sub(e: Emitter, a: Pair, b: Pair) -> Pair:
    low, carry = e.carry("isubc", a[0], b[0], TRUE)
    return low, e.carry("isubc", a[1], b[1], carry)[0]


def _neg(e: Emitter, a: Pair) -> Pair:
    return _sub(e, (_ZERO, _ZERO), a)


def _mulwide(sign: str):
    def expand(e: Emitter, a: Use, b: Use) -> Pair:
        return e.op("imul.lo", a, b), e.op(f"imul.hi.{sign}", a, b)
    return expand


def _mul(e: Emitter, a: Pair, b: Pair) -> Pair:
    high = e.op("imul.hi.u", a[0], b[0])
    high = e.op("imad.lo", a[0], b[1], high)
    return e.op("imul.lo", a[0], b[0]), e.op("imad.lo", a[1], b[0], high)


def _mulhi_u(e: Emitter, a: Pair, b: Pair) -> Pair:
    """Compute a schoolbook product of four 32 x 32 products; the low word of the result is not needed."""
    first, carry1 = e.carry("iaddc", e.op("imul.hi.u", a[0], b[0]), e.op("imul.lo", a[1], b[0]), FALSE)
    middle, _ = e.carry("iaddc", e.op("imul.hi.u", a[1], b[0]), _ZERO, carry1)
    _, carry2 = e.carry("iaddc", first, e.op("imul.lo", a[0], b[1]), FALSE)
    middle, carry3 = e.carry("iaddc", middle, e.op("imul.hi.u", a[0], b[1]), carry2)
    low, carry4 = e.carry("iaddc", middle, e.op("imul.lo", a[1], b[1]), FALSE)
    high, _ = e.carry("iaddc", e.op("imul.hi.u", a[1], b[1]), _ZERO, carry3)
    high, _ = e.carry("iaddc", high, _ZERO, carry4)
    return low, high


def _mulhi_s(e: Emitter, a: Pair, b: Pair) -> Pair:
    """Compute the unsigned high half, less b where a is negative and less a where b is."""
    result = _mulhi_u(e, a, b)
    for x, y in ((a, b), (b, a)):
        mask = e.op("shr.s", x[1], Imm(31))
        result = _sub(e, result, (e.op("and", y[0], mask), e.op("and", y[1], mask)))
    return result


def _both(name: str):
    def expand(e: Emitter, *operands: Pair) -> Pair:
        return e.op(name, *(x[0] for x in operands)), e.op(name, *(x[1] for x in operands))
    return expand


def _shift(left: bool, signed: bool):
    """Expand a shift; amounts above 63 give 0, or all sign bits, as the 32-bit shifts do above 31."""
    plain = "shl" if left else "shr.s" if signed else "shr.u"

    def constant(e: Emitter, a: Pair, n: int) -> Pair:
        near, far = (a[0], a[1]) if left else (a[1], a[0])  # bits move from near to far
        fill = e.op("shr.s", a[1], Imm(31)) if signed else _ZERO
        if n == 0:
            moved = near, far
        elif n < 32:
            moved = e.op(plain, near, Imm(n)), e.op("shf.l" if left else "shf.r", a[0], a[1], Imm(n))
        elif n < 64:
            moved = fill, e.op(plain, near, Imm(n - 32)) if n > 32 else near
        else:
            moved = fill, fill
        return moved if left else (moved[1], moved[0])

    def expand(e: Emitter, a: Pair, n: Use) -> Pair:
        if isinstance(n, Imm):
            return constant(e, a, min(n.value, 64))
        near = a[0] if left else a[1]
        short = e.op("shf.l" if left else "shf.r", a[0], a[1], n)
        long = e.op(plain, near, e.op("iadd", n, Imm(0xFFFF_FFE0)))
        far = e.op("sel", short, long, Pred(e.test("setp.lt.u", n, Imm(32))))
        near = e.op(plain, near, n)
        return (near, far) if left else (far, near)
    return expand


def _compare(test: str, sign: str):
    def expand(e: Emitter, a: Pair, b: Pair) -> Reg:
        if test in ("eq", "ne"):
            low, high = e.test(f"setp.{test}", a[0], b[0]), e.test(f"setp.{test}", a[1], b[1])
            return e.test("pand" if test == "eq" else "por", Pred(low), Pred(high))
        low = e.test(f"setp.{test}.u", a[0], b[0])
        same = e.test("setp.eq", a[1], b[1])
        high = e.test(f"setp.{test[0]}t.{sign}", a[1], b[1])
        return e.test("por", Pred(high), Pred(e.test("pand", Pred(same), Pred(low))))
    return expand


def _select(e: Emitter, a: Pair, b: Pair, p: Pred) -> Pair:
    return e.op("sel", a[0], b[0], p), e.op("sel", a[1], b[1], p)


def _extreme(test: str, sign: str):
    compare = _compare(test, sign)

    def expand(e: Emitter, a: Pair, b: Pair) -> Pair:
        return _select(e, a, b, Pred(compare(e, a, b)))
    return expand


def _abs(e: Emitter, a: Pair) -> Pair:
    return _select(e, _neg(e, a), a, Pred(e.test("setp.lt.s", a[1], _ZERO)))


EXPANSIONS: dict[str, Callable] = {
    "mov.64": lambda e, a: a,
    "pack.64": lambda e, low, high: (low, high),
    "lo.64": lambda e, a: a[0],
    "hi.64": lambda e, a: a[1],
    "sext.64": lambda e, low: (low, e.op("shr.s", low, Imm(31))),
    "add.64": _add, "sub.64": _sub, "neg.64": _neg, "abs.64": _abs,
    "mul.64": _mul, "mulhi.u.64": _mulhi_u, "mulhi.s.64": _mulhi_s,
    "mulwide.s.64": _mulwide("s"), "mulwide.u.64": _mulwide("u"),
    "and.64": _both("and"), "or.64": _both("or"), "xor.64": _both("xor"), "not.64": _both("not"),
    "shl.64": _shift(True, False), "shr.u.64": _shift(False, False), "shr.s.64": _shift(False, True),
    "sel.64": _select,
    "setp.eq.64": _compare("eq", "u"), "setp.ne.64": _compare("ne", "u"),
    **{f"setp.{test}.{sign}.64": _compare(test, sign) for test in ("lt", "le", "gt", "ge") for sign in "su"},
    **{f"{name}.{sign}.64": _extreme(test, sign)
       for name, test in (("min", "lt"), ("max", "gt")) for sign in "su"},
}
"""64-bit operation name to expansion."""
