"""The module that a user instantiates: it gives the netlist's ports their types and names."""

from __future__ import annotations

from collections.abc import Sequence

from .names import identifier
from .ports import Leaf, Port, leaves
from .structures import Structures, logic
from .waivers import waived

__all__ = ["wrapper"]

UNUSED = {"UNUSEDSIGNAL": "no field has these bits"}
"""Waivers for the module itself."""


def wrapper(name: str, inner: str, ports: Sequence[Port], structures: Structures | None) -> str:
    """Return the module.

    Parameters
    ----------
    name, inner : str
        Names of the module, and of the netlist that it instantiates.
    ports : sequence of Port
    structures : Structures, optional
        Collects the types; without it each field is a port of its own.
    """
    declared = [("input ", "logic", "clk"), ("input ", "logic", "rst")]
    gaps: list[tuple[str, int]] = []
    connected = [".clk (clk)", ".rst (rst)"]
    for port in ports:
        direction = "output" if port.output else "input "
        if structures is not None:
            declared.append((direction, structures.type_of(port.shape, port.owner), port.name))
            connected.append(f"{_escaped(port.inner)} ({port.name})")
            continue
        fields = list(leaves(port.shape))
        names = [identifier([port.inner, *leaf.path]) for leaf in fields]
        declared += [(direction, logic(leaf.width, leaf.signed), field)
                     for leaf, field in zip(fields, names, strict=True)]
        connected.append(f"{_escaped(port.inner)} ({_concatenation(port, fields, names, gaps)})")
    width = max(len(kind) for _, kind, _ in declared)
    marks = _inferred([str(port.path[0]) for port in ports])
    lines = ",\n".join(f"{marks.get(port, '')}  {direction} {kind:<{width}} {port}"
                       for direction, kind, port in declared)
    pins = ",\n".join(f"    {pin}" for pin in connected)
    unused = "".join(f"  {logic(bits)} {gap};\n" for gap, bits in gaps)
    return (f"module {name} (\n{lines}\n);\n\n{waived(unused, UNUSED) if unused else ''}"
            f"  {inner} netlist (\n{pins}\n  );\n\nendmodule\n")


def _inferred(members: Sequence[str]) -> dict[str, str]:
    """Return the attributes by which Vivado connects clock and reset to AXI buses (UG994)."""
    buses = ":".join(dict.fromkeys(name for name in members if name.endswith("_axi")))
    return {"clk": "  (* X_INTERFACE_INFO = \"xilinx.com:signal:clock:1.0 clk CLK\",\n"
                   f"     X_INTERFACE_PARAMETER = \"ASSOCIATED_BUSIF {buses}, "
                   "ASSOCIATED_RESET rst\" *)\n",
            "rst": "  (* X_INTERFACE_INFO = \"xilinx.com:signal:reset:1.0 rst RST\",\n"
                   "     X_INTERFACE_PARAMETER = \"POLARITY ACTIVE_HIGH\" *)\n"} if buses else {}


def _escaped(name: str) -> str:
    return f".{name}" if identifier([name]) == name else f".\\{name} "


def _concatenation(port: Port, fields: Sequence[Leaf], names: Sequence[str],
                   gaps: list[tuple[str, int]]) -> str:
    """Return the fields of a port side by side, highest bits first.

    Bits of an output that belong to no field go to a signal, which is added to `gaps`.
    """
    parts: list[str] = []
    position = 0

    def fill(end: int) -> None:
        if end > position and port.output:
            gaps.append((f"unused_{port.name}_{position}", end - position))
            parts.append(gaps[-1][0])
        elif end > position:
            parts.append(f"{end - position}'d0")

    for field, name in zip(fields, names, strict=True):
        fill(field.low)
        parts.append(name)
        position = field.low + field.width
    fill(port.width)
    return parts[0] if len(parts) == 1 else f"{{{', '.join(reversed(parts))}}}"
