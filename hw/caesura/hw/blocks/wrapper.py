"""The module that a user instantiates: it gives the netlist's ports their types and names."""

from __future__ import annotations

from collections.abc import Sequence

from .names import identifier
from .ports import Leaf, Port, leaves
from .structures import Structures, logic

__all__ = ["wrapper"]


def wrapper(name: str, inner: str, ports: Sequence[Port], structures: Structures | None) -> str:
    """Return the module.

    Parameters
    ----------
    name, inner : str
        Of the module, and of the netlist that it instantiates.
    ports : sequence of Port
    structures : Structures, optional
        Collects the types; without it each field is a port of its own.
    """
    declared = [("input ", "logic", "clk"), ("input ", "logic", "rst")]
    connected = [".clk (clk)", ".rst (rst)"]
    for port in ports:
        direction = "output" if port.output else "input "
        if structures is not None:
            declared.append((direction, structures.type_of(port.shape, port.owner), port.name))
            connected.append(f"{_escaped(port.inner)} ({port.name})")
            continue
        fields = list(leaves(port.shape))
        names = [identifier((*port.path, *leaf.path)) for leaf in fields]
        declared += [(direction, logic(leaf.width, leaf.signed), field)
                     for leaf, field in zip(fields, names, strict=True)]
        connected.append(f"{_escaped(port.inner)} ({_concatenation(port, fields, names)})")
    width = max(len(kind) for _, kind, _ in declared)
    lines = ",\n".join(f"  {direction} {kind:<{width}} {port}" for direction, kind, port in declared)
    pins = ",\n".join(f"    {pin}" for pin in connected)
    return f"module {name} (\n{lines}\n);\n\n  {inner} netlist (\n{pins}\n  );\n\nendmodule\n"


def _escaped(name: str) -> str:
    return f".{name}" if identifier([name]) == name else f".\\{name} "


def _concatenation(port: Port, fields: Sequence[Leaf], names: Sequence[str]) -> str:
    """Return the fields of a port side by side, highest bits first."""
    parts: list[str] = []
    position = 0
    for field, name in zip(fields, names, strict=True):
        if field.low > position:
            parts.append(f"{field.low - position}'d0")
        parts.append(name)
        position = field.low + field.width
    if port.width > position:
        parts.append(f"{port.width - position}'d0")
    return parts[0] if len(parts) == 1 else f"{{{', '.join(reversed(parts))}}}"
