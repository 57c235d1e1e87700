"""Syntax tree of a PTX module, as written, with line and column of each part."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .lines import LineTable
from .types import DECLARED_WIDTHS

__all__ = ["Name", "Number", "Negated", "Part", "Pair", "Address", "AddressOf", "Element", "Texel", "Vector",
           "Arguments", "Operand", "Guard", "Instruction", "Label", "Variable", "Function", "Module", "left_out",
           "named", "opcode_parts", "renamed"]


@dataclass(slots=True, unsafe_hash=True)
class Name:
    """A register, symbol, label or special register; like `Instruction`, not frozen."""

    text: str


@dataclass(frozen=True, slots=True)
class Number:
    """A literal.

    Attributes
    ----------
    text : str
    value : int or None
        Signed integer; None for a floating-point literal.
    single, double : int or None
        Bit patterns as f32 and as f64 of a floating-point literal (PTX ISA 4.5.2: decimal ones are f64 first); None for
        an integer.
    exact : int
        Number of bits, if given as the bits of an f32 (``0f3F800000``) or an f64 (``0d3FF0000000000000``), else 0.
    """

    text: str
    value: int | None
    single: int | None = None
    double: int | None = None
    exact: int = 0


@dataclass(frozen=True, slots=True)
class Negated:
    """``!%p1`` as an operand."""

    name: str


@dataclass(frozen=True, slots=True)
class Part:
    """``%r1.b0``, ``-%r1.h1``, ``-%r1``: bytes or half-words of a register, or its negative (video instructions)."""

    name: str
    selector: str = ""
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """``%p1|%p2`` as a destination."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Address:
    """``[base + offset]``; no base when the address is a number."""

    base: str | None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """``{a, b, ...}``."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Arguments:
    """``(a, b, ...)`` of a call."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Texel:
    """``[texture, {coordinate, ...}]``."""

    texture: str
    coordinates: Operand


@dataclass(frozen=True, slots=True)
class AddressOf:
    """An address, ``name + offset``; as an initial value also ``generic(name)``, ``mask(...)``.

    Attributes
    ----------
    name : str
    offset : int
    generic : bool
        Whether it is in the generic space, rather than in the variable's.
    mask : int or None
        Requested bits of the address, moved down to bit 0 (PTX ISA 5.4.5).
    text : str
        Text as written.
    """

    name: str
    offset: int = 0
    generic: bool = False
    mask: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Element:
    """``name[index]``: an element of an array, as an address (PTX ISA 6.4.2)."""

    name: str
    index: int


Operand = Name | Number | Negated | Part | Pair | Address | AddressOf | Element | Texel | Vector | Arguments


_SELECTED = re.compile(r"([%$\w]+)\.(b[0-7]{1,4}|h[0-3]{1,2})", re.ASCII)


def named(text: str) -> Name | Part:
    """Return the operand that a word stands for: a name, or parts of a register."""
    selected = _SELECTED.fullmatch(text) if "." in text else None
    return Part(selected[1], selected[2]) if selected else Name(text)


def left_out(item: Operand, items: Sequence[Operand]) -> bool:
    """Return whether a load of several `items` has ``_`` in place of one of them."""
    return len(items) > 1 and item == Name("_")


def renamed(operand: Operand, rename: Callable[[str], str]) -> Operand:
    """Return an operand in which `rename` has replaced every name."""
    if isinstance(operand, Name):
        return Name(rename(operand.text))
    if isinstance(operand, Negated):
        return Negated(rename(operand.name))
    if isinstance(operand, Part):
        return dataclasses.replace(operand, name=rename(operand.name))
    if isinstance(operand, Pair):
        return Pair(rename(operand.first), rename(operand.second))
    if isinstance(operand, Address) and operand.base is not None:
        return Address(rename(operand.base), operand.offset)
    if isinstance(operand, (AddressOf, Element)):
        return dataclasses.replace(operand, name=rename(operand.name))
    if isinstance(operand, Texel):
        return Texel(rename(operand.texture), renamed(operand.coordinates, rename))
    if isinstance(operand, (Vector, Arguments)):
        return dataclasses.replace(operand, items=tuple(renamed(x, rename) for x in operand.items))
    return operand


@dataclass(frozen=True, slots=True)
class Guard:
    """``@%p1`` or ``@!%p1``."""

    name: str
    negated: bool


_TYPE = re.compile(r"(?:[busf](?:8|16|32|64)|f16x2|bf16(?:x2)?|pred)")


@functools.lru_cache(4096)
def opcode_parts(opcode: str) -> tuple[str, ...]:
    """Return base and modifiers of an opcode, types last; modifiers behind a type move ahead: their order is free.

    Video instructions, whose first modifiers are types, keep the order as written.
    """
    base, *modifiers = opcode.replace("param::entry", "param").replace("param::func", "param").split(".")
    if base[:1] != "v" or base == "vote":
        types = [m for m in modifiers if _TYPE.fullmatch(m)]
        if types != modifiers[len(modifiers) - len(types):]:
            modifiers = [*(m for m in modifiers if not _TYPE.fullmatch(m)), *types]
    return base, *modifiers


@dataclass(slots=True, unsafe_hash=True)
class Instruction:
    """One instruction, never changed; it is not frozen, since each attribute would then take three times as long.

    Attributes
    ----------
    opcode : str
        Whole opcode, for example ``"ld.global.u32"``.
    operands : tuple of Operand
    guard : Guard or None
    line : int
    text : str
        Text as written.
    column : int
        Column of the opcode, from 1; 0 if not known.
    base : str
        Opcode without modifiers.
    type : str
        Last modifier, empty if there is none.
    """

    opcode: str
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int
    text: str
    column: int = field(default=0, compare=False)
    base: str = field(init=False, compare=False, repr=False)
    type: str = field(init=False, compare=False, repr=False)

    def __post_init__(self):
        self.base, *modifiers = opcode_parts(self.opcode)
        self.type = modifiers[-1] if modifiers else ""

    @property
    def modifiers(self) -> list[str]:
        """Modifiers in order, types last."""
        return [*opcode_parts(self.opcode)[1:]]


@dataclass(frozen=True, slots=True)
class Label:
    """A branch target."""

    name: str
    line: int
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """A declaration of registers or of a variable in some state space.

    Attributes
    ----------
    space : str
        ``reg``, ``param``, ``shared``, ``global``, ...
    type : str
        Scalar type, for example ``"u32"``.
    lanes : int
        Scalars per element: 2 and 4 for ``.v2`` and ``.v4``, else 1.
    name : str
        Name, or prefix of a register range.
    count : int or None
        Count of a register range ``%r<count>``; None for other declarations.
    elements : int or None
        Elements of an array; 0 where left open (``[]``), None for a scalar.
    align : int
        Given alignment in bytes, 0 if none.
    extern, initialized : bool
    initial : tuple of Number or AddressOf
        Values of the first scalars, in order.
    line : int
    text : str
        Text as written.
    column : int
        Column of the declaration, from 1.
    """

    space: str
    type: str
    name: str
    line: int
    count: int | None = None
    elements: int | None = None
    align: int = 0
    extern: bool = False
    initialized: bool = False
    text: str = ""
    initial: tuple[Number | AddressOf, ...] = ()
    column: int = field(default=0, compare=False)
    lanes: int = 1

    @property
    def scalar_bytes(self) -> int:
        """Bytes of a scalar, 0 if a variable cannot have the type."""
        return DECLARED_WIDTHS.get(self.type, 0) // 8

    @property
    def element_bytes(self) -> int:
        """Bytes of an element, 0 if a variable cannot have the type."""
        return self.scalar_bytes * self.lanes

    @property
    def element_count(self) -> int:
        """Number of its elements, 1 for a scalar; the initial values count where the number is left open."""
        return 1 if self.elements is None else self.elements or -(-len(self.initial) // self.lanes)

    @property
    def size(self) -> int:
        """Bytes of all its elements; 0 where their type or their number is not known."""
        return self.element_bytes * self.element_count


@dataclass(frozen=True)
class Function:
    """An ``.entry`` or ``.func``.

    Attributes
    ----------
    kind : str
        ``"entry"`` or ``"func"``.
    name : str
    parameters : tuple of Variable
    results : tuple of Variable
        Return parameters of a ``.func``.
    attributes : dict of str to tuple of int
        ``maxntid`` and the like.
    variables : tuple of Variable
        Variables declared in the body.
    statements : tuple of Instruction or Label
        Statements in order; nested scopes are flattened, and their declarations have names of their own (`scopes`).
    line, column : int
        Place of the word ``.entry`` or ``.func``.
    defined : bool
        Whether it has a body.
    """

    kind: str
    name: str
    parameters: tuple[Variable, ...]
    attributes: dict[str, tuple[int, ...]]
    variables: tuple[Variable, ...]
    statements: tuple[Instruction | Label, ...]
    line: int
    defined: bool = True
    results: tuple[Variable, ...] = ()
    column: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Module:
    """A PTX file.

    Attributes
    ----------
    file : str
    version, target : str
    address_size : int
    variables : tuple of Variable
    functions : tuple of Function
    lines : LineTable
        Lines of CUDA that the file's lines come from.
    """

    file: str
    version: str = ""
    target: str = ""
    address_size: int = 64
    variables: tuple[Variable, ...] = ()
    functions: tuple[Function, ...] = field(default=())
    lines: LineTable = field(default=LineTable(), repr=False)
