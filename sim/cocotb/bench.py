"""The basis of every bench: ports, a clock, a reset, and random numbers that follow from one seed."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from typing import Any

import cocotb
from amaranth.lib import wiring
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from .ports import PortGroup, ports_of
from .streams import StreamMonitor, StreamSink, StreamSource

__all__ = ["PARAMETERS", "Bench", "parameters"]

PARAMETERS = "CAESURA_BENCH_PARAMETERS"
"""Environment variable with the parameters from `run.run_bench`, as JSON."""


def parameters() -> dict[str, Any]:
    """Return the parameters of the bench; there are none if another runner has started it."""
    return json.loads(os.environ.get(PARAMETERS, "{}"))


class Bench:
    """The simulated block with its clock running, out of reset.

    Create one with `start`.

    Parameters
    ----------
    dut : cocotb handle
    component : wiring.Component
        Exported component.
    partial : bool
        See `ports.ports_of`.

    Attributes
    ----------
    ports : PortGroup
        Ports by the names of the component's signature.
    clock : cocotb handle
    rng : random.Random
        Random numbers, which follow from the seed that cocotb prints.
    """

    PERIOD = 10  # nanoseconds
    STIRRED = 30  # cycles before the reset

    def __init__(self, dut: Any, component: wiring.Component, partial: bool = False):
        self.dut, self.clock = dut, dut.clk
        self.ports: PortGroup = ports_of(dut, component, partial)
        self.rng = random.Random(cocotb.RANDOM_SEED)

    @classmethod
    async def start(cls, dut: Any, component: wiring.Component, partial: bool = False) -> Bench:
        """Return a bench whose block is out of reset, with all inputs 0; `partial` is as in `ports.ports_of`.

        Before the reset, the inputs have random values for `STIRRED` cycles, or for the cycles that plusarg ``stirred``
        gives. So the reset starts from a random state.
        """
        bench = cls(dut, component, partial)
        inputs = [port for _, member, port in _leaves(bench.ports, component) if member is wiring.In]
        stir = random.Random(cocotb.RANDOM_SEED)
        cocotb.start_soon(Clock(bench.clock, cls.PERIOD, unit="ns").start())
        dut.rst.value = 0
        for _ in range(int(cocotb.plusargs.get("stirred", cls.STIRRED))):
            for port in inputs:
                port.bits = stir.getrandbits(port.codec.width)
            await RisingEdge(bench.clock)
        for port in inputs:
            port.value = 0
        dut.rst.value = 1
        await ClockCycles(bench.clock, 2)
        dut.rst.value = 0
        await RisingEdge(bench.clock)
        return bench

    def __getattr__(self, name: str) -> Any:
        """Return a port, or a group of ports."""
        if name == "ports":
            raise AttributeError(name)
        return getattr(self.ports, name)

    def generator(self) -> random.Random:
        """Return a separate source of random numbers for an agent."""
        return random.Random(self.rng.getrandbits(32))

    def source(self, stream: PortGroup, stall: float = 0.0) -> StreamSource:
        """Return a driver of an input stream."""
        return StreamSource(stream, self.clock, stall, self.generator())

    def sink(self, stream: PortGroup, received: Callable[[Any], None], stall: float = 0.0,
             steady: bool = True) -> StreamSink:
        """Return a sink of an output stream."""
        return StreamSink(stream, self.clock, received, stall, self.generator(), steady)

    def monitor(self, stream: PortGroup, received: Callable[[Any], None], steady: bool = True) -> StreamMonitor:
        """Return a monitor of a stream that others drive."""
        return StreamMonitor(stream, self.clock, received, steady)

    async def cycles(self, count: int) -> None:
        """Wait for some cycles."""
        await ClockCycles(self.clock, count)


def _leaves(ports: PortGroup, component: wiring.Component):
    """Iterate over path, direction and port."""
    for path, member, _ in component.signature.flatten(component):
        place: Any = ports
        for part in path:
            place = getattr(place, str(part), None)
            if place is None:
                break
        if place is not None:
            yield path, member.flow, place
