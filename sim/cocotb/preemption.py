"""A bench of the whole preemption unit, with core, dispatcher, memory, and a scoreboard of its contexts."""

from __future__ import annotations

from typing import Any

from amaranth.lib import wiring

from caesura.hw.arch.geometry import Geometry

from .axi import BurstMonitor, axi_memory
from .bench import Bench
from .contexts import ContextScoreboard
from .core_agent import CoreAgent
from .core_state import CoreState
from .dispatcher_agent import DispatcherAgent

__all__ = ["PreemptionBench"]


class PreemptionBench:
    """A preemption unit with its surroundings; TBs of one kernel fill the core.

    Create one with `start`.

    Attributes
    ----------
    bench : Bench
    state : CoreState
    core : CoreAgent
    dispatcher : DispatcherAgent
    memory : axi.FailingRam
    bursts : axi.BurstMonitor
    scoreboard : ContextScoreboard
    """

    bench: Bench
    state: CoreState
    core: CoreAgent
    dispatcher: DispatcherAgent
    memory: Any
    bursts: BurstMonitor
    scoreboard: ContextScoreboard

    @classmethod
    async def start(cls, dut: Any, component: wiring.Component, g: Geometry, stall: float = 0.0, drain: int = 40
                    ) -> PreemptionBench:
        """Return a bench whose core is full.

        Parameters
        ----------
        dut : cocotb handle
        component : wiring.Component
            Exported component.
        g : Geometry
        stall : float
            Share of the cycles in which each stream and bus channel pauses, in [0, 1).
        drain : int
            Most cycles until a warp reaches a point.
        """
        self = cls()
        self.bench = bench = await Bench.start(dut, component)
        self.state = CoreState(g, bench.generator())
        self.memory = axi_memory(bench, stall=stall)
        self.bursts = BurstMonitor(bench)
        places = self.state.fill(drain)
        self.scoreboard = ContextScoreboard(self.memory.words, self.state)
        self.core = CoreAgent(bench, self.state, stall)
        self.dispatcher = DispatcherAgent(bench, self.state, self.scoreboard, places)
        return self
