"""Expansion: instructions that the library computes, and calls, become what they stand for, as PTX.

A routine of the library keeps line, column and text of the instruction it stands for; an inlined function of the file
keeps its own.
"""

from __future__ import annotations

import dataclasses

from ..errors import CompileError
from ..library import ROUTINES, Routine, routine
from ..ptx.inline import Inliner, Statement, parameters_to_registers, undefined_parameters
from ..ptx.syntax import Function, Instruction, Module, Name, Variable

__all__ = ["expand"]


def expand(module: Module, function: Function) -> Function:
    """Return `function` without calls and without instructions of `library.ROUTINES`.

    Raises
    ------
    CompileError
        If a call or its operands are not supported.
    """
    callees: dict[str, Function] = {}

    def find(name: str) -> Function | None:
        found = next((f for f in module.functions if f.name == name and f.kind == "func"), None)
        if found is not None and name not in callees:
            callees[name] = parameters_to_registers(found)
        return callees.get(name)

    function = parameters_to_registers(function)
    calls = Inliner(find, module.file, function)
    statements: list[Statement] = []
    for statement in function.statements:
        if isinstance(statement, Instruction) and statement.base == "call":
            statements += calls.call(statement)
        else:
            statements.append(statement)
    missing = undefined_parameters(statements)
    if missing:
        name, offset, bits = min(missing).split("@")
        raise CompileError(f"the {bits} bits at offset {offset} of {name} are read but not written in one piece",
                           module.file, function.line, supported="parameters passed as they are read")
    library = Inliner(routine, module.file, Function("func", "", (), {}, (), (), 0))
    expanded: list[Statement] = []
    for statement in statements:
        entry = ROUTINES.get(statement.opcode) if isinstance(statement, Instruction) else None
        if entry is None or not isinstance(statement, Instruction):
            expanded.append(statement)
        else:
            expanded += _computed(library, entry, statement, module.file)
    return dataclasses.replace(function, statements=tuple(expanded),
                               variables=(*function.variables, *calls.variables, *library.variables))


def _computed(library: Inliner, entry: Routine, site: Instruction, file: str) -> list[Statement]:
    body = routine(entry.name)
    assert body is not None, f"no routine {entry.name}"
    if len(site.operands) != len(body.parameters) + 1:
        raise CompileError(f"{len(site.operands)} operands where {len(body.parameters) + 1} belong", file, site.line,
                           site.text, column=site.column)
    if not isinstance(site.operands[0], Name):
        raise CompileError("the destination must be a register", file, site.line, site.text, column=site.column)

    def move(variable: Variable) -> str:
        return "cvt.ftz.f32.f32" if entry.flush else f"mov.{variable.type}"

    results = [None] * len(body.results)
    results[entry.result] = site.operands[0]  # pyright: ignore[reportArgumentType, reportCallIssue]
    return library.expand(body, tuple(results), site.operands[1:], site, at_site=True, move=move)
