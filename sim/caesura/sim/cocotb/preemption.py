"""A bench of the whole preemption unit: core, dispatcher and memory around it, and the scoreboard of its contexts."""

from __future__ import annotations

from typing import Any

from amaranth.lib import wiring

from caesura.hw.arch.geometry import Geometry

from .axi import BurstMonitor, axi_memory
from .bench import Bench
from .contexts import ContextScoreboard
from .core_agent import CoreAgent
from .core_state import Block, CoreState, Kernel
from .dispatcher_agent import DispatcherAgent, Place

__all__ = ["PreemptionBench"]


class PreemptionBench:
    """A preemption unit in its place: TBs of one kernel on the core, as many as fit.

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
            What was exported.
        g : Geometry
        stall : float
            Share of the cycles in which each stream and bus channel pauses, in [0, 1).
        drain : int
            Cycles that a warp runs on at most until it reaches a point.
        """
        self = cls()
        self.bench = bench = await Bench.start(dut, component)
        self.state = CoreState(g, bench.generator())
        self.memory = axi_memory(bench, stall=stall)
        self.bursts = BurstMonitor(bench)
        places = self._fill(g, drain)
        self.scoreboard = ContextScoreboard(self.memory.read, self.state)
        self.core = CoreAgent(bench, self.state, stall)
        self.dispatcher = DispatcherAgent(bench, self.state, self.scoreboard, places)
        return self

    def _fill(self, g: Geometry, drain: int) -> list[Place]:
        """Put as many TBs on the core as fit, each with half its warps or so; return their places."""
        rng, blocks = self.state.rng, min(g.tb_slots, g.warps // 2)
        warps, lines = g.warps // blocks, g.shared_lines // blocks
        registers = rng.randint(3, min(12, g.regs_per_thread, (g.registers // blocks - 3) // warps))
        self.state.kernels[0] = Kernel.of(g, registers, warps, lines * 128 - 4 if lines else 0)
        size = -(-registers * warps // 4) * 4
        slots, entries = rng.sample(range(g.warps), g.warps), rng.sample(range(g.tb_slots), g.tb_slots)
        places = [(tb, tb * size, tb * lines, slots[tb * warps:(tb + 1) * warps]) for tb in range(blocks)]
        for number, (tb, base, line, own) in enumerate(places):
            self.state.add_block(tb, Block(0, 100 + number, entries[tb], (rng.getrandbits(20), number, 3), base, line,
                                           list(own)), drain)
        return places
