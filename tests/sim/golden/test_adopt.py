"""A kernel that one golden model has preempted and another takes over from memory alone, or refuses."""

import math

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import Mechanism, State
from caesura.sim.golden.transport import GoldenTransport
from caesura.software.compiler import KernelImage
from support.programs.machine_code import word
from support.selection import quick
from support.sim.adoption import Steps, carry, entry, generations, record, write_entry, write_record
from support.sim.launch import Bench

TINY = preset("tiny")
MEMORY = 1 << 16
GRID = (3, 2, 2)


def machine():
    return GoldenTransport(TINY, MEMORY)


def started(grid=GRID, cycles=0, **options):
    """Return a machine that has executed a kernel for some cycles, and the kernel."""
    bench = Bench(machine())
    work = Steps(bench, grid, **options)
    bench.start(0)
    bench.transport.advance(cycles)
    return bench, work


def spin():
    """Return a kernel that never ends, and comes to no preemption point."""
    return KernelImage("spin", (word("bra", target=0, reconv=1), word("exit")), 4)


def undisturbed(grid=GRID, **options):
    bench, work = started(grid, **options)
    cycles = bench.finish(0)
    return cycles, work.read(bench)


def preempted(cycles=700, grid=GRID, mechanism=Mechanism.LIVE_CP, **options):
    bench, work = started(grid, cycles, **options)
    bench.preempt(0, mechanism)
    return bench, work


def taken_over(old):
    """Return a fresh machine that has adopted the kernel of another."""
    bench = carry(old, machine())
    assert bench.adopt(0) is CommandError.NONE and bench.state(0) is KernelState.PREEMPTED
    for name in ("launched", "completed"):
        assert bench.get(f"kernel[0].{name}") == old.get(f"kernel[0].{name}")
    return bench


def refused(old, error=CommandError.BAD_IMAGE):
    """A fresh machine refuses the kernel of another, and nothing in memory changes."""
    bench = carry(old, machine())
    before = bench.transport.read_memory(0, MEMORY)
    assert bench.adopt(0) is error
    assert bench.state(0) is KernelState.IDLE and bench.transport.read_memory(0, MEMORY) == before
    bench.command(Command.RESUME, 0)
    assert bench.refusal() is CommandError.NOT_RUNNING


# What is taken over

@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.OCCUPIED, Mechanism.LIVE_TB]), ids=lambda m: m.name)
@pytest.mark.parametrize("grid", [
    pytest.param((1, 1, 1), marks=pytest.mark.full), (5, 1, 1), pytest.param((1, 3, 2), marks=pytest.mark.full), GRID],
    ids=str)
def test_taken_over_at_any_moment_the_result_is_the_same(grid, mechanism):
    cycles, expected = undisturbed(grid)
    bench, work = started(grid)
    saved, launched = set(), set()
    for _ in range(9):
        if bench.state(0) is KernelState.RUNNING:
            bench.preempt(0, mechanism, scramble=True)
            old = bench
            bench = carry(old, machine())
            assert bench.adopt(0) is CommandError.NONE
            saved.add(record(bench.transport, work.loaded)["saved"].bit_count())
            launched.add(bench.get("kernel[0].launched"))
            bench.resume(0, scramble=True)
        bench.transport.advance(cycles // 8)
    bench.finish(0)
    assert bench.fault() is None and work.read(bench) == expected
    assert len(launched) > (math.prod(grid) > 2) and max(saved) == min(2, math.prod(grid))


def test_before_the_first_tb():
    bench, work = preempted(0)
    found = record(bench.transport, work.loaded)
    assert not any(found[name] for name in ("launched", "completed", "saved", "next_x", "next_y", "next_z"))
    bench = taken_over(bench)
    bench.resume(0)
    bench.finish(0)
    assert work.read(bench) == undisturbed()[1]


def test_with_all_tbs_launched():
    """Nothing is left to be launched, something to be resumed."""
    bench, work = started()
    while bench.get("kernel[0].launched") < math.prod(GRID):
        bench.transport.advance(10)
    bench.preempt(0, Mechanism.LIVE)
    found = record(bench.transport, work.loaded)
    assert found["exhausted"] and found["saved"] and (found["next_x"], found["next_y"], found["next_z"]) == (0, 0, 2)
    bench = taken_over(bench)
    bench.resume(0)
    bench.finish(0)
    assert work.read(bench) == undisturbed()[1]


def test_with_all_tbs_ended():
    """Those on the SM end during the drain: the kernel has finished, and is taken over as one that has."""
    bench, work = started((2, 1, 1), rounds=1)
    while bench.get("kernel[0].completed") < 1:
        bench.transport.advance(1)
    bench.transport.advance(20)
    bench.preempt(0, Mechanism.LIVE)
    while bench.state(0) is KernelState.PREEMPTED:
        bench.resume(0)
        bench.transport.advance(5)
        bench.preempt(0, Mechanism.LIVE)
    assert bench.state(0) is KernelState.FINISHED
    bench = taken_over(bench)
    assert not record(bench.transport, work.loaded)["saved"]
    bench.resume(0)
    bench.finish(0)
    assert work.read(bench) == undisturbed((2, 1, 1), rounds=1)[1]


def beside(bench):
    """Load another kernel, which fills half of the SM for long, into slot 1."""
    return bench.load(1, spin(), (1,), (12,))


def test_entries_of_several_preempts():
    """A resume finds room for one TB, which is then saved again: the entries that the record names are of two."""
    bench, work = preempted()
    beside(bench)
    bench.start(1)
    bench.transport.advance(20)
    bench.command(Command.RESUME, 0)
    bench.transport.advance(30)
    assert bench.state(0) is KernelState.RESUMING and bench.fields("status")["resident"] == 2
    refused(bench)
    bench.set("event", resumed=1, preempted=1)
    bench.preempt(0, Mechanism.LIVE)
    assert record(bench.transport, work.loaded)["saved"] == 3
    assert sorted(entry(bench.transport, work.loaded, index)["generation"] for index in range(2)) == [1, 2]
    bench = taken_over(bench)
    bench.resume(0)
    bench.finish(0)
    assert work.read(bench) == undisturbed()[1]


def test_the_generation_goes_on():
    """The next preempt of the machine has a generation that no entry has."""
    bench, work = preempted()
    for rounds in range(2, 5):
        bench = taken_over(bench)
        bench.resume(0)
        bench.transport.advance(60)
        bench.preempt(0, Mechanism.LIVE)
        assert record(bench.transport, work.loaded)["generation"] == rounds


def test_an_older_record_does_not_set_the_generation_back():
    old, work = preempted()
    fresh = machine()
    bench = carry(old, fresh)
    fresh.machine.preemption.saver.generation = 40
    assert bench.adopt(0) is CommandError.NONE
    bench.resume(0)
    bench.preempt(0, Mechanism.LIVE)
    assert record(bench.transport, work.loaded)["generation"] == 41
    taken_over(bench)


def test_killed_instead_of_resumed():
    bench = taken_over(preempted()[0])
    bench.command(Command.KILL, 0)
    assert bench.state(0) is KernelState.IDLE
    assert bench.adopt(0) is CommandError.NONE
    bench.command(Command.KILL, 0)
    bench.command(Command.ADOPT, 0)
    assert bench.state(0) is KernelState.ADOPTING
    bench.command(Command.KILL, 0)
    bench.transport.advance(10)
    assert bench.state(0) is KernelState.IDLE and not bench.fields("event")["adopted"]


# What is refused

RECORD = {
    "state": (State.DEMOTED, State.FREE, State.BASE), "version": (context.VERSION - 1,), "zero": (1, 0x8000),
    "launched": (0, 3, 1 << 31), "completed": (0, 12, (1 << 32) - 1), "saved": (0, 1, 2, 7, 1 << 31),
    "next_x": (3, 1 << 31), "next_y": (2, 0xFFFF), "next_z": (2, 0xFFFF), "generations": (0, 1),
    "grid_x": (2, 4), "grid_y": (1, 3), "grid_z": (1, 3), "code_base": (0, 128), "const_base": (0, 128),
    "geometry_hash": (0,), "exhausted": (1,), "zeros": (1, 1 << 30), "sides": (1, 3, 4, 1 << 31),
}
"""What must not stand in each field of the record of `preempted`."""


@pytest.mark.parametrize("name", quick(RECORD, [*RECORD][::2]))
def test_a_lie_in_the_record_is_refused(name):
    bench, work = preempted()
    before = record(bench.transport, work.loaded)
    for lie in RECORD[name]:
        assert lie != before[name]
        write_record(bench.transport, work.loaded, **{name: lie})
        refused(bench)
    write_record(bench.transport, work.loaded, **before)
    taken_over(bench)


def test_each_bit_of_the_record_counts():
    bench, work = preempted()
    at = context.record_address(TINY, work.loaded.ccb_base)
    good = bench.transport.read_memory(at, context.ENTRY_BYTES)
    bench = carry(bench, machine())
    for bit in range(8 * context.CCB_RECORD.size // 8):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        bench.transport.write_memory(at, bytes(bad))
        assert bench.adopt(0) is CommandError.BAD_IMAGE, bit
    bench.transport.write_memory(at, good)
    assert bench.adopt(0) is CommandError.NONE


@pytest.mark.parametrize("place", [(0, 0, 1), (1, 0, 2), (0, 1, 2), (0, 0, 3)], ids=str)
def test_an_exhausted_grid_has_its_end_as_next_place(place):
    bench, work = started()
    while bench.get("kernel[0].launched") < math.prod(GRID):
        bench.transport.advance(10)
    bench.preempt(0, Mechanism.LIVE)
    write_record(bench.transport, work.loaded, **dict(zip(("next_x", "next_y", "next_z"), place, strict=True)))
    refused(bench)


ENTRY = {
    "state": (State.DEMOTED, State.FREE), "version": (context.VERSION - 1,), "zero": (1,),
    "register_image": (0, 128), "base_crc": (1, 1 << 31), "length": (0, 3, 16, 32, 1 << 31),
    "data_bytes": (1 << 31,), "live_warps": (0, 4, 1 << 31), "mechanism": (4, 255), "none": (1, 31),
    "registers": (1, 17), "warps": (1, 3), "geometry_hash": (0,), "generation": (0, 2),
}
"""What must not stand in each field of an entry of `preempted`."""


@pytest.mark.parametrize("name", quick(ENTRY, [*ENTRY][::2]))
def test_a_lie_in_an_entry_is_refused(name):
    bench, work = preempted()
    for index in range(TINY.tb_slots):
        before = entry(bench.transport, work.loaded, index)
        for lie in ENTRY[name]:
            assert lie != before[name]
            write_entry(bench.transport, work.loaded, index, **{name: lie})
            refused(bench)
        write_entry(bench.transport, work.loaded, index, **before)
    taken_over(bench)


@pytest.mark.parametrize("lie", ["incremental", "registers_stay", "lines_stay"])
def test_an_entry_said_to_be_half_of_an_image_is_refused(lie):
    """An increment, or what a second image completes."""
    bench, work = preempted()
    fields = entry(bench.transport, work.loaded, 0)
    write_entry(bench.transport, work.loaded, 0, **{lie: 1})
    refused(bench)
    write_entry(bench.transport, work.loaded, 0, **fields)
    taken_over(bench)


def test_an_entry_that_is_not_named_may_hold_anything():
    bench, work = preempted(grid=(1, 1, 1), cycles=100)
    assert record(bench.transport, work.loaded)["saved"] == 1
    bench.transport.write_memory(context.entry_address(work.loaded.ccb_base, 1), b"\xA7" * context.ENTRY_BYTES)
    bench = taken_over(bench)
    bench.resume(0)
    bench.finish(0)
    assert work.read(bench) == undisturbed((1, 1, 1))[1]


def test_entries_of_another_preempt_are_refused_even_if_each_is_good():
    """What a machine saved later, beside a record that was written earlier."""
    bench, work = preempted()
    at = context.record_address(TINY, work.loaded.ccb_base)
    early = bench.transport.read_memory(at, context.ENTRY_BYTES)
    bench.resume(0)
    bench.transport.advance(20)
    bench.preempt(0, Mechanism.LIVE)
    late = record(bench.transport, work.loaded)
    assert late["saved"] == 3
    bench.transport.write_memory(at, early)
    refused(bench)
    write_record(bench.transport, work.loaded, sides=late["sides"])
    refused(bench)
    saved = {index: entry(bench.transport, work.loaded, index)["generation"] for index in range(2)}
    write_record(bench.transport, work.loaded, generations=generations(TINY, saved))
    assert carry(bench, machine()).adopt(0) is CommandError.NONE


def test_a_damaged_stream_is_refused_by_the_resume():
    bench, work = preempted()
    bench = taken_over(bench)
    area = entry(bench.transport, work.loaded, 1)["register_image"]
    byte = bench.transport.read_memory(area + 40, 1)[0]
    bench.transport.write_memory(area + 40, bytes([byte ^ 1]))
    with pytest.raises(RuntimeError, match="BAD_IMAGE"):
        bench.resume(0)
    assert bench.state(0) is KernelState.PREEMPTED
    bench.transport.write_memory(area + 40, bytes([byte]))
    bench.resume(0)
    bench.finish(0)
    assert work.read(bench) == undisturbed()[1]


def test_local_memory_elsewhere_is_refused_by_the_resume():
    bench, work = preempted()
    write_entry(bench.transport, work.loaded, 0, local_base=work.loaded.local_base + 128)
    bench = taken_over(bench)
    with pytest.raises(RuntimeError, match="BAD_IMAGE"):
        bench.resume(0)


def test_a_control_block_beyond_memory_is_a_bus_error():
    bench, _ = preempted()
    bench.set("kernel[0].ccb_base", MEMORY - 256)
    refused(bench, CommandError.BUS_ERROR)


def test_a_tb_that_never_fits_is_refused_at_once():
    old, _ = preempted()
    bench = carry(old, machine())
    bench.set("kernel[0].shared_bytes", 2 * TINY.shared_bytes)
    bench.command(Command.ADOPT, 0)
    assert bench.refusal() is CommandError.TOO_LARGE and bench.state(0) is KernelState.IDLE
    bench.set("kernel[0].shared_bytes", 0)
    bench.set("kernel[0].param_base", bench.get("kernel[0].param_base") + 4)
    bench.command(Command.ADOPT, 0)
    assert bench.refusal() is CommandError.MISPLACED and bench.state(0) is KernelState.IDLE


# What is not believed any more

def test_after_a_resume_the_record_is_refused():
    bench, _ = preempted()
    bench.resume(0)
    refused(bench)
    bench.finish(0)
    refused(bench)


@pytest.mark.parametrize("cycles", [0, 1, 100])
def test_a_kernel_of_which_nothing_was_saved_voids_its_record_before_it_runs(cycles):
    bench, work = preempted(0)
    bench.command(Command.RESUME, 0)
    assert record(bench.transport, work.loaded)["state"] == State.COMPLETE
    bench.transport.advance(1)
    assert bench.state(0) is KernelState.RUNNING and record(bench.transport, work.loaded)["state"] == State.DEMOTED
    bench.transport.advance(cycles)
    refused(bench)


def test_a_resume_that_is_withdrawn_before_its_turn_voids_nothing():
    """Nothing has run: the preempt that came instead is withdrawn too, and only then does the kernel run."""
    bench, work = preempted(0)
    bench.command(Command.RESUME, 0)
    bench.command(Command.PREEMPT, 0, Mechanism.LIVE)
    bench.command(Command.ABORT, 0)
    assert bench.state(0) is KernelState.RESUMING and record(bench.transport, work.loaded)["state"] == State.COMPLETE
    bench.transport.advance(1)
    assert bench.state(0) is KernelState.RUNNING
    refused(bench)


def test_while_it_runs_or_is_being_saved_it_is_refused():
    bench, _ = started(cycles=300)
    refused(bench)
    bench.command(Command.PREEMPT, 0, Mechanism.LIVE)
    refused(bench)


def test_a_preempt_that_is_withdrawn_writes_no_record():
    bench, _ = started(cycles=300)
    bench.command(Command.PREEMPT, 0, Mechanism.LIVE)
    bench.transport.advance(1)
    bench.command(Command.ABORT, 0)
    refused(bench)
    bench.transport.advance(50)
    refused(bench)


def test_every_refused_state():
    """Adopt is taken by an idle or finished slot alone."""
    bench, _ = started(cycles=300)
    bench.command(Command.ADOPT, 0)
    assert bench.refusal() is CommandError.BUSY
    bench.preempt(0, Mechanism.LIVE)
    bench.command(Command.ADOPT, 0)
    assert bench.refusal() is CommandError.NOT_RUNNING
    bench.resume(0)
    bench.finish(0)
    bench.command(Command.ADOPT, 0)
    assert bench.refusal() is CommandError.NONE and bench.state(0) is KernelState.ADOPTING
    for op in Command:
        if op is not Command.KILL:
            bench.command(op, 0)
            assert bench.refusal() is CommandError.BUSY, op
    bench.transport.advance(2)
    assert bench.state(0) is KernelState.IDLE and bench.error(0) is CommandError.BAD_IMAGE


def test_an_adoption_waits_for_the_preempt_in_hand():
    old, work = preempted()
    bench = carry(old, machine(), first=MEMORY // 2)
    beside(bench)
    bench.start(1)
    bench.transport.advance(20)
    bench.command(Command.PREEMPT, 1, Mechanism.LIVE)
    bench.command(Command.ADOPT, 0)
    bench.transport.advance(20)
    assert (bench.state(0), bench.state(1)) == (KernelState.ADOPTING, KernelState.PREEMPTING)
    assert bench.fields("status")["busy"]
    bench.command(Command.HASTEN, 1)
    bench.transport.advance(2)
    assert (bench.state(0), bench.state(1)) == (KernelState.PREEMPTED, KernelState.PREEMPTED)
    bench.set("event", preempted=1, adopted=1)
    bench.resume(0)
    bench.finish(0)
    assert work.read(bench) == undisturbed()[1]
