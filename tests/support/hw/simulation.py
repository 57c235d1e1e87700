"""Simulators of blocks that several tests use: the last few are kept, and start again from the initial state.

Elaborating and compiling a block takes longer than most of its tests. A test takes the block from `component` and
runs it with `Simulator`, which is used as Amaranth's; every run begins with all signals and memories at their initial
values. What a run that fails leaves behind is never used again.
"""

from collections.abc import Callable, Coroutine, Hashable
from contextlib import nullcontext, suppress
from typing import Any

from amaranth import sim

from caesura.sim.events import EventEngine

__all__ = ["KEPT", "Context", "Simulator", "component"]

KEPT = 8
"""Blocks kept with their simulators, the last used."""

Context = Any
"""What a testbench is given: Amaranth's `SimulatorContext`, which its types do not export."""
Testbench = Callable[[Context], Coroutine[Any, Any, None]]


class _Kept:
    """A block, and once it has run, its simulator.

    Amaranth resets signals, memories, time and clocks, and calls each testbench again, but takes none away. So it gets
    places, numbered from 0, each of which runs the testbench of that number of the present run, if there is one.
    """

    def __init__(self, dut: Any, process: Testbench | None = None):
        self.dut, self.process = dut, process
        self.simulator: sim.Simulator | None = None
        self.clocks: list[float] = []
        self.places = 0
        self.testbenches: list[tuple[Testbench, bool]] = []
        self.begun: list[Coroutine] = []

    def run(self, clocks: list[float], testbenches: list[tuple[Testbench, bool]]) -> None:
        if self.simulator is not None and clocks == self.clocks:
            self.simulator.reset()
        else:
            self.simulator, self.clocks, self.places = sim.Simulator(self.dut, engine=EventEngine), clocks, 0
            for period in clocks:
                self.simulator.add_clock(period)
            if self.process is not None:
                self.simulator.add_process(self.process)
        self.testbenches = testbenches
        while self.places < len(testbenches):
            self.simulator.add_testbench(self._place(self.places), background=True)
            self.places += 1
        try:
            self.simulator.run()
        finally:
            self._close()

    def _close(self) -> None:
        """End the testbenches that still wait, now rather than in a later run, where they could change something."""
        for coroutine in self.begun:
            with suppress(RuntimeError):  # Amaranth's `until` and `repeat` raise it when they are closed
                coroutine.close()
        self.testbenches, self.begun = [], []

    def _place(self, number: int) -> Testbench:
        async def place(ctx: Context):
            if number < len(self.testbenches):
                testbench, background = self.testbenches[number]
                with nullcontext() if background else ctx.critical():
                    coroutine = testbench(ctx)
                    self.begun.append(coroutine)
                    await coroutine
        return place


_kept: dict[Hashable, _Kept] = {}
"""By class and arguments of the block; the last used is last."""


def component(block: Callable, *arguments: Hashable, **options: Hashable) -> Any:
    """Return ``block(*arguments, **options)``, the same object as before if it is still kept.

    It is elaborated once, so nothing that its elaboration reads may be patched, and what a test sets in the object
    itself, other than values of its signals and memories, stays.

    Parameters
    ----------
    block : type
        Class of an `amaranth.lib.wiring.Component`.
    arguments, options
        What it is made with, e.g. a `Geometry`.
    """
    key = block, arguments, tuple(sorted(options.items()))
    kept = _kept.pop(key, None) or _Kept(block(*arguments, **options))
    _kept[key] = kept
    while len(_kept) > KEPT:
        del _kept[next(iter(_kept))]
    return kept.dut


class Simulator:
    """A run of a block, as with `amaranth.sim.Simulator`; of one from `component` the simulator is kept.

    Parameters
    ----------
    dut : Component
    """

    def __init__(self, dut: Any):
        self._dut = dut
        self._clocks: list[float] = []
        self._testbenches: list[tuple[Testbench, bool]] = []

    def add_clock(self, period: float) -> None:
        """Add a clock to the domain ``sync``, `period` in seconds."""
        self._clocks.append(period)

    def add_testbench(self, testbench: Testbench, *, background: bool = False) -> None:
        """Add a testbench; the run ends when only those in the background are left."""
        self._testbenches.append((testbench, background))

    def run(self, limit: float | None = None) -> None:
        """Simulate from the initial state until the testbenches have ended.

        Parameters
        ----------
        limit : float, optional
            Seconds of simulated time.

        Raises
        ------
        TimeoutError
            If they have not ended by then.
        """
        key = next((key for key, kept in _kept.items() if kept.dut is self._dut), None)
        kept = _Kept(self._dut) if key is None else _kept.pop(key)
        self._run(kept, limit)
        if key is not None:
            _kept[key] = kept

    def run_with(self, dut: Any, process: Testbench, limit: float | None = None) -> None:
        """Simulate another module in the place of the block, beside a process that drives the block's outputs."""
        self._run(_Kept(dut, process), limit)

    def _run(self, kept: _Kept, limit: float | None) -> None:
        async def deadline(ctx: Context):
            await ctx.delay(limit)
            raise TimeoutError(f"not finished after {limit} s of simulated time")

        kept.run(self._clocks, [*self._testbenches, *([] if limit is None else [(deadline, True)])])
