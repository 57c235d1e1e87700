"""The ports of a block in SystemVerilog: one for each member, or for each field of a member.

::

    signature --> Port (name, shape) --leaves--> Leaf (name, low bit, width)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Const, Shape, ShapeLike
from amaranth.lib import data, stream, wiring

from .names import identifier, snake_case

__all__ = ["OBSERVATION", "Leaf", "Port", "leaves", "observed", "ports_of"]

OBSERVATION = ("trace", "observation", "activity")
"""Members of signatures for simulations alone; no machine has them.

Members whose names start with ``trace_`` are for simulations too.
"""


@dataclass(frozen=True)
class Port:
    """A port of a block.

    Attributes
    ----------
    path : tuple
        Names of members and positions in arrays.
    shape : ShapeLike
        Its layout or shape; at least one bit.
    output : bool
        Whether the block drives it.
    owner : tuple of str
        Name for a structure without a name: class of the signature that has the port, and the path
        from there.
    separator : str
        Text between the parts of its name.
    """

    path: tuple[str | int, ...]
    shape: ShapeLike
    output: bool
    owner: tuple[str, ...]
    separator: str = "_"

    @property
    def name(self) -> str:
        """Its name in SystemVerilog."""
        return identifier([self.inner])

    @property
    def inner(self) -> str:
        """Its name in the netlist."""
        return self.separator.join(map(str, self.path))

    @property
    def width(self) -> int:
        """Its number of bits."""
        return Shape.cast(self.shape).width

    @property
    def structured(self) -> bool:
        """Whether its type is a structure, or an array of structures."""
        shape = self.shape
        while isinstance(shape, data.ArrayLayout):
            shape = shape.elem_shape
        return isinstance(shape, data.StructLayout | data.FlexibleLayout)


@dataclass(frozen=True)
class Leaf:
    """A field of a port, or all of it: `path` within the port, lowest bit, width, sign."""

    path: tuple[str | int, ...]
    low: int
    width: int
    signed: bool


def observed(path: tuple[str | int, ...]) -> bool:
    """Return whether a member of this path is for simulations alone."""
    return any(isinstance(part, str) and (part in OBSERVATION or part.startswith("trace_"))
               for part in path)


def ports_of(component: wiring.Component, *, observe: bool = False) -> list[Port]:
    """Return the ports of a component in the order of its signature, without ports of no bits.

    If two ports would have one name, the member of an interface gets two underscores.

    Parameters
    ----------
    component : wiring.Component
    observe : bool
        Include ports for simulations alone.
    """
    constant = {path for path, _, value in component.signature.flatten(component)
                if isinstance(value, Const)}  # ``ready`` of a stream that is always ready
    found = [port for port in _members(component.signature, (), ())
             if port.width and port.path not in constant and (observe or not observed(port.path))]
    names = [port.name for port in found]
    return [replace(port, separator="__")  # ``lines.valid`` beside ``lines_valid``
            if names.count(port.name) > 1 and len(port.path) > 1 else port for port in found]


def _members(signature: Any, path: tuple, owner: tuple[str, ...]) -> Iterator[Port]:
    for name, member in signature.members.items():
        for index in _indices(member.dimensions):
            own = (*path, name, *index)
            if member.is_port:
                yield Port(own, member.shape, member.flow is wiring.Out,
                           owner if name == "payload" else (*owner, name))
            else:  # flipped already if the member is an input
                inner = member.signature
                yield from _members(inner, own, (*owner, name) if _plain(inner) else
                                    (snake_case(type(_unflipped(inner)).__name__),))


def _unflipped(signature: Any) -> Any:
    return signature.flip() if isinstance(signature, wiring.FlippedSignature) else signature


def _plain(signature: Any) -> bool:
    """Return whether the class of a signature does not tell its purpose."""
    return type(_unflipped(signature)) in (wiring.Signature, stream.Signature)


def _indices(dimensions: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not dimensions:
        yield ()
        return
    for first in range(dimensions[0]):
        for rest in _indices(dimensions[1:]):
            yield (first, *rest)


def leaves(shape: ShapeLike, path: tuple[str | int, ...] = (), low: int = 0) -> Iterator[Leaf]:
    """Return the fields of a shape, lowest bits first; an array of plain numbers is one field."""
    if isinstance(shape, data.StructLayout | data.FlexibleLayout):
        for name, field in shape:
            yield from leaves(field.shape, (*path, str(name)), low + field.offset)
    elif isinstance(shape, data.ArrayLayout) and Port((), shape, False, ()).structured:
        size = Shape.cast(shape.elem_shape).width
        for number in range(shape.length):
            yield from leaves(shape.elem_shape, (*path, number), low + number * size)
    else:
        plain = Shape.cast(shape)
        if plain.width:
            signed = plain.signed and not isinstance(shape, data.Layout)
            yield Leaf(path, low, plain.width, signed)
