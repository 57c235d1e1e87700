"""The ports of an exported block for a bench: by the names of its signature, with values instead of bits.

Only this module knows the names of ports in the SystemVerilog (`port_name`).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Const, Shape, Value
from amaranth.lib import data, wiring

from caesura.hw.export.names import identifier
from caesura.hw.export.ports import observed

__all__ = ["AbsentPort", "Codec", "Port", "PortGroup", "port_name", "ports_of"]


def port_name(path: Iterable[str | int]) -> str:
    """Return the name of a port in the SystemVerilog, which the exporter makes from its path in the signature."""
    return identifier(path)


class Codec:
    """Converts between the bits of a port and values.

    A structure is a `SimpleNamespace`, and an array is a list. An enumeration is its member if there is one of that
    value.

    Parameters
    ----------
    shape : ShapeLike

    Attributes
    ----------
    width : int
    """

    def __init__(self, shape: Any):
        self.width = Shape.cast(shape).width
        self._decode, self._encode = _codec(shape)

    def decode(self, bits: int) -> Any:
        """Return the value of some bits."""
        return self._decode(bits)

    def encode(self, value: Any) -> int:
        """Return the bits of a value.

        Fields missing in a mapping, and elements missing in a list, are 0. A number stands for its bits, for any shape.

        Raises
        ------
        KeyError
            If a mapping names an unknown field.
        ValueError
            If a number or a list does not fit.
        """
        return self._encode(value)


def _codec(shape: Any) -> tuple[Callable[[int], Any], Callable[[Any], int]]:
    """Return the codec of a shape."""
    if isinstance(shape, data.ArrayLayout):
        return _array(shape)
    if isinstance(shape, data.Layout):
        return _structure(shape)
    cast = Shape.cast(shape)
    if isinstance(shape, type) and issubclass(shape, enum.Enum):
        members = {int(member.value): member for member in shape}
        return lambda bits: members.get(bits, bits), lambda value: _number(getattr(value, "value", value), cast)
    if cast.signed:
        return (lambda bits: bits - (bits >> cast.width - 1 << cast.width)), lambda value: _number(value, cast)
    return (lambda bits: bits), lambda value: _number(value, cast)


def _number(value: Any, shape: Shape) -> int:
    """Return the bits of a number; the number must fit."""
    number, low = int(value), -(1 << shape.width - 1) if shape.signed else 0
    if not low <= number < low + (1 << shape.width):
        raise ValueError(f"{number} does not fit {shape.width} bits")
    return number & (1 << shape.width) - 1


def _array(shape: data.ArrayLayout) -> tuple[Callable[[int], Any], Callable[[Any], int]]:
    """Return the codec of an array."""
    inner, width, length = Codec(shape.elem_shape), Shape.cast(shape.elem_shape).width, shape.length
    mask = (1 << width) - 1

    def decode(bits: int) -> list:
        return [inner.decode(bits >> low & mask) for low in range(0, width * length, width)]

    def encode(value: Any) -> int:
        if isinstance(value, int):
            return value
        items = list(value)
        if len(items) > length:
            raise ValueError(f"{len(items)} elements where there are {length}")
        return sum(inner.encode(item) << width * k for k, item in enumerate(items))

    return decode, encode


def _structure(shape: data.Layout) -> tuple[Callable[[int], Any], Callable[[Any], int]]:
    """Return the codec of a structure."""
    fields = {str(name): (field.offset, (1 << field.width) - 1, Codec(field.shape)) for name, field in shape}

    def decode(bits: int) -> SimpleNamespace:
        return SimpleNamespace(**{name: codec.decode(bits >> low & mask)
                                  for name, (low, mask, codec) in fields.items()})

    def encode(value: Any) -> int:
        if isinstance(value, int):
            return value
        given = value if isinstance(value, Mapping) else vars(value)
        bits = 0
        for name, item in given.items():
            low, _, codec = fields[name]
            bits |= codec.encode(item) << low
        return bits

    return decode, encode


class Port:
    """One port of the simulated block.

    Parameters
    ----------
    handle : cocotb handle
    shape : ShapeLike
        Shape of its values.

    Attributes
    ----------
    handle, codec
    """

    def __init__(self, handle: Any, shape: Any):
        self.handle, self.codec = handle, Codec(shape)
        self._written: int | None = None

    @property
    def bits(self) -> int:
        """The present number on the port; unknown bits are an error."""
        return self.handle.value.to_unsigned() if self.codec.width > 1 else int(self.handle.value)

    @bits.setter
    def bits(self, bits: int) -> None:
        if bits != self._written:  # each write makes Verilator evaluate the block again
            self._written = bits
            self.handle.value = bits

    @property
    def value(self) -> Any:
        """The present value on the port."""
        return self.codec.decode(self.bits)

    @value.setter
    def value(self, value: Any) -> None:
        self.bits = self.codec.encode(value)


class AbsentPort:
    """A port that the block lacks: an input drops writes, and an output has the value `bits`.

    Parameters
    ----------
    bits : int

    Attributes
    ----------
    bits, value
        Bits and value; a bench may set `bits` in the block's place.
    """

    def __init__(self, bits: int = 0):
        self.bits = bits

    @property
    def value(self) -> Any:
        """The value of the output."""
        return self.bits

    @value.setter
    def value(self, value: Any) -> None:
        """Drop the written value."""


class PortGroup(SimpleNamespace):
    """Ports, and groups of ports, by name. Elements of an array are accessed by their numbers, in brackets."""

    def __getitem__(self, name: str | int) -> Any:
        return getattr(self, str(name))

    def __contains__(self, name: str) -> bool:
        return hasattr(self, name)

    def at(self, *path: str) -> Any:
        """Return the port or group at a path, an `AbsentPort` if there is none."""
        place: Any = self
        for name in path:
            place = getattr(place, name, None)
        return AbsentPort() if place is None else place


def ports_of(dut: Any, component: wiring.Component, partial: bool = False) -> PortGroup:
    """Return the ports of a simulated block.

    Parameters
    ----------
    dut : cocotb handle
        The top module.
    component : wiring.Component
        Exported component. Its signature gives names and shapes, and it is not elaborated. Constant members, such as
        ``ready`` of a stream that is always ready, are no ports. Members for simulations alone are no ports either.
    partial : bool
        The module may lack some of the ports, for example if it is a wrapper that passes some on.
    """
    root = PortGroup()
    for path, member, value in component.signature.flatten(component):
        if isinstance(value, Const) or not Shape.cast(member.shape).width or observed(path):
            continue
        if partial and not hasattr(dut, port_name(path)):
            continue
        group = root
        for part in path[:-1]:
            if part not in group:
                setattr(group, str(part), PortGroup())
            group = group[part]
        shape = value.shape() if hasattr(value, "shape") else Value.cast(value).shape()
        setattr(group, str(path[-1]), Port(getattr(dut, port_name(path)), shape))
    return root
