"""Checkpoints and incremental preempts (PEP III-C) through the Python API."""

import itertools

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.software.driver import ContextError, DriverError
from support.programs.stirring import Stirring
from support.programs.uneven import Uneven
from support.selection import quick

TINY = preset("tiny")


@pytest.fixture(params=["golden", "rtl"])
def device(request):
    with open_device(request.param, TINY, memory_bytes=1 << 20) as device:
        yield device


def test_a_launch_runs_on_after_a_checkpoint_and_an_increment_is_less(device):
    work = Stirring(device, 12)
    device.advance(200)
    base = device.checkpoint(work.launch)
    assert base.way.checkpoint and base.tbs == len(device.resident_tbs(work.launch)) > 1
    assert work.launch.state is KernelState.RUNNING
    report = device.preempt(work.launch, incremental=True)
    assert report.way.incremental and not report.way.checkpoint and report.tbs
    assert work.launch.state is KernelState.PREEMPTED
    assert report.data_bytes < base.data_bytes and 0 < report.registers < base.registers
    device.resume(work.launch)
    again = device.preempt(work.launch, incremental=True)
    assert again.registers < base.registers, "to the same base"
    device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("device", quick(["golden", "rtl"], ["golden"]), indirect=True)
@pytest.mark.parametrize("scramble", quick([False, True], [True]))
def test_any_sequence_of_them_leaves_the_result_right(device, scramble):
    work, rng, increments = Stirring(device, 9), np.random.default_rng(scramble), 0
    for mechanism in itertools.cycle(Mechanism):
        device.advance(int(rng.integers(1, 250)))
        if work.launch.finished:
            break
        if rng.integers(3) == 0:
            device.checkpoint(work.launch, mechanism, scramble=scramble)
        elif device.preempt(work.launch, mechanism, incremental=bool(rng.integers(4)), scramble=scramble):
            increments += any(tb.base is not None for tb in device.context(work.launch))
            if rng.integers(2):
                Uneven(device, 2).finishes()
            device.resume(work.launch, gang=bool(rng.integers(2)))
    assert increments > 1
    work.finishes()


def test_the_context_of_an_increment_is_whole_with_its_base(device):
    work = Stirring(device, 12)
    device.advance(200)
    device.checkpoint(work.launch, "live")
    device.advance(20)
    device.preempt(work.launch, "live", incremental=True)
    kept = 0
    for tb in device.context(work.launch):
        assert tb.base is not None and "increment" in repr(tb) and tb.base.generation < tb.generation
        assert [warp.warp for warp in tb.whole.warps] == [warp.warp for warp in tb.warps] and tb.whole.base is None
        for part, whole in zip(tb.warps, tb.whole.warps, strict=True):
            early = next(warp for warp in tb.base.warps if warp.warp == part.warp)
            assert set(whole.registers) == set(part.registers) | set(early.registers)
            assert all(np.array_equal(whole.registers[r], values) for r, values in part.registers.items())
            kept += len(set(early.registers) - set(part.registers))
    assert kept
    entry = device.context(work.launch)[0]
    where = work.launch.ccb_base + 128 * 2 * TINY.tb_slots + 128
    before = device.transport.read_memory(where, 64)
    device.transport.write_memory(where + 40, bytes(byte ^ 0xFF for byte in before[40:44]))
    with pytest.raises(ContextError, match="checksum"):
        device.context(work.launch)
    device.transport.write_memory(where, before)
    assert repr(device.context(work.launch)[0]) == repr(entry)
    device.resume(work.launch)
    work.finishes()


def test_of_chosen_thread_blocks(device):
    """Some have a base, and some of those are preempted; the others are saved whole, later."""
    work = Uneven(device, 40)
    device.advance(150)
    first, second = device.resident_tbs(work.launch)[:2]
    report = device.checkpoint(work.launch, tbs=[first])
    assert report.tbs == 1
    report = device.preempt(work.launch, tbs=[second], incremental=True)
    assert report.tbs == 1 and device.context(work.launch)[0].base is None
    report = device.preempt(work.launch, incremental=True)
    saved = {tb.launch_id: tb for tb in device.context(work.launch)}
    assert saved[first].base is not None and saved[second].base is None
    device.resume(work.launch)
    work.finishes()


def test_what_the_machine_cannot_and_what_does_not_fit_a_base_is_refused(device):
    work = Uneven(device, 40)
    device.advance(150)
    device.checkpoint(work.launch, scramble=True)
    with pytest.raises(DriverError, match="another `scramble`"):
        device.preempt(work.launch, incremental=True)
    device.preempt(work.launch)
    device.resume(work.launch)
    work.finishes()
    without = TINY.replace(name="strict", checkpoints=False, in_place=False)
    with open_device("golden", without, memory_bytes=1 << 20) as strict:
        work = Uneven(strict, 40)
        strict.advance(150)
        with pytest.raises(DriverError, match=r"\(strict\) takes no checkpoints: .* checkpoints = false; preempt"):
            strict.checkpoint(work.launch)
        with pytest.raises(DriverError, match=r"\(strict\) saves no increments: .*; leave incremental out"):
            strict.preempt(work.launch, incremental=True)
        strict.preempt(work.launch)
        strict.resume(work.launch)
        work.finishes()


def test_an_announced_preempt_finds_bases_of_what_has_not_ended(device):
    work = Stirring(device, 12)
    device.advance(200)
    resident = device.resident_tbs(work.launch)
    before = device.cycle
    done = device.anticipate(work.launch, 1_000)
    assert done.cycles == device.cycle - before >= 1_000 and len(done.checkpoints) == 1
    assert [*done.saved] == resident and not done.spared, "nothing is known of how long they take"
    report = device.preempt(work.launch, incremental=True)
    assert report.tbs == len(resident) and all(tb.base is not None for tb in device.context(work.launch))
    device.resume(work.launch)
    work.finishes()


def test_what_will_have_ended_is_left_to_end(device):
    work = Uneven(device, 60)
    while device.estimate(work.launch).tb_cycles is None:
        device.advance(50)
    done = device.anticipate(work.launch, 1_000_000)
    assert work.launch.finished and not done.checkpoints and done.saved == done.spared == ()
    assert done.cycles < 1_000_000
    work.finishes()


@pytest.mark.parametrize("device", quick(["golden", "rtl"], ["golden"]), indirect=True)
@pytest.mark.parametrize("settled", quick([20, 10**6], [20]))
def test_a_thread_block_that_begins_later_is_saved_when_it_has_settled(device, settled):
    work = Stirring(device, 40)
    while (known := device.estimate(work.launch)).tb_cycles is None:
        device.advance(50)
    there = {tb.launch_id for tb in known.tbs}
    done = device.anticipate(work.launch, int(known.tb_cycles * 1.2), settled=settled)
    fresh = {*done.saved, *done.spared} - there
    assert fresh and bool(fresh & {*done.saved}) is (settled == 20), done
    assert device.preempt(work.launch, incremental=True)
    device.resume(work.launch)
    work.finishes()


def test_wrong_announcements(device):
    work = Stirring(device, 12)
    for wrong in (-1, 1.5, "soon"):
        with pytest.raises(DriverError, match="cycles must be"):
            device.anticipate(work.launch, wrong)
    with pytest.raises(DriverError, match="settled must be"):
        device.anticipate(work.launch, 10, settled=-1)
    assert device.anticipate(work.launch, 0).cycles < 200, "register accesses take time"
    work.finishes()
    assert device.anticipate(work.launch, 100).saved == ()
