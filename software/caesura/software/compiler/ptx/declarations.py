"""Actions of the grammar for declarations: registers, parameters, variables and their initial values."""

from __future__ import annotations

import dataclasses

import lark

from ..errors import CompileError
from .operands import OperandActions
from .syntax import AddressOf, Variable

__all__ = ["DeclarationActions"]


class DeclarationActions(OperandActions):
    """Builds variables."""

    def range(self, children):
        """``<8>`` behind the prefix of registers: how many there are."""
        return ("range", self._integer(children[0]))

    def dimension(self, children):
        """``[8]`` behind a name; 0 for ``[]``."""
        return ("dimension", self._integer(children[0]) if children[0] is not None else 0)

    def declarator(self, children):
        """``a[4][8]``: name, count of a range or None, and elements of all dimensions or None."""
        name, count, *dimensions = children
        elements = None
        for _, size in dimensions:
            elements = size if elements is None else elements * size
        return ("declarator", str(name), count[1] if count else None, elements)

    def modifier(self, children):
        """``.align 4``, ``.u32``: a word and its number or None."""
        word, number = children
        return ("modifier", str(word)[1:], self._integer(number) if number is not None else None)

    def property(self, children):
        """``.attribute(.managed)``, of which nothing is used."""
        return ("modifier", "attribute", None)

    @lark.v_args(meta=True)
    def parameter(self, meta, children):
        """``.param .u64 a``: a `Variable`."""
        return self._variables(meta, children)[0]

    @lark.v_args(meta=True)
    def variable(self, meta, children):
        """``.reg .b32 %r<4>, %s<2>;``: a `Variable` for each name."""
        return ("variables", self._variables(meta, children))

    def _variables(self, meta, children) -> list[Variable]:
        flat = [child for child in children if child is not None]
        linkage = [str(x) for x in flat if isinstance(x, lark.Token) and x.type == "LINKAGE"]
        space = next(str(x)[1:] for x in flat if isinstance(x, lark.Token) and x.type == "DIRECTIVE")
        tuples = [x for x in flat if isinstance(x, tuple)]
        declarators = [x for x in tuples if x[0] == "declarator"]
        kind, align = self._modifiers(meta, [x[1:] for x in tuples if x[0] == "modifier"])
        if any(size < 0 for x in declarators for size in x[2:] if size is not None):
            raise self._refused(meta, "a size must not be negative")
        initialized = any(x[0] == "initializer" for x in tuples)
        initial = self._initial(tuples, declarators[-1], meta)
        return [Variable(space, kind, name, meta.line, count, elements, align, ".extern" in linkage, initialized,
                         self._source(meta), initial if k == len(declarators) - 1 else (), meta.column)
                for k, (_, name, count, elements) in enumerate(declarators)]

    def _modifiers(self, meta, modifiers: list[tuple[str, int | None]]) -> tuple[str, int]:
        """Return type and alignment that the words of a declaration give."""
        kind, align = "", 0
        for word, number in modifiers:
            if (word == "align") != (number is not None):
                raise self._refused(meta, ".align needs a number" if number is None else
                                    f"the number {number} after .{word}")
            if number is not None and (number < 0 or number & number - 1):
                raise self._refused(meta, "an alignment is a power of two")
            align = align or number or 0
            if not kind and word not in ("align", "ptr", "attribute"):
                kind = word
        return kind, align

    def _refused(self, meta, message: str, supported: str = "") -> CompileError:
        return CompileError(message, self._file, meta.line, self._source(meta), supported, meta.column)

    # Initial values

    @lark.v_args(meta=True)
    def address_of(self, meta, children):
        """``table+4`` as an initial value: an `AddressOf`."""
        name, offset = children[0], children[-1] if len(children) > 1 else None
        return AddressOf(str(name), self._displacement(meta, name, offset), text=self._source(meta))

    @lark.v_args(meta=True)
    def generic_address(self, meta, children):
        """``generic(table)+4`` as an initial value: an `AddressOf` in the generic space; refuses other operators."""
        word, name, offset = children[0], children[1], children[-1] if len(children) > 2 else None
        if word != "generic":
            raise self._refused(meta, f"{word} is no operator of addresses", "generic(name)")
        return AddressOf(str(name), self._displacement(meta, name, offset), True, text=self._source(meta))

    @lark.v_args(meta=True)
    def masked_address(self, meta, children):
        """``0xff00(table)`` as an initial value: the `AddressOf` with the bits that are wanted."""
        mask, address = children
        return dataclasses.replace(address, mask=self._integer(mask), text=self._source(meta))

    def initializer(self, children):
        """``{1, {2, 3}}``: the values, nested as they are written."""
        return ("initializer", tuple(x for x in children if x is not None))

    def _initial(self, tuples, declarator, meta) -> tuple:
        """Return the initial values of the last variable declared, flat; rows of several dimensions must be full."""
        whole = next((x for x in tuples if x[0] == "initializer"), ("", ()))
        room = 1 if declarator[3] is None else declarator[3]

        def flat(node):
            return [x for child in node[1] for x in (flat(child) if isinstance(child, tuple) else [child])]

        values = flat(whole)
        rows = any(isinstance(child, tuple) and (not child[1] or isinstance(child[1][0], tuple)) for child in whole[1])
        if room and (len(values) > room or (rows and len(values) != room)):
            raise self._refused(meta, f"{len(values)} initial values where {room} belong")
        return tuple(x if isinstance(x, AddressOf) else self._literal(x) for x in values)
