"""Tests of a block run on its netlist, with a fault or without, instead of its source.

::

    testbenches <--> signals of the block's ports <--> process <--> netlist in Verilator
                     (in Amaranth's simulator)

The tests are those of `tests/hw`, unchanged. Amaranth's simulator runs a block without logic in place of the real one.
A process sets its outputs to those of the netlist for the same inputs, at each change of an input and at each clock
edge.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import ClockDomain, Module, Signal, Value
from amaranth.lib import wiring

from caesura.hw.arch.geometry import Geometry
from caesura.hw.export.ports import Port, ports_of
from support.hw import simulation
from support.hw.netlist_model import Model, NetlistModel

__all__ = ["Substitute", "TooLongError", "port_signals", "substituted"]


class TooLongError(AssertionError):
    """A test takes more cycles than it may."""


@dataclass
class Substitute:
    """The netlist that runs in place of a block.

    Attributes
    ----------
    component : wiring.Component
        A block like those that are replaced: of its class, with its geometry and ports.
    netlist : NetlistModel
        The netlist, whose last port behind those of the block chooses the fault.
    fault : int
        Its number, 0 for none.
    limit : int
        Cycles that a simulation may take.
    ran : list of int
        Cycles that simulations have taken; 1 of one without a clock.
    """

    component: wiring.Component
    netlist: NetlistModel
    fault: int = 0
    limit: int = 1 << 40
    ran: list[int] = field(default_factory=list)

    def stands_for(self, dut: Any) -> bool:
        """Whether this is the block of a test."""
        own = self.component
        return (type(dut) is type(own) and _parameters(dut) == _parameters(own)
                and _shapes(ports_of(dut)) == _shapes(ports_of(own)))


def _parameters(block: wiring.Component) -> dict[str, Any]:
    """Return what a block was made with: its geometry, sizes, choices."""
    return {name: value for name, value in vars(block).items()
            if isinstance(value, (int, str, type, Geometry)) and not name.startswith("_")}


def port_signals(dut: wiring.Component) -> list[Any]:
    """Return the signals of a block's ports, in the order of `ports_of`."""
    values = {path: value for path, _, value in dut.signature.flatten(dut)}
    return [Value.cast(values[port.path]) for port in ports_of(dut)]


def _shapes(ports: list[Port]) -> list[tuple[str, int, bool]]:
    return [(port.inner, port.width, port.output) for port in ports]


def substituted(substitute: Substitute) -> type[simulation.Simulator]:
    """Return the simulator that tests are to be given in the place of `simulation.Simulator`."""
    class Simulator(simulation.Simulator):
        """A run of a block, or of what is substituted for it."""

        def run(self, limit: float | None = None) -> None:
            """Simulate until the testbenches have ended; a `limit` is in seconds of simulated time.

            Raises
            ------
            TimeoutError, TooLongError
                If they have not ended by then, or within the cycles of the substitute.
            """
            if not substitute.stands_for(self._dut):
                return super().run(limit)
            m = Module()
            domain: Any = ClockDomain("sync")  # the stubs do not know its clock
            m.domains += domain
            m.d.sync += Signal(name="unused").eq(0)  # the domain has to be of use
            with substitute.netlist.running() as model:
                self.run_with(m, _process(self._dut, substitute, model, domain.clk), limit)
            return None

    return Simulator


def _process(dut: wiring.Component, substitute: Substitute, model: Model, clock: Signal
             ) -> Callable[[simulation.Context], Coroutine[Any, Any, None]]:
    """Return the process that gives a netlist the inputs of a block, and the block the netlist's outputs."""
    ports, signals = ports_of(dut), port_signals(dut)
    inputs = [number for number, port in enumerate(ports) if not port.output]
    shown = {number: signals[number].init for number, port in enumerate(ports) if port.output}

    def show(ctx: simulation.Context) -> None:
        model.settle()
        for number, before in shown.items():
            bits = model.get(number)
            if before != bits:
                ctx.set(signals[number], bits)
                shown[number] = bits

    async def process(ctx: simulation.Context) -> None:
        model.set(len(ports), substitute.fault)
        for number in inputs:
            model.set(number, signals[number].init)
        substitute.ran.append(0)
        show(ctx)
        async for edge, *bits in ctx.edge(clock, 1).changed(*(signals[number] for number in inputs)):
            if edge:
                model.edge()
                substitute.ran[-1] += 1
                if substitute.ran[-1] > substitute.limit:
                    raise TooLongError(f"not at an end after {substitute.limit} cycles")
            else:
                substitute.ran[-1] = max(substitute.ran[-1], 1)
            for number, value in zip(inputs, bits, strict=True):
                model.set(number, value)
            show(ctx)

    return process
