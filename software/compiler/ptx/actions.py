"""Actions of the grammar for statements, functions and the module."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import lark

from ..errors import CompileError
from .declarations import DeclarationActions
from .plain import PlainReader
from .scopes import Flattener, Scope
from .syntax import Address, AddressOf, Element, Function, Instruction, Label, Module, Name, renamed

__all__ = ["Actions"]


class Actions(DeclarationActions):
    """Builds the tree of `syntax` from lark's; `lark.exceptions.VisitError` holds the `CompileError` of a refusal."""

    def __init__(self, text: str, file: str):
        super().__init__(text, file)
        self._plain = PlainReader()

    # Statements

    @lark.v_args(meta=True)
    def instruction(self, meta, children):
        """``@%p1 add.u32 %r1, %r2, 4;``: an `Instruction`."""
        guard, opcode, *operands = children
        return Instruction(str(opcode), tuple(x for x in operands if x is not None), guard, opcode.line,
                           self._source(meta), opcode.column)

    @lark.v_args(meta=True)
    def targets(self, meta, children):
        """``.branchtargets $L1, $L2;``: an `Instruction` too, since ``brx.idx`` reads it."""
        names = tuple(Name(str(child)) for child in children[1:])
        return Instruction("branchtargets", names, None, meta.line, self._source(meta), meta.column)

    @lark.v_args(meta=True)
    def label(self, meta, children):
        """``$L1:``: a `Label`."""
        return Label(str(children[0]), meta.line, meta.column)

    def body(self, children):
        """``{ ... }``: a `Scope`, flat but for the scopes in it."""
        flat = Scope()
        for child in children:
            if isinstance(child, lark.Token):
                flat.extend(self._plain.read(str(child), child.line or 0, child.column or 0))
            elif isinstance(child, tuple):
                flat += child[1]
            else:
                flat.append(child)
        return flat

    # Module

    def version(self, children):
        """``.version 8.0``."""
        return ("version", str(children[0]))

    def target(self, children):
        """``.target sm_75, debug``."""
        return ("target", ",".join(map(str, children)))

    def address_size(self, children):
        """``.address_size 64``; refuses other numbers of bits than 32 and 64."""
        size, = children
        bits = self._integer(size)
        if bits not in (32, 64):
            raise self._wrong(size, f"addresses of {bits} bits", "32 and 64")
        return ("address_size", bits)

    def parameters(self, children):
        """``(.param .u64 a, .param .u32 n)`` before or behind a function's name: `Variable` objects."""
        return ("parameters", tuple(x for x in children if x is not None))

    def attribute(self, children):
        """``.maxntid 256, 1, 1``: word and numbers; refuses block sizes of more than three."""
        word, *numbers = children
        values = tuple(self._integer(x) for x in numbers if x is not None)
        if str(word) in (".maxntid", ".reqntid") and not 1 <= len(values) <= 3:
            raise self._wrong(word, f"{len(values)} numbers after {word}", "one to three")
        return ("attribute", str(word)[1:], values)

    def function(self, children):
        """``.visible .entry name(...) { ... }``: a `Function` without its body, and the body's `Scope`."""
        tokens = [x for x in children if isinstance(x, lark.Token)]
        kind = next(x for x in tokens if x.type == "KIND")
        name = next(x for x in tokens if x.type == "WORD")
        named = [x for x in children if isinstance(x, tuple)]
        bodies = [x for x in children if isinstance(x, Scope)]
        place = next(k for k, x in enumerate(children) if isinstance(x, lark.Token) and x.type == "WORD")
        results, parameters = (next((x[1] for x in part if isinstance(x, tuple) and x[0] == "parameters"), ())
                               for part in (children[:place], children[place:]))
        self.check_names([*results, *parameters])
        function = Function(str(kind)[1:], str(name), parameters,
                            {x[1]: x[2] for x in named if x[0] == "attribute"}, (), (), kind.line or 0, bool(bodies),
                            results, kind.column or 0)
        return ("function", function, *bodies)

    def check_names(self, variables):
        """Refuse a name declared twice."""
        seen = set()
        for variable in variables:
            if variable.name in seen:
                raise CompileError.at(variable, self._file, f"{variable.name} is declared twice")
            seen.add(variable.name)

    def _check_functions(self, functions, variables):
        """Refuse a kernel or a function that is defined twice, or named as one of the other kind or a variable is."""
        kinds, defined = {}, set()
        for function in functions:
            other = kinds.setdefault(function.name, function.kind) != function.kind
            if other or function.name in variables or function.defined and function.name in defined:
                what = "kernel " if function.kind == "entry" else ""
                raise CompileError(f"{what}{function.name} is defined twice", self._file, function.line,
                                   column=function.column)
            if function.defined:
                defined.add(function.name)

    def _flattened(self, function, bodies, taken, hoisted, sizes):
        """Return a function with its body; add its ``.global`` and ``.const`` variables to `hoisted`.

        `sizes` holds the bytes of an element of each variable of the module.
        """
        flat = Flattener(self._file, taken | {v.name for v in (*function.parameters, *function.results)})
        for body in bodies:
            flat.flatten(body)
        sizes = sizes | {v.name: v.element_bytes for v in (*function.parameters, *function.results, *flat.variables)}
        statements = [self._addressed(s, sizes) for s in flat.statements]
        own = {v.name: f"{function.name}::{v.name}" for v in flat.variables if v.space in ("global", "const")}
        hoisted += [dataclasses.replace(v, name=own[v.name]) for v in flat.variables if v.name in own]
        statements = [dataclasses.replace(s, operands=tuple(renamed(x, lambda name: own.get(name, name))
                                                            for x in s.operands))
                      if own and isinstance(s, Instruction) else s for s in statements]
        return dataclasses.replace(function, variables=tuple(v for v in flat.variables if v.name not in own),
                                   statements=tuple(statements))

    def _addressed(self, statement, sizes: Mapping[str, int]):
        """Return a statement with addresses in place of elements, as a value in a ``mov``, else as memory."""
        if not isinstance(statement, Instruction) or not any(isinstance(x, Element) for x in statement.operands):
            return statement
        operands = []
        for operand in statement.operands:
            if isinstance(operand, Element):
                if not sizes.get(operand.name):
                    raise CompileError.at(statement, self._file, f"{operand.name} is no array")
                offset = operand.index * sizes[operand.name]
                operand = AddressOf(operand.name, offset) if statement.base == "mov" else Address(operand.name, offset)
            operands.append(operand)
        return dataclasses.replace(statement, operands=tuple(operands))

    def alias(self, children):
        """``.alias other, name;``: the names."""
        return ("alias", str(children[0]), str(children[1]), children[0])

    def _aliased(self, functions: list[Function], aliases) -> list[Function]:
        """Return functions, with those that ``.alias`` gives other names (PTX ISA 11.6.6)."""
        for _, other, name, token in aliases:
            known = next((f for f in functions if f.name == name and f.kind == "func" and f.defined), None)
            if known is None or any(f.name == other and (f.kind == "entry" or f.defined) for f in functions):
                raise self._wrong(token, f".alias {other}, {name} names no function of the file", ".alias other, name: "
                                  "other declared, name defined")
            functions = [*(f for f in functions if f.name != other), dataclasses.replace(known, name=other)]
        return functions

    def start(self, children):
        """The whole file: a `Module`, its functions flattened; refuses what is defined twice."""
        facts = {x[0]: x[1] for x in children if isinstance(x, tuple) and x[0] in ("version", "target", "address_size")}
        variables = [v for x in children if isinstance(x, tuple) and x[0] == "variables" for v in x[1]]
        parts = [x for x in children if isinstance(x, tuple) and x[0] == "function"]
        taken = {v.name for v in variables} | {part[1].name for part in parts}
        self._check_functions([part[1] for part in parts], {v.name for v in variables})
        sizes = {v.name: v.element_bytes for v in variables}
        functions = [self._flattened(function, bodies, taken, variables, sizes) for _, function, *bodies in parts]
        functions = self._aliased(functions, [x for x in children if isinstance(x, tuple) and x[0] == "alias"])
        return Module(self._file, facts.get("version", ""), facts.get("target", ""),
                      facts.get("address_size", 64), tuple(variables), tuple(functions))
