"""The unit's counters against its ports and its contexts."""

from collections.abc import Awaitable, Callable
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from caesura.hw.arch.image.context import ENTRY_WORDS
from caesura.hw.preempt.save.closer import ENTRY_BODY_BYTES
from caesura.hw.preempt.save.committer import HEAD_BYTES
from caesura.sim.cocotb.contexts import SavedBlock
from caesura.sim.cocotb.preemption import PreemptionBench


class CounterCheck:
    """Watches the commands of a `PreemptionBench` and compares the counters behind each (register map, ``save_*`` and
    ``restore_*``)."""

    LONG = 1500

    def __init__(self, bench: PreemptionBench):
        self._bench = bench
        self._taken = self._released = self._started = self._running = 0
        self._contexts: list[SavedBlock] = []
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        ports, edge, cycle = self._bench.bench.ports, RisingEdge(self._bench.bench.clock), 0
        while True:
            await edge
            cycle += 1
            if ports.command.valid.bits and ports.command.ready.bits:
                self._taken, self._running = cycle, 0
            stopped = ports.core.stop.stopped.bits | ports.core.stop.exited.bits
            self._running += any(not stopped >> slot & 1 for slot in self._bench.state.warps)
            if ports.release.value.valid:
                self._released = cycle - self._taken
            if ports.launch.start.value.valid:
                self._started = cycle - self._taken

    @property
    def _counters(self):
        return self._bench.bench.counters.value

    def saved(self, grace: int) -> None:
        """Compare after a preempt of all TBs."""
        found, contexts = self._counters, [*self._bench.scoreboard.contexts.values()]
        warps = [warp for each in contexts for warp in each.warps.values()]
        self._length = sum(self._bench.scoreboard.lengths[each.launch_id] for each in contexts)
        assert found.save_tbs == len(contexts) and found.save_warps == len(warps)
        assert found.save_registers == sum(len(warp.registers) for warp in warps)
        assert found.save_lines == sum(len(each.lines) for each in contexts)
        assert found.save_data_bytes + found.save_metadata_bytes == self._length + len(contexts) * (
            ENTRY_BODY_BYTES + HEAD_BYTES)
        assert found.grace_cycles == grace and found.save_cycles == self._released
        assert found.drain_cycles <= self._running
        self._tbs = len(contexts)

    async def drained(self, save: Callable[[], Awaitable[Any]]) -> None:
        """Have a preempt done during which a warp runs for long: nearly all of that is drain."""
        task = cocotb.start_soon(save())
        await self._bench.bench.cycles(2)
        for warp in self._bench.state.warps.values():
            warp.reaches = 0
        warp.reaches = self.LONG
        await task
        assert self.LONG // 2 < self._counters.drain_cycles <= self._running

    async def restored(self) -> None:
        """Compare after a resume of all TBs; the core issues an instruction then."""
        found, issued, edge = self._counters, self._bench.bench.core.stop.issued, RisingEdge(self._bench.bench.clock)
        assert found.restore_cycles == self._started
        assert found.restore_bytes == self._length + self._tbs * 4 * ENTRY_WORDS
        before = found.resume_cycles
        issued.value = 1
        await edge
        issued.value = 0
        await edge
        last = self._counters.resume_cycles
        assert 0 <= last - before <= 2
        await self._bench.bench.cycles(3)
        assert self._counters.resume_cycles == last >= found.restore_cycles
