"""Builds simulation programs of exported SystemVerilog: Verilator's model in cocotb's main loop, kept in the cache.

cocotb's own runner builds through make, in a separate folder for each bench. Here the program of a text is built once,
by the same steps as all simulators of the project (`sim.rtl.compile`). cocotb can only access the ports of the top, so
that Verilator optimises the rest.
"""

from __future__ import annotations

import os
import re
import threading
import time
from importlib.metadata import version
from pathlib import Path

import cocotb_tools.config

from caesura.cache import cache_directory, digest, locked, seal, whole, work_folder

from ..rtl.compile import COMMON_FLAGS, CompilerFlags, compile_model, compile_whole, runtime_library, verilate
from ..rtl.toolchain import BuildError, identity

__all__ = ["TOP", "program"]

TOP = "top"
"""Name of the top module in cocotb."""
_FLAGS = (*COMMON_FLAGS, "--vpi", "--timescale", "1ns/1ps")
_COVERAGE = "--coverage-line", "--coverage-toggle"
_RUNTIME = ("verilated_vpi",)
"""Parts of Verilator's run-time library that only cocotb needs."""
_WHOLE = 12 << 20
"""Most bytes of C++ of a model that is compiled as one source."""
_HEADER = re.compile(rf"^module {TOP}\b[^;(]*(?:import [\w:*, ]+;)?[^;(]*\((.*?)\);", re.MULTILINE | re.DOTALL)


def program(text: str, name: str, waves: bool = False, coverage: bool = False) -> Path:
    """Return the program that simulates a SystemVerilog text under cocotb; build it if the cache lacks it.

    Parameters
    ----------
    text : str
        Text with top module `TOP`.
    name : str
        Name of the design, for `caesura cache`.
    waves : bool
        The program can write a waveform.
    coverage : bool
        The program counts lines, branches and toggles, and writes ``coverage.dat`` in its folder.

    Raises
    ------
    BuildError
        If a tool is missing or refuses the text.
    """
    libraries = Path(cocotb_tools.config.libs_dir)
    flags = (*_FLAGS, *(("--trace-vcd",) if waves else ()), *(_COVERAGE if coverage else ()))
    # The bench takes most of the time, so an optimised model gains less than its compilation costs.
    options = CompilerFlags(fast=("-O0",), link=(
        f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-Wl,--no-as-needed", "-lcocotbvpi_verilator"))
    main = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
    key = digest([text, *flags, repr(options), main.read_text(), version("verilator"), identity()])
    result = cache_directory() / "cocotb" / f"{key}.bin"
    lock = result.with_suffix(".lock")
    with locked(lock):
        if not whole(result):
            started = time.monotonic()
            with work_folder(lock) as work:
                _build(text, work, flags, options, main, result)
            seal(result, "cocotb simulation", name, round(time.monotonic() - started, 1))
    return result


def _build(text: str, work: Path, flags: tuple[str, ...], options: CompilerFlags, main: Path, result: Path) -> None:
    """Run Verilator and the compiler in `work`, and install the program."""
    header = _HEADER.search(text)
    if header is None:
        raise BuildError(f"the text has no module {TOP}")
    plain = re.sub(r"//.*|\[[^]]*\]", "", header[1])
    names = re.findall(r"(\w+)\s*(?=,|$)", plain)
    (work / "ports.vlt").write_text("`verilator_config\n" + "".join(
        f'public_flat_rw -module "{TOP}" -var "{name}"\n' for name in names))
    model = verilate(text, (*flags, "ports.vlt"), work, TOP)
    more = (*_RUNTIME, *(("verilated_cov",) if _COVERAGE[0] in flags else ()))
    runtime = runtime_library(flags, options, work.parent, threading.Event(), more)
    if sum(source.stat().st_size for source in (*model.fast, *model.slow)) < _WHOLE:
        built = compile_whole(model, main, flags, options, runtime)
    else:
        built = compile_model([model], main, (), flags, options, runtime, lambda done, total: None)
    os.replace(built, result)
