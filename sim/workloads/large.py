"""Large PTX kernels with the instruction mix of real ones, which measure the compiler and can run.

A kernel is a sequence of regions. There are straight stretches over a bounded set of values, loads and stores of global
and shared memory, and divergent conditionals. There are loops nested up to three deep, calls of device functions,
64-bit and f64 arithmetic, and barriers. Every address is masked into the arrays, and every loop ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["LargeKernel"]

_BODY = 24
"""Approximate number of instructions of a straight stretch."""


class LargeKernel:
    """A kernel ``large(u64 output, u64 input, u32 n)`` of about a given size.

    Parameters
    ----------
    instructions : int
        Aim for the number of machine instructions.
    seed : int
    values : int
        Number of 32-bit values of each type, integer and f32, that are live throughout; twice as many are short-lived.

    Attributes
    ----------
    ptx : str
        The module.
    words : int
        Number of 32-bit words of the input; the output has one word for each thread.
    """

    name = "large"
    words = 4096

    def __init__(self, instructions: int, seed: int = 0, values: int = 8):
        if instructions < 100 or values < 2:
            raise ValueError(f"{instructions} instructions or {values} values are too few")
        self._rng = random.Random(seed)
        self._lines: list[str] = []
        self._counts = {"r": 0, "f": 0, "rd": 0, "fd": 0, "p": 0}
        self._labels = 0
        self._written = 0
        self._set_up(values)
        while self._written < instructions:
            self._region(0)
            if self._rng.random() < 0.1:
                self._put("bar.sync 0")
        self._finish()
        self.ptx = self._module()

    # Text

    def _fresh(self, kind: str) -> str:
        self._counts[kind] += 1
        return f"%{kind}{self._counts[kind]}"

    def _put(self, text: str, cost: int = 1) -> None:
        self._lines.append(f"\t{text};")
        self._written += cost

    def _label(self) -> str:
        self._labels += 1
        return f"$L_{self._labels}"

    def _place(self, label: str) -> None:
        self._lines.append(f"{label}:")

    def _module(self) -> str:
        types = {"r": "b32", "f": "f32", "rd": "b64", "fd": "f64", "p": "pred"}
        declared = [f"\t.reg .{types[k]} \t%{k}<{n + 1}>;" for k, n in self._counts.items()]
        return "\n".join([
            ".version 8.0", ".target sm_75", ".address_size 64", "",
            ".func (.param .b32 result) mix(.param .b32 a, .param .b32 b)", "{", "\t.reg .b32 \t%r<6>;",
            "\tld.param.u32 \t%r1, [a];", "\tld.param.u32 \t%r2, [b];", "\txor.b32 \t%r3, %r1, %r2;",
            "\tmul.lo.s32 \t%r4, %r3, 73244475;", "\tshr.u32 \t%r5, %r4, 16;", "\txor.b32 \t%r4, %r4, %r5;",
            "\tst.param.b32 \t[result], %r4;", "\tret;", "}", "",
            f".visible .entry {self.name}(", "\t.param .u64 output,", "\t.param .u64 input,", "\t.param .u32 n", ")",
            "{", *declared, "\t.shared .align 16 .b8 tile[4096];", "", *self._lines, "\tret;", "}", ""])

    # The frame of the kernel

    def _set_up(self, values: int) -> None:
        self._thread, index, offset = self._fresh("r"), self._fresh("r"), self._fresh("rd")
        self._out, self._input, self._n = self._fresh("rd"), self._fresh("rd"), self._fresh("r")
        sizes = [self._fresh("r") for _ in range(2)]
        self._put(f"ld.param.u64 \t{self._out}, [output]")
        self._put(f"ld.param.u64 \t{self._input}, [input]")
        self._put(f"ld.param.u32 \t{self._n}, [n]")
        for register, special in zip((self._thread, *sizes), ("tid.x", "ntid.x", "ctaid.x"), strict=True):
            self._put(f"mov.u32 \t{register}, %{special}")
        self._put(f"mad.lo.s32 \t{index}, {sizes[0]}, {sizes[1]}, {self._thread}")
        self._put(f"mul.wide.u32 \t{offset}, {index}, 4")
        self._put(f"add.s64 \t{self._out}, {self._out}, {offset}")
        self._whole = [self._fresh("r") for _ in range(values)]
        self._real = [self._fresh("f") for _ in range(values)]
        for k, register in enumerate(self._whole):
            self._put(f"mad.lo.s32 \t{register}, {index}, {2 * k + 3}, {k}")
        for register, source in zip(self._real, self._whole, strict=True):
            self._put(f"cvt.rn.f32.s32 \t{register}, {source}")

    def _finish(self) -> None:
        total = self._fresh("r")
        self._put(f"mov.u32 \t{total}, 0")
        for register in self._whole:
            self._put(f"xor.b32 \t{total}, {total}, {register}")
        for register in self._real:
            bits = self._fresh("r")
            self._put(f"mov.b32 \t{bits}, {register}")
            self._put(f"add.s32 \t{total}, {total}, {bits}")
        self._put(f"st.global.u32 \t[{self._out}], {total}")

    # Regions

    def _region(self, depth: int) -> None:
        kind = self._rng.random()
        if kind < 0.16 and depth < 3:
            self._loop(depth)
        elif kind < 0.36 and depth < 4:
            self._conditional(depth)
        else:
            self._stretch()

    def _regions(self, depth: int) -> None:
        for _ in range(self._rng.randint(1, 3)):
            self._region(depth)

    def _loop(self, depth: int) -> None:
        counter, flag, head = self._fresh("r"), self._fresh("p"), self._label()
        if self._rng.random() < 0.5:
            self._put(f"mov.u32 \t{counter}, {self._rng.randint(1, 2)}")
        else:
            self._put(f"and.b32 \t{counter}, {self._n}, 1")
        self._place(head)
        self._regions(depth + 1)
        leave = self._label() if self._rng.random() < 0.3 else ""
        if leave:
            self._leave(leave)
            self._regions(depth + 1)
        self._put(f"add.s32 \t{counter}, {counter}, -1")
        self._put(f"setp.gt.s32 \t{flag}, {counter}, 0")
        self._put(f"@{flag} bra \t{head}")
        if leave:
            self._place(leave)

    def _leave(self, target: str) -> None:
        """Emit a conditional in which some threads leave the innermost loop."""
        outer, inner, over = self._fresh("p"), self._fresh("p"), self._label()
        self._put(f"setp.lt.s32 \t{outer}, {self._any_whole()}, {self._any_whole()}")
        self._put(f"@{outer} bra \t{over}")
        self._stretch()
        self._put(f"setp.eq.s32 \t{inner}, {self._any_whole()}, {self._rng.randrange(8)}")
        self._put(f"@{inner} bra \t{target}")
        self._place(over)

    def _conditional(self, depth: int) -> None:
        flag, other, end = self._fresh("p"), self._label(), self._label()
        self._put(f"setp.lt.s32 \t{flag}, {self._any_whole()}, {self._any_whole()}")
        self._put(f"@{flag} bra \t{other}")
        self._regions(depth + 1)
        two = self._rng.random() < 0.5
        if two:
            self._put(f"bra.uni \t{end}")
        self._place(other)
        if two:
            self._regions(depth + 1)
            self._place(end)

    def _any_whole(self) -> str:
        return self._rng.choice(self._whole)

    def _stretch(self) -> None:
        """Emit a straight stretch, in which each step makes short-lived values and changes a long-lived one."""
        steps: list[Callable[[], None]] = [
            self._integers, self._integers, self._reals, self._reals, self._reals, self._load, self._load, self._vector,
            self._store, self._shared, self._wide, self._call, self._double]
        first = self._written
        while self._written < first + _BODY:
            self._rng.choice(steps)()

    def _integers(self) -> None:
        rng, dest = self._rng, self._any_whole()
        made = self._fresh("r")
        self._put(f"mul.lo.s32 \t{made}, {self._any_whole()}, {rng.choice((3, 5, 7, 1103515245))}")
        for _ in range(rng.randint(1, 4)):
            made, source = self._fresh("r"), made
            name = rng.choice(("add.s32", "xor.b32", "and.b32", "min.s32", "shr.u32", "shl.b32"))
            operand = rng.randint(1, 9) if name.startswith("sh") else self._any_whole()
            self._put(f"{name} \t{made}, {source}, {operand}")
        self._put(f"add.s32 \t{dest}, {dest}, {made}")

    def _reals(self) -> None:
        rng, dest = self._rng, self._rng.choice(self._real)
        made = [self._fresh("f") for _ in range(rng.randint(2, 5))]
        for register in made:
            a, b = rng.sample(self._real, 2)
            self._put(f"{rng.choice(('mul.f32', 'add.f32', 'sub.f32', 'max.f32'))} \t{register}, {a}, {b}")
        for register in made:
            self._put(f"fma.rn.f32 \t{dest}, {register}, {rng.choice(self._real)}, {dest}")

    def _address(self, base: str, bits: int) -> str:
        index, masked, offset, address = self._fresh("r"), self._fresh("r"), self._fresh("rd"), self._fresh("rd")
        self._put(f"add.s32 \t{index}, {self._any_whole()}, {self._rng.randrange(100)}")
        self._put(f"and.b32 \t{masked}, {index}, {(1 << bits) - 1 & -4}")
        self._put(f"mul.wide.u32 \t{offset}, {masked}, 4", 0)
        self._put(f"add.s64 \t{address}, {base}, {offset}")
        return address

    def _load(self) -> None:
        address, made = self._address(self._input, 11), self._fresh("f")
        dest = self._rng.choice(self._real)
        self._put(f"ld.global.f32 \t{made}, [{address}+{4 * self._rng.randrange(8)}]")
        self._put(f"add.f32 \t{dest}, {dest}, {made}")

    def _vector(self) -> None:
        address, made = self._address(self._input, 11), [self._fresh("f") for _ in range(4)]
        self._put(f"ld.global.v4.f32 \t{{{', '.join(made)}}}, [{address}]")
        for register in made:
            dest = self._rng.choice(self._real)
            self._put(f"fma.rn.f32 \t{dest}, {register}, {self._rng.choice(self._real)}, {dest}")

    def _store(self) -> None:
        self._put(f"st.global.u32 \t[{self._out}], {self._any_whole()}")

    def _shared(self) -> None:
        masked, base, address, made = (self._fresh("r") for _ in range(4))
        dest = self._any_whole()
        self._put(f"and.b32 \t{masked}, {self._any_whole()}, 1020")
        self._put(f"mov.u32 \t{base}, tile", 0)
        self._put(f"add.s32 \t{address}, {base}, {masked}", 0)
        self._put(f"st.shared.u32 \t[{address}], {self._any_whole()}")
        self._put(f"ld.shared.u32 \t{made}, [{address}+1024]")
        self._put(f"xor.b32 \t{dest}, {dest}, {made}")

    def _wide(self) -> None:
        product, total, low = self._fresh("rd"), self._fresh("rd"), self._fresh("r")
        dest = self._any_whole()
        self._put(f"mul.wide.s32 \t{product}, {self._any_whole()}, {self._any_whole()}", 2)
        self._put(f"shr.u64 \t{total}, {product}, 13", 2)
        self._put(f"cvt.u32.u64 \t{low}, {total}", 0)
        self._put(f"add.s32 \t{dest}, {dest}, {low}")

    def _call(self) -> None:
        a, dest = self._any_whole(), self._any_whole()
        self._lines += ["\t{", "\t.param .b32 x;", f"\tst.param.b32 \t[x], {a};", "\t.param .b32 y;",
                        f"\tst.param.b32 \t[y], {dest};", "\t.param .b32 z;", "\tcall.uni (z), mix, (x, y);",
                        f"\tld.param.b32 \t{dest}, [z];", "\t}"]
        self._written += 4

    def _double(self) -> None:
        a, b, c, result = self._fresh("fd"), self._fresh("fd"), self._fresh("fd"), self._fresh("f")
        dest = self._rng.choice(self._real)
        self._put(f"cvt.f64.f32 \t{a}, {self._rng.choice(self._real)}")
        self._put(f"cvt.f64.f32 \t{b}, {dest}")
        self._put(f"fma.rn.f64 \t{c}, {a}, {b}, {a}")
        self._put(f"cvt.rn.f32.f64 \t{result}, {c}")
        self._put(f"mul.f32 \t{dest}, {result}, 0f3F000000")
