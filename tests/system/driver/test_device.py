"""A device of several SMs through the Python API, on both machines: it looks like one SM, and no thread block is lost
between them."""

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import Mechanism, ccb_bytes
from caesura.sim.memory import ErrorRange
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.driver import CommandRefused, Device, DriverError, KernelFault
from support.programs.shared_counters import HEAD, THREADS, criticals, spilled, tickets
from support.programs.stir import image
from support.programs.stirring import BLOCKS, Stirring
from support.programs.uneven import UNEVEN_BLOCKS, Uneven
from support.selection import quick
from support.sim.device_schedules import DeviceSchedules
from support.sim.queues import DEVICE

TWO = DEVICE
MEMORY = 1 << 20
BACKENDS = ["golden", "rtl"]
HOW = [{}, {"mechanism": "occupied"}, {"mechanism": "live+cp"}, {"mechanism": "live+tb"}, {"in_place": True},
       {"grace": "unlimited"}, {"grace": 200}, {"patience": "unlimited"}]


@pytest.fixture(params=BACKENDS)
def device(request):
    with open_device(request.param, TWO, memory_bytes=MEMORY) as device:
        yield device


def of_each(device, path):
    """A register of each SM."""
    found = []
    for sm in range(TWO.sms):
        with device.host.of_sm(sm):
            found.append(device.read(path))
    return found


def test_a_grid_is_spread_over_the_sms_and_every_thread_block_runs_once(device):
    work = Uneven(device)
    device.advance(100)
    assert work.launch.state is KernelState.RUNNING and work.launch.resident_tbs == 2 * TWO.tb_slots
    assert [*device.resident_tbs(work.launch)] == [0, 1, 2, 3]
    work.finishes()
    assert work.launch.progress == (UNEVEN_BLOCKS, UNEVEN_BLOCKS)
    assert min(of_each(device, "kernel[0].completed")) >= 3 and sum(of_each(device, "kernel[0].launched")) == 9
    assert device.read("retired") == sum(of_each(device, "retired")) and device.read("sms") == 2


WHO = HEAD + """
.visible .entry who(.param .u64 output)
{
    .reg .b32 %r<9>;
    .reg .b64 %a<3>;
    ld.param.u64 %a0, [output];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r0, %r1, %r2;
    mul.wide.u32 %a1, %r3, 16;
    add.u64 %a0, %a0, %a1;
    mov.u32 %r4, %smid;
    mov.u32 %r5, %nsmid;
    shl.b32 %r6, %r4, 8;
    st.global.v2.u32 [%a0], {%r4, %r5};
    st.global.u32 [%a0+8], %r6;
    ret;
}
"""
"""Each thread says where it is; the number is read by a vector instruction or a uniform one, as the compiler likes."""


@pytest.mark.parametrize("options", quick([{}, {"uniform": False}], [{}]))
def test_a_thread_block_reads_the_number_of_its_sm(device, options):
    kernel = compile_ptx(WHO, options=CompileOptions(**options))["who"]
    output, threads = device.zeros(24 * 8 * 4, np.uint32), 8
    kernel = device.load([kernel])["who"]
    for chosen in ([0], [1], [0, 1]):
        device.host.hold("sm_write", sum(1 << sm for sm in chosen))
        launch = kernel(24, threads, [output])
        device.host.hold("sm_write", 0xFFFF)
        device.wait(launch)
        said = output.get().reshape(24, threads, 4)
        assert np.unique(said[..., 0]).tolist() == chosen and (said[..., 0] == said[:, :1, 0]).all()
        assert (said[..., 1] == TWO.sms).all() and np.array_equal(said[..., 2], said[..., 0] << 8)


@pytest.mark.parametrize("grid", [(1, 1), (3, 1), (2, 3), (1, 4)])
def test_grids_of_any_shape(device, grid):
    kernel = compile_ptx(HEAD + """
.visible .entry where(.param .u64 output)
{
    .reg .b32 %r<6>;
    .reg .b64 %a<3>;
    ld.param.u64 %a0, [output];
    mov.u32 %r0, %ctaid.y;
    mov.u32 %r1, %nctaid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r0, %r1, %r2;
    mul.wide.u32 %a1, %r3, 4;
    add.u64 %a0, %a0, %a1;
    add.u32 %r3, %r3, 1;
    red.global.add.u32 [%a0], %r3;
    ret;
}
""")
    output = device.zeros(grid[0] * grid[1], np.uint32)
    device.wait(device.load(kernel.values())["where"](grid, 1, [output]))
    assert np.array_equal(output, np.arange(1, grid[0] * grid[1] + 1))


@pytest.mark.parametrize("make", quick([tickets, criticals, spilled], [tickets]))
def test_thread_blocks_of_all_sms_meet_in_memory(device, make):
    launch, check = make(device, 7, 5)
    device.wait(launch)
    check()


@pytest.mark.parametrize("make", quick([tickets, criticals, spilled], [tickets, criticals]))
@pytest.mark.parametrize("how", quick(HOW[:5], HOW[2:3]))
def test_so_they_do_when_they_are_preempted(device, make, how):
    launch, check = make(device, 7, 6)
    for cycles in (150, 40, 333, 217):
        device.run(launch, cycles)
        if device.preempt(launch, **how, scramble=True):
            device.resume(launch)
    device.wait(launch)
    check()


@pytest.mark.parametrize("how", quick(HOW, HOW[::3]), ids=str)
def test_a_preempt_is_one_however_many_sms_take_part(device, how):
    work, before = Stirring(device, 4), {}
    for at in (37, 250, 90):
        device.advance(at)
        report = device.preempt(work.launch, **how)
        if report is None:
            assert "grace" in how and work.launch.finished and before
            break
        assert work.launch.state is KernelState.PREEMPTED
        assert device.read("save_cycles") == max(of_each(device, "save_cycles"))
        assert report.tbs == len(device.context(work.launch))
        assert "grace" in how or report.tbs == 2 * TWO.tb_slots or work.launch.progress[0]
        assert report.tbs == sum(of_each(device, "save_tbs"))
        device.resume(work.launch)
        after = vars(work.launch.switches)
        changed = {name for name, count in after.items() if count != before.get(name, 0)}
        assert changed <= {"resumed", "at_points", "at_once", "drained"} and len(changed) == 2
        assert sum(after.values()) == sum(before.values()) + 2
        before = dict(after)
    work.finishes()


def give(device, launch, op, sm, **fields):
    """Give a command to one SM."""
    with device.host.of_sm(sm):
        device.host.write("command", op=op, kernel=launch.slot, **fields)


def test_one_sm_is_taken_away_while_the_other_runs_on(device):
    work = Uneven(device, rounds=60)
    device.advance(200)
    give(device, work.launch, Command.PREEMPT, 1, mechanism=Mechanism.LIVE)
    device.advance(1500)
    with device.host.of_sm(0):
        assert work.launch.state is KernelState.RUNNING
    with device.host.of_sm(1):
        assert work.launch.state is KernelState.PREEMPTED and device.fields("status")["resident"] == 0
    assert work.launch.state is KernelState.PREEMPTED, "some of it is"
    before = of_each(device, "kernel[0].launched")
    device.advance(20_000)
    after = of_each(device, "kernel[0].launched")
    assert after[0] > before[0] and after[1] == before[1] == 2 and len(device.context(work.launch)) == 2
    assert sum(after) == UNEVEN_BLOCKS and work.launch.progress[0] == UNEVEN_BLOCKS - 2
    with pytest.raises(DriverError, match="is preempted and will not go on; resume it first"):
        device.wait(work.launch)
    device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("device", quick(BACKENDS, ["golden"]), indirect=True)
def test_a_kernel_may_run_on_some_sms_only(device):
    device.host.hold("sm_write", 0b10)
    work = Uneven(device)
    work.finishes()
    assert of_each(device, "kernel[0].completed") == [0, UNEVEN_BLOCKS]
    device.host.hold("sm_write", 0xFFFF)
    work = Uneven(device)
    work.finishes()
    assert min(of_each(device, "kernel[0].completed")) > 2


@pytest.mark.parametrize("device", quick(BACKENDS, ["golden"]), indirect=True)
def test_an_sm_that_has_finished_waits_for_the_others(device):
    """A preempt finds it with nothing to save, and a resume with nothing to bring back."""
    work = Uneven(device, rounds=100)
    while sum(of_each(device, "kernel[0].launched")) < UNEVEN_BLOCKS:
        device.advance(500)
    while min(a - b for a, b in zip(of_each(device, "kernel[0].launched"), of_each(device, "kernel[0].completed"),
                                    strict=True)):
        device.advance(100)
    assert work.launch.state is KernelState.RUNNING
    report = device.preempt(work.launch)
    assert report is not None and 0 < report.tbs <= 2
    device.resume(work.launch)
    work.finishes()


def test_an_abort_brings_back_what_one_sm_has_saved_already(device):
    if device.transport.name == "golden":
        pytest.skip("on the golden model a preempt ends on all SMs at once")
    work = Stirring(device, 4)
    device.advance(700)
    with device.host.of_sm(1):
        device.host.write("bus_share", beats=0)
    device.begin_preempt(work.launch, "occupied")
    states = [KernelState.PREEMPTING] * 2
    while states == [KernelState.PREEMPTING] * 2:
        device.advance(5)
        states = [KernelState(word & 7) for word in of_each(device, "kernel[0].state")]
    assert sorted(states) == [KernelState.PREEMPTING, KernelState.PREEMPTED]
    with pytest.raises(CommandRefused) as refused:
        device.begin_resume(work.launch)
    assert refused.value.error is CommandError.BUSY
    device.abort(work.launch)
    assert work.launch.state is KernelState.RUNNING and device.context(work.launch) == []
    work.finishes()


def test_memory_that_fails_for_one_sm(device):
    if device.transport.name == "golden":
        pytest.skip("the golden model's memory never fails")
    work = Stirring(device, 3)
    device.advance(600)
    place = work.launch.ccb_of(1)
    device.transport.add_error_range(ErrorRange(place, place + ccb_bytes(device.geometry, work.launch.area_bytes)))
    with pytest.raises(CommandRefused) as refused:
        device.preempt(work.launch)
    assert refused.value.error is CommandError.BUS_ERROR and work.launch.state is KernelState.PREEMPTED
    assert vars(work.launch.switches) == dict.fromkeys(vars(work.launch.switches), 0)
    device.transport.clear_error_ranges()
    device.resume(work.launch)
    work.finishes()


def test_a_launch_is_killed_on_all_sms_and_another_takes_its_place(device):
    work = Stirring(device, 50)
    device.advance(500)
    device.kill(work.launch)
    assert work.launch.ended and device.fields("status")["resident"] == 0
    work = Stirring(device, 1)
    assert work.launch.slot == 0
    work.finishes()


def test_a_fault_on_any_sm_is_told_with_its_thread_block(device):
    kernel = compile_ptx(HEAD + """
.visible .entry stray(.param .u64 output)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %a<3>;
    ld.param.u64 %a0, [output];
    mov.u32 %r0, %ctaid.x;
    mul.wide.u32 %a1, %r0, 4;
    add.u64 %a1, %a0, %a1;
    setp.eq.u32 %p0, %r0, 3;
    @%p0 mov.u64 %a1, 16;
    st.global.u32 [%a1], %r0;
    ret;
}
""")
    output = device.zeros(6, np.uint32)
    with pytest.raises(KernelFault) as fault:
        device.wait(device.load(kernel.values())["stray"](6, 1, [output]))
    assert "GLOBAL_WINDOW in kernel 'stray': TB 3" in str(fault.value) and "address 0x00000010" in str(fault.value)
    assert output.get().tolist() == [0, 1, 2, 0, 4, 5]
    device.wait(Uneven(device).launch)


@pytest.mark.parametrize("device", quick(BACKENDS, ["golden"]), indirect=True)
def test_chosen_thread_blocks_are_preempted_where_they_are(device):
    work = Uneven(device, rounds=100)
    device.advance(300)
    chosen = device.resident_tbs(work.launch)[1:3]
    report = device.preempt(work.launch, tbs=chosen)
    assert report is not None and report.tbs == 2
    assert sorted(tb.launch_id for tb in device.context(work.launch)) == chosen
    assert sorted(device.resident_tbs(work.launch)) == [0, 3]
    device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("device", quick(BACKENDS, ["golden"]), indirect=True)
def test_checkpoints_and_increments(device):
    work = Stirring(device, 12)
    device.advance(200)
    base = device.checkpoint(work.launch)
    increment = device.preempt(work.launch, incremental=True)
    assert base is not None and increment is not None and base.tbs == increment.tbs == 4
    assert all(tb.base is not None for tb in device.context(work.launch))
    device.resume(work.launch)
    work.finishes()


def test_two_launches_share_all_sms_and_one_makes_room_for_the_other(device):
    first, second = Stirring(device, 3), Stirring(device, 2, seed=5)
    device.advance(300)
    report = device.preempt(first.launch, newcomer=second.launch)
    assert report is not None and report.tbs == 4
    second.finishes()
    device.resume(first.launch)
    first.finishes()


@pytest.mark.parametrize("backends", [
    ("golden", "golden"), pytest.param(("rtl", "rtl"), marks=pytest.mark.full), ("rtl", "golden"),
    pytest.param(("golden", "rtl"), marks=pytest.mark.full)])
def test_another_device_takes_over_from_memory_alone(backends):
    """Whatever the SMs were at: one may have launched more than the other."""
    for cycles in (90, 300, 500):
        first = open_device(backends[0], TWO, memory_bytes=MEMORY)
        work = Stirring(first, 3)
        first.advance(cycles)
        assert first.preempt(work.launch, "live+cp")
        contents = first.transport.read_memory(0, MEMORY)
        arrays, handle = [work.arrays[k].memory.address for k in (0, 2)], work.launch.handle
        progress = work.launch.progress
        first.close()
        with open_device(backends[1], TWO, memory_bytes=MEMORY) as other:
            other.transport.write_memory(0, contents)
            launch = other.adopt(handle, image(16))
            assert launch.state is KernelState.PREEMPTED and launch.progress == progress
            work.launch, work.device = launch, other
            work.arrays = [other.array_at(address, BLOCKS * THREADS, np.uint32) for address in arrays]
            work.arrays.insert(1, None)
            other.resume(launch)
            work.finishes()


def test_a_device_of_another_number_of_sms_does_not_take_it():
    with open_device("golden", TWO, memory_bytes=MEMORY) as first:
        work = Stirring(first, 3)
        first.advance(100)
        assert first.preempt(work.launch)
        contents, handle = first.transport.read_memory(0, MEMORY), work.launch.handle
    for sms in (1, 3):
        with open_device("golden", TWO.replace(sms=sms), memory_bytes=MEMORY) as other:
            other.transport.write_memory(0, contents)
            with pytest.raises(DriverError, match="it was launched on another geometry"):
                other.adopt(handle, image(16))


def test_what_is_of_one_sm_is_refused():
    for options in ({"trace": True}, {"check_bounds": True}):
        with pytest.raises(ValueError, match="is of one SM"):
            open_device("golden", TWO, **options)
    with pytest.raises(ValueError, match="waveforms are of one SM by itself, and 'tiny' has 2"):
        RtlTransport(TWO, MEMORY, vcd="waves.vcd")
    with pytest.raises(ValueError, match="Amaranth's simulator runs one SM"):
        open_device("amaranth", TWO)


def test_of_one_sm_another_is_looked_at():
    """What is asked for one SM stays with it, though counts of all SMs are read meanwhile: here those of TBs away."""
    with open_device("golden", TWO, memory_bytes=MEMORY) as device:
        before = [device.read(name) for name in ("sm_read", "sm_write")]
        with device.host.of_sm(1):
            with device.host.of_sm(0):
                assert device.read("sm_write") == 1
            assert [device.read(name) for name in ("sm_read", "sm_write")] == [2, 2]
        assert [device.read(name) for name in ("sm_read", "sm_write")] == before


@pytest.mark.parametrize("backend, sms, seeds", quick(
    [("golden", sms, range(first, first + 10)) for sms in (2, 3, 4, 5) for first in range(0, 200, 10)]
    + [("rtl", sms, range(first, first + 5)) for sms in (2, 3, 4) for first in range(0, 100, 5)]
    + [("golden", 3, range(3)), ("rtl", 2, range(1))],
    [("golden", 3, range(3)), ("rtl", 2, range(1))]))
def test_any_commands_in_any_order(backend, sms, seeds):
    """Of all SMs and of some, while memory fails for one of them: every launch ends as if nothing had happened."""
    schedules = DeviceSchedules(backend, TWO.replace(sms=sms))
    for seed in seeds:
        schedules.run(seed)
    assert len(schedules.seen) > 8


def test_snapshots_hold_all_sms(device):
    work = Stirring(device, 2)
    device.advance(500)
    kept, state = device.transport.snapshot(), device.host_state()
    ends = []
    for _ in range(2):
        work.finishes()
        ends.append(device.cycle)
        device.transport.restore(kept)
        device.set_host_state(state)
    assert ends[0] == ends[1]


def test_closed_it_is_refused():
    device = open_device("golden", TWO)
    device.close()
    assert isinstance(device, Device) and device.closed
