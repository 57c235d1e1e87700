"""Inlining: the body of a ``.func`` replaces a call, as PTX.

Registers, labels and variables of the body get names of their own. Variables in ``.shared`` keep theirs, since all
calls of the function share them. ``ret`` becomes a branch to its end. Parameters in ``.reg`` are registers to which the
arguments are moved. A parameter in ``.param`` is the variable that the call passes (`parameters` makes registers of
these).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping

from ..errors import CompileError
from .scopes import as_written, of_range
from .syntax import Address, Arguments, Function, Guard, Instruction, Label, Name, Number, Operand, Variable, renamed
from .types import HALF_TYPES

__all__ = ["CALL", "ENTER", "MOST_STATEMENTS", "RETURN", "YIELD", "Inliner", "Statement", "callable_signature",
           "speculatable"]

Statement = Instruction | Label
MOST_STATEMENTS = 100_000
"""Most statements that the calls of a kernel may become: a chain of functions that call twice doubles with each."""
DEEPEST = 64
"""Deepest nesting of calls."""
CALL, ENTER, RETURN = "`call", "`enter", "`return"
"""Opcodes around routines.

A call has the routine's name, then its results and its arguments, all in registers. A routine begins with its arguments
and ends with its results.
"""
YIELD = "`yield"
"""Opcode for a call of `YIELDING`; its operands are the address and the value expected there."""
YIELDING = "caesura_yield"
"""``extern "C" __device__ void caesura_yield(unsigned *address, unsigned expected)``.

The thread block may leave the SM until the word at the address changes (docs/preemption.md, Yield).
"""
_REGISTERS = ("b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64")
ASSERTION = "__assertfail"
"""Function that CUDA's ``assert`` calls; a call of it ends the thread block with a fault."""
_COMPUTES = frozenset((
    "abs add addc and bfe bfi bfind brev clz cnot copysign cos cvt div ex2 fma lg2 lop3 mad mad24 madc max min mov mul "
    "mul24 neg not or popc prmt rcp rem ret rsqrt sad selp set setp shf shl shr sin slct sqrt sub subc testp xor"
).split())


def callable_signature(function: Function) -> bool:
    """Return whether registers can hold each parameter and each result of a function."""
    return all(variable.elements is None and variable.count is None and variable.type in _REGISTERS
               for variable in (*function.parameters, *function.results))


def _yielding(site: Instruction) -> Function:
    """Return `YIELDING` as a function, called at `site`."""
    types = {"address": "b64", "expected": "b32"}
    parameters = tuple(Variable("param", type, name, site.line) for name, type in types.items())
    variables = tuple(Variable("reg", type, f"{name}`", site.line) for name, type in types.items())
    site = dataclasses.replace(site, guard=None)
    loads = tuple(dataclasses.replace(site, opcode=f"ld.param.{v.type}", operands=(Name(v.name), Address(p.name)))
                  for v, p in zip(variables, parameters, strict=True))
    waits = dataclasses.replace(site, opcode=YIELD, operands=tuple(Name(v.name) for v in variables))
    return Function("func", YIELDING, parameters, {}, variables, (*loads, waits), site.line)


def _move(variable: Variable) -> str:
    """Return the opcode that moves a value of a variable's type."""
    bits = HALF_TYPES.get(variable.type)
    return f"mov.{variable.type}" if bits is None else f"mov.b{bits}"


def speculatable(function: Function) -> bool:
    """Return whether a function only computes results in ``.reg``; then lanes without a result may take part."""
    harmless = all(isinstance(s, Instruction) and s.base in _COMPUTES for s in function.statements)
    return harmless and all(s.guard is None for s in function.statements
                            if isinstance(s, Instruction) and s.base == "ret")


class Inliner:
    """Collects the code that replaces calls.

    Parameters
    ----------
    find : callable
        Returns a function by its name; None if there is none.
    file : str
        Name of the source, for messages.
    caller : Function
        Function whose names a body may not use.
    most : int, optional
        Most statements that all calls together may become; more are refused.
    routine : callable
        Returns the name of the routine to call for a function; empty if it is to be inlined.

    Attributes
    ----------
    variables : list of Variable
        Declarations that the inlined statements need.
    """

    def __init__(self, find: Callable[[str], Function | None], file: str, caller: Function,
                 most: int | None = None, routine: Callable[[Function], str] = lambda function: ""):
        self.variables: list[Variable] = []
        own = [*caller.variables, *caller.parameters]
        self._foreign = {v.name for v in own if v.count is None}
        self._foreign |= {s.name for s in caller.statements if isinstance(s, Label)}
        self._passable = {v.name: v for v in caller.variables if v.space == "param"}
        self._foreign_ranges = {v.name: v for v in own if v.count is not None}
        self._find, self._routine = find, routine
        self._file = file
        self._number = 0
        self._open: list[str] = []
        self._left = most
        self._used: dict[str, tuple[Function, dict[str, None]]] = {}

    def fresh(self, name: str) -> str:
        """Return a name that no other piece of code has."""
        self._number += 1
        return f"{name}`{self._number}"

    def call(self, site: Instruction, at_site: bool = False) -> list[Statement]:
        """Return the replacement of a ``call`` instruction; `at_site` is the argument of `expand`.

        Raises
        ------
        CompileError
            If it does not call a function of the file directly, is recursive, or its operands do not match the
            function.
        """
        operands = list(site.operands)

        def arguments_here() -> tuple[Operand, ...]:
            first = operands[0] if operands else None
            if isinstance(first, Arguments):
                del operands[0]
                return first.items
            return ()

        results = tuple(None if x == Name("_") else x for x in arguments_here())
        target = operands.pop(0) if operands else None
        arguments = arguments_here()
        function = self._find(target.text) if isinstance(target, Name) else None
        if isinstance(target, Name) and target.text == ASSERTION and (function is None or not function.defined):
            return [dataclasses.replace(site, opcode="trap", operands=())]
        if isinstance(target, Name) and target.text == YIELDING and (function is None or not function.defined):
            self._check_yield(function, site)
            function = _yielding(site)
        if function is None or operands or not function.defined:
            raise self._error(site, "only calls of functions that the file defines are supported",
                              "call.uni (result), function, (argument)")
        return self.expand(function, results, arguments, site, at_site)

    def _check_yield(self, declared: Function | None, site: Instruction) -> None:
        """Refuse a declaration of `YIELDING` with another signature."""
        if declared is not None and (declared.results or [v.size for v in declared.parameters] != [8, 4]):
            raise self._error(site, f"{YIELDING} is declared with other parameters or with a result",
                              f".extern .func {YIELDING} (.param .b64 address, .param .b32 expected)")

    def expand(self, function: Function, results: tuple[Operand | None, ...], arguments: tuple[Operand, ...],
               site: Instruction, at_site: bool = False,
               move: Callable[[Variable], str] | None = None) -> list[Statement]:
        """Return the body of `function` with its parameters bound.

        Parameters
        ----------
        function : Function
        results, arguments : tuple of Operand
            Operands in the order of the function's parameters; None for a result that is not wanted.
        site : Instruction
            Instruction that it replaces, whose guard holds for all of it.
        at_site : bool
            Whether the statements get line, column and text of `site` instead of their own.
        move : callable, optional
            Returns the opcode that moves a value to or from a parameter.
        """
        move = move or _move
        if function.name in self._open:
            raise self._error(site, f"recursive call of {function.name}", "functions that do not call themselves")
        if self._left is not None:
            self._left -= len(function.statements)
            if self._left < 0:
                raise self._error(site, "inlined, the calls of this kernel are too many instructions",
                                  f"{MOST_STATEMENTS:,}; every call is inlined")
        if len(self._open) >= DEEPEST:
            raise self._error(site, f"call of {function.name} more than {DEEPEST} calls deep",
                              "shallower chains of functions: every call is inlined")
        if len(results) != len(function.results) or len(arguments) != len(function.parameters):
            raise self._error(site, f"{function.name} has {len(function.results)} results and "
                                    f"{len(function.parameters)} parameters")
        routine = self._routine(function)
        if routine:
            return self._called(function, routine, results, arguments, site, move)
        suffix = self.fresh(f"`{function.name}")
        names = self._declare(function, suffix)
        moves_in: list[Instruction] = []
        moves_out: list[Instruction] = []
        for variables, operands, moves in ((function.parameters, arguments, moves_in),
                                           (function.results, results, moves_out)):
            for variable, operand in zip(variables, operands, strict=True):
                if variable.space == "param":
                    moves += self._bind(variable, operand, names, site, moves is moves_out)
                    continue
                own = names[variable.name] = variable.name + suffix
                self.variables.append(Variable("reg", variable.type, own, site.line, column=site.column))
                if operand is not None:
                    pair = (operand, Name(own)) if moves is moves_out else (Name(own), operand)
                    moves.append(dataclasses.replace(site, opcode=move(variable), operands=pair, guard=None))
        for name in self._names_of(function):
            if name not in names and (name in self._foreign or of_range(name, self._foreign_ranges)):
                raise self._error(site, f"{name} is not declared in function {function.name}")
        self._open.append(function.name)
        body = self._body(function, names, suffix, site if at_site else None)
        self._open.pop()
        return self._guarded(function, moves_in, body, moves_out, site)

    def _called(self, function: Function, routine: str, results: tuple[Operand | None, ...],
                arguments: tuple[Operand, ...], site: Instruction, move: Callable[[Variable], str]) -> list[Statement]:
        """Return the call of a routine, with registers for results and arguments, and a branch around for a guard."""
        registers: list[Operand] = []
        before: list[Statement] = []
        after: list[Statement] = []
        for variables, operands, moves in ((function.results, results, after),
                                           (function.parameters, arguments, before)):
            for variable, operand in zip(variables, operands, strict=True):
                own = Name(self.fresh(f"{variable.name}`"))
                registers.append(own)
                self.variables.append(Variable("reg", variable.type, own.text, site.line, column=site.column))
                if operand is None:
                    continue
                opcode = move(variable)
                if variable.space == "param" and isinstance(operand, Name) and operand.text in self._passable:
                    operand = Address(operand.text)
                    opcode = f"{'st' if moves is after else 'ld'}.param.{variable.type}"
                pair = (operand, own) if moves is after else (own, operand)
                moves.append(dataclasses.replace(site, opcode=opcode, operands=pair, guard=None))
        call = dataclasses.replace(site, opcode=CALL, operands=(Name(routine), *registers), guard=None)
        statements = [*before, call, *after]
        return statements if site.guard is None else self._around(statements, site)

    def _around(self, statements: list[Statement], site: Instruction) -> list[Statement]:
        """Return statements with a branch around them for lanes that the guard of `site` disables."""
        assert site.guard is not None
        end = self.fresh("$skip")
        skip = dataclasses.replace(site, opcode="bra", operands=(Name(end),),
                                   guard=Guard(site.guard.name, not site.guard.negated))
        return [skip, *statements, Label(end, site.line, site.column)]

    def _guarded(self, function: Function, moves_in: list[Instruction], body: list[Statement],
                 moves_out: list[Instruction], site: Instruction) -> list[Statement]:
        if site.guard is not None and speculatable(function):
            moves_out = [dataclasses.replace(ins, guard=site.guard) for ins in moves_out]
        elif site.guard is not None:
            return self._around([*moves_in, *body, *moves_out], site)
        return [*moves_in, *body, *moves_out]

    def _declare(self, function: Function, suffix: str) -> dict[str, str]:
        """Declare the function's registers and variables under new names; return those by the old ones."""
        names = {s.name: s.name + suffix for s in function.statements if isinstance(s, Label)}
        ranges = {}
        for variable in function.variables:
            if variable.space == "shared":
                names[variable.name] = f"{variable.name}`{function.name}"
                if all(v.name != names[variable.name] for v in self.variables):
                    self.variables.append(dataclasses.replace(variable, name=names[variable.name]))
            elif variable.count is None:
                names[variable.name] = variable.name + suffix
                if variable.space == "param":
                    self._passable[names[variable.name]] = variable
                self.variables.append(dataclasses.replace(variable, name=variable.name + suffix))
            else:
                ranges[variable.name] = variable
        for name in self._names_of(function) if ranges else ():
            variable = of_range(name, ranges)
            if variable is not None:
                names[name] = name + suffix
                self.variables.append(dataclasses.replace(variable, name=name + suffix, count=None))
        return names

    def _bind(self, variable: Variable, operand: Operand | None, names: dict[str, str], site: Instruction,
              result: bool) -> list[Instruction]:
        """Let a ``.param`` parameter be the caller's variable; return statements that pass a register or a constant."""
        passed = operand.text if isinstance(operand, Name) else ""
        if passed in self._passable:
            wanted, given = variable.size, self._passable[passed].size
            if wanted and given and wanted != given:
                raise self._error(site, f"{passed} has {given} bytes, {variable.name} of the function {wanted}")
            names[variable.name] = passed
            return []
        own = names[variable.name] = self.fresh(variable.name)
        self.variables.append(dataclasses.replace(variable, name=own))
        if operand is None:
            return []
        if variable.elements is not None or not isinstance(operand, (Name, Number)):
            raise self._error(site, f"{variable.name} is in .param, its argument is not",
                              "variables in .param, or registers and constants for a parameter that is no array")
        pair = (operand, Address(own)) if result else (Address(own), operand)
        opcode = f"{'ld' if result else 'st'}.param.{variable.type}"
        return [dataclasses.replace(site, opcode=opcode, operands=pair, guard=None)]

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
                place = site or statement
                result.append(Label(names[statement.name], place.line, place.column))
                continue
            operands = tuple(renamed(x, lambda name: names.get(name, name)) for x in statement.operands)
            opcode, guard = statement.opcode, statement.guard
            if guard is not None:
                guard = Guard(names.get(guard.name, guard.name), guard.negated)
            if statement.base == "ret":
                opcode, operands, used = "bra", (Name(end),), True
            place = site or statement
            made = Instruction(opcode, operands, guard, place.line, place.text, place.column)
            result += self.call(made, site is not None) if made.base == "call" else [made]
        return [*result, Label(end, function.line, function.column)] if used else result

    def _names_of(self, function: Function) -> dict[str, None]:
        """Return the names that the statements of a function use, in order; found once, however often it is called."""
        known = self._used.get(function.name)
        if known is None or known[0] is not function:
            known = self._used[function.name] = function, _names(function.statements)
        return known[1]

    def _error(self, site: Instruction, message: str, supported: str = "") -> CompileError:
        return CompileError.at(site, self._file, as_written(message), supported)


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
                renamed(operand, note)
    return found
