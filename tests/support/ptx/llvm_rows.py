"""PTX instructions and their equivalents in LLVM's language: rows from which `llvm_judge` makes programs.

Kinds of values are letters: ``h``, ``r``, ``d`` integers of 16, 32 and 64 bits, ``f``, ``g`` f32 and f64, ``p``
predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["LLVM_TYPES", "Emitter", "Row", "ROWS"]

LLVM_TYPES = {"h": "i16", "r": "i32", "d": "i64", "f": "float", "g": "double", "p": "i1"}
_BITS = {"h": 16, "r": 32, "d": 64}
_SUFFIX = {"h": "16", "r": "32", "d": "64"}
_FLOATS = {"f": "f32", "g": "f64"}
_WORDS = {"f": ("r", "i32", 0x7FFF_FFFF), "g": ("d", "i64", 0x7FFF_FFFF_FFFF_FFFF)}


class Emitter:
    """Lines of a function in LLVM's language; each value has a name of its own.

    Attributes
    ----------
    lines : list of str
    intrinsics : set of str
        Declarations that the lines need.
    """

    def __init__(self):
        self.lines: list[str] = []
        self.intrinsics: set[str] = set()

    def op(self, text: str) -> str:
        """Append an instruction; return its result."""
        name = f"%t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def call(self, name: str, type: str, *operands: str) -> str:
        """Append a call of an intrinsic; operands are a type and a value."""
        types = ", ".join(operand.split()[0] for operand in operands)
        self.intrinsics.add(f"declare {type} @{name}({types})")
        return self.op(f"call {type} @{name}({', '.join(operands)})")

    def number(self, value: str, kind: str) -> str:
        """Return a floating-point result, the machine's NaN in the place of LLVM's."""
        _, integer, pattern = _WORDS[kind]
        type = LLVM_TYPES[kind]
        unordered = self.op(f"fcmp uno {type} {value}, {value}")
        nan = self.op(f"bitcast {integer} {pattern} to {type}")
        return self.op(f"select i1 {unordered}, {type} {nan}, {type} {value}")


class Row(NamedTuple):
    """An instruction.

    Attributes
    ----------
    text : str
        LLVM text, with D for its result and A, B, C for its operands.
    result : str
        Kind of the result.
    operands : str
        Kinds.
    emit : callable
        Appends the same to an `Emitter`, given the values of the operands; returns the result.
    """

    text: str
    result: str
    operands: str
    emit: Callable[..., str]


def _plain(name: str, type: str) -> Callable[..., str]:
    return lambda e, a, b: e.op(f"{name} {type} {a}, {b}")


def _intrinsic(name: str, type: str, *more: str) -> Callable[..., str]:
    return lambda e, *x: e.call(f"llvm.{name}.{type}", type, *(f"{type} {y}" for y in x), *more)


def _product(e: Emitter, type: str, bits: int, sign: str, high: bool, a: str, b: str) -> str:
    double = f"i{2 * bits}"
    x, y = (e.op(f"{sign}ext {type} {v} to {double}") for v in (a, b))
    product = e.op(f"mul {double} {x}, {y}")
    if not high:
        return product
    return e.op(f"trunc {double} {e.op(f'lshr {double} {product}, {bits}')} to {type}")


def _shift(e: Emitter, name: str, type: str, bits: int, a: str, n: str) -> str:
    """Shift; by the width or more it gives 0, or the sign."""
    amount = e.call("llvm.umin.i32", "i32", f"i32 {n}", f"i32 {bits - (name == 'ashr')}")
    wide = e.op(f"{'sext' if name == 'ashr' else 'zext'} {type} {a} to i128")
    shifted = e.op(f"{name} i128 {wide}, {e.op(f'zext i32 {amount} to i128')}")
    return e.op(f"trunc i128 {shifted} to {type}")


def _divide(e: Emitter, name: str, type: str, bits: int, a: str, b: str) -> str:
    """Divide; by zero the result is all ones; the least number by -1 wraps."""
    zero = e.op(f"icmp eq {type} {b}, 0")
    divisor = e.op(f"select i1 {zero}, {type} 1, {type} {b}")
    if name[0] == "s":
        minus = e.op(f"icmp eq {type} {divisor}, -1")
        divisor = e.op(f"select i1 {minus}, {type} 1, {type} {divisor}")
        found = e.op(f"{name} {type} {a}, {divisor}")
        found = e.op(f"select i1 {minus}, {type} {e.op(f'sub {type} 0, {a}') if name == 'sdiv' else 0}, {type} {found}")
    else:
        found = e.op(f"{name} {type} {a}, {divisor}")
    return e.op(f"select i1 {zero}, {type} -1, {type} {found}")


def _integers() -> Iterator[Row]:
    for k, bits in _BITS.items():
        t, n = LLVM_TYPES[k], _SUFFIX[k]
        for name in ("add", "sub"):
            yield Row(f"{name}.s{n} D, A, B;", k, k * 2, _plain(name, t))
        yield Row(f"mul.lo.u{n} D, A, B;", k, k * 2, _plain("mul", t))
        yield Row(f"mad.lo.s{n} D, A, B, C;", k, k * 3,
                  lambda e, a, b, c, t=t: e.op(f"add {t} {e.op(f'mul {t} {a}, {b}')}, {c}"))
        for name in ("and", "or", "xor"):
            yield Row(f"{name}.b{n} D, A, B;", k, k * 2, _plain(name, t))
        yield Row(f"not.b{n} D, A;", k, k, lambda e, a, t=t: e.op(f"xor {t} {a}, -1"))
        yield Row(f"neg.s{n} D, A;", k, k, lambda e, a, t=t: e.op(f"sub {t} 0, {a}"))
        yield Row(f"abs.s{n} D, A;", k, k, _intrinsic("abs", t, "i1 false"))
        yield Row(f"cnot.b{n} D, A;", k, k, lambda e, a, t=t: e.op(f"zext i1 {e.op(f'icmp eq {t} {a}, 0')} to {t}"))
        for sign, s in (("s", "s"), ("u", "z")):
            yield Row(f"mul.hi.{sign}{n} D, A, B;", k, k * 2,
                      lambda e, a, b, t=t, bits=bits, s=s: _product(e, t, bits, s, True, a, b))
            for name in ("min", "max"):
                yield Row(f"{name}.{sign}{n} D, A, B;", k, k * 2, _intrinsic(f"{sign}{name}", t))
            yield Row(f"shr.{sign}{n} D, A, B;", k, k + "r", lambda e, a, b, t=t, bits=bits, s=sign: _shift(
                e, "ashr" if s == "s" else "lshr", t, bits, a, b))
            for name in ("div", "rem"):
                yield Row(f"{name}.{sign}{n} D, A, B;", k, k * 2, lambda e, a, b, f=f"{sign}{name}", t=t, bits=bits:
                          _divide(e, f, t, bits, a, b))
            for test in ("eq", "ne", "lt", "le", "gt", "ge"):
                llvm = test if test in ("eq", "ne") else sign + test
                yield Row(f"setp.{test}.{sign}{n} D, A, B;", "p", k * 2, _plain(f"icmp {llvm}", t))
        yield Row(f"shl.b{n} D, A, B;", k, k + "r", lambda e, a, b, t=t, bits=bits: _shift(e, "shl", t, bits, a, b))
        yield Row(f"selp.b{n} D, A, B, C;", k, k * 2 + "p",
                  lambda e, a, b, c, t=t: e.op(f"select i1 {c}, {t} {a}, {t} {b}"))
        yield Row(f"slct.b{n}.s32 D, A, B, C;", k, k * 2 + "r", lambda e, a, b, c, t=t: e.op(
            f"select i1 {e.op(f'icmp sge i32 {c}, 0')}, {t} {a}, {t} {b}"))


def _bits() -> Iterator[Row]:
    for k in "rd":
        t, n, bits = LLVM_TYPES[k], _SUFFIX[k], _BITS[k]

        def narrowed(e: Emitter, x: str, t: str = t) -> str:
            return x if t == "i32" else e.op(f"trunc {t} {x} to i32")
        yield Row(f"brev.b{n} D, A;", k, k, _intrinsic("bitreverse", t))
        yield Row(f"popc.b{n} D, A;", "r", k, lambda e, a, t=t, f=narrowed: f(e, _intrinsic("ctpop", t)(e, a)))
        yield Row(f"clz.b{n} D, A;", "r", k, lambda e, a, t=t, f=narrowed: f(
            e, e.call(f"llvm.ctlz.{t}", t, f"{t} {a}", "i1 false")))
        yield Row(f"bfind.u{n} D, A;", "r", k, lambda e, a, t=t, f=narrowed, bits=bits: f(e, e.op(
            f"sub {t} {bits - 1}, {e.call(f'llvm.ctlz.{t}', t, f'{t} {a}', 'i1 false')}")))
    for name in ("add", "sub"):
        yield Row(f"{name}.sat.s32 D, A, B;", "r", "rr", _intrinsic(f"s{name}.sat", "i32"))
    yield Row("shf.l.wrap.b32 D, A, B, C;", "r", "rrr", lambda e, a, b, c: _intrinsic("fshl", "i32")(e, b, a, c))
    yield Row("shf.r.wrap.b32 D, A, B, C;", "r", "rrr", lambda e, a, b, c: _intrinsic("fshr", "i32")(e, b, a, c))
    yield Row("lop3.b32 D, A, B, C, 0x96;", "r", "rrr",
              lambda e, a, b, c: e.op(f"xor i32 {e.op(f'xor i32 {a}, {b}')}, {c}"))
    yield Row("lop3.b32 D, A, B, C, 0xE8;", "r", "rrr", lambda e, a, b, c: e.op(
        f"or i32 {e.op(f'and i32 {a}, {b}')}, {e.op(f'and i32 {c}, ' + e.op(f'or i32 {a}, {b}'))}"))
    yield Row("sad.u32 D, A, B, C;", "r", "rrr", lambda e, a, b, c: e.op(
        f"add i32 {c}, " + e.op(f"sub i32 {_intrinsic('umax', 'i32')(e, a, b)}, {_intrinsic('umin', 'i32')(e, a, b)}")))
    for sign, s in (("s", "s"), ("u", "z")):
        for k, to in (("h", "r"), ("r", "d")):
            yield Row(f"mul.wide.{sign}{_SUFFIX[k]} D, A, B;", to, k * 2, lambda e, a, b, k=k, s=s: _product(
                e, LLVM_TYPES[k], _BITS[k], s, False, a, b))
        for k, to in (("h", "r"), ("h", "d"), ("r", "d")):
            yield Row(f"cvt.{sign}{_SUFFIX[to]}.{sign}{_SUFFIX[k]} D, A;", to, k, lambda e, a, k=k, to=to, s=s: e.op(
                f"{s}ext {LLVM_TYPES[k]} {a} to {LLVM_TYPES[to]}"))
            yield Row(f"cvt.{sign}{_SUFFIX[k]}.{sign}{_SUFFIX[to]} D, A;", k, to, lambda e, a, k=k, to=to: e.op(
                f"trunc {LLVM_TYPES[to]} {a} to {LLVM_TYPES[k]}"))
            yield Row(f"cvt.sat.{sign}{_SUFFIX[k]}.{sign}{_SUFFIX[to]} D, A;", k, to, lambda e, a, k=k, to=to, s=sign:
                      _saturated(e, LLVM_TYPES[to], LLVM_TYPES[k], _BITS[k], s, a))
    yield Row("cvt.s32.s8 D, A;", "r", "r", lambda e, a: e.op(f"sext i8 {e.op(f'trunc i32 {a} to i8')} to i32"))
    for name in ("and", "or", "xor"):
        yield Row(f"{name}.pred D, A, B;", "p", "pp", _plain(name, "i1"))
    yield Row("not.pred D, A;", "p", "p", lambda e, a: e.op(f"xor i1 {a}, true"))


def _saturated(e: Emitter, wide: str, narrow: str, bits: int, sign: str, a: str) -> str:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "s" else (0, (1 << bits) - 1)
    value = e.call(f"llvm.{sign}min.{wide}", wide, f"{wide} {a}", f"{wide} {high}")
    if sign == "s":
        value = e.call(f"llvm.smax.{wide}", wide, f"{wide} {value}", f"{wide} {low}")
    return e.op(f"trunc {wide} {value} to {narrow}")


_TESTS = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "equ": "ueq", "neu": "une",
          "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "num": "ord", "nan": "uno"}


def _floats() -> Iterator[Row]:
    for k, name in _FLOATS.items():
        t, (word, integer, _) = LLVM_TYPES[k], _WORDS[k]
        intrinsic = name
        for op in ("add", "sub", "mul"):
            yield Row(f"{op}.rn.{name} D, A, B;", k, k * 2,
                      lambda e, a, b, op=op, t=t, k=k: e.number(e.op(f"f{op} {t} {a}, {b}"), k))
        yield Row(f"div.rn.{name} D, A, B;", k, k * 2,
                  lambda e, a, b, t=t, k=k: e.number(e.op(f"fdiv {t} {a}, {b}"), k))
        yield Row(f"rcp.rn.{name} D, A;", k, k, lambda e, a, t=t, k=k: e.number(e.op(f"fdiv {t} 1.0, {a}"), k))
        yield Row(f"fma.rn.{name} D, A, B, C;", k, k * 3, lambda e, a, b, c, t=t, k=k, n=intrinsic: e.number(
            e.call(f"llvm.fma.{n}", t, f"{t} {a}", f"{t} {b}", f"{t} {c}"), k))
        yield Row(f"sqrt.rn.{name} D, A;", k, k, lambda e, a, t=t, k=k, n=intrinsic: e.number(
            e.call(f"llvm.sqrt.{n}", t, f"{t} {a}"), k))
        yield Row(f"neg.{name} D, A;", k, k, lambda e, a, t=t: e.op(f"fneg {t} {a}"))
        yield Row(f"abs.{name} D, A;", k, k, lambda e, a, t=t, n=intrinsic: e.call(f"llvm.fabs.{n}", t, f"{t} {a}"))
        yield Row(f"copysign.{name} D, A, B;", k, k * 2, lambda e, a, b, t=t, n=intrinsic: e.call(
            f"llvm.copysign.{n}", t, f"{t} {b}", f"{t} {a}"))
        for op in ("min", "max"):
            yield Row(f"{op}.{name} D, A, B;", k, k * 2, lambda e, a, b, op=op, t=t, k=k, n=intrinsic: e.number(
                e.call(f"llvm.{op}imumnum.{n}", t, f"{t} {a}", f"{t} {b}"), k))
        for test, llvm in _TESTS.items():
            yield Row(f"setp.{test}.{name} D, A, B;", "p", k * 2, _plain(f"fcmp {llvm}", t))
        yield Row(f"selp.{name} D, A, B, C;", k, k * 2 + "p",
                  lambda e, a, b, c, t=t: e.op(f"select i1 {c}, {t} {a}, {t} {b}"))
        yield Row(f"mov.b{_SUFFIX[word]} D, A;", k, word, lambda e, a, t=t, i=integer: e.op(f"bitcast {i} {a} to {t}"))
        yield Row(f"mov.b{_SUFFIX[word]} D, A;", word, k, lambda e, a, t=t, i=integer: e.op(f"bitcast {t} {a} to {i}"))
    yield Row("cvt.f64.f32 D, A;", "g", "f", lambda e, a: e.number(e.op(f"fpext float {a} to double"), "g"))
    yield Row("cvt.rn.f32.f64 D, A;", "f", "g", lambda e, a: e.number(e.op(f"fptrunc double {a} to float"), "f"))


def _conversions() -> Iterator[Row]:
    for k, name in _FLOATS.items():
        t, intrinsic = LLVM_TYPES[k], name
        for mode, llvm in (("rni", "roundeven"), ("rzi", "trunc"), ("rmi", "floor"), ("rpi", "ceil")):
            yield Row(f"cvt.{mode}.{name}.{name} D, A;", k, k, lambda e, a, m=llvm, t=t, k=k, n=intrinsic: e.number(
                e.call(f"llvm.{m}.{n}", t, f"{t} {a}"), k))
            for to in "rd":
                for sign in "su":
                    yield Row(f"cvt.{mode}.{sign}{_SUFFIX[to]}.{name} D, A;", to, k, lambda e, a, m=llvm, t=t, to=to,
                              s=sign, n=intrinsic: _integer(e, e.call(f"llvm.{m}.{n}", t, f"{t} {a}"), t, n, to, s))
        for source in "hrd":
            for sign in "su":
                yield Row(f"cvt.rn.{name}.{sign}{_SUFFIX[source]} D, A;", k, source, lambda e, a, t=t, s=sign,
                          source=source: e.op(f"{s}itofp {LLVM_TYPES[source]} {a} to {t}"))


def _integer(e: Emitter, value: str, type: str, name: str, to: str, sign: str) -> str:
    """A NaN gives 0, or only the highest bit if a type has 64 bits."""
    target = LLVM_TYPES[to]
    found = e.call(f"llvm.fpto{sign}i.sat.{target}.{name}", target, f"{type} {value}")
    if (type, target) == ("float", "i32"):
        return found
    unordered = e.op(f"fcmp uno {type} {value}, {value}")
    return e.op(f"select i1 {unordered}, {target} {-(1 << _BITS[to] - 1)}, {target} {found}")


ROWS: tuple[Row, ...] = (*_integers(), *_bits(), *_floats(), *_conversions())
"""All rows."""
