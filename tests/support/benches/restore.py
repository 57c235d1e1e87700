"""Restore pipeline: contexts that software has written become TBs on a core; one with a wrong checksum is bad."""

from collections import deque

import cocotb
from cocotb.triggers import ReadWrite, RisingEdge

from caesura.hw.arch import context
from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.geometry import Geometry
from caesura.hw.preempt.restore.pipeline import RestorePipeline
from caesura.sim.cocotb import Bench, parameters
from caesura.sim.cocotb.contexts import block_of, on_the_core, stream_of
from caesura.sim.cocotb.core_agent import CoreAgent
from caesura.sim.cocotb.core_state import Block, CoreState
from caesura.sim.cocotb.ports import PortGroup
from support.benches.pipelines import accepted, geometry


def block(**given) -> RestorePipeline:
    """Return the block."""
    return RestorePipeline(geometry(**given))


class Words:
    """Shows the next words, more of them by and by, and takes back what is taken."""

    def __init__(self, bench: Bench, g: Geometry):
        self.waiting: deque[int] = deque()
        self._most, self._rng = g.window_words, bench.generator()
        cocotb.start_soon(self._run(bench))

    async def _run(self, bench: Bench) -> None:
        level = 0
        while True:
            level = min(len(self.waiting), self._most, max(level, self._rng.randint(0, self._most)))
            shown = [self.waiting[k] for k in range(level)]
            bench.words.value = shown + [self._rng.getrandbits(32)] * (self._most - level)
            bench.level.value = level
            await RisingEdge(bench.clock)
            taken = bench.take.bits
            assert taken <= level, f"{taken} words taken of {level}"
            for _ in range(taken):
                self.waiting.popleft()
            level -= taken
            await ReadWrite()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def every_context_becomes_its_block(dut):
    """TBs come back elsewhere than they were; one of four has a checksum that is not that of its stream."""
    given = parameters()
    g, stall = geometry(**given), given.get("stall", 0.3)
    bench = await Bench.start(dut, block(**given))
    state = CoreState(g, bench.generator())
    core = PortGroup(warps=PortGroup(restore_uniform=bench.restore_uniform),
                     registers=PortGroup(restore_predicate=bench.restore_predicate, restore_write=bench.restore_write),
                     shared=PortGroup(row=bench.row))
    agent = CoreAgent(bench, state, stall, core, PortGroup(warp_init=bench.warp_init, stack_push=bench.stack_push))
    words, rng = Words(bench, g), bench.rng
    jobs, checksums = bench.source(bench.job, stall), bench.source(bench.crc, stall)
    good = 0
    for number in range(given.get("count", 12)):
        before = CoreState(g, bench.generator())
        places = before.fill(large=number % 3 == 2)
        state.kernels = before.kernels
        kernel, source = state.kernels[0], rng.choice(sorted(before.blocks))
        saved = block_of(before, source, rng.choice((Mechanism.LIVE, Mechanism.OCCUPIED)))
        stream, table = stream_of(saved, g, kernel)
        bad = number % 4 == 3
        crcs = context.stream_crcs(g, stream + table, len(saved.warps), kernel.registers)
        tb, base, first_line, slots = rng.choice(places)
        entry = rng.randrange(g.tb_slots)
        state.blocks = {tb: Block(0, saved.launch_id, entry, saved.place, base, first_line, list(slots), False)}
        state.warps.clear()
        state.lines_valid = state.lines_dirty = 0
        bench.accepted.value = accepted(kernel, Mechanism.LIVE_CP)
        skip = rng.randrange(4)
        words.waiting.extend([rng.getrandbits(32) for _ in range(skip)] + table + stream)
        jobs.send({"entry": entry, "place": {"valid": 1, "tb": tb, "base": base, "first_line": first_line,
                                             "slots": slots}, "live_warps": sum(1 << warp for warp in saved.warps),
                   "words": len(stream) + len(table), "skip": skip, "stream_crc": crcs[0] ^ bad,
                   "table_crc": crcs[1]})
        checksums.send(crcs[0])
        await RisingEdge(bench.clock)
        while not (done := bench.done.value).valid:
            await RisingEdge(bench.clock)
        assert (done.entry, done.bad) == (entry, bad)
        await ReadWrite()  # what was transferred in this cycle counts
        if not bad:
            difference = saved.difference(on_the_core(state, tb))
            assert not difference, difference
            good += 1
        await RisingEdge(bench.clock)
        assert not words.waiting
    assert good and agent.writes
