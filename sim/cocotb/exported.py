"""The SystemVerilog that a bench simulates: a component as the exporter writes it, with its types."""

from __future__ import annotations

from amaranth.lib import wiring

from caesura.hw.arch.geometry import preset
from caesura.hw.export.netlist import netlist
from caesura.hw.export.ports import ports_of
from caesura.hw.export.structures import Structures
from caesura.hw.export.wrapper import wrapper

__all__ = ["exported_text"]


def exported_text(component: wiring.Component, name: str, located: bool = False) -> str:
    """Return package, module and netlist of a component, in the form of `caesura export`, in one text without comments.

    Parameters
    ----------
    component : wiring.Component
        Component, which need not be in the exporter's table.
    name : str
        Name of the module.
    located : bool
        Let the netlist give the lines of Python from which it comes.

    Raises
    ------
    ExportError
        If Yosys is missing or fails.
    """
    ports = ports_of(component)
    structures = Structures(getattr(component, "geometry", None) or preset("tiny"), f"{name}_pkg")
    top = wrapper(name, f"{name}__netlist", ports, structures)
    types = structures.text("") if structures.typedefs else ""
    return f"{types}{top}\n{netlist(component, name, ports, located)}"
