"""Exports a block: the text of its file and of its package."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from caesura.errors import InputError

from ..arch.geometry import Geometry
from .catalogue import block
from .header import header
from .licence import command_line, licence
from .names import identifier
from .netlist import netlist
from .ports import ports_of
from .structures import Structures
from .timing import Timing
from .waivers import NAMES_OF_VECTORS, WAIVERS, named, waived
from .wrapper import wrapper

__all__ = ["Exported", "export_block"]


@dataclass(frozen=True)
class Exported:
    """A block as SystemVerilog.

    Attributes
    ----------
    name : str
        Name of its module.
    text : str
        Text of the module, with its netlist.
    package : str
        Name of the package of its types; empty if it needs none.
    package_text : str
        Text of the package.
    """

    name: str
    text: str
    package: str = ""
    package_text: str = ""


def export_block(wanted: str, g: Geometry, *, parameters: Mapping[str, int] | None = None,
                 name: str = "", flat: bool = False, observe: bool = False,
                 progress: Callable[[str], None] = lambda text: None) -> Exported:
    """Return a block as SystemVerilog.

    Parameters
    ----------
    wanted : str
        One of `blocks`.
    g : Geometry
    parameters : dict, optional
        Parameters besides the geometry, by name.
    name : str
        Name of the module, if not the block's; all modules and the package start with it.
    flat : bool
        Whether each field is a port, rather than part of a packed structure.
    observe : bool
        Whether ports for simulations alone are included.
    progress : callable
        Called with messages about the progress.

    Raises
    ------
    InputError
        If there is no such block or parameter, or the name is illegal.
    ExportError
        If Yosys is missing or fails.
    """
    of = block(wanted)
    name = name or wanted
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or identifier([name]) != name:
        raise InputError(f"{name!r} cannot be the name of a module")
    given = dict(parameters or {})
    progress(f"elaborating {wanted} for {g.name}")
    component = of.make(g, given)
    with of.told(given):
        ports = ports_of(component, observe=observe)
        structures = None if flat else Structures(g, f"{name}_pkg")
        top = wrapper(name, f"{name}__netlist", ports, structures)
        progress(f"Yosys writes {wanted} for {g.name}")
        inner = netlist(component, name, ports)
        timing = Timing(of.make(g, given), ports)
    head = header(of, g, of.values(g, given), timing)
    by = licence(command_line(wanted, g, given, name, flat, observe))
    text = f"{by}\n{head}\n{named(waived(top, NAMES_OF_VECTORS))}\n{named(waived(inner, WAIVERS))}"
    if structures is None or not structures.typedefs:
        return Exported(name, text)
    comment = f"{licence()}\n// Types of the ports of {name}.\n\n"
    return Exported(name, text, structures.package, structures.text(comment))
