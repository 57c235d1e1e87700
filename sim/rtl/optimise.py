"""Profile-guided simulators: built once more with the knowledge of which code a cycle executes, and kept.

::

    SystemVerilog --Verilator--> C++ --g++ -fprofile-generate--> library --training--> profile
                                   \\--g++ -fprofile-use----------------------------------+--> library

The code of a cycle is larger than a cache; with a profile the compiler puts what is executed together, and makes small
what is not. Results are those of the plain simulator, bit for bit. `verilator.library` takes an optimised simulator
wherever there is one (`caesura build --optimise`).
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from amaranth.lib import wiring

from caesura.hw.arch.geometry import Geometry
from caesura.hw.device.device import machine
from caesura.progress import Progress, report

from .compile import CompilerFlags, Model, compile_model, runtime_library
from .recipe import Recipe, kept, library_path, recipe
from .toolchain import BuildError, run_tool

__all__ = ["GENERATE", "TRAINING_CYCLES", "TRAINING_KERNELS", "USE", "optimised_library", "optimised_path"]

TRAINING_KERNELS = "histogram", "compute_flux", "gaussian"
"""Atomics and shared memory; f32 and special functions; divergence and barriers. None is of `sim.bench.speed`."""
TRAINING_CYCLES = 3_500
"""Cycles of each kernel before and after its preemption."""

GENERATE = CompilerFlags(fast=("-O2", "-fprofile-generate", "-fprofile-update=single"),
                         link=("-shared", "-fprofile-generate"))
"""Of the library that counts what it executes; the level of optimisation has to be that of `USE`."""
USE = CompilerFlags(fast=("-O2", "-fprofile-use", "-Wno-missing-profile"))
"""Flags for the result. Code that training did not execute is made small and put apart."""


def optimised_path(made: Recipe) -> Path:
    """Return where the optimised library of a recipe is kept, whether it is there or not."""
    return library_path(dataclasses.replace(made, options=USE), repr(GENERATE), *TRAINING_KERNELS,
                        str(TRAINING_CYCLES))


def optimised_library(g: Geometry, design: Callable[[Geometry], wiring.Component] = machine,
                      progress: Progress = report) -> Path:
    """Return the optimised simulator of a design, built and trained if it is not there yet.

    Parameters
    ----------
    g : Geometry
    design : callable
        See `verilator.library`.
    progress : callable
        Told about each step.

    Raises
    ------
    BuildError
        If a tool is missing or fails, or the training does.
    """
    made = recipe(g, design, progress=progress)
    return kept(optimised_path(made), made.name, "optimised simulator", lambda work: _build(made, g, work, progress),
                progress)


def _build(made: Recipe, g: Geometry, work: Path, progress: Progress) -> Path:
    progress(f"turning the Verilog of {made.name} into C++")
    models = made.models(work)
    counting = _compiled(made, models, GENERATE, work, f"compiling the simulator of {made.name} that counts", progress)
    progress(f"training the simulator of {made.name}")
    _train(counting, g, work)
    if not list(models[0].folder.glob("*.gcda")):
        raise BuildError("the training left no profile; report this with the output of `g++ --version`")
    return _compiled(made, models, USE, work, f"compiling the simulator of {made.name} by its profile", progress)


def _compiled(made: Recipe, models: Sequence[Model], options: CompilerFlags, work: Path, what: str,
              progress: Progress) -> Path:
    progress(what)
    runtime = runtime_library(made.flags, options, work.parent, threading.Event())
    library = compile_model(models, made.harness, made.defines, made.flags, options, runtime,
                            lambda done, total: progress(what, f"{done} of {total} files"))
    return Path(shutil.move(library, work / f"{options.link[-1].strip('-')}.so"))


def _train(library: Path, g: Geometry, work: Path) -> None:
    """Run the training in a process of its own: the counts are written when it ends."""
    roots = [str(Path(entry).resolve()) for entry in sys.path if entry]
    run_tool([sys.executable, "-m", "caesura.sim.rtl.training", library, repr(dataclasses.asdict(g))], work,
             "the training", env=os.environ | {"PYTHONPATH": os.pathsep.join(roots)})
