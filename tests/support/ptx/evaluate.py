"""Functions in PTX on numpy vectors, one element per thread: the library's routines without compiler and machine.

Floating-point operations are those of the units (`compute`), integer ones numpy's. Branches go forward only: the
elements that take one wait at its label. Registers hold bit patterns as uint64.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from caesura.hw.arch.isa.opcodes import AluOp, F64Op, SfuOp
from caesura.hw.core.units.f64 import F64Unit
from caesura.hw.core.units.floating import FloatUnit
from caesura.hw.core.units.sfu import SpecialFunctionUnit
from caesura.software.compiler.ptx.syntax import Arguments, Function, Instruction, Label, Name, Number, Operand, Vector

__all__ = ["evaluate"]

U64 = np.uint64
Bits = np.ndarray
_WIDTH = re.compile(r"[bsuf](16|32|64)$")


def evaluate(find: Callable[[str], Function | None], name: str, *arguments: Bits) -> tuple[Bits, ...]:
    """Return the results of function `name` for arrays of arguments.

    Parameters
    ----------
    find : callable
        Function by name, also of those it calls.
    name : str
    *arguments : numpy.ndarray
        uint64 arrays, one element per thread, in the order of the parameters.

    Raises
    ------
    NotImplementedError
        At an instruction that the library did not need so far.
    """
    function = find(name)
    assert function is not None, name
    with np.errstate(all="ignore"):
        return _Run(find, function, arguments).run()


class _Run:
    def __init__(self, find, function: Function, arguments: tuple[Bits, ...]):
        self._find = find
        self._function = function
        self._count = len(arguments[0])
        self._registers = {v.name: a.astype(U64) for v, a in zip(function.parameters, arguments, strict=True)}
        self._lanes = np.arange(self._count)
        self._waiting: dict[str, list[np.ndarray]] = {}

    def run(self) -> tuple[Bits, ...]:
        for statement in self._function.statements:
            if isinstance(statement, Label):
                self._lanes = np.concatenate([self._lanes, *self._waiting.pop(statement.name, [])])
            elif len(self._lanes):
                self._step(statement)
        return tuple(self._registers[v.name] for v in self._function.results)

    def _step(self, ins: Instruction) -> None:
        lanes = self._lanes
        if ins.guard is not None:
            holds = self._registers[ins.guard.name][lanes] != 0
            lanes = lanes[holds != ins.guard.negated]
        if ins.base in ("bra", "ret"):
            if ins.base == "bra":
                target = ins.operands[0]
                assert isinstance(target, Name)
                self._waiting.setdefault(target.text, []).append(lanes)
            self._lanes = np.setdiff1d(self._lanes, lanes, assume_unique=True)
        elif ins.base == "call":
            results, target, arguments = ins.operands
            assert isinstance(results, Arguments) and isinstance(target, Name) and isinstance(arguments, Arguments)
            function = self._find(target.text)
            types = [v.type for v in function.parameters]
            values = evaluate(self._find, target.text,
                              *(self._read(x, lanes, t) for x, t in zip(arguments.items, types, strict=True)))
            for operand, value in zip(results.items, values, strict=True):
                self._write(operand, lanes, value)
        elif len(lanes):
            self._compute(ins, lanes)

    def _read(self, operand: Operand, lanes: np.ndarray, type: str) -> Bits:
        if isinstance(operand, Vector):
            low, high = (self._read(x, lanes, "b32") for x in operand.items)
            return low | high << U64(32)
        if isinstance(operand, Number):
            value = {"f32": operand.single, "f64": operand.double}.get(type, operand.value)
            assert value is not None, operand
            return np.full(len(lanes), value & (1 << _width(type)) - 1, U64)
        assert isinstance(operand, Name)
        return self._registers[operand.text][lanes]

    def _write(self, operand: Operand, lanes: np.ndarray, value: Bits) -> None:
        if isinstance(operand, Vector):
            for k, item in enumerate(operand.items):
                self._write(item, lanes, value >> U64(32 * k) & U64(0xFFFF_FFFF))
            return
        assert isinstance(operand, Name)
        if operand.text == "_":
            return
        if operand.text not in self._registers:
            self._registers[operand.text] = np.zeros(self._count, U64)
        elif len(lanes) == self._count:
            self._registers[operand.text] = self._registers[operand.text].copy()
        self._registers[operand.text][lanes] = value

    def _compute(self, ins: Instruction, lanes: np.ndarray) -> None:
        type = ins.modifiers[-1]
        d, *sources = ins.operands
        types = [type] * len(sources)
        if ins.base == "selp":
            types[-1] = "pred"
        elif ins.base == "setp" and len(sources) == 3:
            types[-1] = "pred"
        self._write(d, lanes, _result(ins, type, *(self._read(x, lanes, t)
                                                   for x, t in zip(sources, types, strict=True))))


def _width(type: str) -> int:
    match = _WIDTH.match(type)
    return int(match[1]) if match else 64


def _signed(x: Bits, bits: int) -> np.ndarray:
    return (x << U64(64 - bits)).view(np.int64) >> np.int64(64 - bits)


def _high_product(a: Bits, b: Bits, bits: int) -> Bits:
    if bits == 32:
        return a * b >> U64(32)
    low, shift = U64(0xFFFF_FFFF), U64(32)
    middle = (a & low) * (b & low) >> shift
    first = (a >> shift) * (b & low) + middle
    second = (a & low) * (b >> shift) + (first & low)
    return (a >> shift) * (b >> shift) + (first >> shift) + (second >> shift)


def _integer(base: str, mode: str, type: str, *x: Bits) -> Bits:
    bits = _width(type)
    if type[0] == "s" and base in ("max", "min", "shr", "abs"):
        a, *b = (_signed(y, bits) for y in x)
        made = {"max": lambda: np.maximum(a, b[0]), "min": lambda: np.minimum(a, b[0]), "shr": lambda: a >> b[0],
                "abs": lambda: np.abs(a)}[base]()
        return made.view(U64)
    operations = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b, "max": np.maximum, "min": np.minimum, "shl": lambda a, b: a << b,
        "shr": lambda a, b: a >> b, "neg": lambda a: ~a + U64(1), "mov": lambda a: a,
        "mul": lambda a, b: a * b if mode == "lo" else _high_product(a, b, bits)}
    return operations[base](*x)


def _floating(base: str, mode: str, type: str, *x: Bits) -> Bits:
    double = type == "f64"
    sign = U64(1 << 63 if double else 1 << 31)
    if base == "mov":
        return x[0]
    if base == "neg":
        return x[0] ^ sign
    if base == "abs":
        return x[0] & ~sign
    if base == "copysign":
        return x[0] & sign | x[1] & ~sign
    if base in ("rcp", "rsqrt"):
        op = SfuOp["RCP" if base == "rcp" else "RSQ"]
        if not double:
            return SpecialFunctionUnit.compute(op, x[0].astype(np.uint32)).astype(U64)
        high = SpecialFunctionUnit.compute(SfuOp[op.name + "64H"], (x[0] >> U64(32)).astype(np.uint32))
        return high.astype(U64) << U64(32)
    operands = (*x, *(x[:1] * (3 - len(x))))
    if double:
        return F64Unit.compute(F64Op[f"D{base.upper()}_{mode.upper()}"], *operands)[0]
    return FloatUnit.compute(AluOp[f"F{base.upper()}_{mode.upper()}"],
                             *(y.astype(np.uint32) for y in operands))[0].astype(U64)


def _compare(test: str, type: str, a: Bits, b: Bits) -> Bits:
    if type == "f64":
        return F64Unit.compute(F64Op[f"DSETP_{test.upper()}"], a, b, b)[1].astype(U64)
    if type == "f32":
        a, b = a.astype(np.uint32), b.astype(np.uint32)
        return FloatUnit.compute(AluOp[f"FSETP_{test.upper()}"], a, b, b)[1].astype(U64)
    x, y = (_signed(z, _width(type)) if type[0] == "s" else z for z in (a, b))
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[test].astype(U64)


def _converted(modifiers: list[str], x: Bits) -> Bits:
    *options, to, source = modifiers
    if to[0] != "f" and source[0] != "f":
        bits = _width(source)
        return _signed(x, bits).view(U64) if source[0] == "s" else x
    narrow = x.astype(np.uint32)
    zero = np.zeros_like(narrow)
    name = {("f64", "f32"): "F2D", ("f32", "f64"): "D2F_RN"}.get((to, source))
    if name is not None:
        return F64Unit.compute(F64Op[name], x, x, x)[0]
    name = {("f32", "u32"): "I2F_U_RN", ("u32", "f32"): "F2I_U_RZ", ("f32", "f32"): "FRND_RZ"}[to, source]
    return FloatUnit.compute(AluOp[name], zero, narrow, zero)[0].astype(U64)


def _result(ins: Instruction, type: str, *x: Bits) -> Bits:
    base, modifiers = ins.base, ins.modifiers
    if base == "cvt":
        value = _converted(modifiers, *x)
        type = modifiers[-2]
    elif base == "selp":
        return np.where(x[2] != 0, x[0], x[1])
    elif base == "setp":
        outcome = _compare(modifiers[0], type, x[0], x[1])
        return outcome | x[2] if modifiers[1:-1] == ["or"] else outcome
    elif type in ("f32", "f64"):
        value = _floating(base, modifiers[0], type, *x)
    else:
        value = _integer(base, modifiers[0], type, *x)
    return value & U64((1 << _width(type)) - 1)
