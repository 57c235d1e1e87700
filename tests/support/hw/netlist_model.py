"""A netlist as Verilator simulates it, behind functions that Python calls: ports are set and read as numbers."""

from __future__ import annotations

import ctypes
import functools
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from caesura.cache import cache_directory, digest, locked, seal, whole, work_folder
from caesura.hw.export.ports import Port
from caesura.sim.rtl.compile import COMMON_FLAGS, CompilerFlags, compile_whole, runtime_library, verilate
from caesura.sim.rtl.toolchain import identity

__all__ = ["Model", "NetlistModel", "top_module"]

_FLAGS = (*COMMON_FLAGS, "--coverage-line")
_OPTIONS = CompilerFlags(fast=("-O0",))
_HARNESS = Path(__file__).with_suffix(".cpp")


def top_module(netlist: str, ports: Sequence[Port], constants: Sequence[tuple[str, int]] = ()) -> str:
    """Return a module whose ports have plain names, around one of this name.

    Parameters
    ----------
    netlist : str
    ports : sequence of Port
    constants : sequence of tuple of str and int
        Inputs of the netlist that stay as they are when a model is made: name and bits. They are set by number as
        ports behind the others.
    """
    declared = ["input logic clk", "input logic rst"]
    pins = [".clk (clk)", ".rst (rst)"]
    every = [(port.inner, port.width, port.output) for port in ports] + [(*each, False) for each in constants]
    for number, (name, width, output) in enumerate(every):
        declared.append(f"{'output' if output else 'input'} logic [{width - 1}:0] p{number}")
        pins.append(f".\\{name}  (p{number})")
    return f"module top ({', '.join(declared)});\n  {netlist} netlist ({', '.join(pins)});\nendmodule"


class NetlistModel:
    """A netlist, compiled when it is first run.

    Parameters
    ----------
    text : str
        SystemVerilog with a module ``top`` (`top_module`).
    widths : sequence of int
        Of the ports of ``top`` by number.
    """

    def __init__(self, text: str, widths: Sequence[int]):
        self.text, self.widths = text, tuple(widths)

    @functools.cached_property
    def library(self) -> ctypes.CDLL:
        """The compiled model."""
        made = ctypes.CDLL(str(_library(self.text, len(self.widths))))
        made.make.restype = ctypes.c_void_p
        return made

    @contextmanager
    def running(self) -> Iterator[Model]:
        """Yield a model at power-up."""
        model = Model(self)
        try:
            yield model
        finally:
            model.finish()


class Model:
    """A netlist that runs.

    Parameters
    ----------
    netlist : NetlistModel
    """

    def __init__(self, netlist: NetlistModel):
        self._library = netlist.library
        self._model = ctypes.c_void_p(self._library.make())
        self._buffers = [ctypes.create_string_buffer(_bytes(width)) for width in netlist.widths]
        self._masks = [(1 << width) - 1 for width in netlist.widths]
        self._set = [0] * len(self._masks)
        self.counted: list[str] = []

    def set(self, number: int, value: int) -> None:
        """Set an input, which has its effect on outputs when the model has settled."""
        bits = value & self._masks[number]
        if bits != self._set[number]:
            self._set[number] = bits
            buffer = self._buffers[number]
            ctypes.memmove(buffer, bits.to_bytes(len(buffer), "little"), len(buffer))
            self._library.set_port(self._model, number, buffer)

    def get(self, number: int) -> int:
        """Return an output."""
        buffer = self._buffers[number]
        self._library.get_port(self._model, number, buffer)
        return int.from_bytes(buffer.raw, "little") & self._masks[number]

    def settle(self) -> None:
        """Have outputs follow the inputs."""
        self._library.settle(self._model)

    def edge(self) -> None:
        """Have a clock edge."""
        self._library.edge(self._model)

    def finish(self) -> None:
        """End the run, once; then `counted` has the lines of ``coverage.dat``."""
        with tempfile.TemporaryDirectory(prefix="caesura-model-") as folder:
            file = Path(folder) / "coverage.dat"
            self._library.finish(self._model, str(file).encode())
            self.counted = [line for line in file.read_text(encoding="latin-1").splitlines() if line.startswith("C ")]


def _library(text: str, ports: int) -> Path:
    """Return the shared library of a model, compiled if it is not in the cache yet."""
    source = _HARNESS.read_text().replace("PORTS", " ".join(f"PORT({k})" for k in range(ports)))
    key = digest([text, source, *_FLAGS, repr(_OPTIONS), version("verilator"), identity()])
    result = cache_directory() / "coverage" / f"{key}.so"
    lock = result.with_suffix(".lock")
    with locked(lock):
        if not whole(result):
            started = time.monotonic()
            with work_folder(lock) as work:
                (work / "harness.cpp").write_text(source)
                model = verilate(text, _FLAGS, work)
                runtime = runtime_library(_FLAGS, _OPTIONS, work.parent, threading.Event(), ("verilated_cov",))
                os.replace(compile_whole(model, work / "harness.cpp", _FLAGS, _OPTIONS, runtime), result)
            seal(result, "model that counts coverage", "a block", round(time.monotonic() - started, 1))
    return result


def _bytes(width: int) -> int:
    """Return how many bytes Verilator keeps a port in."""
    for size in (1, 2, 4, 8):
        if width <= 8 * size:
            return size
    return -(-width // 32) * 4
