"""Save pipeline: TBs on a core that stops by and by become contexts, whatever waits; the bench plays the committer."""

import itertools
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge

from caesura.hw.arch.geometry import SEGMENT_BYTES
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_ENTRY, State, mechanisms_of
from caesura.hw.arch.image.encodings import encoded_words
from caesura.hw.preempt.save.pipeline import SavePipeline
from caesura.sim.cocotb import Bench, parameters
from caesura.sim.cocotb.contexts import ContextScoreboard, SavedBlock
from caesura.sim.cocotb.core_agent import CoreAgent
from caesura.sim.cocotb.core_state import CoreState
from caesura.sim.cocotb.dispatcher_agent import table_row
from caesura.sim.cocotb.ports import AbsentPort, PortGroup
from support.benches.pipelines import accepted, geometry, moody


def block(**given) -> SavePipeline:
    """Return the block."""
    return SavePipeline(geometry(**given))


class Committer:
    """Takes bursts and their beats into a memory; behind the final burst of an entry it writes the head.

    It has a window of 256 KiB, in which all of a kernel's contexts are. `sinks` are what takes both.
    """

    SIZE = 1 << 18

    def __init__(self, bench: Bench, state: CoreState, stall: float):
        self.bytes, self._state = bytearray(self.SIZE), state
        self._bursts, self._beats = deque(), deque()
        self.heads = 0
        self.sinks = bench.sink(bench.burst, self._burst, stall), bench.sink(bench.data, self._data, stall)

    def read(self, address: int, length: int) -> bytes:
        """Return what is in memory."""
        at = self._place(address)
        return bytes(self.bytes[at:at + length])

    def _place(self, address: int) -> int:
        """Return where an address is in the window."""
        window = self._state.kernels[0].ccb_base // self.SIZE
        assert address // self.SIZE == window, f"{address:#x} is not of the kernel"
        return address % self.SIZE

    def _burst(self, burst) -> None:
        size, count = self._state.g.bus_bytes, burst.extra_beats + 1
        assert burst.address % size == 0 and burst.address // 128 == (burst.address + count * size - 1) // 128
        self._bursts.append(burst)
        self._write()

    def _data(self, beat) -> None:
        self._beats.append(beat)
        self._write()

    def _write(self) -> None:
        """Write the bursts that are there whole."""
        size = self._state.g.bus_bytes
        while self._bursts and len(self._beats) > self._bursts[0].extra_beats:
            burst = self._bursts.popleft()
            for k in range(burst.extra_beats + 1):
                beat, at = self._beats.popleft(), self._place(burst.address) + k * size
                for lane in range(size):
                    if beat.strobe >> lane & 1:
                        self.bytes[at + lane] = beat.data >> 8 * lane & 0xFF
            if burst.final:
                self._head(burst)

    def _head(self, burst) -> None:
        """Write the head of an entry."""
        g, base = self._state.g, self._state.kernels[0].ccb_base
        words = context.to_words(CCB_ENTRY, state=State.COMPLETE, version=context.VERSION, crc=burst.crc)
        address = self._place(context.entry_address(base, burst.entry + burst.side * g.tb_slots))
        self.bytes[address:address + 8] = b"".join(word.to_bytes(4, "little") for word in words[:2])
        self.heads += 1


def port_of(bench: Bench, pending: AbsentPort) -> PortGroup:
    """Return the preemption port, as far as the pipeline has it."""
    return PortGroup(
        stop=PortGroup(pending=pending, stopped=bench.stopped, exited=bench.exited),
        warps=PortGroup(save=bench.warps),
        registers=PortGroup(flags=bench.flags, read=bench.save_read, read_data=bench.save_data),
        shared=PortGroup(valid=bench.lines_valid, dirty=bench.lines_dirty, row=bench.row, row_data=bench.row_data))


class Moods:
    """Checks in each cycle what the pipeline says that it does: whether it waits for warps, whether data flows."""

    LONG = 2000
    """Cycles after which everything that can be written is written."""

    def __init__(self, bench: Bench, state: CoreState):
        self._bench, self._state = bench, state
        self.waited = self.still = 0
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        bench, waits = self._bench, 0
        while True:
            await RisingEdge(bench.clock)
            waiting, flowing, idle = bench.warps_awaited.bits, bench.data_flowing.bits, bench.idle.bits
            stopped = bench.stopped.bits | bench.exited.bits
            running = any(not stopped >> slot & 1 for slot in self._state.warps)
            assert running or not waiting, "it waits for warps, and all have stopped"
            assert running or idle or flowing, "all warps have stopped, it is not idle, and nothing flows"
            assert not (idle and (flowing or waiting)), "it is idle, and yet at work"
            waits = waits + 1 if waiting else 0
            assert waits < self.LONG or not flowing, "it has waited for long, and data still flows"
            self.waited, self.still = self.waited + waiting, self.still + (waits >= self.LONG)


def sizes(saved: SavedBlock, size: int) -> int:
    """Return the bytes of registers and lines of a context."""
    return sum(4 * encoded_words(code, size) for warp in saved.warps.values() for code in warp.codes.values()
               ) + SEGMENT_BYTES * len(saved.lines)


@cocotb.test(timeout_time=8, timeout_unit="ms")
async def every_block_becomes_its_context(dut):
    """By every mechanism; the contexts are read as software reads them, and compared with the core. One TB of a round
    has ended by itself, and of one in three a warp runs for long. In the second half core and memory pause for long."""
    given = parameters()
    g, stall = geometry(**given), given.get("stall", 0.3)
    bench = await Bench.start(dut, block(**given))
    state, pending = CoreState(g, bench.generator()), AbsentPort()
    agent = CoreAgent(bench, state, stall, port_of(bench, pending), PortGroup())
    memory, targets, moods = Committer(bench, state, stall), bench.source(bench.target, stall), Moods(bench, state)
    rounds = [*itertools.product(range(given.get("rounds", 1)), mechanisms_of(g), (0, 1), (False, True))]
    for number, (_, mechanism, scramble, large) in enumerate(rounds):
        if number == len(rounds) // 2:
            cocotb.start_soon(moody(bench, agent, *memory.sinks))
        state.warps.clear()
        state.blocks.clear()
        state.lines_valid = 0
        state.fill(drain=60, large=large, alone=number % 8 == 4)
        order = bench.rng.sample(sorted(state.blocks), len(state.blocks))
        ended = order[-1] if number % 4 == 2 and not large else None
        for slot in state.blocks[ended].slots if ended is not None else ():
            state.warps[slot].live = 0
        if number % 3 == 0:
            state.warps[state.blocks[order[0]].slots[-1]].reaches = 2 * Moods.LONG
        memory.bytes[:], memory.heads = bytes(memory.SIZE), 0
        bench.accepted.value = accepted(state.kernels[0], mechanism, scramble)
        pending.bits = sum(1 << tb for tb in state.blocks)
        targets.send(*({"tb": tb, "row": table_row(state, tb)} for tb in order))
        tallies = []
        while len(tallies) < len(order) or memory.heads < len(order) - (ended is not None) or not bench.idle.bits:
            await RisingEdge(bench.clock)
            if (done := bench.done.value).valid:
                tallies.append(done)
        assert [tally.tb for tally in tallies] == order
        scoreboard = ContextScoreboard(memory.read, state)
        for tb, tally in zip(order, tallies, strict=True):
            assert bool(tally.ended) == (tb == ended)
            if tally.ended:
                continue
            scoreboard.saved(tb, mechanism, bool(scramble))
            launch_id = state.blocks[tb].launch_id
            saved = scoreboard.contexts[launch_id]
            assert tally.warps == len(saved.warps) and tally.lines == len(saved.lines)
            assert tally.registers == sum(len(warp.registers) for warp in saved.warps.values())
            assert tally.data_bytes == sizes(saved, g.warp_size)
            assert tally.data_bytes + tally.metadata_bytes == scoreboard.lengths[launch_id]
        assert memory.heads == len(order) - (ended is not None)
        pending.bits = 0
        await RisingEdge(bench.clock)
    assert agent.reads and moods.waited and moods.still
