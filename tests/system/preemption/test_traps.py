"""Preempts that trap into the preemption routines of a kernel: on the RTL at sampled and at all cycles, and what goes
together with them on both machines."""

import pytest

from caesura import open_device
from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import PRESETS, Geometry
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, differences, start_job
from caesura.sim.workloads.everywhere import SMALL_SM, Campaign, totals
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.compiler.flashback.kinds import RoutineForm, RoutineKind
from caesura.software.compiler.flashback.traps import with_routines
from caesura.software.driver import CommandRefused, DriverError
from caesura.software.kernels import collatz_job, hostile, kernel
from support.programs.routine_forms import ROUTINES, SOME_ROUTINES, routine_id, with_routines_of
from support.programs.small_runs import SMALL_RUNS, TINY_RUNS
from support.selection import quick
from support.sim.campaigns import chunk_of

FULL, TINY = PRESETS["gtx480"], PRESETS["tiny"]
SAMPLES, CHUNKS = 2, 4


WORKS = "divergent", "barriers", "random", "matmul", "hotspot", "doubles", "shuffles"
CASES = [(name, *routines) for name in WORKS for routines in ROUTINES]
MECHANISMS = [Mechanism.LIVE, Mechanism.LIVE_CP, Mechanism.LIVE_TB]
_campaigns = {}


def campaign(name, kind, form, geometry=FULL):
    key = name, kind, form, geometry.name
    if key not in _campaigns:
        _campaigns.clear()
        runs, memory = (TINY_RUNS, 1 << 20) if geometry is TINY else (SMALL_RUNS, 8 << 20)
        work = with_routines_of(runs[name](), geometry, kind, form)
        _campaigns[key] = Campaign(RtlTransport(geometry, memory_bytes=memory), work, CompiledJob(*hostile(geometry)),
                                   fill=True)
    return _campaigns[key]


def machine_id(value):
    return value.name if isinstance(value, Geometry) else routine_id(value)


@pytest.mark.parametrize("name, kind, form, geometry", quick(
    [*((*case, FULL) for case in CASES), *(("random", *routines, TINY) for routines in ROUTINES)],
    [("random", *routines, TINY) for routines in SOME_ROUTINES]), ids=machine_id)
def test_sampled_cycles(name, kind, form, geometry):
    c = campaign(name, kind, form, geometry)
    saved = 0
    for k, mechanism in enumerate(MECHANISMS):
        cycles = range(5 * k, c.cycles, c.cycles // SAMPLES)
        saved += totals(c.at_cycles(mechanism, cycles))[1]
    assert saved > len(MECHANISMS) * SAMPLES // 2


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name, kind, form", CASES, ids=routine_id)
def test_increments_periods_and_patience(name, kind, form):
    c = campaign(name, kind, form)
    for since in (1, 75, 250):  # an increment to a base that was saved at a point
        totals(c.at_cycles(Mechanism.LIVE_CP, [c.cycles // 3], since=since))
    period = 200 if form is RoutineForm.HARDWARE else 2000  # loading takes longer, and only then a warp goes on
    (outcome,) = c.at_cycles(Mechanism.LIVE_CP, [50], period)
    assert outcome.wrong_bytes == 0 and outcome.saved >= 1
    for patience in (0, 10, 40):  # some warps are stopped in their routines
        totals(c.at_cycles(Mechanism.LIVE_CP, [c.cycles // 4, c.cycles // 2], patience=patience))


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("name, kind, form", CASES, ids=routine_id)
def test_every_third_cycle(name, kind, form, chunk):
    """The mechanisms take turns."""
    c = campaign(name, kind, form, SMALL_SM)
    for k, mechanism in enumerate(MECHANISMS):
        cycles = range(3 * k, c.cycles, 3 * len(MECHANISMS))
        totals(c.at_cycles(mechanism, chunk_of(cycles, chunk, CHUNKS)))


# What goes together with it

def image(kind=RoutineKind.CTXBACK, form=RoutineForm.HARDWARE, g=TINY):
    options = CompileOptions(max_registers=g.regs_per_thread)
    source = kernel("collatz").ptx_path
    (found,) = compile_ptx(source.read_text(), source.name, options).values()
    return with_routines(found, g, kind, form=form) if kind else found


class Run:
    """A launch of collatz, at a cycle."""

    def __init__(self, device, kind=RoutineKind.CTXBACK, form=RoutineForm.HARDWARE, after=70):
        self.device, self.job = device, collatz_job(60, 8, seed=3, threads=15)
        self.kernel = device.load([image(kind, form)])["collatz"]
        self.launch, self.arrays = start_job(device, self.kernel, self.job)
        device.run(self.launch, after)

    def finishes(self):
        self.device.wait(self.launch)
        assert not any(differences(self.job, self.arrays).values())


@pytest.fixture(params=["golden", "rtl"])
def device(request):
    with open_device(request.param, TINY, memory_bytes=1 << 20) as device:
        yield device


both_forms = pytest.mark.parametrize("form", RoutineForm, ids=routine_id)


@both_forms
def test_preempted_moved_and_brought_back(device, form):
    run, tops = Run(device, form=form), []
    base = run.launch.kernel.image.trap_base
    for turn in range(5):
        report = device.preempt(run.launch, MECHANISMS[turn % 3], trap=True, scramble=True)
        assert report is not None and report.way.trap and report.tbs
        contexts = device.context(run.launch)
        tops += [warp.stack[-1].pc for tb in contexts for warp in tb.warps]
        device.resume(run.launch)
        device.run(run.launch, 31 + turn)
    run.finishes()
    assert any(pc >= base for pc in tops)


@both_forms
def test_withdrawn_in_the_middle_of_a_routine(device, form):
    """At every cycle from the request on: the warps run through their routines, and on."""
    run = Run(device, form=form)
    for cycles in [*range(24), 60]:
        device.begin_preempt(run.launch, "live", trap=True)
        device.advance(cycles)
        if run.launch.state is KernelState.PREEMPTING:
            device.abort(run.launch)
        else:
            device.resume(run.launch)
        device.run(run.launch, 5)
    run.finishes()


@both_forms
def test_hastened_in_the_middle_of_a_routine(device, form):
    run = Run(device, form=form)
    for cycles in range(0, 24, 3):
        device.begin_preempt(run.launch, "live+cp", trap=True, scramble=True)
        device.advance(cycles)
        if run.launch.state is KernelState.PREEMPTING:
            device.hasten(run.launch)
        assert device.finish_preempt(run.launch) is not None
        device.resume(run.launch)
        device.run(run.launch, 5)
    run.finishes()


@both_forms
def test_a_base_and_an_increment_saved_in_routines(device, form):
    run = Run(device, form=form)
    assert device.checkpoint(run.launch, "live+cp", scramble=True) is not None
    device.run(run.launch, 20)
    for _ in range(3):
        report = device.preempt(run.launch, "live+cp", incremental=True, trap=True, scramble=True)
        assert report is not None and report.way.incremental
        device.resume(run.launch)
        device.run(run.launch, 20)
    run.finishes()


@both_forms
def test_in_place(device, form):
    run = Run(device, form=form)
    assert device.preempt(run.launch, "live+cp", in_place=True, trap=True, scramble=True) is not None
    other = Run(device, after=0)
    other.finishes()
    device.resume(run.launch)
    run.finishes()


def test_without_trap_the_routines_are_not_used(device):
    run = Run(device)
    assert not device.preempt(run.launch, "live").way.trap
    base = run.launch.kernel.image.trap_base
    assert all(entry.pc < base for tb in device.context(run.launch) for warp in tb.warps for entry in warp.stack)
    device.resume(run.launch)
    run.finishes()


@both_forms
def test_adopted_by_a_machine_that_knows_nothing_of_it(device, form):
    run = Run(device, form=form)
    device.preempt(run.launch, "live+cp", trap=True)
    left = device.transport.read_memory(0, 1 << 20)
    device.resume(run.launch)
    run.finishes()
    for traps in (True, False):  # without any, the routines are code as all other
        with open_device("golden", TINY.replace(traps=traps), memory_bytes=1 << 20) as fresh:
            fresh.transport.write_memory(0, left)
            launch = fresh.adopt(run.launch.handle, run.launch.kernel.image)
            fresh.resume(launch)
            fresh.run(launch, 20)
            if traps:
                assert fresh.preempt(launch, "live+cp", trap=True).way.trap
                fresh.resume(launch)
            fresh.wait(launch)
            for array in run.arrays.values():
                address, size = array.memory.address, array.memory.size
                assert fresh.transport.read_memory(address, size) == device.transport.read_memory(address, size)


def test_what_does_not_go(device):
    run = Run(device)
    for options, message in (({"mechanism": "occupied"}, "mechanism 'occupied' does not go with trap"),
                             ({"restart": True}, "restart does not go with trap")):
        with pytest.raises(DriverError, match=message):
            device.preempt(run.launch, **({"mechanism": "live"} | options), trap=True)
    run.finishes()
    plain = Run(device, kind=None)
    with pytest.raises(DriverError, match="kernel 'collatz' has no preemption routines to trap into; compile it with"):
        device.preempt(plain.launch, "live", trap=True)
    plain.finishes()


def test_the_machine_refuses_it_itself(device):
    run = Run(device)
    for fields in ({"mechanism": Mechanism.OCCUPIED}, {"mechanism": Mechanism.LIVE, "restart": 1}):
        with pytest.raises(CommandRefused) as refused:
            device.launcher.command(Command.PREEMPT, run.launch, trap=1, **fields)
        assert refused.value.error is CommandError.UNKNOWN
    run.finishes()


def test_a_kernel_without_routines_stops_at_its_points(device):
    run = Run(device, kind=None)
    device.launcher.command(Command.PREEMPT, run.launch, mechanism=Mechanism.LIVE, trap=1)
    while run.launch.state is KernelState.PREEMPTING:
        device.advance(10)
    assert run.launch.state is KernelState.PREEMPTED
    device.resume(run.launch)
    run.finishes()


def test_a_slot_forgets_the_routines_of_its_last_kernel(device):
    """A kernel without routines in the slot of one that had some."""
    for _ in range(TINY.kernel_slots):
        Run(device).finishes()
    run = Run(device, kind=None)
    assert device.read(f"kernel[{run.launch.slot}].trap_base") == 0
    assert device.preempt(run.launch, "live") is not None
    device.resume(run.launch)
    run.finishes()


def test_a_machine_without_traps():
    g = TINY.replace(traps=False)
    with open_device("golden", g, memory_bytes=1 << 20) as device:
        run = Run(device)
        with pytest.raises(DriverError, match=r"this machine \(tiny\) has no traps"):
            device.preempt(run.launch, "live", trap=True)
        with pytest.raises(CommandRefused):
            device.launcher.command(Command.PREEMPT, run.launch, mechanism=Mechanism.LIVE, trap=1)
        run.finishes()
