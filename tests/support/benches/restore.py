"""Restore pipeline: contexts that software has written become TBs on a core; one with a wrong checksum is bad."""

import contextlib
import random
from collections import deque

import cocotb
import numpy as np
from cocotb.triggers import ReadWrite, RisingEdge

from caesura.hw.arch import context
from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image_reader import BadImage
from caesura.hw.preempt.restore.pipeline import RestorePipeline
from caesura.sim.cocotb import Bench, parameters
from caesura.sim.cocotb.contexts import SavedBlock, block_of, on_the_core, read_stream, stream_of
from caesura.sim.cocotb.core_agent import CoreAgent
from caesura.sim.cocotb.core_state import Block, CoreState, Kernel
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


class Restores:
    """The pipeline with a core and words to take; TBs come back elsewhere than they were."""

    def __init__(self, bench: Bench, g: Geometry, stall: float):
        self.bench, self.g, self.rng = bench, g, bench.rng
        self.state = CoreState(g, bench.generator())
        core = PortGroup(warps=PortGroup(restore_uniform=bench.restore_uniform), registers=PortGroup(
            restore_predicate=bench.restore_predicate, restore_write=bench.restore_write),
                         shared=PortGroup(row=bench.row))
        self.agent = CoreAgent(bench, self.state, stall, core,
                               PortGroup(warp_init=bench.warp_init, stack_push=bench.stack_push))
        self.words, self._jobs, self._crcs = Words(bench, g), bench.source(bench.job, stall), bench.source(
            bench.crc, stall)

    def saved(self, large: bool = False) -> SavedBlock:
        """Return the context of a TB of a new kernel, for which there is room."""
        before = CoreState(self.g, self.bench.generator())
        self._places = before.fill(large=large)
        self.state.kernels = before.kernels
        return block_of(before, self.rng.choice(sorted(before.blocks)),
                        self.rng.choice((Mechanism.LIVE, Mechanism.OCCUPIED)))

    @property
    def kernel(self) -> Kernel:
        """Return the kernel of the context in hand."""
        return self.state.kernels[0]

    def checksums(self, stream: list[int], table: list[int], saved: SavedBlock) -> tuple[int, int]:
        """Return those of a stream: of all but its table, and of the table."""
        return context.stream_crcs(self.g, stream + table, len(saved.warps), self.kernel.registers)

    async def back(self, saved: SavedBlock, stream: list[int], table: list[int], crcs: tuple[int, int], crc: int
                   ) -> tuple[int, bool]:
        """Have a stream restored whose entry says `crcs`, and whose own checksum is `crc`; return the slot of its TB,
        and whether it is bad."""
        bench, state, rng = self.bench, self.state, self.rng
        tb, base, first_line, slots = rng.choice(self._places)
        entry, skip = rng.randrange(self.g.tb_slots), rng.randrange(4)
        state.blocks = {tb: Block(0, saved.launch_id, entry, saved.place, base, first_line, list(slots), False)}
        state.warps.clear()
        state.lines_valid = state.lines_dirty = 0
        bench.accepted.value = accepted(self.kernel, Mechanism.LIVE_CP)
        self.words.waiting.extend([rng.getrandbits(32) for _ in range(skip)] + table + stream)
        self._jobs.send({
            "entry": entry, "place": {"valid": 1, "tb": tb, "base": base, "first_line": first_line, "slots": slots},
            "live_warps": sum(1 << warp for warp in saved.warps), "words": len(stream) + len(table), "skip": skip,
            "stream_crc": crcs[0], "table_crc": crcs[1]})
        self._crcs.send(crc)
        await RisingEdge(bench.clock)
        while not (done := bench.done.value).valid:
            await RisingEdge(bench.clock)
        assert done.entry == entry
        await ReadWrite()  # what was transferred in this cycle counts
        return tb, bool(done.bad)

    async def quiet(self) -> None:
        """Check that nothing is left of a stream."""
        await RisingEdge(self.bench.clock)
        await ReadWrite()
        assert not self.words.waiting and self.bench.idle.bits


async def begun(dut) -> Restores:
    """Return the pipeline that the parameters ask for."""
    given = parameters()
    return Restores(await Bench.start(dut, block(**given)), geometry(**given), given.get("stall", 0.3))


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def every_context_becomes_its_block(dut):
    """One of four has a checksum that is not that of its stream, or of its table."""
    restores, good = await begun(dut), 0
    for number in range(parameters().get("count", 12)):
        saved = restores.saved(large=number % 3 == 2)
        stream, table = stream_of(saved, restores.g, restores.kernel)
        crcs, bad = restores.checksums(stream, table, saved), number % 4 == 3
        flipped = bad << restores.rng.randrange(32)
        told = (crcs[0] ^ flipped, crcs[1]) if number % 8 == 3 else (crcs[0], crcs[1] ^ flipped)
        tb, refused = await restores.back(saved, stream, table, told, crcs[0])
        assert refused == bad
        if not bad:
            difference = saved.difference(on_the_core(restores.state, tb))
            assert not difference, difference
            good += 1
        await restores.quiet()
    assert good and restores.agent.writes


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_changed_stream_is_refused_or_becomes_what_it_says(dut):
    """Bits of streams are others, and checksums those of what they are then: what software cannot read is refused; what
    it can is on the core."""
    restores, rng = await begun(dut), random.Random(cocotb.RANDOM_SEED)
    verdicts = set()
    for number in range(2 * parameters().get("count", 12)):
        saved = restores.saved()
        stream, table = stream_of(saved, restores.g, restores.kernel)
        if number % 3:
            changed = stream if number % 3 == 1 else table
            # Most of a stream is values of registers; what is told apart stands at its beginning.
            changed[rng.randrange(min(len(changed), rng.choice((3, 12, 1000))))] ^= 1 << rng.randrange(32)
        else:
            stream = stream[:-1] if rng.random() < 0.5 else [*stream, 0]
        crcs = restores.checksums(stream, table, saved)
        expected = None
        with contextlib.suppress(BadImage):
            expected = SavedBlock(saved.launch_id, saved.place, *read_stream(
                np.array(stream + table, np.uint32), restores.g, restores.kernel,
                sum(1 << warp for warp in saved.warps)))
        tb, refused = await restores.back(saved, stream, table, crcs, crcs[0])
        assert refused == (expected is None), f"stream {number}"
        verdicts.add(refused)
        if expected is not None:
            difference = expected.difference(on_the_core(restores.state, tb))
            assert not difference, difference
        await restores.quiet()
    assert verdicts == {False, True}
