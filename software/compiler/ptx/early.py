"""Converts PTX for machines before compute capability 2.0 (``.target sm_10`` to ``sm_13``) to present PTX.

1. Instructions of f32 have ``.ftz``: those machines had no subnormal numbers (PTX ISA 9.7.3).
2. ``mad.f32`` without rounding is ``fma.rn.ftz.f32``, as when compiled for later machines (PTX ISA 9.7.3.7).
3. Before version 1.4, ``div rcp sqrt rsqrt sin cos lg2 ex2`` of f32 without a modifier are ``.approx``. ``div rcp sqrt
   mad`` of f64 are ``.rn``. Conversions round to nearest, to integers to zero.
4. Before version 1.4, parameters of a kernel are declared in its body.
"""

from __future__ import annotations

import dataclasses
import re

from .syntax import Function, Instruction, Module

__all__ = ["modernized"]

_EARLY = re.compile(r"sm_1[0-3]\b")
_APPROXIMATE = {"div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"}
_FLUSHING = _APPROXIMATE | {"add", "sub", "mul", "mad", "min", "max", "abs", "neg", "setp", "set", "slct", "cvt"}
_ROUNDED = ("rn", "rz", "rm", "rp", "approx", "full", "rni", "rzi", "rmi", "rpi")


def modernized(module: Module) -> Module:
    """Return a module as one for machines from compute capability 2.0 on."""
    if not _EARLY.match(module.target):
        return module
    oldest = [int(x) for x in re.findall(r"\d+", module.version)] < [1, 4]
    functions = tuple(_function(f, oldest) for f in module.functions)
    return dataclasses.replace(module, functions=functions)


def _function(function: Function, oldest: bool) -> Function:
    statements = tuple(dataclasses.replace(s, opcode=_opcode(s, oldest)) if isinstance(s, Instruction) else s
                       for s in function.statements)
    parameters, variables = function.parameters, function.variables
    if oldest and function.kind == "entry" and not parameters:
        parameters = tuple(v for v in variables if v.space == "param")
        variables = tuple(v for v in variables if v.space != "param")
    return dataclasses.replace(function, statements=statements, parameters=parameters, variables=variables)


def _opcode(instruction: Instruction, oldest: bool) -> str:
    base, modifiers = instruction.base, instruction.modifiers
    types = [m for m in modifiers[-2:] if m in ("f32", "f64")]
    if base not in _FLUSHING or not types:
        return instruction.opcode
    if not any(m in _ROUNDED for m in modifiers):
        if base == "mad" and types == ["f32"]:
            return ".".join(("fma.rn.ftz", *(m for m in modifiers if m != "ftz")))
        modifiers = [*(_default(base, modifiers) if oldest else ()), *modifiers]
    if "f32" in types and "ftz" not in modifiers:
        modifiers = [*modifiers[:-len(types)], "ftz", *modifiers[-len(types):]]
    return ".".join((base, *modifiers))


def _default(base: str, modifiers: list[str]) -> list[str]:
    """Return the default rounding of an instruction without a rounding modifier (case 3)."""
    if base == "cvt":
        to, source = modifiers[-2:]
        if source[0] == "f" and to[0] != "f":
            return ["rzi"]
        return ["rn"] if to[0] == "f" and to != source and (to, source) != ("f64", "f32") else []
    if modifiers[-1] == "f64":
        return ["rn"] if base in ("div", "rcp", "sqrt", "mad") else []
    return ["approx"] if base in _APPROXIMATE else []
