"""Tests of blocks on the exported SystemVerilog: what Amaranth's simulator was given is given to a model of Verilator.

Testbenches of a block run in Amaranth's simulator, as ever. Then the inputs that the block has had in each cycle are
those of a model which Verilator has made of the netlist: all its outputs have to be the same in all cycles.
"""

from __future__ import annotations

import ctypes
import functools
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth.hdl import Value
from amaranth.lib import wiring

from caesura.cache import cache_directory, digest, locked, seal, whole, work_folder
from caesura.hw.blocks.netlist import netlist
from caesura.hw.blocks.ports import Port, ports_of
from caesura.sim.rtl.compile import COMMON_FLAGS, CompilerFlags, compile_whole, runtime_library, verilate
from caesura.sim.rtl.toolchain import identity
from support.hw import simulation

__all__ = ["COUNTED", "Design", "DifferenceError", "Simulator"]

_FLAGS = (*COMMON_FLAGS, "--coverage-line")
_OPTIONS = CompilerFlags(fast=("-O0",))
_HARNESS = Path(__file__).with_name("harness.cpp")


class DifferenceError(AssertionError):
    """The SystemVerilog does something else than Amaranth's simulator."""


class Design:
    """A block as Verilator simulates it.

    Parameters
    ----------
    component : wiring.Component

    Attributes
    ----------
    ports : list of Port
    values : list of Value
        Of the ports.
    text : str
        SystemVerilog, with places in the source.
    counted : Counter
        How often each point was reached: lines of ``coverage.dat`` without their counts.
    """

    def __init__(self, component: wiring.Component):
        self.component = component  # kept, so that it is known by its identity
        self.ports = ports_of(component, observe=True)
        values = {path: value for path, _, value in component.signature.flatten(component)}
        self.values = [Value.cast(values[port.path]) for port in self.ports]
        self.text = f"{_top(self.ports)}\n{netlist(component, 'block', self.ports, located=True)}"
        self.counted: Counter[str] = Counter()

    @functools.cached_property
    def library(self) -> ctypes.CDLL:
        """The compiled model."""
        made = ctypes.CDLL(str(_library(self.text, self.ports)))
        made.make.restype = ctypes.c_void_p
        return made

    def replay(self, rows: Iterable[Sequence[int]]) -> None:
        """Give the model its inputs of all cycles, and count.

        Parameters
        ----------
        rows : iterable of sequence of int
            The values of all ports right before each clock edge.

        Raises
        ------
        DifferenceError
            If an output has another value.
        """
        model = ctypes.c_void_p(self.library.make())
        buffers = [ctypes.create_string_buffer(_bytes(port.width)) for port in self.ports]
        masks = [(1 << port.width) - 1 for port in self.ports]
        before = [0] * len(self.ports)
        for cycle, row in enumerate(rows):
            wanted = [value & mask for value, mask in zip(row, masks, strict=True)]
            for number, (port, bits, buffer) in enumerate(zip(self.ports, wanted, buffers, strict=True)):
                if not port.output and bits != before[number]:
                    ctypes.memmove(buffer, bits.to_bytes(len(buffer), "little"), len(buffer))
                    self.library.set_port(model, number, buffer)
            before = wanted
            self.library.settle(model)
            for number, (port, bits, buffer) in enumerate(zip(self.ports, wanted, buffers, strict=True)):
                if port.output:
                    self.library.get_port(model, number, buffer)
                    got = int.from_bytes(buffer.raw, "little") & masks[number]
                    if got != bits:
                        raise DifferenceError(f"cycle {cycle}: {port.inner} is {got:#x} in SystemVerilog, {bits:#x} in "
                                              f"Amaranth's simulator")
            self.library.edge(model)
        self._finish(model)

    def _finish(self, model: ctypes.c_void_p) -> None:
        """End the model and add what it has counted."""
        with tempfile.TemporaryDirectory(prefix="caesura-coverage-") as folder:
            file = Path(folder) / "coverage.dat"
            self.library.finish(model, str(file).encode())
            for line in file.read_text(encoding="latin-1").splitlines():
                if line.startswith("C "):
                    point, _, count = line.rpartition(" ")
                    self.counted[point] += int(count)


COUNTED: dict[int, Design] = {}
"""Designs by the identity of their components."""


def _top(ports: list[Port]) -> str:
    """Return a module whose ports have plain names."""
    declared = ["input logic clk", "input logic rst"]
    pins = [".clk (clk)", ".rst (rst)"]
    for number, port in enumerate(ports):
        declared.append(f"{'output' if port.output else 'input'} logic [{port.width - 1}:0] p{number}")
        pins.append(f".\\{port.inner}  (p{number})")
    return f"module top ({', '.join(declared)});\n  block__netlist netlist ({', '.join(pins)});\nendmodule"


def _library(text: str, ports: list[Port]) -> Path:
    """Return the shared library of a model, compiled if it is not in the cache yet."""
    source = _HARNESS.read_text().replace("PORTS", " ".join(f"PORT({k})" for k in range(len(ports))))
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


class Simulator(simulation.Simulator):
    """A run of a block in Amaranth's simulator, and then of its SystemVerilog.

    Parameters
    ----------
    dut : Component or Module
        One that is no component has no netlist: it runs in Amaranth's simulator alone.
    """

    def __init__(self, dut: Any):
        super().__init__(dut)
        self._design: Design | None = None
        if isinstance(dut, wiring.Component):
            self._design = COUNTED.get(id(dut)) or COUNTED.setdefault(id(dut), Design(dut))

    def run(self, limit: float | None = None) -> None:
        """Simulate until the testbenches have ended, and again in Verilator; a `limit` is in seconds of simulated time.

        Raises
        ------
        TimeoutError
            If they have not ended by then.
        DifferenceError
            If the SystemVerilog does something else.
        """
        if self._design is None:
            return super().run(limit)
        rows: list[Sequence[int]] = []
        values = self._design.values

        async def record(ctx: simulation.Context):
            async for _, _, *row in ctx.tick().sample(*values):
                rows.append(row)

        self.add_testbench(record, background=True)
        super().run(limit)
        self._design.replay(rows)
        return None
