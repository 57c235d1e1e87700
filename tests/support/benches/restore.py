"""Restore pipeline: contexts that software has written become TBs on a core; one with a wrong checksum is bad."""

from __future__ import annotations

import contextlib
import random
from collections import deque
from dataclasses import dataclass

import cocotb
import numpy as np
from cocotb.triggers import ReadWrite, RisingEdge

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.image.image_reader import BadImage
from caesura.hw.preempt.restore.pipeline import RestorePipeline
from caesura.hw.preempt.restore.row_writer import LFSR_SEEDS, LFSR_TAPS
from caesura.sim.cocotb import Bench, parameters
from caesura.sim.cocotb.contexts import SavedBlock, block_of, on_the_core, read_stream, stream_of
from caesura.sim.cocotb.core_agent import CoreAgent
from caesura.sim.cocotb.core_state import Block, CoreState, Kernel
from caesura.sim.cocotb.ports import PortGroup
from support.benches.pipelines import accepted, geometry, moody


def block(**given) -> RestorePipeline:
    """Return the block."""
    return RestorePipeline(geometry(**given))


class Words:
    """Offers the next words, more and more of them, and removes those that are taken."""

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


@dataclass
class Sent:
    """A stream and its table, the checksums that its entry says, and that of the stream as it came."""

    saved: SavedBlock
    stream: list[int]
    table: list[int]
    told: tuple[int, int]
    crc: int


class Noise:
    """Checks the bits of scrambled registers: those of the generators in `row_writer`, moved on with every write."""

    def __init__(self, bench: Bench, restores: Restores):
        self._bench, self._restores = bench, restores
        self.seen = 0
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        port, noise = self._bench.restore_write, [*LFSR_SEEDS]
        while True:
            await RisingEdge(self._bench.clock)
            if not (port.valid.bits and port.ready.bits):
                continue
            write = port.payload.value
            if self._restores.scrambled(write.warp, write.register):
                turns = [lane % 32 for lane in range(len(write.data))]
                words = [noise[lane % len(noise)] for lane in turns]
                assert list(write.data) == [
                    ((word << turn | word >> 32 - turn) ^ LFSR_SEEDS[0] * (turn + 1)) & 0xFFFF_FFFF
                    for turn, word in zip(turns, words, strict=True)]
                self.seen += 1
            noise = [word >> 1 ^ (LFSR_TAPS if word & 1 else 0) for word in noise]


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
        self._sent: dict[int, Sent] = {}  # by TB slot
        self._scramble = False
        self.noise = Noise(bench, self)

    def saved(self, **how: bool) -> list[SavedBlock]:
        """Return the contexts of the TBs of a new kernel, for which there is room, as `CoreState.fill` makes them."""
        before = CoreState(self.g, self.bench.generator())
        self._places = before.fill(**how)
        self.state.kernels = before.kernels
        mechanism = self.rng.choice((Mechanism.LIVE, Mechanism.OCCUPIED))
        return [block_of(before, tb, mechanism) for tb in self.rng.sample(sorted(before.blocks), len(before.blocks))]

    @property
    def kernel(self) -> Kernel:
        """Return the kernel of the contexts in hand."""
        return self.state.kernels[0]

    def checksums(self, stream: list[int], table: list[int], saved: SavedBlock) -> tuple[int, int]:
        """Return those of a stream: of all but its table, and of the table."""
        return context.stream_crcs(self.g, stream + table, len(saved.warps), self.kernel.registers)

    def sent(self, saved: SavedBlock, wrong: int | None = None) -> Sent:
        """Return the stream of a context, as software writes it; of the checksums one may be said to be another."""
        stream, table = stream_of(saved, self.g, self.kernel)
        crcs = self.checksums(stream, table, saved)
        told = [crc ^ (number == wrong) << self.rng.randrange(32) for number, crc in enumerate(crcs)]
        return Sent(saved, stream, table, (told[0], told[1]), crcs[0])

    def scrambled(self, slot: int, register: int) -> bool:
        """Return whether a register of a warp is not in its context, and gets random bits."""
        warp = self.state.warps[slot]
        return self._scramble and register not in self._sent[warp.tb].saved.warps[warp.block_warp].registers

    async def back(self, *sent: Sent, scramble: bool = False) -> list[tuple[int, bool]]:
        """Have contexts restored one behind the other; return the slot of each TB, and whether it is bad."""
        bench, state, rng, g = self.bench, self.state, self.rng, self.g
        entries, places = rng.sample(range(g.tb_slots), len(sent)), rng.sample(self._places, len(sent))
        self._sent = {place[0]: each for place, each in zip(places, sent, strict=True)}
        self._scramble = scramble
        state.blocks = {tb: Block(0, self._sent[tb].saved.launch_id, entry, self._sent[tb].saved.place, base, line,
                                  list(slots), False)
                        for entry, (tb, base, line, slots) in zip(entries, places, strict=True)}
        state.warps.clear()
        state.lines_valid = state.lines_dirty = 0
        bench.accepted.value = accepted(self.kernel, Mechanism.LIVE_CP, scramble)
        for each, entry, (tb, base, line, slots) in zip(sent, entries, places, strict=True):
            skip = rng.randrange(4)
            self.words.waiting.extend([rng.getrandbits(32) for _ in range(skip)] + each.table + each.stream)
            self._jobs.send({
                "entry": entry, "place": {"valid": 1, "tb": tb, "base": base, "first_line": line, "slots": slots},
                "live_warps": sum(1 << warp for warp in each.saved.warps),
                "words": len(each.stream) + len(each.table), "skip": skip,
                "stream_crc": each.told[0], "table_crc": each.told[1]})
            self._crcs.send(each.crc)
        found = []
        while len(found) < len(sent):
            await RisingEdge(bench.clock)
            if (done := bench.done.value).valid:
                assert done.entry == entries[len(found)]
                found.append((places[len(found)][0], bool(done.bad)))
        await ReadWrite()  # transfers of this cycle count
        return found

    def check(self, tb: int, expected: SavedBlock) -> None:
        """Compare a TB that is back with its context; of scrambled registers each has been written."""
        found = on_the_core(self.state, tb)
        for number, warp in found.warps.items() if self._scramble else ():
            assert len(warp.registers) == self.kernel.registers, f"warp {number} is not scrambled"
            kept = expected.warps[number].registers if number in expected.warps else {}
            warp.registers = {register: lanes for register, lanes in warp.registers.items() if register in kept}
        difference = expected.difference(found)
        assert not difference, difference

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
        saved = restores.saved(large=number % 3 == 2, alone=number % 3 == 1)[0]
        wrong = number // 4 % 2 if number % 4 == 3 else None
        ((tb, refused),) = await restores.back(restores.sent(saved, wrong), scramble=number % 5 == 1)
        assert refused == (wrong is not None)
        if not refused:
            restores.check(tb, saved)
            good += 1
        await restores.quiet()
    assert good and restores.agent.writes and restores.noise.seen


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def contexts_follow_one_another(dut):
    """TBs come back one behind the other, while the core takes nothing for long and then everything; one in four is
    bad."""
    restores = await begun(dut)
    cocotb.start_soon(moody(restores.bench, restores.agent))
    for number in range(parameters().get("count", 12)):
        every = restores.saved()
        wrong = [restores.rng.choice((None, None, 0, 1)) if number % 2 else None for _ in every]
        sent = [restores.sent(saved, which) for saved, which in zip(every, wrong, strict=True)]
        found = await restores.back(*sent, scramble=number % 5 == 1)
        for saved, which, (tb, refused) in zip(every, wrong, found, strict=True):
            assert refused == (which is not None)
            if not refused:
                restores.check(tb, saved)
        await restores.quiet()
    assert restores.agent.writes


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_changed_stream_is_refused_or_becomes_what_it_says(dut):
    """Bits of streams are others, and checksums those of what they are then: what software cannot read is refused; what
    it can is on the core. In the second half the core pauses for long."""
    restores, rng = await begun(dut), random.Random(cocotb.RANDOM_SEED)
    verdicts, count = set(), 2 * parameters().get("count", 12)
    for number in range(count):
        if number == count // 2:
            cocotb.start_soon(moody(restores.bench, restores.agent))
        saved = restores.saved(alone=number % 4 > 1)[0]
        sent = restores.sent(saved)
        if number % 3:
            changed = sent.stream if number % 3 == 1 else sent.table
            # Most of a stream is values of registers; what is told apart stands at its beginning.
            changed[rng.randrange(min(len(changed), rng.choice((3, 12, 1000))))] ^= 1 << rng.randrange(32)
        else:
            sent.stream = sent.stream[:-1] if rng.random() < 0.5 else [*sent.stream, 0]
        sent.told = restores.checksums(sent.stream, sent.table, saved)
        sent.crc = sent.told[0]
        expected = None
        with contextlib.suppress(BadImage):
            expected = SavedBlock(saved.launch_id, saved.place, *read_stream(
                np.array(sent.stream + sent.table, np.uint32), restores.g, restores.kernel,
                sum(1 << warp for warp in saved.warps)))
        ((tb, refused),) = await restores.back(sent)
        assert refused == (expected is None), f"stream {number}"
        verdicts.add(refused)
        if expected is not None:
            restores.check(tb, expected)
        await restores.quiet()
    assert verdicts == {False, True}
