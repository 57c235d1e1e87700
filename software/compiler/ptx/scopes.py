"""Scopes of a function body: declarations of an inner ``{ }`` are its own (PTX ISA 4.4, 5.1.1).

A body is flattened to one list of declarations and one of statements. A register, variable or label of an inner scope
gets another name, and so does one whose name the module or a parameter has. The new name ``name'n`` is no legal PTX
name.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping

from ..errors import CompileError
from .syntax import Guard, Instruction, Label, Variable, renamed

__all__ = ["Scope", "Item", "Flattener", "as_written", "of_range"]


_DIGITS = 20
"""Most digits of a register's number: there are 64 bits of them."""


class Scope(list["Item"]):
    """Items of a ``{ }`` in order."""


Item = Instruction | Label | Variable | Scope


def as_written(text: str) -> str:
    """Return a message with the names of the PTX, without the suffixes of scopes and inlining (`inline`)."""
    return re.sub(r"'\d+'?|`[\w$%.]+", "", text)


def of_range(name: str, ranges: Mapping[str, Variable]) -> Variable | None:
    """Return the declaration ``prefix<count>`` among `ranges` (by prefix) that gives `name`; None if none does."""
    prefix = _prefix(name, ranges)
    return None if prefix is None else ranges[prefix]


def _prefix(name: str, ranges: Mapping[str, Variable]) -> str | None:
    for at in range(len(name) - 1, max(len(name) - _DIGITS - 1, 0), -1):
        if not name[at:].isdigit():
            return None
        variable = ranges.get(name[:at])
        if variable is not None and int(name[at:]) < (variable.count or 0):
            return name[:at]
    return None


class Flattener:
    """Flattens the body of one function.

    Parameters
    ----------
    file : str
        Name of the source, for messages.
    taken : iterable of str
        Names of the module and of the function's parameters.

    Attributes
    ----------
    variables : list of Variable
    statements : list of Instruction or Label
    """

    def __init__(self, file: str, taken: Iterable[str]):
        self.variables: list[Variable] = []
        self.statements: list[Instruction | Label] = []
        self._file = file
        self._single = set(taken)
        self._ranges: dict[str, Variable] = {}
        self._number = 0

    def flatten(self, scope: Scope) -> None:
        """Collect a scope and those in it.

        Raises
        ------
        CompileError
            If a scope declares a name twice.
        """
        self._flatten(scope, [])

    def _flatten(self, scope: Scope, outer: list[_Names]) -> None:
        names = _Names(bool(outer))
        chain = [names, *outer]
        for item in scope:
            if isinstance(item, Label) and item.name not in names.single:
                names.add(item.name, self._fresh(item.name, names.inner))
        for item in scope:
            if isinstance(item, Variable):
                self._declare(item, names)
            elif isinstance(item, Scope):
                self._flatten(item, chain)
            elif isinstance(item, Label):
                self.statements.append(dataclasses.replace(item, name=names.single[item.name]))
            else:
                self.statements.append(self._renamed(item, chain))

    def _declare(self, variable: Variable, names: _Names) -> None:
        if variable.name in (names.single if variable.count is None else names.ranges):
            raise CompileError.at(variable, self._file, f"{variable.name} is declared twice")
        own = dataclasses.replace(variable, name=self._fresh(variable.name, names.inner, variable.count))
        self.variables.append(own)
        if variable.count is None:
            names.add(variable.name, own.name)
        else:
            names.add_range(variable.name, own)
            self._ranges[own.name] = own

    def _fresh(self, name: str, inner: bool, count: int | None = None) -> str:
        """Return the name, or another one if it is of an inner scope, or if it or a name of its range is taken."""
        if count is None:
            clash = name in self._single or of_range(name, self._ranges) is not None
        else:
            span = {name: Variable("reg", "", name, 0, count)}
            clash = any(_alike(name, prefix) for prefix in self._ranges) \
                or any(of_range(other, span) for other in self._single)
        if inner or clash:
            self._number += 1
            name = f"{name}'{self._number}" + ("" if count is None else "'")
        if count is None:
            self._single.add(name)
        return name

    def _renamed(self, item: Instruction, chain: list[_Names]) -> Instruction:
        if not any(names.changed for names in chain):
            return item

        def rename(name: str) -> str:
            for names in chain:
                found = names.find(name)
                if found is not None:
                    return found
            return name

        guard = item.guard and Guard(rename(item.guard.name), item.guard.negated)
        operands = tuple(renamed(operand, rename) for operand in item.operands)
        return dataclasses.replace(item, guard=guard, operands=operands)


def _alike(first: str, second: str) -> bool:
    """Return whether two prefixes of register ranges may give the same name."""
    short, long = sorted((first, second), key=len)
    return long.startswith(short) and (long == short or long[len(short):].isdigit())


class _Names:
    """The declarations of one scope: names and register ranges, to their names in the function.

    Attributes
    ----------
    inner : bool
        Whether it is in another scope of the function.
    single : dict of str to str
    ranges : dict of str to Variable
    changed : bool
        Whether any of them has another name than its declaration.
    """

    def __init__(self, inner: bool):
        self.inner = inner
        self.single: dict[str, str] = {}
        self.ranges: dict[str, Variable] = {}
        self.changed = False

    def add(self, name: str, own: str) -> None:
        """Declare a name."""
        self.single[name] = own
        self.changed |= own != name

    def add_range(self, prefix: str, own: Variable) -> None:
        """Declare a range of registers."""
        self.ranges[prefix] = own
        self.changed |= own.name != prefix

    def find(self, name: str) -> str | None:
        """Return the new name of a name; None if the scope does not declare it."""
        if name in self.single:
            return self.single[name]
        prefix = _prefix(name, self.ranges)
        return None if prefix is None else self.ranges[prefix].name + name[len(prefix):]
