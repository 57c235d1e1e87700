"""Preempts after which thread blocks begin anew (flushing: Chimera), through the Python API."""

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.sim import MEMORY_BYTES
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import shipped_work
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.compiler import assemble, compile_ptx, spoilers
from caesura.software.driver import DriverError
from caesura.software.kernels import KERNELS, kernel
from support.programs.stirring import Stirring
from support.programs.uneven import Uneven
from support.selection import quick

TINY, GTX480 = preset("tiny"), preset("gtx480")
APART = [name for name in KERNELS if spoilers(kernel(name).image()).apart is None]
"""Kernels that are idempotent if their arrays do not overlap."""


@pytest.fixture(params=["golden", "rtl"])
def device(request):
    with open_device(request.param, TINY, memory_bytes=1 << 20) as device:
        yield device


@pytest.mark.parametrize("device", quick(["golden", "rtl"], ["golden"]), indirect=True)
@pytest.mark.parametrize("scramble", quick([False, True], [True]))
def test_thread_blocks_begin_anew_and_every_result_is_right(device, scramble):
    """Warps that have exited come back too; what is written of a TB does not depend on how far it was."""
    sizes = set()
    for at, mechanism in zip((1, 40, 150, 190, 260, 400, 700), 2 * list(Mechanism), strict=False):
        work = Uneven(device, 24)
        device.advance(at)
        report = device.preempt(work.launch, mechanism, restart=True, scramble=scramble)
        if report is None:
            continue
        assert report.way.restart and report.way.patience is None and not report.registers and not report.data_bytes
        if report.tbs:
            assert report.warps == report.tbs * 2, "every warp has a record"
            sizes.add(report.metadata_bytes // report.tbs)
        for tb in device.context(work.launch):
            assert [(w.pc, len(w.stack), w.registers) for w in tb.warps] == [(0, 1, {})] * 2 and not tb.shared_lines
        other = Stirring(device, 2)
        other.finishes()
        device.resume(work.launch, gang=at % 2 == 0)
        work.finishes()
    assert len(sizes) == 1


def test_it_is_repeated_at_any_time(device):
    """Restarted again and again in the midst of its restart; then let go."""
    work = Uneven(device, 24)
    for wait in (100, 3, 70, 1, 40, 250, 9, 500):
        device.advance(wait)
        device.begin_preempt(work.launch, "live", restart=True)
        report = device.finish_preempt(work.launch)
        if report is None:
            break
        device.begin_resume(work.launch)
        if wait < 10:
            device.advance(wait)
        else:
            device.finish_resume(work.launch)
    work.finishes()


def test_after_a_grace_only_what_has_not_ended_begins_anew(device):
    found = set()
    for grace in (60, 100, 160, 250, 400, 600, 800):
        work = Uneven(device)
        device.advance(120)
        report = device.preempt(work.launch, grace=grace, restart=True)
        assert report is not None and not report.data_bytes
        done, _ = work.launch.progress
        assert done + report.tbs == TINY.tb_slots
        found.add(report.tbs)
        device.resume(work.launch)
        work.finishes()
    assert len(found) > 1


def test_an_abort_brings_back_what_was_dropped(device):
    for wait in (0, 5, 40):
        work = Uneven(device, 24)
        device.advance(150)
        device.begin_preempt(work.launch, restart=True)
        if wait:
            device.advance(wait)
        if work.launch.state is KernelState.PREEMPTING:
            device.abort(work.launch)
        else:
            device.resume(work.launch)
        work.finishes()


def test_a_kernel_that_is_not_idempotent_is_refused(device):
    work = Stirring(device, 2)
    why = r"blocks of kernel 'stir' cannot begin anew: the atomic at \d+ changes global memory; leave restart out"
    with pytest.raises(DriverError, match=why):
        device.preempt(work.launch, restart=True)
    assert work.launch.state is KernelState.RUNNING
    work.finishes()


COPY = """
.version 8.0
.target sm_70
.address_size 64
.visible .entry copy(.param .u64 output, .param .u64 input)
{
    .reg .b32 %r<4>;
    .reg .b64 %a<5>;
    ld.param.u64 %a0, [output];
    ld.param.u64 %a1, [input];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %a2, %r0, 4;
    add.u64 %a3, %a1, %a2;
    ld.global.u32 %r1, [%a3];
    add.u32 %r1, %r1, 1;
    add.u64 %a4, %a0, %a2;
    st.global.u32 [%a4], %r1;
    ret;
}
"""


@pytest.mark.parametrize("case, allowed", [
    ("two arrays", True), ("the same", False), ("parts of one", False), ("addresses of two", True),
    ("addresses in one", False)])
def test_arrays_that_may_overlap_decide(case, allowed):
    with open_device("golden", TINY, memory_bytes=1 << 20) as device:
        a, b = (device.zeros(64, np.uint32) for _ in range(2))
        given = {"two arrays": [a, b], "the same": [a, a], "parts of one": [a, a.address + 128],
                 "addresses of two": [a.address, b.address + 128],
                 "addresses in one": [a.address, a.address + 128]}[case]
        launch = device.load(compile_ptx(COPY).values())["copy"](1, 8, given)
        device.advance(3)
        if allowed:
            report = device.preempt(launch, restart=True)
            assert report is not None and report.tbs == 1
            device.resume(launch)
        else:
            with pytest.raises(DriverError, match=r"the store at \d+ may overwrite what the load at \d+ reads"):
                device.preempt(launch, restart=True)
        device.wait(launch)
        assert (np.asarray(a)[:8] == 1).all()


@pytest.mark.parametrize("given, allowed", [
    ("aab", True), ("aba", False), ("baa", False), ("abc", True), ("aaa", False)])
def test_arrays_that_are_only_read_may_overlap(given, allowed):
    work = shipped_work("vecadd", TINY, "tiny")
    with open_device("golden", TINY, memory_bytes=1 << 20) as device:
        arrays = {name: device.zeros(64, np.float32) for name in "abc"}
        kernel = device.load([work.image])["vecadd"]
        launch = kernel(1, 8, [*(arrays[name] for name in given), 8])
        assert (launch.not_restartable == "") == allowed
        device.wait(launch)
        if allowed:
            piece = device.work().launch(kernel, 1, 8, [*(arrays[name] for name in given), 8])
            device.wait(piece.launch)
        else:
            with pytest.raises(DriverError, match="cannot be launched again once it was killed"):
                device.work().launch(kernel, 1, 8, [*(arrays[name] for name in given), 8])


TABLE = COPY.replace(".visible", ".global .align 4 .u32 table[64];\n.visible").replace(
    ", .param .u64 input", "").replace("ld.param.u64 %a1, [input]", "mov.u64 %a1, table")


def test_a_variable_of_the_module_may_lie_where_a_parameter_leads():
    with open_device("golden", TINY, memory_bytes=1 << 20) as device:
        copy = device.load(compile_ptx(TABLE).values())["copy"]
        for target in (device.zeros(64, np.uint32), copy.data.globals.address):
            launch = copy(1, 8, [target])
            assert "may overwrite" in launch.not_restartable
            device.wait(launch)


def test_an_address_that_lies_in_no_array_may_be_where_one_is():
    with open_device("golden", TINY, memory_bytes=1 << 20) as device:
        a = device.zeros(64, np.uint32)
        for address in (a.address - 4, 0):
            launch = device.load(compile_ptx(COPY).values())["copy"](1, 8, [a, address])
            assert "may overwrite" in launch.not_restartable
            device.kill(launch)


def test_bytes_may_be_pointers():
    with open_device("golden", TINY, memory_bytes=1 << 20) as device:
        a = device.zeros(64, np.uint32)
        launch = device.load(compile_ptx(COPY).values())["copy"](1, 8, [np.array([a.address]).tobytes(), a])
        assert "may overwrite" in launch.not_restartable
        device.wait(launch)


def test_of_machine_code_that_cannot_be_followed_it_is_not_known():
    head = ".kernel odd\n.registers 1\n.predicates 0\n.stack 1\n.local 4\n"
    image, = assemble(head + "    st.local.all.b32 [0], R0\n    exit\n", check=False)
    with open_device("golden", TINY, memory_bytes=1 << 20) as device:
        launch = device.load([image], check=False)["odd"](1, 8, [])
        assert "is not known: kernel odd, pc 0: st.local.all.b32 may only stand in" in launch.not_restartable
        with pytest.raises(DriverError, match="cannot begin anew: what it may overwrite is not known"):
            device.preempt(launch, restart=True)
        device.wait(launch)


def test_a_machine_without_it_refuses():
    with open_device("golden", TINY.replace(name="strict", restart=False), memory_bytes=1 << 20) as device:
        work = Uneven(device)
        device.advance(100)
        with pytest.raises(DriverError, match="cannot restart thread blocks: its geometry says restart = false"):
            device.preempt(work.launch, restart=True)
        device.write("command", op=Command.PREEMPT, kernel=work.launch.slot, restart=1)
        assert device.fields("status")["error"] == CommandError.UNKNOWN
        work.finishes()


@pytest.mark.parametrize("name", quick(APART, APART[2::10]))
def test_shipped_kernels_on_the_golden_model(name):
    assert_restarts(GoldenTransport(GTX480, MEMORY_BYTES), name, (0.02, 0.3, 0.6, 0.9))


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", APART)
def test_shipped_kernels_on_the_rtl(name):
    assert_restarts(RtlTransport(GTX480, MEMORY_BYTES), name, (0.05, 0.4, 0.8))


def assert_restarts(transport, name, moments):
    campaign = Campaign(transport, shipped_work(name, GTX480, "tiny"), shipped_work("hostile", GTX480), 5_000_000)
    restarted = 0
    for result, right in campaign.results(Mechanism.LIVE_CP, [int(at * campaign.cycles) for at in moments],
                                          restart=True):
        assert right and (result.preempt is None or result.preempt.data_bytes == 0)
        restarted += bool(result.preempt and result.preempt.tbs)
    assert restarted
