"""Actions of the grammar for declarations: registers, parameters, variables and their initial values."""

from __future__ import annotations

import dataclasses
import math

import lark

from ..errors import CompileError
from .operands import OperandActions
from .syntax import AddressOf, Number, Variable

__all__ = ["DeclarationActions"]

_ZERO = Number("0", 0, 0, 0)


class DeclarationActions(OperandActions):
    """Builds variables."""

    def range(self, children):
        """``<8>`` behind the prefix of registers: their number."""
        return ("range", self._integer(children[0]))

    def dimension(self, children):
        """``[8]`` behind a name; 0 for ``[]``."""
        return ("dimension", self._integer(children[0]) if children[0] is not None else 0)

    def declarator(self, children):
        """``a[4][8]``: name, count of a range or None, and the sizes of all dimensions."""
        name, count, *dimensions = children
        return ("declarator", str(name), count[1] if count else None, tuple(size for _, size in dimensions))

    def modifier(self, children):
        """``.align 4``, ``.u32``: a word and its number or None."""
        word, number = children
        return ("modifier", str(word)[1:], self._integer(number) if number is not None else None)

    def property(self, children):
        """``.attribute(.managed)``, which is ignored."""
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
        kind, align, lanes = self._modifiers(meta, [x[1:] for x in tuples if x[0] == "modifier"], space != "reg")
        if space == "tex":  # PTX before 1.5
            space, kind = "global", "texref"
        if any(size < 0 for x in declarators for size in (x[2] or 0, *x[3])):
            raise self._refused(meta, "a size must not be negative")
        initializer = next((x[1] for x in tuples if x[0] == "initializer"), None)
        *_, (_, _, _, last) = declarators
        initial = () if initializer is None else self._initial(initializer, (*last, *(lanes,) * (lanes > 1)), meta)
        return [Variable(space, kind, name, meta.line, count, math.prod(sizes) if sizes else None, align,
                         ".extern" in linkage, initializer is not None, self._source(meta),
                         initial if k == len(declarators) - 1 else (), meta.column, lanes)
                for k, (_, name, count, sizes) in enumerate(declarators)]

    def _modifiers(self, meta, modifiers: list[tuple[str, int | None]], vectors: bool) -> tuple[str, int, int]:
        """Return type, alignment and scalars per element from the words of a declaration."""
        kind, align, lanes = "", 0, 1
        for word, number in modifiers:
            if (word == "align") != (number is not None):
                raise self._refused(meta, ".align needs a number" if number is None else
                                    f"the number {number} after .{word}")
            if number is not None and (number < 0 or number & number - 1):
                raise self._refused(meta, "an alignment is a power of two")
            align = align or number or 0
            if vectors and not kind and word in ("v2", "v4"):
                lanes = int(word[1])
            elif not kind and word not in ("align", "ptr", "attribute"):
                kind = word
        return kind, align, lanes

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
        """``0xff00(table)`` as an initial value: the `AddressOf` with the requested bits."""
        mask, address = children
        return dataclasses.replace(address, mask=self._integer(mask), text=self._source(meta))

    def initializer(self, children):
        """``{1, {2, 3}}``: the values, nested as they are written."""
        return ("initializer", tuple(x[1] if isinstance(x, tuple) else x for x in children if x is not None))

    def _initial(self, values: tuple, sizes: tuple[int, ...], meta) -> tuple:
        """Return initial values in memory order; a row with too few values is filled with zeros if another follows.

        Parameters
        ----------
        values : tuple
            One value, or the contents of braces: further tuples.
        sizes : tuple of int
            Sizes of the dimensions, the outermost first; only this one may be open (0).
        """
        braces = not values or isinstance(values[0], tuple)
        if not sizes:
            if not braces:
                return tuple(x if isinstance(x, AddressOf) else self._literal(x) for x in values)
            sizes = (1,)  # braces around one value
        size, *inner = sizes
        if braces and inner and values and not isinstance(next(iter(values[0]), ()), tuple):
            return self._initial(values, (math.prod(sizes),), meta)  # all values in one pair of braces
        if not braces or size and len(values) > size:
            raise self._refused(meta, f"{len(values)} initial values where {size} belong" if braces else
                                "the initial values of an array stand in braces")
        step = math.prod(inner)
        flat: list[Number | AddressOf] = []
        for k, value in enumerate(values):
            flat += [_ZERO] * (k * step - len(flat))
            flat += self._initial(value, tuple(inner), meta)
        return tuple(flat)
