"""From SystemVerilog to a shared library: Verilator, then g++ on each file it writes.

Verilator's own makefile is not used: make cannot build in a folder whose name has a space, and neither says how far it
is nor begins with the longest file. Every path is an argument of its own and no shell reads it, so any name works.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from caesura.cache import digest, locked, seal, whole, work_folder

from .toolchain import RIGHT_SUMS, TARGET, BuildError, compiler, identity, run_tool, verilator_root

__all__ = ["COMMON_FLAGS", "VERILATOR_FLAGS", "CompilerFlags", "Model", "compile_model", "compile_whole", "jobs",
           "part_library", "runtime_library", "verilate"]

COMMON_FLAGS = ("--cc", "-O3", "--no-timing", "--threads", "1", "-Wno-fatal", "-Wno-lint", "-Wno-style",
                "-fno-dfg-peephole-replace-shiftl-shiftl", "-fno-dfg-peephole-replace-shiftr-shiftr")
"""Flags of Verilator for every simulation. Versions 5.048 and 5.050 add the distances of two shifts in a row with the
width of one distance. A sum that needs one more bit is then wrong (Verilator's issue 7955); without these rewrites it
is right."""
VERILATOR_FLAGS = (*COMMON_FLAGS, "--x-assign", "fast", "--x-initial", "fast", "--savable")
"""Flags of Verilator for the simulators of SMs."""
RUNTIME = ("verilated", "verilated_save", "verilated_threads", "verilated_vcd_c")
"""Sources of Verilator's run-time library, the same for all designs; the linker takes what a design needs."""
JOB_BYTES = 700 << 20
"""Memory that one compiler takes at most."""

Report = Callable[[int, int], None]
"""Called with the number of files done and of all."""


@dataclass(frozen=True)
class CompilerFlags:
    """Flags of g++.

    Attributes
    ----------
    common : tuple of str
        Flags for every file.
    fast : tuple of str
        Flags for the code of a cycle and the harness. They gain 3 % over -O2, which takes twice as long to compile, and
        18 % over -Os, which takes half as long again: a cycle's code is larger than a cache.
    slow : tuple of str
        Flags for the code that runs once.
    runtime : tuple of str
        Flags for Verilator's run-time library.
    link : tuple of str
        Flags for the last step.
    """

    common: tuple[str, ...] = ("-std=c++17", "-fPIC", "-fvisibility=default", RIGHT_SUMS, TARGET)
    fast: tuple[str, ...] = ("-O1",)
    slow: tuple[str, ...] = ("-O0",)
    runtime: tuple[str, ...] = ("-O2",)
    link: tuple[str, ...] = ("-shared",)


@dataclass(frozen=True)
class Model:
    """The output of Verilator for a module.

    Attributes
    ----------
    name : str
        Name of the C++ class.
    folder : Path
        Where.
    fast, slow : tuple of Path
        C++ sources of the code of a cycle, and of the rest.
    """

    name: str
    folder: Path
    fast: tuple[Path, ...]
    slow: tuple[Path, ...]


def jobs() -> int:
    """Return how many compilers may run at a time: one a processor, as far as the memory goes."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(len(os.sched_getaffinity(0)), memory // JOB_BYTES))


def verilate(text: str, flags: Sequence[str], work: Path, module: str = "top") -> Model:
    """Run Verilator on the SystemVerilog text of a module in the folder `work`.

    Raises
    ------
    BuildError
        If Verilator is missing or refuses the text.
    """
    root, name = verilator_root(), f"V{module}"
    (work / f"{module}.sv").write_text(text)
    folder = work / f"obj_{module}"
    run_tool([root / "bin" / "verilator_bin", *flags, "--top-module", module, "--prefix", name, "--Mdir", folder,
              f"{module}.sv"], work, "Verilator", env=os.environ | {"VERILATOR_ROOT": str(root)})
    sources = sorted(folder.glob(f"{name}*.cpp"))
    slow = tuple(source for source in sources if source.stem.endswith("__Slow"))
    return Model(name, folder, tuple(source for source in sources if source not in slow), slow)


def _macros(flags: Sequence[str]) -> list[str]:
    """Return the macros and include folders of Verilator's makefile."""
    include = verilator_root() / "include"
    coverage = any(flag.startswith("--coverage") for flag in flags)
    macros = {"VERILATOR": 1, "VM_COVERAGE": int(coverage), "VM_SC": 0, "VM_TIMING": 0,
              "VM_TRACE": int("--trace-vcd" in flags), "VM_TRACE_FST": 0, "VM_TRACE_SAIF": 0,
              "VM_TRACE_VCD": int("--trace-vcd" in flags)}
    return ["-I.", f"-I{include}", f"-I{include / 'vltstd'}",
            *(f"-D{name}={value}" for name, value in macros.items())]


def _compile_all(steps: Sequence[tuple[Path, Sequence[str]]], folder: Path, report: Report, stop: threading.Event
                 ) -> list[Path]:
    """Run g++ on sources, each with its flags, the longest first; return the object files in the given order."""
    def compile_one(source: Path, flags: Sequence[str]) -> Path:
        target = folder / f"{source.stem}.o"
        run_tool([compiler(), *flags, "-c", source, "-o", target], folder, "g++", stop)
        return target

    longest = sorted(steps, key=lambda step: -step[0].stat().st_size * (1 + ("-O0" not in step[1])))
    with ThreadPoolExecutor(jobs()) as pool:
        futures = {step[0]: pool.submit(compile_one, *step) for step in longest}
        try:
            for done, future in enumerate(_completed(list(futures.values()))):
                future.result()
                report(done + 1, len(steps))
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [futures[source].result() for source, _ in steps]


def _completed(left: list) -> Iterator:
    """Iterate over futures as they end, an exception first."""
    pending = set(left)
    while pending:
        done, pending = wait(pending, return_when=FIRST_EXCEPTION, timeout=0.2)
        yield from sorted(done, key=lambda future: future.exception() is None)


def runtime_library(flags: Sequence[str], options: CompilerFlags, folder: Path, stop: threading.Event,
                    more: Sequence[str] = ()) -> Path:
    """Return the archive of Verilator's run-time library, compiled in `folder` if it is not there yet.

    When `stop` is set, it ends early. `more` are sources that only some simulators need.

    Raises
    ------
    BuildError
        If it cannot be compiled.
    """
    macros = [flag for flag in _macros(flags) if flag.startswith("-D")]
    key = digest([*macros, *options.common, *options.runtime, *more, identity()])
    result = folder / f"runtime-{key}.a"
    lock = folder / f"runtime-{key}.lock"
    with locked(lock):
        if not whole(result):
            with work_folder(lock) as work:
                include = verilator_root() / "include"
                steps = [(include / f"{name}.cpp", (*options.common, *options.runtime, *_macros(flags)))
                         for name in (*RUNTIME, *more)]
                objects = _compile_all(steps, work, lambda done, total: None, stop)
                run_tool(["ar", "rcs", work / "runtime.a", *objects], work, "ar")
                os.replace(work / "runtime.a", result)
                seal(result, "Verilator's run-time library", "any design")
    return result


def _precompiled(model: Model, kind: str, flags: Sequence[str]) -> Path:
    """Precompile the header of a model for files with these flags; return it."""
    header = model.folder / f"{kind}.h"
    shutil.copy(model.folder / f"{model.name}__pch.h", header)
    run_tool([compiler(), *flags, f"-I{model.folder}", "-x", "c++-header", header, "-o", f"{header}.gch"], model.folder,
             "g++")
    return header


def _steps(models: Sequence[Model], options: CompilerFlags, macros: Sequence[str]
           ) -> list[tuple[Path, Sequence[str]]]:
    """Return the sources of models with the flags of each."""
    kinds = {"fast": [*options.common, *options.fast, *macros], "slow": [*options.common, *options.slow, *macros]}
    with ThreadPoolExecutor(jobs()) as pool:
        headers = {(model.name, kind): pool.submit(_precompiled, model, kind, common)
                   for model in models for kind, common in kinds.items()}
    return [(source, [*common, f"-I{model.folder}", "-include", str(headers[model.name, kind].result())])
            for model in models for kind, common in kinds.items()
            for source in (model.fast if kind == "fast" else model.slow)]


def part_library(module: str, text: str, flags: Sequence[str], options: CompilerFlags, folder: Path,
                 report: Report) -> tuple[Path, Path]:
    """Return the archive of a module that several designs have, and the header of its class; it is compiled in `folder`
    if it is not there yet.

    Parameters
    ----------
    module : str
    text : str
        Its SystemVerilog.
    flags : sequence of str
        Flags of Verilator.
    options : CompilerFlags
    folder : Path
    report : callable
        Told how far it is.

    Raises
    ------
    BuildError
        If a tool is missing or fails.
    """
    key = digest([text, *flags, repr(options), identity()])
    archive, header = folder / f"{module}-{key}.a", folder / f"{module}-{key}.h"
    lock = folder / f"{module}-{key}.lock"
    with locked(lock):
        if not (whole(archive) and whole(header)):
            started = time.monotonic()
            with work_folder(lock) as work:
                model = verilate(text, flags, work, module)
                steps = _steps([model], options, _macros(flags))
                objects = _compile_all(steps, model.folder, report, threading.Event())
                run_tool(["ar", "rcs", work / "part.a", *objects], work, "ar")
                os.replace(work / "part.a", archive)
                os.replace(model.folder / f"{model.name}.h", header)
            for path, what in ((archive, "part of a simulator"), (header, "header of one")):
                seal(path, what, module, round(time.monotonic() - started, 1))
    return archive, header


def compile_model(models: Sequence[Model], harness: Path, defines: Sequence[str], flags: Sequence[str],
                  options: CompilerFlags, runtime: Path, report: Report, parts: Sequence[Path] = ()) -> Path:
    """Compile models with a harness around them; return the shared library, in the folder of the first.

    Parameters
    ----------
    models : sequence of Model
    harness : Path
        C++ source that drives their classes.
    defines : sequence of str
        Flags of the harness.
    flags : sequence of str
        Those that Verilator had.
    options : CompilerFlags
    runtime : Path
        Library from `runtime_library`.
    report : callable
        Told how far it is.
    parts : sequence of Path
        Archives of other modules (`part_library`), whose headers lie in the folder of the first model.

    Raises
    ------
    BuildError
        If the compiler is missing or refuses a file.
    """
    folder = models[0].folder
    macros = _macros(flags)
    steps = _steps(models, options, macros)
    folders = [f"-I{path}" for path in (harness.parent, *(model.folder for model in models))]
    steps.append((harness, [*options.common, *options.fast, *macros, *folders, *defines]))
    objects = _compile_all(steps, folder, report, threading.Event())
    result = folder / "simulation.so"
    run_tool([compiler(), *options.common, *options.link, *objects, *parts, runtime, "-o", result], folder, "g++")
    if not result.exists():
        raise BuildError("g++ ended without a library")
    return result


def compile_whole(model: Model, harness: Path, flags: Sequence[str], options: CompilerFlags, runtime: Path) -> Path:
    """Compile a small model and its harness as one source, which takes less than half of what its parts take; return
    the result, in the folder of the model.

    Parameters
    ----------
    model : Model
    harness, flags, options, runtime
        As of `compile_model`.

    Raises
    ------
    BuildError
        If the compiler is missing or refuses the source.
    """
    source, result = model.folder / "whole.cpp", model.folder / "simulation.so"
    source.write_text("".join(f'#include "{path}"\n' for path in (*model.fast, *model.slow, harness)))
    run_tool([compiler(), *options.common, *options.fast, *_macros(flags), f"-I{model.folder}", source, *options.link,
              runtime, "-o", result], model.folder, "g++")
    return result
