"""Inlining: the body of a ``.func`` in the place of a call, as PTX.

Registers, labels and variables of the body get names of their own. ``ret`` becomes a branch to its end. Parameters in
``.reg`` are registers that the arguments are moved to; parameters in ``.param``, of both sides, are first made
registers themselves (`parameters_to_registers`), one for each offset and width at which they are accessed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping

from ..errors import CompileError
from .syntax import (
    Address,
    Arguments,
    Function,
    Guard,
    Instruction,
    Label,
    Name,
    Negated,
    Operand,
    Pair,
    Variable,
    Vector,
)

__all__ = ["Inliner", "Statement", "parameters_to_registers", "straight", "undefined_parameters"]

Statement = Instruction | Label

_WIDTHS = {f"{letter}{bits}": bits for letter in "bus" for bits in (8, 16, 32, 64)} | {"f32": 32, "f64": 64, "f16": 16}


def _renamed(operand: Operand, rename: Callable[[str], str]) -> Operand:
    if isinstance(operand, Name):
        return Name(rename(operand.text))
    if isinstance(operand, Negated):
        return Negated(rename(operand.name))
    if isinstance(operand, Pair):
        return Pair(rename(operand.first), rename(operand.second))
    if isinstance(operand, Address) and operand.base is not None:
        return Address(rename(operand.base), operand.offset)
    if isinstance(operand, (Vector, Arguments)):
        return dataclasses.replace(operand, items=tuple(_renamed(x, rename) for x in operand.items))
    return operand


def straight(function: Function) -> bool:
    """Whether a function only computes its results: no branch, no store, no call."""
    harmless = all(isinstance(s, Instruction) and s.base not in ("bra", "st", "atom", "red", "bar", "barrier", "call",
                                                                 "exit", "trap") for s in function.statements)
    return harmless and all(s.guard is None for s in function.statements
                            if isinstance(s, Instruction) and s.base == "ret")


class Inliner:
    """Collects what calls become.

    Parameters
    ----------
    find : callable
        Function by name; None if there is none.
    file : str
        For messages.
    caller : Function
        Whose names a body may not use.

    Attributes
    ----------
    variables : list of Variable
        Declarations that the inlined statements need.
    """

    def __init__(self, find: Callable[[str], Function | None], file: str, caller: Function):
        self.variables: list[Variable] = []
        own = [*caller.variables, *caller.parameters]
        self._foreign = {v.name for v in own if v.count is None}
        self._foreign |= {s.name for s in caller.statements if isinstance(s, Label)}
        self._foreign_ranges = {v.name: v for v in own if v.count is not None}
        self._find = find
        self._file = file
        self._number = 0
        self._open: list[str] = []

    def fresh(self, name: str) -> str:
        """Return a name that no other piece of code has."""
        self._number += 1
        return f"{name}${self._number}"

    def call(self, site: Instruction, at_site: bool = False) -> list[Statement]:
        """Return what a ``call`` instruction becomes; `at_site` as in `expand`.

        Raises
        ------
        CompileError
            If it does not call a function of the file directly, or recursively, or with other operands than that has.
        """
        operands = list(site.operands)

        def arguments_here() -> tuple[Operand, ...]:
            first = operands[0] if operands else None
            if isinstance(first, Arguments):
                del operands[0]
                return first.items
            return ()

        results = arguments_here()
        target = operands.pop(0) if operands else None
        arguments = arguments_here()
        function = self._find(target.text) if isinstance(target, Name) else None
        if function is None or operands or not function.defined:
            raise self._error(site, "only calls of functions that the file defines are supported",
                              "call.uni (result), function, (argument)")
        return self.expand(function, results, arguments, site, at_site)

    def expand(self, function: Function, results: tuple[Operand | None, ...], arguments: tuple[Operand, ...],
               site: Instruction, at_site: bool = False,
               move: Callable[[Variable], str] = lambda variable: f"mov.{variable.type}") -> list[Statement]:
        """Return the body of `function` with its parameters bound.

        Parameters
        ----------
        function : Function
        results, arguments : tuple of Operand
            In the order of the function's parameters; None for a result that is not wanted.
        site : Instruction
            In whose place it stands; its guard holds for all of it.
        at_site : bool
            Give the statements line, column and text of `site` instead of their own.
        move : callable
            Opcode that moves a value to or from a parameter.
        """
        if function.name in self._open:
            raise self._error(site, f"recursive call of {function.name}", "functions that do not call themselves")
        if len(results) != len(function.results) or len(arguments) != len(function.parameters):
            raise self._error(site, f"{function.name} has {len(function.results)} results and "
                                    f"{len(function.parameters)} parameters")
        suffix = self.fresh(f"${function.name}")
        names = self._declare(function, suffix)
        moves_in: list[Instruction] = []
        moves_out: list[Instruction] = []
        for variables, operands, moves in ((function.parameters, arguments, moves_in),
                                           (function.results, results, moves_out)):
            for variable, operand in zip(variables, operands, strict=True):
                if variable.space == "param":
                    self._bind(function, variable, operand, names, site)
                    continue
                own = names[variable.name] = variable.name + suffix
                self.variables.append(Variable("reg", variable.type, own, site.line))
                if operand is not None:
                    pair = (operand, Name(own)) if moves is moves_out else (Name(own), operand)
                    moves.append(dataclasses.replace(site, opcode=move(variable), operands=pair, guard=None))
        for name in _names(function.statements):
            if name not in names and (name in self._foreign or _of_range(name, self._foreign_ranges)):
                raise self._error(site, f"{name} is not declared in function {function.name}")
        self._open.append(function.name)
        body = self._body(function, names, suffix, site if at_site else None)
        self._open.pop()
        return self._guarded(function, moves_in, body, moves_out, site)

    def _guarded(self, function: Function, moves_in: list[Instruction], body: list[Statement],
                 moves_out: list[Instruction], site: Instruction) -> list[Statement]:
        if site.guard is not None and straight(function):
            moves_out = [dataclasses.replace(ins, guard=site.guard) for ins in moves_out]
        elif site.guard is not None:
            end = self.fresh("$skip")
            skip = dataclasses.replace(site, opcode="bra", operands=(Name(end),),
                                       guard=Guard(site.guard.name, not site.guard.negated))
            return [skip, *moves_in, *body, *moves_out, Label(end, site.line)]
        return [*moves_in, *body, *moves_out]

    def _declare(self, function: Function, suffix: str) -> dict[str, str]:
        """Declare the function's registers and variables under new names; return those by the old ones."""
        names = {s.name: s.name + suffix for s in function.statements if isinstance(s, Label)}
        ranges = {}
        for variable in function.variables:
            if variable.count is None:
                names[variable.name] = variable.name + suffix
                self.variables.append(dataclasses.replace(variable, name=variable.name + suffix))
            else:
                ranges[variable.name] = variable
        for name in _names(function.statements):
            variable = _of_range(name, ranges)
            if variable is not None:
                names[name] = name + suffix
                self.variables.append(dataclasses.replace(variable, name=name + suffix, count=None))
        return names

    def _bind(self, function: Function, variable: Variable, operand: Operand | None, names: dict[str, str],
              site: Instruction) -> None:
        """Let the registers that stand for a ``.param`` parameter be those of the caller's variable."""
        if not isinstance(operand, Name):
            raise self._error(site, f"{variable.name} is in .param, its argument is not")
        start = f"{variable.name}@"
        for name in _names(function.statements):
            if name.startswith(start):
                names[name] = operand.text + "@" + name[len(start):]
                bits = max(int(name.rsplit("@", 1)[1]), 16)
                self.variables.append(Variable("reg", f"b{bits}", names[name], site.line))

    def _body(self, function: Function, names: Mapping[str, str], suffix: str,
              site: Instruction | None) -> list[Statement]:
        end = f"$end{suffix}"
        statements = list(function.statements)
        while statements and isinstance(last := statements[-1], Instruction) and last.base == "ret" \
                and last.guard is None:
            statements.pop()
        result: list[Statement] = []
        used = False
        for statement in statements:
            if isinstance(statement, Label):
                result.append(Label(names[statement.name], site.line if site else statement.line))
                continue
            operands = tuple(_renamed(x, lambda name: names.get(name, name)) for x in statement.operands)
            opcode, guard = statement.opcode, statement.guard
            if guard is not None:
                guard = Guard(names.get(guard.name, guard.name), guard.negated)
            if statement.base == "ret":
                opcode, operands, used = "bra", (Name(end),), True
            made = dataclasses.replace(statement, opcode=opcode, operands=operands, guard=guard)
            if site is not None:
                made = dataclasses.replace(made, line=site.line, column=site.column, text=site.text)
            result += self.call(made, site is not None) if made.base == "call" else [made]
        return [*result, Label(end, function.line)] if used else result

    def _error(self, site: Instruction, message: str, supported: str = "") -> CompileError:
        return CompileError(message, self._file, site.line, site.text, supported, site.column)


def _names(statements: Iterable[Statement]) -> dict[str, None]:
    """Return the names that statements use, in order."""
    found: dict[str, None] = {}

    def note(name: str) -> str:
        found[name] = None
        return name

    for statement in statements:
        if isinstance(statement, Instruction):
            if statement.guard is not None:
                note(statement.guard.name)
            for operand in statement.operands:
                _renamed(operand, note)
    return found


def _of_range(name: str, ranges: Mapping[str, Variable]) -> Variable | None:
    for at in range(len(name) - 1, 0, -1):
        if not name[at:].isdigit():
            return None
        variable = ranges.get(name[:at])
        if variable is not None and int(name[at:]) < (variable.count or 0):
            return variable
    return None


def parameters_to_registers(function: Function) -> Function:
    """Return a function whose accesses to ``.param`` variables are moves, but for loads of a kernel's own parameters.

    The register that stands for the access at an offset, with a width, is named ``variable@offset@width``.
    """
    local = {v.name for v in function.variables if v.space == "param"}
    if function.kind != "entry":
        local |= {v.name for v in (*function.parameters, *function.results) if v.space == "param"}
    statements: list[Statement] = []
    registers: dict[str, int] = {}
    for statement in function.statements:
        accessed = isinstance(statement, Instruction) and _accessed(statement, local)
        if not accessed:
            statements.append(statement)
            continue
        assert isinstance(statement, Instruction)
        address, data = accessed
        type = statement.modifiers[-1]
        bits = max(_WIDTHS[type], 16)
        for k, item in enumerate(data.items if isinstance(data, Vector) else (data,)):
            name = f"{address.base}@{address.offset + k * _WIDTHS[type] // 8}@{_WIDTHS[type]}"
            registers[name] = bits
            pair = (Name(name), item) if statement.base == "st" else (item, Name(name))
            opcode = f"mov.{type}" if _WIDTHS[type] == bits else f"mov.b{bits}"
            statements.append(dataclasses.replace(statement, opcode=opcode, operands=pair))
    declared = tuple(Variable("reg", f"b{bits}", name, function.line) for name, bits in registers.items())
    return dataclasses.replace(function, statements=tuple(statements),
                               variables=(*(v for v in function.variables if v.space != "param"), *declared))


def _accessed(statement: Instruction, local: set[str]) -> tuple[Address, Operand] | None:
    """Return address and data of an access to one of the ``.param`` variables `local`, None if it is none."""
    if statement.base not in ("ld", "st") or "param" not in statement.modifiers or len(statement.operands) != 2:
        return None
    data, address = statement.operands if statement.base == "ld" else statement.operands[::-1]
    known = isinstance(address, Address) and address.base in local and statement.modifiers[-1] in _WIDTHS
    return (address, data) if known else None  # pyright: ignore[reportReturnType]


def undefined_parameters(statements: Iterable[Statement]) -> set[str]:
    """Return the registers of `parameters_to_registers` that are read and never written."""
    written, read = set(), set()
    for statement in statements:
        if isinstance(statement, Instruction) and statement.base == "mov" and len(statement.operands) == 2:
            d, a = statement.operands
            written |= {d.text} if isinstance(d, Name) else set()
            read |= {a.text} if isinstance(a, Name) and "@" in a.text else set()
    return read - written
