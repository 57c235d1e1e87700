"""The whole preemption unit: kernels are preempted and resumed, by every mechanism, on a bus that pauses and fails;
commands are withdrawn, hastened and dropped, contexts are damaged, a kernel is taken over from memory."""

import itertools
from types import SimpleNamespace

import cocotb
from cocotb.triggers import RisingEdge

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import Mechanism, State, mechanisms_of
from caesura.hw.export.tops import PreemptionUnit
from caesura.sim.cocotb import parameters
from caesura.sim.cocotb.contexts import read_context
from caesura.sim.cocotb.core_state import Kernel
from caesura.sim.cocotb.preemption import PreemptionBench
from support.benches.unit_counters import CounterCheck

SHAPES = {"tiny": {}, "beats": {"warp_size": 16, "lanes": 4, "bus_bytes": 16},
          "narrow": {"bus_bytes": 4, "bytes_per_cycle": 4.0},
          "plain": {"in_place": False, "tb_compressor": False, "checkpoints": False, "traps": False, "warps": 6,
                    "tb_slots": 3, "regs_per_thread": 64, "registers": 256}}
BEST = Mechanism.LIVE_CP


def geometry(shape: str = "tiny", **_: int) -> Geometry:
    """Return the geometry of a shape."""
    return preset("tiny").replace(**SHAPES[shape])


def block(**given) -> PreemptionUnit:
    """Return the block."""
    return PreemptionUnit(geometry(**given))


async def begun(dut, stall: float, drain: int = 40) -> PreemptionBench:
    """Return a bench of the unit that the parameters ask for, its core full."""
    given = parameters()
    return await PreemptionBench.start(dut, block(**given), geometry(**given), stall=given.get("stall", stall),
                                       drain=drain)


async def saved(bench: PreemptionBench, mechanism: Mechanism = BEST, kernel: int = 0, **more: int) -> SimpleNamespace:
    """Have a kernel preempted, which must succeed; its warps come to a point soon."""
    for warp in bench.state.warps.values():
        warp.reaches = bench.state.rng.randint(0, 60)
    result = await bench.dispatcher.preempt(kernel, mechanism, **more)
    assert result.error == CommandError.NONE and not result.left
    return result


async def brought_back(bench: PreemptionBench, kernel: int = 0, **more: int) -> SimpleNamespace:
    """Have a kernel resumed, which must succeed; nothing of it is kept then."""
    result = await bench.dispatcher.resume(kernel, **more)
    assert result.error == CommandError.NONE and not result.left
    assert all(tb.started for tb in bench.state.blocks.values() if tb.kernel == kernel)
    assert not bench.bench.kept.bits >> kernel & 1
    return result


def raised(bench: PreemptionBench, name: str, cycle: int):
    """Raise an input of the unit some cycles from now, until the command in hand ends; return what does."""
    async def run() -> None:
        port, edge = bench.bench.ports[name], RisingEdge(bench.bench.clock)
        for _ in range(cycle):
            await edge
        port.value = 1
        while not bench.bench.result.value.valid:
            await edge
        port.value = 0

    return cocotb.start_soon(run())


@cocotb.test(timeout_time=400, timeout_unit="us")
async def saves_and_restores_by_every_mechanism(dut):
    """A kernel is preempted and resumed again and again; the scoreboard compares at each release and start."""
    bench = await begun(dut, 0.3)
    g, given = bench.state.g, parameters()
    resident, counters = len(bench.state.blocks), CounterCheck(bench)
    for round_number, mechanism in enumerate([*mechanisms_of(g)] * given.get("rounds", 1)):
        patience = {} if round_number % 3 else {"patience": 20}
        result = await saved(bench, mechanism, grace_used=round_number + 7, scramble=round_number >> 1 & 1, **patience)
        assert result.saved and not bench.state.blocks and bench.bench.kept.bits == 1 and not bench.bench.claim.bits
        counters.saved(round_number + 7)
        bench.state.wreck()
        await brought_back(bench, gang=round_number % 2, scramble=round_number >> 2 & 1)
        assert len(bench.state.blocks) == resident
        await counters.restored()
    await counters.drained(lambda: saved(bench))
    await brought_back(bench)
    rounds = len(mechanisms_of(g)) * given.get("rounds", 1) + 1
    assert bench.scoreboard.saves == bench.scoreboard.restores == rounds * resident
    assert bench.core.reads and bench.core.writes and bench.bursts.reads and bench.bursts.writes


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_large_block_is_saved_and_restored(dut):
    """One that has as many registers as there may be, and all of shared memory, or one that has all warps."""
    bench = await begun(dut, 0.1)
    state = bench.state
    for how in {"large": True}, {"alone": True}:
        for tb in [*state.blocks]:
            state.remove(tb)
        bench.scoreboard.contexts.clear()
        await bench.dispatcher.pulse("discard", 0)
        await bench.dispatcher.pulse("start", 0)
        bench.dispatcher.places = state.fill(40, **how)
        kernel = state.kernels[0]
        state.kernels[0] = Kernel.of(state.g, kernel.registers, kernel.warps, kernel.shared_bytes)  # within the memory
        for mechanism in (Mechanism.OCCUPIED, BEST):
            await saved(bench, mechanism)
            state.wreck()
            await brought_back(bench)
            assert len(state.blocks) == 1


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_failed_write_frees_nothing(dut):
    """A TB of whose context a write has failed stays on the core; the next preempt saves it."""
    bench = await begun(dut, 0.2, drain=0)
    kernel, resident = bench.state.kernels[0], len(bench.state.blocks)
    bench.memory.bad_writes = {segment for segment in range(kernel.ccb_base // 128, (1 << 18) // 128)}
    result = await bench.dispatcher.preempt(0, Mechanism.LIVE)
    assert result.error == CommandError.BUS_ERROR and not result.saved
    assert len(bench.state.blocks) == resident and bench.scoreboard.saves == 0
    bench.memory.bad_writes = set()
    await saved(bench, Mechanism.LIVE)
    assert bench.scoreboard.saves == resident


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_demotion_that_fails_starts_nothing(dut):
    """A TB whose entry could not be demoted does not run until a later resume; one that cannot be read stays saved."""
    bench = await begun(dut, 0.2, drain=0)
    state, memory = bench.state, bench.memory
    kernel, resident, entries = state.kernels[0], len(state.blocks), [tb.entry for tb in state.blocks.values()]
    for what, entry in itertools.product(("bad_writes", "bad_reads"), entries):
        await saved(bench)
        state.wreck()
        for side in range(1 + state.g.checkpoints):
            at = entry + side * state.g.tb_slots
            where = (context.entry_address(kernel.ccb_base, at) if what == "bad_writes" else
                     context.area_address(state.g, kernel.ccb_base, kernel.area_bytes, at))
            getattr(memory, what).add(where // 128)
        result = await bench.dispatcher.resume(0, gang=int(entry == entries[0]))
        assert result.error == CommandError.BUS_ERROR
        running = [tb for tb in state.blocks.values() if tb.started]
        assert all(tb.entry != entry for tb in running) and len(running) < resident
        getattr(memory, what).clear()
        await brought_back(bench)
        assert len(state.blocks) == resident


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_damaged_context_is_refused(dut):
    """One bit of an entry, or of a stream, is another: nothing that is damaged starts, and all is as before when it is
    mended."""
    bench = await begun(dut, 0.0, drain=0)
    state, memory, rng = bench.state, bench.memory, bench.bench.generator()
    kernel, resident = state.kernels[0], len(state.blocks)
    await saved(bench)
    found = [read_context(memory.words, state.g, kernel, place)[0] for place in range(context.places(state.g))]
    whole = [(place, entry) for place, entry in enumerate(found) if entry["state"] == State.COMPLETE]
    for number in range(24):
        place, entry = rng.choice(whole)
        if number % 2:
            at = entry["register_image"] + rng.randrange(entry["length"])
        else:
            at = context.entry_address(kernel.ccb_base, place) + rng.randrange(4 * context.ENTRY_WORDS)
        good = memory.words(at, 1)
        memory.write(at, bytes([good[0] ^ 1 << rng.randrange(8)]))
        result = await bench.dispatcher.resume(0, gang=1)
        assert result.error == CommandError.BAD_IMAGE, f"byte {at:#x}"
        assert not state.blocks and not bench.dispatcher.started
        memory.write(at, good)
    await brought_back(bench)
    assert len(state.blocks) == resident


@cocotb.test(timeout_time=400, timeout_unit="us")
async def there_is_room_for_some(dut):
    """TBs without room stay saved until there is; those of another kernel are left alone, and so are spared ones."""
    bench = await begun(dut, 0.7)
    state, dispatcher = bench.state, bench.dispatcher
    places, resident = list(dispatcher.places), len(state.blocks)
    state.kernels[1] = Kernel(**vars(state.kernels[0]) | {"ccb_base": 0x24000})
    other = state.blocks[places[0][0]]
    other.kernel = 1
    mine = [tb for tb in state.blocks.values() if tb.kernel == 0]
    await saved(bench, spared=1 << mine[0].entry)
    assert {id(tb) for tb in state.blocks.values()} == {id(other), id(mine[0])}
    assert bench.bench.kept.bits == int(len(mine) > 1)
    await saved(bench)
    assert [*state.blocks.values()] == [other]
    dispatcher.places = places[:2]
    result = await dispatcher.resume_once(0)
    assert result.error == CommandError.NONE and result.left == (resident > 2) and len(state.blocks) == 2
    assert bench.bench.kept.bits == int(resident > 2)
    await saved(bench, Mechanism.LIVE, kernel=1, patience=0)
    assert [tb.kernel for tb in state.blocks.values()] == [0] and bench.bench.kept.bits & 2
    dispatcher.places = places
    await brought_back(bench, kernel=1)
    await brought_back(bench)
    assert sorted(tb.kernel for tb in state.blocks.values()) == [0] * (resident - 1) + [1]
    await saved(bench, Mechanism.OCCUPIED)
    assert bench.scoreboard.saves == 2 * resident - 1


@cocotb.test(timeout_time=400, timeout_unit="us")
async def commands_are_withdrawn_and_hastened(dut):
    """A preempt that is withdrawn leaves what it has not begun, a resume what has no room yet; warps of which a preempt
    is in a hurry stop at once."""
    bench = await begun(dut, 0.2)
    state, rng = bench.state, bench.bench.generator()
    resident = len(state.blocks)
    for number in range(6):
        for warp in state.warps.values():
            warp.reaches = 1 << 30 if number % 3 else 5
        task = raised(bench, "hasten" if number % 3 == 1 else "withdraw", rng.randint(1, 60))
        result = await bench.dispatcher.preempt(0, BEST)
        await task
        assert result.error == CommandError.NONE
        if number % 3 == 1:
            assert result.at_once and not state.blocks
        if number % 3 == 2:
            assert not result.saved and len(state.blocks) == resident
        await saved(bench, patience=0)
        state.wreck()
        task = raised(bench, "withdraw", rng.randint(1, 150))
        result = await bench.dispatcher.resume_once(0)
        await task
        assert result.error == CommandError.NONE and result.left == (len(state.blocks) < resident)
        await brought_back(bench)
        assert len(state.blocks) == resident


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_killed_kernel_leaves_nothing(dut):
    """A command is dropped in the middle; when its result has come, the unit is as if there had been none."""
    bench = await begun(dut, 0.4)
    state, rng = bench.state, bench.bench.generator()
    resident = len(state.blocks)
    for number in range(12):
        if number % 2:
            await saved(bench)
        task = raised(bench, "cancel", rng.randint(3, 200))
        await (bench.dispatcher.resume_once(0) if number % 2 else bench.dispatcher.preempt(0, BEST))
        await task
        bursts = len(bench.bursts.writes)
        await bench.bench.cycles(20)
        assert not bench.bench.flushing.bits and len(bench.bursts.writes) == bursts
        for tb in [*state.blocks]:
            state.remove(tb)
        bench.scoreboard.contexts.clear()
        bench.memory.write(state.kernels[0].ccb_base, bytes(
            context.ccb_bytes(state.g, state.kernels[0].area_bytes)))  # it is given to another
        await bench.dispatcher.pulse("discard", 0)
        await bench.dispatcher.pulse("start", 0)
        assert not bench.bench.kept.bits
        bench.dispatcher.places = state.fill(20)
        resident = len(state.blocks)
        await saved(bench)
        await brought_back(bench)
        assert len(state.blocks) == resident


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_kernel_is_taken_over_from_memory(dut):
    """The unit forgets a kernel and takes it over from its record and its entries, unless a bit of them is another."""
    bench = await begun(dut, 0.1, drain=0)
    state, memory, rng = bench.state, bench.memory, bench.bench.generator()
    kernel, other = state.kernels[0], next(tb for tb in state.blocks.values() if tb.entry == 0)
    state.kernels[1] = Kernel(**vars(kernel) | {"ccb_base": 0x24000})
    record = context.record_address(state.g, kernel.ccb_base)
    completed = rng.getrandbits(20)
    for number in range(3):
        other.kernel, completed = number % 2, completed ^ 0xFFFFF  # of another kernel: its entry is none of this one's
        resident = sum(tb.kernel == 0 for tb in state.blocks.values())
        progress = {"launched": completed + resident, "completed": completed, "next_x": rng.getrandbits(19),
                    "next_y": rng.randrange(300), "next_z": rng.randrange(70)}
        if number == 1:
            progress |= {"next_x": 0, "next_y": 0, "next_z": 70, "exhausted": 1}
        bench.dispatcher.progress[0] = progress
        await saved(bench, rng.choice((Mechanism.LIVE, BEST)))
        await bench.dispatcher.pulse("start", 0)
        assert not bench.bench.kept.bits
        state.wreck()
        for _ in range(8):
            at = record + rng.randrange(4 * context.ENTRY_WORDS)
            good = memory.words(at, 1)
            memory.write(at, bytes([good[0] ^ 1 << rng.randrange(8)]))
            result = await bench.dispatcher.adopt(0)
            assert result.error == CommandError.BAD_IMAGE and result.adopted is None and not bench.bench.kept.bits
            memory.write(at, good)
        result = await bench.dispatcher.adopt(0)
        assert result.error == CommandError.NONE and bench.bench.kept.bits == 1
        adopted = result.adopted
        assert adopted.kernel == 0 and adopted.saved.bit_count() == resident
        assert vars(adopted.progress) == {"exhausted": 0} | progress
        await brought_back(bench)
        assert sum(tb.kernel == 0 for tb in state.blocks.values()) == resident
        other = next(tb for tb in state.blocks.values() if tb.entry == 0)
        result = await bench.dispatcher.adopt(0)  # it runs, so its record in memory is invalid
        assert result.error == CommandError.BAD_IMAGE


@cocotb.test(timeout_time=400, timeout_unit="us")
async def an_area_that_is_too_small_is_refused(dut):
    """Nothing is written when contexts would not fit."""
    bench = await begun(dut, 0.1, drain=0)
    state = bench.state
    state.kernels[0].area_bytes -= 128
    resident = len(state.blocks)
    await RisingEdge(bench.bench.clock)
    result = await bench.dispatcher.preempt(0, BEST)
    assert result.error == CommandError.AREA_TOO_SMALL
    assert len(state.blocks) == resident and not bench.bursts.writes
