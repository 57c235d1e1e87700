"""The inputs of a simulator, and its place in the cache."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from amaranth.lib import wiring

from caesura.cache import cache_directory, digest, locked, seal, whole, work_folder
from caesura.hw.arch.geometry import Geometry
from caesura.hw.device.device import machine
from caesura.progress import Progress, display, report

from .compile import VERILATOR_FLAGS, CompilerFlags, Model, verilate
from .design import design_texts
from .toolchain import identity, source_texts, verilator_root

__all__ = ["HARNESS", "Recipe", "kept", "library_path", "recipe"]

WAVES = '`verilator_config\ntracing_off -scope "top*"\ntracing_on -scope "top.{scope}*"\n`verilog\n'
"""Restricts waveforms to a block and what is below it."""
HARNESS = Path(__file__).resolve().parent / "harness.cpp"


@dataclass(frozen=True)
class Recipe:
    """Everything a simulator is made from; equal recipes give the same file.

    Attributes
    ----------
    name : str
        Name of the design in messages and in `caesura cache`.
    text : str
        SystemVerilog of the module ``top``.
    parts : tuple of (str, str)
        Other modules that the harness drives, and their SystemVerilog.
    headers : tuple of (str, str)
        Names and texts of headers that are made for the design.
    harness : Path
    flags : tuple of str
        Flags of Verilator.
    defines : tuple of str
        Definitions for the harness.
    options : CompilerFlags
    """

    name: str
    text: str
    harness: Path
    flags: tuple[str, ...] = VERILATOR_FLAGS
    defines: tuple[str, ...] = ()
    options: CompilerFlags = CompilerFlags()
    parts: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()

    def models(self, work: Path, *, parts: bool = True) -> list[Model]:
        """Run Verilator on all modules, or the top alone, in the folder `work`; headers lie beside the top's code."""
        modules = ("top", self.text), *(self.parts if parts else ())
        made = [verilate(text, self.flags, work, module) for module, text in modules]
        for name, text in self.headers:
            (made[0].folder / name).write_text(text)
        return made

    def key(self, *more: str) -> str:
        """Return the name of the result in the cache; `more` is what else it depends on."""
        modules = [text for pair in (*self.parts, *self.headers) for text in pair]
        return digest([self.text, *modules, *self.flags, *self.defines, repr(self.options), version("verilator"),
                       identity(), *source_texts(self.harness), *more])


def recipe(g: Geometry, design: Callable[[Geometry], wiring.Component] = machine, *, waves: str | None = None,
           observed: bool = False, progress: Progress = report) -> Recipe:
    """Return what the simulator of a design is made from; parameters are those of `library`."""
    verilator_root()
    identity()  # what is missing is told before the design is worked out, which takes a minute
    text, parts, headers = design_texts(g, design, progress, observed)
    defines = tuple(f"-DSM_{name}={value}" for name, value in (
        ("BUS_BYTES", g.bus_bytes), ("WARPS", g.warps), ("LANES", g.lanes), ("BEATS", g.beats), ("COUNT", g.sms),
        ("KERNELS", g.kernel_slots), ("QUEUES", g.queues), ("FLIGHTS", g.flights)))
    if parts:
        defines = (*defines, "-DSM_APART")
    if observed:
        defines = (*defines, "-DSM_OBSERVED")
    if waves is None:
        return Recipe(f"{g.name} that counts" if observed else g.name, text, HARNESS, defines=defines, parts=parts,
                      headers=headers)
    return Recipe(f"{g.name} with waveforms of {waves or 'everything'}",
                  WAVES.format(scope=waves) + text if waves else text, HARNESS,
                  (*VERILATOR_FLAGS, "--trace-vcd"), (*defines, "-DWITH_VCD"), parts=parts, headers=headers)


def library_path(made: Recipe, *more: str) -> Path:
    """Return where the shared library of a recipe is kept, whether it is there or not; `more` as of `Recipe.key`."""
    return cache_directory() / "verilator" / f"{made.key(*more)}.so"


def kept(result: Path, name: str, what: str, build: Callable[[Path], Path], progress: Progress) -> Path:
    """Return a library of the cache, built if it is not there or not whole; a process builds, others wait for it.

    Parameters
    ----------
    result : Path
        Where it is kept.
    name, what : str
        Its design and its kind, as messages and `caesura cache` show them.
    build : callable
        Builds it in the empty folder it is given, and returns where.
    progress : callable
    """
    if whole(result):
        return result
    lock = result.with_suffix(".lock")
    waiting = f"another process builds the {what} of {name}; waiting for it"
    with display(), locked(lock, waiting=lambda: progress(waiting)):
        if not whole(result):
            started = time.monotonic()
            with work_folder(lock) as work:
                os.replace(build(work), result)
            seal(result, what, name, round(time.monotonic() - started, 1))
    return result
