"""Addresses of parameters: ``mov.b64 %rd1, parameter``, and accesses through them (PTX ISA 5.1.6, 9.7.9.5).

Parameters have no addresses in the machine. A register *points* to a parameter if

1. its only definition is a ``mov`` of the parameter's address, or
2. its only definition adds a constant to a register that points to one, or moves it.

An access through such a register is an access to the parameter itself. A parameter whose address has another use (an
addition to a register, a store, a generic address) gets a copy in local memory, made when the kernel begins. A
``.param`` variable of a call is there from the start. Every other access in ``.param`` through a register then is an
access to ``.local``.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from .inline import CALL
from .syntax import Address, AddressOf, Instruction, Label, Name, Number, Operand, Pair, Variable, Vector, renamed

__all__ = ["resolve_parameter_addresses"]

Statement = Instruction | Label


def resolve_parameter_addresses(statements: Sequence[Statement], own: Sequence[Variable], passed: Sequence[Variable]
                                ) -> tuple[list[Statement], list[Variable], set[str]]:
    """Return statements without parameters' addresses, the variables they need, and the local ones of `passed`.

    Parameters
    ----------
    statements : sequence of Instruction or Label
    own : sequence of Variable
        Parameters of the kernel, which it can only read.
    passed : sequence of Variable
        ``.param`` variables of calls.
    """
    variables = {v.name: v for v in (*own, *passed)}
    if not any(_taken(s, variables) for s in statements):
        return list(statements), [], set()
    pointers = _pointers(statements, variables)
    escaping = {pointers[name][0] for s in statements for name in _read(s, pointers) if name in pointers}
    escaping |= {place[0] for s in statements if (place := _taken(s, variables)) and not _points(s, pointers)}
    local = {v.name for v in passed if v.name in escaping}
    copies = {v.name: f"{v.name}`copy" if v.name not in local else v.name for v in variables.values()
              if v.name in escaping}
    result: list[Statement] = [s for v in own if v.name in escaping for s in _copy(v, copies[v.name])]
    for statement in statements:
        if isinstance(statement, Instruction):
            place = _taken(statement, variables)
            if _points(statement, pointers) and (place or pointers[_dest(statement)])[0] not in escaping:
                continue
            if place is not None and place[0] in copies:
                statement = _with(statement, statement.operands[0], AddressOf(copies[place[0]], place[1]))
            elif "param" in statement.modifiers:
                statement = _access(statement, pointers, local, variables)
        result.append(statement)
    temporaries = [Variable("reg", "b32", f"{copies[v.name]}`{k}", v.line, column=v.column) for v in own
                   if v.name in escaping for k in range(4)]
    return result, [*(_in_local(variables[name], copy) for name, copy in copies.items()), *temporaries], local


def _in_local(variable: Variable, name: str) -> Variable:
    return Variable("local", "b8", name, variable.line, None, variable.size, max(variable.align, 8),
                    text=variable.text, column=variable.column)


def _copy(variable: Variable, name: str) -> Iterator[Statement]:
    """Yield loads of a parameter and stores to its copy."""
    offset = 0
    while offset < variable.size:
        size = next(n for n in (4, 2, 1) if offset % n == 0 and offset + n <= variable.size)
        temporary = Name(f"{name}`{offset // 4 % 4}")
        for base, operands in (("ld.param", (temporary, Address(variable.name, offset))),
                               ("st.local", (Address(name, offset), temporary))):
            yield Instruction(f"{base}.u{8 * size}", operands, None, variable.line, variable.text, variable.column)
        offset += size


def _taken(statement: Statement, variables: Mapping[str, Variable]) -> tuple[str, int] | None:
    """Return the parameter whose address a ``mov`` takes, and the offset."""
    if not isinstance(statement, Instruction) or statement.base != "mov" or len(statement.operands) != 2:
        return None
    source = statement.operands[1]
    if isinstance(source, Name) and source.text in variables:
        return source.text, 0
    return (source.name, source.offset) if isinstance(source, AddressOf) and source.name in variables else None


def _names(operand: Operand) -> list[str]:
    found: list[str] = []
    renamed(operand, lambda name: found.append(name) or name)
    return found


def _dest(statement: Instruction) -> str:
    first = statement.operands[0] if statement.operands else None
    return first.text if isinstance(first, Name) else ""


def _definitions(statements: Sequence[Statement]) -> Counter[str]:
    """Return how often each register may be written."""
    found: Counter[str] = Counter()
    for statement in statements:
        if isinstance(statement, Instruction) and statement.operands:
            written = statement.operands if statement.opcode == CALL else statement.operands[:1]
            found.update(name for x in written if isinstance(x, (Name, Pair, Vector)) for name in _names(x))
    return found


def _pointers(statements: Sequence[Statement], variables: Mapping[str, Variable]) -> dict[str, tuple[str, int]]:
    """Return the registers that point to parameters, in the order of statements: parameter and offset of each."""
    written, found = _definitions(statements), {}
    for statement in statements:
        if not isinstance(statement, Instruction) or written[_dest(statement)] != 1:
            continue
        place = _taken(statement, variables)
        sources = statement.operands[1:]
        first = found.get(sources[0].text) if sources and isinstance(sources[0], Name) else None
        if place is None and first is not None and statement.base == "mov" and len(sources) == 1:
            place = first
        elif place is None and first is not None and statement.base == "add" and len(sources) == 2 \
                and isinstance(sources[1], Number) and sources[1].value is not None:
            place = first[0], first[1] + sources[1].value
        if place is not None:
            found[_dest(statement)] = place
    return found


def _points(statement: Statement, pointers: Mapping[str, object]) -> bool:
    """Whether a statement is the definition of a pointer."""
    return isinstance(statement, Instruction) and _dest(statement) in pointers


def _read(statement: Statement, pointers: Mapping[str, object]) -> Iterator[str]:
    """Yield the names that a statement uses in other ways than as a pointer's definition or an address."""
    if not isinstance(statement, Instruction) or _points(statement, pointers):
        return
    for operand in statement.operands:
        if not (isinstance(operand, Address) and "param" in statement.modifiers):
            yield from _names(operand)


def _with(statement: Instruction, *operands: Operand) -> Instruction:
    return Instruction(statement.opcode, operands, statement.guard, statement.line, statement.text, statement.column)


def _access(statement: Instruction, pointers: Mapping[str, tuple[str, int]], local: set[str],
            variables: Mapping[str, Variable]) -> Instruction:
    """Return an access, or a conversion, with its parameter, or in local memory."""
    def resolved(operand: Operand) -> Operand:
        if isinstance(operand, Address) and (operand.base or "") in pointers:
            name, offset = pointers[operand.base or ""]
            return Address(name, offset + operand.offset)
        return operand

    made = _with(statement, *(resolved(x) for x in statement.operands))
    bases = [x.base for x in made.operands if isinstance(x, Address)]
    if made.base == "cvta" or any(base not in variables or base in local for base in bases):
        kept = ["local" if m == "param" else m for m in made.modifiers]
        made = dataclasses.replace(made, opcode=".".join((made.base, *kept)))
    return made
