"""Expansion: instructions that the library computes, and calls, become what they stand for, as PTX.

A routine of the library keeps line, column and text of the instruction it stands for; an inlined function of the file
keeps its own.
"""

from __future__ import annotations

import dataclasses

from ..errors import CompileError
from ..library import ROUTINES, Routine, routine
from ..ptx.inline import MOST_STATEMENTS, Inliner, Statement
from ..ptx.parameters import parameters_to_registers, variable_bytes
from ..ptx.syntax import Function, Instruction, Module, Name, Variable

__all__ = ["expand"]


def expand(module: Module, function: Function) -> Function:
    """Return `function` without calls and without instructions of `library.ROUTINES`.

    Raises
    ------
    CompileError
        If a call or its operands are not supported.
    """
    functions = {f.name: f for defined in (False, True) for f in module.functions
                 if f.kind == "func" and f.defined == defined}
    calls = Inliner(functions.get, module.file, function, MOST_STATEMENTS)
    inlined: list[Statement] = []
    for statement in function.statements:
        if isinstance(statement, Instruction) and statement.base == "call":
            inlined += calls.call(statement)
        else:
            inlined.append(statement)
    declared = [*function.variables, *calls.variables]
    statements, registers = parameters_to_registers(
        inlined, {v.name: variable_bytes(v) for v in declared if v.space == "param"}, module.file)
    library = Inliner(routine, module.file, Function("func", "", (), {}, (), (), 0))
    expanded: list[Statement] = []
    for statement in statements:
        entry = ROUTINES.get(statement.opcode) if isinstance(statement, Instruction) else None
        if entry is None or not isinstance(statement, Instruction):
            expanded.append(statement)
        else:
            expanded += _computed(library, entry, statement, module.file)
    return dataclasses.replace(function, statements=tuple(expanded),
                               variables=(*(v for v in declared if v.space != "param"), *registers,
                                          *library.variables))


def _computed(library: Inliner, entry: Routine, site: Instruction, file: str) -> list[Statement]:
    body = routine(entry.name)
    assert body is not None, f"no routine {entry.name}"
    if len(site.operands) != len(body.parameters) + 1:
        raise CompileError.at(site, file, f"{len(site.operands)} operands where {len(body.parameters) + 1} belong")
    if not isinstance(site.operands[0], Name):
        raise CompileError.at(site, file, "the destination must be a register")

    def move(variable: Variable) -> str:
        return "cvt.ftz.f32.f32" if entry.flush else f"mov.{variable.type}"

    results = [None] * len(body.results)
    results[entry.result] = site.operands[0]  # pyright: ignore[reportArgumentType, reportCallIssue]
    return library.expand(body, tuple(results), site.operands[1:], site, at_site=True, move=move)
