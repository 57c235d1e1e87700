"""Tests of blocks on the exported SystemVerilog: a Verilator model gets the same inputs as Amaranth's simulator.

Testbenches of a block run in Amaranth's simulator, as ever. Then the inputs that the block has had in each cycle are
those of a model which Verilator has made of the netlist: all its outputs have to be the same in all cycles.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from amaranth.hdl import Value
from amaranth.lib import wiring

from caesura.hw.export.netlist import netlist
from caesura.hw.export.ports import ports_of
from support.hw import simulation
from support.hw.netlist_model import NetlistModel, top_module

__all__ = ["COUNTED", "Design", "DifferenceError", "Simulator"]


class DifferenceError(AssertionError):
    """The SystemVerilog and Amaranth's simulator disagree."""


class Design:
    """A block simulated by Verilator.

    Parameters
    ----------
    component : wiring.Component

    Attributes
    ----------
    ports : list of Port
    values : list of Value
        Values of the ports.
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
        self.text = (f"{top_module('block__netlist', self.ports)}\n"
                     f"{netlist(component, 'block', self.ports, located=True)}")
        self.counted: Counter[str] = Counter()

    @functools.cached_property
    def _model(self) -> NetlistModel:
        return NetlistModel(self.text, [port.width for port in self.ports])

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
        outputs = [number for number, port in enumerate(self.ports) if port.output]
        inputs = [number for number, port in enumerate(self.ports) if not port.output]
        with self._model.running() as model:
            for cycle, row in enumerate(rows):
                for number in inputs:
                    model.set(number, row[number])
                model.settle()
                for number in outputs:
                    wanted, got = row[number] & (1 << self.ports[number].width) - 1, model.get(number)
                    if got != wanted:
                        name = self.ports[number].inner
                        raise DifferenceError(f"cycle {cycle}: {name} is {got:#x} in SystemVerilog, {wanted:#x} in "
                                              f"Amaranth's simulator")
                model.edge()
        for line in model.counted:
            point, _, count = line.rpartition(" ")
            self.counted[point] += int(count)


COUNTED: dict[int, Design] = {}
"""Designs by the identity of their components."""


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
