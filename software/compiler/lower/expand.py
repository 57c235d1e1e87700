"""Expansion: calls, and instructions that the library computes, are replaced by PTX.

A routine of the library keeps line, column and text of the instruction it replaces; an inlined function of the file
keeps its own. A call that is not inlined (`routines`) becomes a ``CALL`` of registers (`ptx.inline`).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence

from ..errors import CompileError
from ..ir.digraph import DiGraph, is_acyclic, topological_order
from ..library import Routine, routine, routine_of
from ..ptx.inline import ENTER, MOST_STATEMENTS, RETURN, Inliner, Statement, callable_signature
from ..ptx.parameter_addresses import resolve_parameter_addresses
from ..ptx.parameters import parameters_to_registers
from ..ptx.syntax import Function, Instruction, Module, Name, Variable

__all__ = ["expand", "routine_program"]

Choice = Callable[[Function, int], str]
"""Name of the routine to call for a function with this number of uses; empty: inline it."""
MOST_OF_ROUTINE = 2000
"""Most statements of a routine with its calls inlined; a longer one is inlined, since it fits no interval."""


def expand(module: Module, function: Function, choose: Choice = lambda function, uses: "") -> Function:
    """Return `function` without calls and without instructions of `library.ROUTINES`, but for calls of routines.

    Raises
    ------
    CompileError
        If a call or its operands are not supported.
    """
    functions = _functions(module)
    uses = _uses(functions, function.statements)
    calls = Inliner(functions.get, module.file, function, MOST_STATEMENTS,
                    lambda callee: choose(callee, uses[callee.name]))
    inlined: list[Statement] = []
    for statement in function.statements:
        if isinstance(statement, Instruction) and statement.base == "call":
            inlined += calls.call(statement)
        else:
            inlined.append(statement)
    return _finished(module, function, inlined, [*function.variables, *calls.variables], choose)


def routine_program(module: Module, function: Function) -> Function | None:
    """Return a program of `function` alone, as a routine: ``ENTER``, its body, ``RETURN``; None if it cannot be one.

    Raises
    ------
    CompileError
        Errors of `expand`, or a length of more than `MOST_OF_ROUTINE`.
    """
    if not callable_signature(function):
        return None
    file = module.file
    found = routine if routine(function.name) is function else _functions(module).get
    calls = Inliner(found, file, Function("func", "", (), {}, (), (), 0), MOST_OF_ROUTINE)
    site = Instruction("", (), None, 0, "")
    arguments, results = (tuple(Name(f"`{letter}{k}") for k in range(len(variables)))
                          for letter, variables in (("a", function.parameters), ("r", function.results)))
    declared = [Variable("reg", variable.type, name.text, 0) for variable, name in
                zip((*function.parameters, *function.results), (*arguments, *results), strict=True)]
    statements = calls.expand(function, results, arguments, site)
    enter, leave = (dataclasses.replace(site, opcode=opcode, operands=operands)
                    for opcode, operands in ((ENTER, arguments), (RETURN, results)))
    program = Function("entry", function.name, (), {}, (), (), function.line)
    return _finished(module, program, [enter, *statements, leave], [*declared, *calls.variables])


def _functions(module: Module) -> dict[str, Function]:
    return {f.name: f for defined in (False, True) for f in module.functions
            if f.kind == "func" and f.defined == defined}


def _uses(functions: dict[str, Function], statements: Sequence[Statement]) -> Counter[str]:
    """Return how often each function would be inlined; in a recursive one, only the calls in `statements` count."""
    def called(body: Sequence[Statement]) -> Counter[str]:
        return Counter(operand.text for s in body if isinstance(s, Instruction) and s.base == "call"
                       for operand in s.operands if isinstance(operand, Name) and operand.text in functions)

    found = called(statements)
    inside = {name: called(function.statements) for name, function in functions.items()}
    graph = DiGraph((a, b) for a, callees in inside.items() for b in callees)
    for name in topological_order(graph) if is_acyclic(graph) else ():
        for callee, count in inside[name].items():
            found[callee] += found[name] * count
    return found


def _finished(module: Module, function: Function, inlined: Sequence[Statement], declared: Sequence[Variable],
              choose: Choice = lambda function, uses: "") -> Function:
    """Return `function` with new statements: ``.param`` variables are registers, and the library has been applied."""
    passed = [v for v in declared if v.space == "param"]
    resolved, copies, local = resolve_parameter_addresses(inlined, function.parameters, passed)
    statements, registers = parameters_to_registers(
        resolved, {v.name: v.size for v in passed if v.name not in local}, module.file)
    uses = Counter(entry.name for s in statements if isinstance(s, Instruction)
                   and (entry := routine_of(s.opcode)) is not None)
    library = Inliner(routine, module.file, Function("func", "", (), {}, (), (), 0), None,
                      lambda callee: choose(callee, uses[callee.name]))
    expanded: list[Statement] = []
    for statement in statements:
        entry = routine_of(statement.opcode) if isinstance(statement, Instruction) else None
        if entry is None or not isinstance(statement, Instruction):
            expanded.append(statement)
        else:
            expanded += _computed(library, entry, statement, module.file)
    return dataclasses.replace(function, statements=tuple(expanded),
                               variables=(*(v for v in declared if v.space != "param"), *copies, *registers,
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
