"""Tests of blocks on the exported SystemVerilog: what `support.hw.simulation.Simulator` does, in Verilator.

A test of a block gives Amaranth's simulator testbenches, which read and write its ports and wait for clock edges.
Here they do so on a model that Verilator has made of the netlist, as far as they keep to the ports; one that looks
inside the block is refused.
"""

from __future__ import annotations

import ctypes
import functools
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from amaranth.hdl import Const, ShapeCastable, Signal, Value, ValueCastable
from amaranth.hdl._ast import Concat, Operator, Slice
from amaranth.lib import wiring

from caesura.cache import cache_directory, digest, locked, seal, whole, work_folder
from caesura.hw.blocks.netlist import netlist
from caesura.hw.blocks.ports import Port, ports_of
from caesura.sim.rtl.compile import CompilerFlags, compile_whole, runtime_library, verilate
from caesura.sim.rtl.toolchain import identity

__all__ = ["COUNTED", "Design", "InsideError", "Simulator"]

_FLAGS = ("--cc", "-O3", "--no-timing", "--threads", "1", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--coverage-line")
_OPTIONS = CompilerFlags(fast=("-O0",))
_HARNESS = Path(__file__).with_name("harness.cpp")
Testbench = Callable[[Any], Coroutine[Any, Any, None]]


class InsideError(Exception):
    """A test reads or writes what is no port."""


class Design:
    """A block as Verilator simulates it.

    Parameters
    ----------
    component : wiring.Component

    Attributes
    ----------
    text : str
        SystemVerilog, with places in the source.
    counted : Counter
        How often each point was reached: lines of ``coverage.dat`` without their counts.
    """

    def __init__(self, component: wiring.Component):
        self.component = component  # kept, so that its ports are known by their identity
        self._ports = ports_of(component, observe=True)
        values = {path: value for path, _, value in component.signature.flatten(component)}
        self.places = {id(Value.cast(values[port.path])): number for number, port in enumerate(self._ports)}
        self.initial = [(number, Value.cast(values[port.path]).init) for number, port in enumerate(self._ports)  # pyright: ignore
                        if not port.output and isinstance(Value.cast(values[port.path]), Signal)]
        self.text = f"{_top(self._ports)}\n{netlist(component, 'block', self._ports, located=True)}"
        self.counted: Counter[str] = Counter()
        self.widths = [port.width for port in self._ports]

    @functools.cached_property
    def library(self) -> ctypes.CDLL:
        """The compiled model."""
        made = ctypes.CDLL(str(_library(self.text, self._ports)))
        made.make.restype = ctypes.c_void_p
        return made

    def count(self, file: Path) -> None:
        """Add the counts of a run."""
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
    key = digest([text, source, *_FLAGS, repr(_OPTIONS), identity()])
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


class _Tick:
    """A clock edge, with values sampled right before it; as Amaranth's."""

    def __init__(self, sampled: tuple[Any, ...] = ()):
        self.sampled, self.values = sampled, ()

    def __await__(self) -> Iterator[_Tick]:
        yield self
        return (True, False, *self.values)

    def sample(self, *values: Any) -> _Tick:
        """Return an edge with more values."""
        return _Tick((*self.sampled, *values))

    async def until(self, condition: Any) -> tuple[Any, ...]:
        """Wait for the first edge at which a condition holds; return what was sampled."""
        while True:
            _, _, *values, done = await self.sample(condition)  # pyright: ignore
            if done:
                return tuple(values)

    async def repeat(self, count: int) -> tuple[Any, ...]:
        """Wait for some edges; return what was sampled at the last."""
        values: tuple[Any, ...] = ()
        for _ in range(count):
            _, _, *values = await self  # pyright: ignore
        return tuple(values)

    async def __aiter__(self):
        while True:
            yield await self  # pyright: ignore


class _Context:
    """What a testbench is given; as Amaranth's, as far as the tests of blocks need it."""

    def __init__(self, design: Design):
        self._design, self._model = design, ctypes.c_void_p(design.library.make())
        self._settled = False
        self._values = [0] * len(design.widths)
        self._buffers = [ctypes.create_string_buffer(_bytes(width)) for width in design.widths]
        for number, bits in design.initial:
            self._write(number, bits)

    def tick(self) -> _Tick:
        """Return the next clock edge."""
        return _Tick()

    def get(self, expression: Any) -> Any:
        """Return the value of an expression over ports."""
        value = Value.cast(expression)
        bits = self._bits(value)
        shape = expression.shape() if isinstance(expression, ValueCastable) else value.shape()
        if isinstance(shape, ShapeCastable):
            return shape.from_bits(bits & (1 << len(value)) - 1)
        return Const(bits, value.shape()).value

    def set(self, expression: Any, value: Any) -> None:
        """Write an input, or a part of one."""
        target = Value.cast(expression)
        shape = expression.shape() if isinstance(expression, ValueCastable) else target.shape()
        if isinstance(shape, ShapeCastable):
            value = Const.cast(Value.cast(shape.const(value))).value
        self._assign(target, int(value) & (1 << len(target)) - 1)

    def edge(self, waiting: list[_Tick]) -> None:
        """Sample what the testbenches wait with, and give the clock an edge."""
        for tick in waiting:
            tick.values = tuple(self.get(each) for each in tick.sampled)
        self._design.library.edge(self._model)
        self._settled = True

    def finish(self) -> None:
        """End the model and count."""
        with tempfile.TemporaryDirectory(prefix="caesura-coverage-") as folder:
            file = Path(folder) / "coverage.dat"
            self._design.library.finish(self._model, str(file).encode())
            self._design.count(file)

    def _bits(self, value: Value) -> int:
        """Return the bits of an expression."""
        if isinstance(value, Const):
            return value.value & (1 << len(value)) - 1
        if isinstance(value, Slice):
            return self._bits(value.value) >> value.start & (1 << len(value)) - 1
        if isinstance(value, Concat):
            bits = low = 0
            for part in value.parts:
                bits |= self._bits(part) << low
                low += len(part)
            return bits
        if isinstance(value, Operator) and value.operator in ("&", "|", "~", "u", "s"):  # pyright: ignore
            return self._operator(value)
        return self._read(self._place(value))

    def _operator(self, value: Operator) -> int:
        operands = [self._bits(each) for each in value.operands]  # pyright: ignore
        if value.operator == "~":  # pyright: ignore
            return ~operands[0] & (1 << len(value)) - 1
        if value.operator in ("u", "s"):  # pyright: ignore
            return operands[0]
        both = value.operator == "&"  # pyright: ignore
        return operands[0] & operands[1] if both else operands[0] | operands[1]

    def _assign(self, target: Value, bits: int) -> None:
        """Write the bits of an input, or of a part of one."""
        if isinstance(target, Slice):
            low, mask = target.start, (1 << len(target)) - 1
            before = self._written(target.value)
            self._assign(target.value, before & ~(mask << low) | bits << low)
        elif isinstance(target, Concat):
            for part in target.parts:
                self._assign(part, bits & (1 << len(part)) - 1)
                bits >>= len(part)
        else:
            self._write(self._place(target), bits)

    def _written(self, value: Value) -> int:
        if isinstance(value, Slice):
            return self._written(value.value) >> value.start & (1 << len(value)) - 1
        return self._values[self._place(value)]

    def _place(self, value: Value) -> int:
        place = self._design.places.get(id(value))
        if place is None:
            raise InsideError(f"{value!r} is no port")
        return place

    def _read(self, place: int) -> int:
        if not self._settled:
            self._design.library.settle(self._model)
            self._settled = True
        buffer = self._buffers[place]
        self._design.library.get_port(self._model, place, buffer)
        return int.from_bytes(buffer.raw, "little") & (1 << self._design.widths[place]) - 1

    def _write(self, place: int, bits: int) -> None:
        self._values[place] = bits
        buffer = self._buffers[place]
        ctypes.memmove(buffer, bits.to_bytes(len(buffer), "little"), len(buffer))
        self._design.library.set_port(self._model, place, buffer)
        self._settled = False


def _bytes(width: int) -> int:
    """Return how many bytes Verilator keeps a port in."""
    for size in (1, 2, 4, 8):
        if width <= 8 * size:
            return size
    return -(-width // 32) * 4


class Simulator:
    """A run of a block, as with `support.hw.simulation.Simulator`.

    Parameters
    ----------
    dut : Component
    """

    def __init__(self, dut: Any):
        self._design = COUNTED.get(id(dut)) or COUNTED.setdefault(id(dut), Design(dut))
        self._testbenches: list[tuple[Testbench, bool]] = []
        self._period = 1.0

    def add_clock(self, period: float) -> None:
        """Note the period of the clock, in seconds."""
        self._period = period

    def add_testbench(self, testbench: Testbench, *, background: bool = False) -> None:
        """Add a testbench; the run ends when only those in the background are left."""
        self._testbenches.append((testbench, background))

    def run(self, limit: float | None = None) -> None:
        """Simulate until the testbenches have ended; a `limit` is in seconds of simulated time.

        Raises
        ------
        TimeoutError
            If they have not ended by then.
        """
        ctx = _Context(self._design)
        running = [(testbench(ctx), background) for testbench, background in self._testbenches]
        cycles = 1 << 60 if limit is None else round(limit / self._period)
        try:
            waiting = _resumed(running)
            while any(not background for _, background, _ in waiting):
                if cycles == 0:
                    raise TimeoutError(f"not finished after {limit} s of simulated time")
                cycles -= 1
                ctx.edge([tick for *_, tick in waiting])
                waiting = _resumed([(coroutine, background) for coroutine, background, _ in waiting])
        finally:
            for coroutine, _ in running:
                coroutine.close()
            ctx.finish()


def _resumed(running: list[tuple[Any, bool]]) -> list[tuple[Any, bool, _Tick]]:
    """Let each testbench go on to its next clock edge; return those that have not ended, with what they wait for."""
    waiting = []
    for coroutine, background in running:
        try:
            waiting.append((coroutine, background, coroutine.send(None)))
        except StopIteration:
            continue
    return waiting
