"""Random programs in PTX and in LLVM's language, which LLVM compiles for the host: a judge of what PTX means that
shares nothing with the compiler."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Sequence

import numpy as np

from .llvm_rows import LLVM_TYPES, ROWS, Emitter, Row

__all__ = ["JudgedProgram"]

_PREFIX = {"h": "%jh", "r": "%jr", "d": "%jd", "f": "%jf", "g": "%jg", "p": "%jp"}
_DECLARED = {"h": "b16", "r": "b32", "d": "b64", "f": "f32", "g": "f64", "p": "pred"}
_BITS = {"h": 16, "r": 32, "d": 64}
_EDGES = (0, 1, 2, 5, 31, 32, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF,
          1 << 63, (1 << 64) - 1)
_FIRST = {"d": ("%rd1", "%rd2"), "r": ("%r1", "%r2", "%r3"), "h": ("%rs1", "%rs2"), "f": ("%f1", "%f2"),
          "g": ("%fd1", "%fd2")}
"""Registers of the bench that hold a, b and n, whole and in part."""


class JudgedProgram:
    """A program of random instructions on the operands a, b (64 bits) and n (32 bits) of a thread.

    Instructions stand alone, under guards, and in branches that some threads skip.

    Parameters
    ----------
    seed : int
    length : int
        Instructions.
    results : int
        Most values stored, as 64-bit numbers.

    Attributes
    ----------
    text : str
        PTX, in registers of its own.
    stored : list of (str, int)
        Registers that hold results, integers, and their bits.
    module : str
        The same in LLVM's language: ``@run(a, b, n, out, count)``.
    """

    def __init__(self, seed: int, length: int = 90, results: int = 32):
        self._rng = random.Random(seed)
        self._emitter = e = Emitter()
        self._counts = dict.fromkeys(_PREFIX, 0)
        self._values: dict[str, dict[str, str]] = {kind: {} for kind in _PREFIX}
        self._begin()
        lines = ["setp.gt.u32 %jp0, %r3, 7;"]
        while len(lines) < length:
            lines += self._branch() if self._rng.random() < 0.1 else [self._step(self._rng.random() < 0.15)]
        self.stored: list[tuple[str, int]] = []
        ends = []
        names = [(kind, name) for kind in _PREFIX for name in self._values[kind]]
        chosen = self._rng.sample(names, min(results, len(names)))
        for k, (kind, name) in enumerate(chosen):
            register, bits, moved = self._as_integer(kind, name)
            ends.append(moved)
            self.stored.append((register, bits))
            value = self._values[kind][name]
            if kind in "fg":
                integer = f"i{bits}"
                value, kind = e.op(f"bitcast {LLVM_TYPES[kind]} {value} to {integer}"), {32: "r", 64: "d"}[bits]
            wide = value if kind == "d" else e.op(f"zext {LLVM_TYPES[kind]} {value} to i64")
            e.lines.append(f"%o{k} = getelementptr i64, ptr %out, i64 {k}")
            e.lines.append(f"store i64 {wide}, ptr %o{k}")
        registers = " ".join(f".reg .{_DECLARED[kind]} {_PREFIX[kind]}<{self._counts[kind] + 1}>;" for kind in _PREFIX)
        self.text = registers + "\n" + "\n".join([*lines, *ends])
        self.module = self._module(len(self.stored))

    def _begin(self) -> None:
        e = self._emitter
        for number, x in enumerate(("%a", "%b")):
            low, half = e.op(f"trunc i64 {x} to i32"), e.op(f"trunc i64 {x} to i16")
            for kind, value in (("d", x), ("r", low), ("h", half), ("f", e.op(f"bitcast i32 {low} to float")),
                                ("g", e.op(f"bitcast i64 {x} to double"))):
                self._values[kind][_FIRST[kind][number]] = value
        self._values["r"]["%r3"] = "%n"
        self._values["p"]["%jp0"] = e.op("icmp ugt i32 %n, 7")
        self._counts["p"] = 1

    # Instructions

    def _step(self, guarded: bool, overwrites: bool = False) -> str:
        """Return an instruction, and note its value; under a guard, or in a branch, into a register that has one."""
        rng, e = self._rng, self._emitter
        row = rng.choice(ROWS)
        names, values = zip(*(self._operand(row, k, kind) for k, kind in enumerate(row.operands)), strict=True)
        result = row.emit(e, *values)
        own = [x for x in self._values[row.result] if x.startswith("%j") and x != "%jp0"]
        guarded = guarded and bool(own)
        if own and (guarded or overwrites):
            dest = rng.choice(own)
        else:
            dest = f"{_PREFIX[row.result]}{self._counts[row.result]}"
            self._counts[row.result] += 1
        guard = ""
        if guarded:
            predicate, negated = rng.choice([*self._values["p"]]), rng.random() < 0.5
            type, held = LLVM_TYPES[row.result], self._values[row.result][dest]
            first, second = (held, result) if negated else (result, held)
            result = e.op(f"select i1 {self._values['p'][predicate]}, {type} {first}, {type} {second}")
            guard = f"@{'!' * negated}{predicate} "
        self._values[row.result][dest] = result
        text = row.text.replace("D,", dest + ",", 1)
        for letter, name in zip("ABC", names, strict=False):
            text = text.replace(f" {letter}", f" {name}", 1)
        return guard + text

    def _operand(self, row: Row, k: int, kind: str) -> tuple[str, str]:
        """Return a register or a constant, and its value."""
        rng = self._rng
        if kind in _BITS and rng.random() < (0.35 if row.text[:2] == "sh" and k else 0.12) and len(row.operands) > 1:
            value = rng.choice((rng.choice(_EDGES), rng.getrandbits(_BITS[kind]))) & (1 << _BITS[kind]) - 1
            return str(value), str(value)
        names = [*self._values[kind]]
        name = rng.choice(names[-8:] if rng.random() < 0.7 else names)
        return name, self._values[kind][name]

    def _branch(self) -> list[str]:
        """Return instructions that the threads skip where a predicate holds; what they write is chosen behind them."""
        rng, e = self._rng, self._emitter
        predicate = rng.choice([*self._values["p"]])
        holds, before = self._values["p"][predicate], {kind: dict(values) for kind, values in self._values.items()}
        label = f"SKIP{len(e.lines)}"
        lines = [f"@{predicate} bra {label};"]
        for _ in range(rng.randrange(1, 5)):
            lines.append(self._step(False, overwrites=True))
        for kind, values in self._values.items():
            for name in [*values]:
                if name not in before[kind]:
                    del values[name]  # not written where the branch is taken
                elif values[name] != before[kind][name]:
                    type = LLVM_TYPES[kind]
                    values[name] = e.op(f"select i1 {holds}, {type} {before[kind][name]}, {type} {values[name]}")
        return [*lines, f"{label}:"]

    def _as_integer(self, kind: str, name: str) -> tuple[str, int, str]:
        """Return a register with a value as an integer, its bits, and what moves it there."""
        if kind in _BITS:
            return name, _BITS[kind], ""
        to, bits = {"f": ("r", 32), "g": ("d", 64), "p": ("r", 32)}[kind]
        register = f"{_PREFIX[to]}{self._counts[to]}"
        self._counts[to] += 1
        move = f"selp.u32 {register}, 1, 0, {name};" if kind == "p" else f"mov.b{bits} {register}, {name};"
        return register, bits, move

    # LLVM

    def _module(self, results: int) -> str:
        body = "\n  ".join(self._emitter.lines)
        return "\n".join(sorted(self._emitter.intrinsics)) + f"""
define void @one(i64 %a, i64 %b, i32 %n, ptr %out) {{
  {body}
  ret void
}}
define void @run(ptr %as, ptr %bs, ptr %ns, ptr %outs, i64 %count) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %pa = getelementptr i64, ptr %as, i64 %i
  %pb = getelementptr i64, ptr %bs, i64 %i
  %pn = getelementptr i32, ptr %ns, i64 %i
  %a = load i64, ptr %pa
  %b = load i64, ptr %pb
  %n = load i32, ptr %pn
  %at = mul i64 %i, {results}
  %out = getelementptr i64, ptr %outs, i64 %at
  call void @one(i64 %a, i64 %b, i32 %n, ptr %out)
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %count
  br i1 %done, label %end, label %loop
end:
  ret void
}}
"""

    def expected(self, a: Sequence[int], b: Sequence[int], n: Sequence[int]) -> np.ndarray:
        """Return what LLVM computes: one row of uint64 per stored register, one column per thread.

        Raises
        ------
        ImportError
            Without llvmlite.
        """
        import llvmlite.binding as llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        module = llvm.parse_assembly(self.module)
        module.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(opt=0)
        engine = llvm.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        arrays = [np.array(x, type) for x, type in ((a, np.uint64), (b, np.uint64), (n, np.uint32))]
        out = np.zeros((len(a), len(self.stored)), np.uint64)
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)(engine.get_function_address("run"))
        run(*(x.ctypes.data for x in (*arrays, out)), len(a))
        return out.T
