"""Packed structures of SystemVerilog for the ports of a component, so that a design around it can name their fields."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Shape
from amaranth.lib import data, wiring

from .ports import port_name

__all__ = ["package"]

_KEYWORDS = set("""alias always and assert assign assume begin bind bit break buf byte case cell checker class clocking
config const constraint context continue cover default design disable do edge else end enum event expect export extends
extern final for force forever fork function generate global if iff import initial inout input inside instance int
interface join let library local logic longint macromodule matches module new nor not null or output package packed
parameter posedge primitive priority process program property protected pure rand randc real realtime ref reg reject
release repeat restrict return sequence shortint signed small solve specify static string strong struct super table
tagged task this time timeprecision tran tri type typedef union unique unsigned until use var vectored virtual void wait
weak while wire with within wor xnor xor""".split())
"""Words of SystemVerilog that could be fields; their names end in an underscore."""


def package(component: wiring.Component, name: str) -> str:
    """Return a package with a type ``<port>_t`` for each port of a component that is a structure, or an array of some:
    then it is the type of an element.

    Parameters
    ----------
    component : wiring.Component
    name : str
        Of the module that it is exported as; the package is ``<name>_pkg``.
    """
    types = []
    for path, member, value in component.signature.flatten(component):
        shape = member.shape
        while isinstance(shape, data.ArrayLayout):
            shape = shape.elem_shape
        if isinstance(shape, data.Layout) and not isinstance(value, Const):
            types.append(f"  typedef {_type(shape, 2)} {port_name(path)}_t;\n")
    return f"package {name}_pkg;\n{''.join(types)}endpackage\n"


def _type(shape: Any, indent: int, dimensions: str = "") -> str:
    """Return the type of a shape; a structure's first field is its lowest one, so it comes last."""
    if isinstance(shape, data.ArrayLayout):
        return _type(shape.elem_shape, indent, f"{dimensions}[{shape.length - 1}:0]")
    if not isinstance(shape, data.StructLayout):
        return f"logic {dimensions}[{max(1, Shape.cast(shape).width) - 1}:0]"
    space = " " * (indent + 2)
    fields = [f"{space}{_type(field.shape, indent + 2)} {_word(str(name))};\n" for name, field in shape if field.width]
    return f"struct packed {{\n{''.join(reversed(fields))}{' ' * indent}}}{' ' * bool(dimensions)}{dimensions}"


def _word(name: str) -> str:
    """Return a name that is no keyword."""
    return f"{name}_" if name in _KEYWORDS else name
