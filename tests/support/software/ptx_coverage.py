"""Every instruction form that compilers were seen to emit, as a piece of a kernel and its expected result.

The frame is that of `ptx_bench`, with a third operand in register 5 of each kind, the thread's number in %r3, and %p5
true in odd threads. `FORMS` has a row a form or group of forms; `check` of `ptx_bench` runs them.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from caesura.hw.arch.isa.opcodes import SfuOp
from caesura.hw.core.units.sfu import SpecialFunctionUnit
from caesura.sim.workloads.random_ptx.exact import (
    F32,
    F64,
    add,
    as_integer,
    compare,
    divide,
    extreme,
    flush,
    fma,
    integral,
    mul,
    narrow,
    rounded,
    square_root,
    sub,
    to_integer,
    wide,
)

LOW = 0xFFFF_FFFF
REGISTERS = {16: "%rs", 32: "%r", 64: "%rd", "f32": "%f", "f64": "%fd"}
PRELUDE = """
    mov.b64 {%r70, %r5}, %rd1; mov.b32 %f5, %r5; mov.b64 %rd5, {%r2, %r1}; mov.b64 %fd5, %rd5; cvt.u16.u32 %rs5, %r5;
    and.b32 %r70, %r3, 1; setp.ne.u32 %p5, %r70, 0;
    mov.u32 %r71, %tid.x; mul.lo.u32 %r71, %r71, 32; mov.u32 %r72, slots; add.s32 %r71, %r71, %r72;
    mul.wide.u32 %rd71, %r3, 32; mov.u64 %rd72, scratch; add.s64 %rd71, %rd71, %rd72;
"""
"""Memory besides the operands: 32 bytes of each thread in shared memory at %r71, in global memory at %rd71."""
SHARED = ".shared .align 16 .b8 slots[3072]; .local .align 16 .b8 mine[32];"
MODULE = """
.global .align 16 .b8 scratch[6144];
.const .align 16 .f32 singles[4] = {0f3F800000, 0.5, 2.0, -3.0};
.const .align 16 .f64 doubles[2] = {0d3FF8000000000000, -2.5};
.const .align 16 .u32 words[4] = {7, 0xFFFFFFFF, 9, 10};
.const .align 8 .u64 longs[2] = {0x123456789, -1};
.func (.param .b32 func_retval0) add_one(.param .b32 add_one_param_0)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [add_one_param_0]; add.s32 %r2, %r1, 1; st.param.b32 [func_retval0], %r2; ret;
}
.func (.param .b64 func_retval0) twice(.param .b64 twice_param_0)
{
    .reg .f64 %fd<3>;
    ld.param.f64 %fd1, [twice_param_0]; add.f64 %fd2, %fd1, %fd1; st.param.f64 [func_retval0], %fd2; ret;
}
"""

Meaning = Callable[[int, int, int], int]
"""Function of the 64-bit operands of `ptx_bench` and the thread's number."""


class Form(NamedTuple):
    """A row: the opcodes it shows, its statements, the bits of the result (in register 4) and the meaning.

    `guarded`: the form is one instruction, which can stand under a guard.
    """

    opcodes: tuple[str, ...]
    text: str
    bits: int
    meaning: Meaning
    guarded: bool = False


def width(type: str) -> int:
    return 32 if type == "f32" else 64 if type == "f64" else int(type[1:])


def register(type: str) -> str:
    return REGISTERS[type if type in ("f32", "f64") else max(width(type), 16)]


def finish(type: str) -> str:
    """Return what moves an integer or floating-point result to the integer register 4."""
    return f" mov.b{width(type)} {REGISTERS[width(type)]}4, {register(type)}4;" if type[0] == "f" else ""


def operand(k: int, bits: int, x: int, y: int) -> int:
    """Return the low bits of operand k: a, b, or the third."""
    third = {64: y & LOW | (x & LOW) << 32}.get(bits, x >> 32)
    return (x, y, third)[k] & (1 << bits) - 1


def plain(opcode: str, count: int, meaning: Callable[..., int], to: str | None = None,
          source: str | None = None) -> Form:
    """One instruction whose operands all have its last type, the result its type `to`."""
    source = source or opcode.rsplit(".", 1)[1]
    to = to or source
    sources = ", ".join(f"{register(source)}{k}" for k in (1, 2, 5)[:count])
    bits = width(source)

    def applied(x: int, y: int, i: int) -> int:
        return meaning(*(operand(k, bits, x, y) for k in range(count)))
    text = f"{opcode} {register(to)}4, {sources};{finish(to)}"
    return Form((opcode,), text, max(width(to), 16) if to[0] != "f" else width(to), applied, True)


def signed(bits: int, f: Callable[..., int]) -> Callable[..., int]:
    return lambda *operands: f(*(x - (x >> bits - 1 << bits) for x in operands))


def integers() -> Iterator[Form]:
    """Yield the arithmetic and logic forms on integers."""
    for type, bits in (("s32", 32), ("s64", 64), ("u64", 64), ("u32", 32), ("s16", 16), ("u16", 16)):
        yield plain(f"add.{type}", 2, lambda a, b: a + b)
        yield plain(f"sub.{type}", 2, lambda a, b: a - b)
        yield plain(f"mul.lo.{type}", 2, lambda a, b: a * b)
        yield plain(f"mad.lo.{type}", 3, lambda a, b, c: a * b + c)
        for name, f in (("max", max), ("min", min)):
            yield plain(f"{name}.{type}", 2, signed(bits, f) if type[0] == "s" else f)
    for bits in (16, 32, 64):
        yield plain(f"neg.s{bits}", 1, lambda a: -a)
        yield plain(f"abs.s{bits}", 1, signed(bits, lambda a: abs(a)))
        yield plain(f"and.b{bits}", 2, lambda a, b: a & b)
        yield plain(f"or.b{bits}", 2, lambda a, b: a | b)
        yield plain(f"xor.b{bits}", 2, lambda a, b: a ^ b)
        yield plain(f"not.b{bits}", 1, lambda a: ~a)
        r = REGISTERS[bits]
        for name, f in (("shl.b", lambda a, n: a << n), ("shr.u", lambda a, n: a >> n), ("shr.s", None)):
            def shifted(x: int, y: int, i: int, f: Callable[[int, int], int] | None = f, bits: int = bits) -> int:
                a, n = operand(0, bits, x, y), min(i, bits)
                return f(a, n) if f else as_integer(a, f"s{bits}") >> n
            yield Form((f"{name}{bits}",), f"{name}{bits} {r}4, {r}1, %r3;", bits, shifted, True)
    for type, to, bits in (("s32", "s64", 32), ("u32", "u64", 32), ("u16", "u32", 16), ("s16", "s32", 16)):
        product = (lambda a, b: a * b) if type[0] == "u" else signed(bits, lambda a, b: a * b)
        yield plain(f"mul.wide.{type}", 2, product, to)
    for type in ("s32", "u32", "s64", "u64"):
        bits = width(type)
        yield plain(f"mul.hi.{type}", 2, signed(bits, lambda a, b, n=bits: a * b >> n) if type[0] == "s" else
                    lambda a, b, n=bits: a * b >> n)
    # PTX leaves division by zero open; here it gives -1
    yield plain("div.s32", 2, signed(32, lambda a, b: -1 if b == 0 else
                                     (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)))
    yield plain("rem.s32", 2, signed(32, lambda a, b: -1 if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1)))
    yield plain("clz.b64", 1, lambda a: 64 - a.bit_length(), "u32")
    yield plain("popc.b64", 1, lambda a: a.bit_count(), "u32")
    yield plain("clz.b32", 1, lambda a: 32 - a.bit_length())
    yield plain("popc.b32", 1, lambda a: a.bit_count())


def singles_and_doubles() -> Iterator[Form]:
    """Yield arithmetic on f32 and f64, and the special functions, which are those of the unit."""
    for type, form in (("f32", F32), ("f64", F64)):
        sign = 1 << sum(form)
        for modifier, mode in (("", "rn"), (".rn", "rn")):
            for name, f in (("add", add), ("sub", sub), ("mul", mul)):
                yield plain(f"{name}{modifier}.{type}", 2, lambda a, b, f=f, m=mode, form=form: f(a, b, m, form))
        for mode in ("rn", "rz", "rm", "rp"):
            yield plain(f"fma.{mode}.{type}", 3, lambda a, b, c, m=mode, form=form: fma(a, b, c, m, form))
        yield plain(f"neg.{type}", 1, lambda a, s=sign: a ^ s)
        yield plain(f"abs.{type}", 1, lambda a, s=sign: a & s - 1)
        yield plain(f"copysign.{type}", 2, lambda a, b, s=sign: a & s | b & s - 1)
        yield plain(f"min.{type}", 2, lambda a, b, form=form: extreme(a, b, True, form))
        yield plain(f"max.{type}", 2, lambda a, b, form=form: extreme(a, b, False, form))
        yield plain(f"div.rn.{type}", 2, lambda a, b, form=form: divide(a, b, form))
        yield plain(f"rcp.rn.{type}", 1, lambda a, form=form: divide(rounded(1, "rn", form), a, form))
        yield plain(f"sqrt.rn.{type}", 1, lambda a, form=form: square_root(a, form))

    def unit(name: str, a: int) -> int:
        return int(SpecialFunctionUnit.compute(SfuOp[name], np.array([a], np.uint32))[0])
    for opcode, name in (("rcp.approx", "RCP"), ("rsqrt.approx", "RSQ"), ("sqrt.approx", "SQRT"),
                         ("ex2.approx", "EX2"), ("lg2.approx", "LG2")):
        yield plain(f"{opcode}.f32", 1, lambda a, n=name: unit(n, a))
        yield plain(f"{opcode}.ftz.f32", 1, lambda a, n=name: flush(unit(n, flush(a))))
    yield plain("rcp.approx.ftz.f64", 1, lambda a: unit("RCP64H", a >> 32) << 32)

    def quotient(a: int, b: int) -> int:
        scale = 0x4B80_0000 if b << 1 & LOW < 0x0100_0000 else 0x3F80_0000
        return mul(mul(a, flush(unit("RCP", mul(b, scale, "rn", F32))), "rn", F32), scale, "rn", F32)
    yield plain("div.approx.f32", 2, quotient)


def carries() -> Iterator[Form]:
    """Yield sums, differences and products of several words."""
    def wide_product(x: int, y: int, i: int) -> int:
        return (x & LOW) * (y & LOW) * ((x >> 32) or 1)
    add3 = "add.cc.u32 %r6, %r1, %r2; addc.cc.u32 %r7, %r5, %r1; addc.u32 %r8, %r2, 0;"
    sub3 = "sub.cc.u32 %r6, %r1, %r2; subc.cc.u32 %r7, %r5, %r1; subc.u32 %r8, %r2, 0;"
    mad3 = ("mad.lo.cc.u32 %r6, %r1, %r2, %r5; madc.hi.cc.u32 %r7, %r1, %r2, %r1; madc.hi.u32 %r8, %r5, %r2, %r1;")
    lo3 = "add.cc.u32 %r6, %r1, %r2; madc.lo.cc.u32 %r7, %r1, %r2, %r5; addc.u32 %r8, %r1, %r5;"

    def parts(x: int, y: int) -> tuple[int, int, int]:
        return x & LOW, y & LOW, x >> 32

    def three(sign: int) -> Meaning:
        def f(x: int, y: int, i: int) -> int:
            a, b, c = parts(x, y)
            return (a | c << 32 | b << 64) + sign * (b | a << 32)
        return f

    def products(x: int, y: int, i: int) -> int:
        a, b, c = parts(x, y)
        first = (a * b & LOW) + c
        second = (a * b >> 32) + a + (first >> 32)
        return first & LOW | (second & LOW) << 32 | ((c * b >> 32) + a + (second >> 32) & LOW) << 64

    def low_product(x: int, y: int, i: int) -> int:
        a, b, c = parts(x, y)
        first = a + b
        second = (a * b & LOW) + c + (first >> 32)
        return first & LOW | (second & LOW) << 32 | (a + c + (second >> 32) & LOW) << 64
    rows = ((add3, three(1), ("add.cc.u32", "addc.cc.u32", "addc.u32")),
            (sub3, three(-1), ("sub.cc.u32", "subc.cc.u32", "subc.u32")),
            (mad3, products, ("mad.lo.cc.u32", "madc.hi.cc.u32", "madc.hi.u32")),
            (lo3, low_product, ("madc.lo.cc.u32",)))
    for text, f, opcodes in rows:
        yield Form(opcodes, text + " mov.b64 %rd4, {%r6, %r7};", 64, f)
        yield Form(opcodes, text + " mov.u32 %r4, %r8;", 32, lambda x, y, i, f=f: f(x, y, i) >> 64)


def predicates() -> Iterator[Form]:
    """Yield comparisons, predicates as values, and selection."""
    for type in ("s16", "u16", "s32", "u32", "s64", "u64"):
        for test in ("eq", "ne", "lt", "le", "gt", "ge"):
            yield flag(f"setp.{test}.{type}", type, lambda a, b, t=test, type=type: ordered(t, *(
                as_integer(x, type) for x in (a, b))))
    yield flag("setp.eq.b32", "b32", lambda a, b: a == b)
    for type, form in (("f32", F32), ("f64", F64)):
        for test in ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"):
            yield flag(f"setp.{test}.{type}", type, lambda a, b, t=test, form=form: compare(t, a, b, form))
    two = "setp.lt.s32 %p1, %r1, %r2; setp.gt.u32 %p2, %r1, %r5; "

    def first(x: int, y: int) -> bool:
        return as_integer(x, "s32") < as_integer(y, "s32")

    def second(x: int) -> bool:
        return (x & LOW) > x >> 32
    for name, f in (("and", lambda p, q: p & q), ("or", lambda p, q: p | q), ("xor", lambda p, q: p ^ q)):
        yield Form((f"{name}.pred",), f"{two}{name}.pred %p3, %p1, %p2; selp.b32 %r4, 1, 0, %p3;", 32,
                   lambda x, y, i, f=f: f(first(x, y), second(x)))
        yield Form((), f"{two}setp.ge.{name}.s32 %p3|%p4, %r1, %r5, !%p1; selp.u32 %r4, 1, 0, %p3; "
                       "@%p4 or.b32 %r4, %r4, 2;", 32, lambda x, y, i, f=f: combined(f, x, first(x, y)))
    yield Form(("not.pred",), two + "not.pred %p3, %p1; selp.b32 %r4, 1, 0, %p3;", 32,
               lambda x, y, i: not first(x, y))
    yield Form(("mov.pred",), two + "mov.pred %p3, %p1; mov.pred %p1, -1; and.pred %p3, %p3, %p1; "
               "selp.b32 %r4, 1, 0, %p3;", 32, lambda x, y, i: first(x, y))
    for type in ("b16", "b32", "u32", "b64", "u64", "s64", "f32", "f64"):
        r = register(type)
        yield Form((f"selp.{type}",), f"selp.{type} {r}4, {r}1, {r}2, %p5;{finish(type)}", width(type),
                   lambda x, y, i: x if i % 2 else y)
    yield Form(("bra.predicated", "bra.uni"),
               "mov.u32 %r4, 1; @%p5 bra ODD; mov.u32 %r4, 2; bra.uni BOTH; ODD: add.s32 %r4, %r4, %r1; "
               "BOTH: add.s32 %r4, %r4, 1;", 32, lambda x, y, i: x + 2 if i % 2 else 3)


def combined(f: Callable[..., int], x: int, holds: bool) -> int:
    outcome = as_integer(x, "s32") >= as_integer(x >> 32, "s32")
    return int(f(outcome, not holds)) | int(f(not outcome, not holds)) << 1


def ordered(test: str, a: int, b: int) -> bool:
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[test]


def flag(opcode: str, type: str, meaning: Callable[..., int]) -> Form:
    bits = width(type)
    return Form((opcode,), f"{opcode} %p1, {register(type)}1, {register(type)}2; selp.u32 %r4, 1, 0, %p1;", 32,
                lambda x, y, i: meaning(operand(0, bits, x, y), operand(1, bits, x, y)))


def moves() -> Iterator[Form]:
    """Yield moves, packing and conversions."""
    for type in ("b16", "u16", "b32", "u32", "s32", "f32", "b64", "u64", "f64"):
        yield plain(f"mov.{type}", 1, lambda a: a)
    yield Form(("mov.b64",), "mov.b64 %rd4, {%r2, %r1};", 64, lambda x, y, i: y & LOW | x << 32)
    yield Form(("mov.b64",), "mov.b64 {%r4, _}, %fd1;", 32, lambda x, y, i: x)
    yield Form(("mov.b32",), "mov.b32 %r4, {%rs2, %rs1};", 32, lambda x, y, i: y & 0xFFFF | x << 16)
    yield Form(("mov.b32",), "mov.b32 {%rs6, %rs4}, %r1;", 16, lambda x, y, i: x >> 16)
    yield Form(("mov.b64",), "mov.b64 {%rs6, %rs7, %rs8, %rs9}, %rd1; mov.b64 %rd4, {%rs9, %rs7, %rs6, %rs8};", 64,
               lambda x, y, i: x >> 48 | (x >> 16 & 0xFFFF) << 16 | (x & 0xFFFF) << 32 | (x >> 32 & 0xFFFF) << 48)
    conversions = [("f64", "f32", "", wide), ("f32", "f64", ".rn", lambda a: narrow(a, "rn")),
                   ("s64", "s32", "", lambda a: as_integer(a, "s32")), ("u32", "u64", "", lambda a: a),
                   ("u64", "u32", "", lambda a: a), ("s32", "s8", "", lambda a: as_integer(a, "s8")),
                   ("u32", "u8", "", lambda a: a & 255), ("s64", "s16", "", lambda a: as_integer(a, "s16")),
                   ("u16", "u32", "", lambda a: a), ("u32", "u16", "", lambda a: a),
                   ("s32", "s16", "", lambda a: as_integer(a, "s16")), ("u16", "u8", "", lambda a: a & 255),
                   ("f64", "f64", ".rzi", lambda a: integral(a, F64, "rz")),
                   ("f64", "f64", ".rpi", lambda a: integral(a, F64, "rp")),
                   ("f32", "f32", ".rni", lambda a: integral(a, F32, "rn")),
                   ("f32", "f32", ".rzi", lambda a: integral(a, F32, "rz")),
                   ("f32", "f32", ".sat", lambda a: 0 if compare("leu", a, 0, F32) else min(a, 0x3F80_0000)),
                   ("s32", "f32", ".rzi", lambda a: to_integer(a, F32, "s32", "rz")),
                   ("u32", "f32", ".rzi", lambda a: to_integer(a, F32, "u32", "rz")),
                   ("s32", "f64", ".rzi", lambda a: to_integer(a, F64, "s32", "rz")),
                   ("s32", "f64", ".rni", lambda a: to_integer(a, F64, "s32", "rn")),
                   ("f32", "s32", ".rn", lambda a: rounded(as_integer(a, "s32"), "rn", F32)),
                   ("f64", "s32", ".rn", lambda a: rounded(as_integer(a, "s32"), "rn", F64)),
                   ("f32", "u16", ".rn", lambda a: rounded(a, "rn", F32)),
                   ("f32", "u64", ".rn", lambda a: rounded(a, "rn", F32)),
                   ("f64", "u32", ".rn", lambda a: rounded(a, "rn", F64)),
                   ("s16", "s32", ".sat", lambda a: max(min(as_integer(a, "s32"), 32767), -32768)),
                   ("u8", "s32", ".sat", lambda a: max(min(as_integer(a, "s32"), 255), 0))]
    for to, source, modifier, f in conversions:
        yield plain(f"cvt{modifier}.{to}.{source}", 1, f, to, source)


def accesses() -> Iterator[Form]:
    """Yield loads and stores of every space and size, and generic ones."""
    for type in ("u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "f32", "u64", "s64", "b64", "f64"):
        bits, r = width(type), register(type)

        def loaded(x: int, y: int, i: int, bits: int = bits, type: str = type) -> int:
            return as_integer(x, type) if type[0] == "s" else x & (1 << bits) - 1
        for space, address in (("global", "%rd71+8"), ("shared", "%r71+8"), ("local", "mine+8"),
                               ("volatile.shared", "%r71+8"), ("volatile.global", "%rd71+8")):
            store, load = f"st.{space}.{type}", f"ld.{space}.{type}"
            yield Form((store, load), f"{store} [{address}], {r}1; {load} {r}4, [{address}];{finish(type)}",
                       max(bits, 16), loaded)
    for type in ("f32", "f64", "u32", "u64", "b32", "s32"):
        bits, r = width(type), register(type)
        for count in (2, 4)[:3 - bits // 32 if bits == 64 else 2]:
            for space, address in (("global", "%rd71"), ("shared", "%r71"), ("local", "mine")):
                data = ", ".join(f"{r}{k}" for k in (1, 2, 5, 1)[:count])
                got = ", ".join(f"{r}{k}" for k in (6, 4, 7, 8)[:count])
                store, load = f"st.{space}.v{count}.{type}", f"ld.{space}.v{count}.{type}"
                yield Form((store, load), f"{store} [{address}], {{{data}}}; {load} {{{got}}}, [{address}];"
                           f"{finish(type)}", bits, lambda x, y, i: y)
    yield Form((), "st.global.v4.u32 [%rd71], {%r1, %r2, 7, %r5}; ld.global.v4.u32 {_, %r4, _, _}, [%rd71];", 32,
               lambda x, y, i: y)
    yield Form(("ld.global.nc.v2.f64",), "and.b64 %rd6, %rd90, -16; ld.global.nc.v2.f64 {%fd6, %fd7}, [%rd6]; "
               "selp.f64 %fd4, %fd7, %fd6, %p5; mov.b64 %rd4, %fd4;", 64, lambda x, y, i: x)
    for type in ("u32", "f32", "u64", "f64"):
        r = register(type)
        yield Form((f"ld.global.nc.{type}",), f"ld.global.nc.{type} {r}4, [%rd90];{finish(type)}", width(type),
                   lambda x, y, i: x)
    constant = "and.b32 %r6, %r1, 1; mul.wide.u32 %rd6, %r6, {size}; mov.u64 %rd7, {name}; add.s64 %rd6, %rd6, %rd7; "
    for type, name, values in (("f32", "singles", (0x3F80_0000, 0x3F00_0000)), ("u32", "words", (7, LOW)),
                               ("f64", "doubles", (0x3FF8 << 48, 0xC004 << 48)), ("u64", "longs", (0x1_2345_6789, -1))):
        yield Form((f"ld.const.{type}",), constant.format(size=width(type) // 8, name=name)
                   + f"ld.const.{type} {register(type)}4, [%rd6];{finish(type)}", width(type),
                   lambda x, y, i, v=values: v[x & 1])
    yield Form(("ld.const.v2.u32",), "ld.const.v2.u32 {%r6, %r4}, [words+8];", 32, lambda x, y, i: 10)
    yield Form((), "cvta.global.u64 %rd6, %rd71; st.u32 [%rd6], %r1; ld.u32 %r4, [%rd6];", 32, lambda x, y, i: x)
    yield Form((), "cvt.u64.u32 %rd6, %r71; cvta.shared.u64 %rd6, %rd6; st.f64 [%rd6+8], %fd1; "
               "cvta.to.shared.u64 %rd7, %rd6; ld.shared.u64 %rd8, [%rd7+8]; ld.u64 %rd9, [%rd6+8]; "
               "or.b64 %rd4, %rd8, %rd9;", 64, lambda x, y, i: x)
    yield Form(("cvta.to.global.u64",), "cvta.to.global.u64 %rd6, %rd90; ld.global.u64 %rd4, [%rd6];", 64,
               lambda x, y, i: x)
    for place, address in (("global", "%rd71"), ("shared", "%r71")):
        for type in ("b32", "b64"):
            r = register(type)
            for name, f in (("or", lambda a, b: a | b), ("and", lambda a, b: a & b), ("xor", lambda a, b: a ^ b)):
                yield atomic(place, address, f"{name}.{type}", r, width(type), f)
        yield atomic(place, address, "add.u32", "%r", 32, lambda a, b: a + b)
        yield atomic(place, address, "add.u64", "%rd", 64, lambda a, b: a + b)
        yield atomic(place, address, "max.s32", "%r", 32, signed(32, max))
        yield atomic(place, address, "exch.b32", "%r", 32, lambda a, b: b)


def atomic(place: str, address: str, operation: str, r: str, bits: int, f: Callable[..., int]) -> Form:
    opcode = f"atom.{place}.{operation}"
    plus = f"add.s{bits} {r}4, {r}6, {r}7;"

    def meaning(x: int, y: int, i: int) -> int:
        a, b = x & (1 << bits) - 1, y & (1 << bits) - 1
        return a + f(a, b)
    return Form((opcode,), f"st.{place}.b{bits} [{address}], {r}1; {opcode} {r}6, [{address}], {r}2; "
                f"ld.{place}.b{bits} {r}7, [{address}]; {plus}", bits, meaning)


def others() -> Iterator[Form]:
    """Yield calls, barriers, fences, votes, shuffles and special registers; a TB has 96 threads."""
    for f, name, type in ((lambda x, y, i: x + 1, "add_one", "b32"),
                          (lambda x, y, i: add(x, x, "rn"), "twice", "f64")):
        r, bits = register(type), width(type)
        yield Form(("call.uni", f"st.param.{type}", f"ld.param.{type}"),
                   f"{{ .param .b{bits} param0; st.param.{type} [param0], {r}1; .param .b{bits} retval0; "
                   f"call.uni (retval0), {name}, (param0); ld.param.{type} {r}4, [retval0]; }}{finish(type)}", bits, f)
    for number, text in ((0, "bar.sync 0;"), (3, "bar.sync 3; membar.cta;"), (15, "barrier.sync 15; membar.gl;"),
                         (1, "bar.sync 1; fence.acq_rel.gpu; membar.sys; fence.sc.cta;")):
        yield Form(("bar.sync",), f"st.shared.u32 [%r71], %r3; {text} xor.b32 %r6, %r71, 0; mov.u32 %r7, slots; "
                   "sub.u32 %r6, %r6, %r7; xor.b32 %r6, %r6, 64; add.u32 %r6, %r6, %r7; ld.shared.u32 %r4, [%r6]; "
                   f"bar.sync {number};", 32, lambda x, y, i: (i % 96 ^ 2) + i // 96 * 96)
    yield Form(("vote.sync.ballot.b32",), "vote.sync.ballot.b32 %r4, %p5, -1;", 32, lambda x, y, i: 0xAAAA_AAAA)
    yield Form(("vote.sync.any.pred",), "vote.sync.any.pred %p1, %p5, -1; selp.u32 %r4, 1, 0, %p1;", 32,
               lambda x, y, i: 1)
    yield Form(("shfl.sync.idx.b32",), "shfl.sync.idx.b32 %r4|%p1, %r3, 3, 31, -1; @!%p1 mov.u32 %r4, 0;", 32,
               lambda x, y, i: i // 32 * 32 + 3)
    yield Form(("shfl.sync.bfly.b32",), "shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;", 32, lambda x, y, i: i ^ 1)
    for text, f in (("%tid.x", lambda i: i % 96), ("%ctaid.x", lambda i: i // 96), ("%ntid.x", lambda i: 96),
                    ("%nctaid.x", lambda i: 2), ("%tid.y", lambda i: 0), ("%ctaid.y", lambda i: 0),
                    ("%ntid.y", lambda i: 1), ("%nctaid.y", lambda i: 1), ("%tid.z", lambda i: 0),
                    ("%nctaid.z", lambda i: 1), ("%laneid", lambda i: i % 32), ("%warpid", lambda i: i % 96 // 32),
                    ("WARP_SZ", lambda i: 32), ("%lanemask_eq", lambda i: 1 << i % 32),
                    ("%lanemask_lt", lambda i: (1 << i % 32) - 1), ("%lanemask_le", lambda i: (2 << i % 32) - 1),
                    ("%lanemask_gt", lambda i: -(2 << i % 32)), ("%lanemask_ge", lambda i: -(1 << i % 32))):
        yield Form((), f"mov.u32 %r4, {text};", 32, lambda x, y, i, f=f: f(i), True)
    yield Form((), "mov.u64 %rd6, %clock64; mov.u32 %r6, %clock; cvt.u32.u64 %r7, %rd6; sub.s32 %r6, %r6, %r7; "
               "setp.lt.u32 %p1, %r6, 100000; selp.u32 %r4, 1, 0, %p1;", 32, lambda x, y, i: 1)
    yield Form(("bfe.u32", "bfi.b32"), "bfe.u32 %r6, %r1, 5, 9; bfi.b32 %r4, %r6, %r2, 12, 9;", 32,
               lambda x, y, i: y & ~(511 << 12) | (x >> 5 & 511) << 12)
    yield Form(("shf.l.wrap.b32",), "shf.l.wrap.b32 %r4, %r1, %r2, %r3;", 32,
               lambda x, y, i: ((y & LOW) << 32 | x & LOW) << i % 32 >> 32, True)
    yield Form(("shf.r.clamp.b32",), "shf.r.clamp.b32 %r4, %r1, %r2, %r3;", 32,
               lambda x, y, i: ((y & LOW) << 32 | x & LOW) >> min(i, 32), True)
    yield Form(("isspacep.global",), "isspacep.global %p1, %rd90; selp.u32 %r4, 1, 0, %p1;", 32, lambda x, y, i: 1)


FORMS = [*integers(), *singles_and_doubles(), *carries(), *predicates(), *moves(), *accesses(), *others()]

PARAMETERS = {"u8": 0xA5, "s8": -3, "u16": 0xBEEF, "s16": -300, "u32": 0x8000_0001, "s32": -7, "b32": 0xDEAD_BEEF,
              "f32": 0x4049_0FDB, "u64": (1 << 63) + 5, "s64": -9, "f64": 0x4009_21FB_5444_2D18}
"""Scalar parameters of a kernel: type to value (floating-point ones as bits)."""
RETURNING = ("ret", *(f"ld.param.{type}" for type in PARAMETERS))
"""Opcodes that `kernel_with_parameters` shows."""


def kernel_with_parameters() -> str:
    """A kernel that stores each of its parameters, widened to 64 bits, and returns in odd threads before the last."""
    declared = "".join(f", .param .{type} {type}" for type in PARAMETERS)
    body = []
    for k, type in enumerate(PARAMETERS):
        bits, letter = width(type), type[0]
        value = f"%v{k}"
        body.append(f".reg .b{max(bits, 16)} {value}; ld.param.{type} {value}, [{type}];")
        wider = f"cvt.{'s' if letter == 's' else 'u'}64.{'s' if letter == 's' else 'u'}{bits} %rd3, {value};"
        if k == len(PARAMETERS) - 1:
            body.append("@%p1 ret;")
        body.append(f"{wider} st.global.u64 [%rd1+{8 * k}], %rd3;")
    return f""".version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out{declared})
{{
    .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, {8 * len(PARAMETERS)};
    add.s64 %rd1, %rd1, %rd2; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1;
    {" ".join(body)}
    ret;
}}
"""
