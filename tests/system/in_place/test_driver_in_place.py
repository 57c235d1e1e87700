"""In-place preempts (Lin et al. III-A) through the Python API."""

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.software.compiler import compile_ptx
from caesura.software.driver import CommandRefused, ContextError, DriverError, KernelFault
from support.programs.stirring import Stirring
from support.programs.uneven import Uneven
from support.selection import quick

TINY = preset("tiny")
UNDER_WAY = {"golden": 200, "rtl": 900}
"""Cycles until the thread blocks of a launch are in the middle."""


@pytest.fixture(params=["golden", "rtl"])
def device(request):
    with open_device(request.param, TINY, memory_bytes=1 << 20) as device:
        yield device


def evicted(device):
    return device.read("evicted_tbs"), device.read("evicted_bytes")


def test_a_launch_stays_on_the_sm_and_comes_back(device):
    work = Stirring(device, 12)
    device.advance(UNDER_WAY[device.transport.name])
    report = device.preempt(work.launch, in_place=True)
    assert report.way.in_place and report.tbs > 1 and not (report.data_bytes or report.registers or report.lines)
    assert work.launch.state is KernelState.PREEMPTED and not device.resident_tbs(work.launch)
    contexts = device.context(work.launch)
    assert len(contexts) == report.tbs
    for tb in contexts:
        assert tb.registers_stay and tb.lines_stay and tb.evicted is None and tb.base is None
        assert "registers on the SM, shared memory on the SM" in repr(tb) and not tb.shared_lines
        assert tb.warps and not any(warp.registers for warp in tb.warps)
    moved = device.resume(work.launch).bytes
    assert moved == sum(tb.length for tb in contexts) + 64 * TINY.tb_slots and evicted(device) == (0, 0)
    assert not device.preempt(work.launch).way.in_place
    device.resume(work.launch)
    work.finishes()


def test_a_newcomer_finds_room_at_once_and_the_rest_stays(device):
    """It waits while the first launch has the SM; of that, only what is in its way is written."""
    work = Stirring(device, 12)
    device.advance(UNDER_WAY[device.transport.name])
    other = Stirring(device, 2)
    report = device.preempt(work.launch, newcomer=other.launch)
    fields = device.fields("newcomer")
    assert report.way.in_place and fields["kernel"] == other.launch.slot
    assert fields["tbs"] == min(other.launch.progress[1], TINY.tb_slots, TINY.warps // other.launch.warps_per_tb)
    contexts = device.context(work.launch)
    assert [(tb.registers_stay, tb.lines_stay) for tb in contexts] == [(False, False), (True, False)]
    assert [bool(tb.shared_lines) for tb in contexts] == [True, True] and report.data_bytes
    other.finishes()
    assert evicted(device) == (0, 0), "room was made for it"
    device.resume(work.launch)
    work.finishes()


def test_what_is_in_the_way_of_others_is_evicted_and_shown_whole(device):
    work = Stirring(device, 12)
    device.advance(UNDER_WAY[device.transport.name])
    report = device.preempt(work.launch, "live+tb", in_place=True)
    device.preempt(work.launch, "live")
    count, size = evicted(device)
    assert count == report.tbs and size
    contexts = device.context(work.launch)
    assert sum(tb.evicted.length + 64 for tb in contexts) == size
    for tb in contexts:
        assert not tb.registers_stay and not tb.lines_stay and "evicted" in repr(tb)
        assert [warp.warp for warp in tb.whole.warps] == [warp.warp for warp in tb.warps]
        assert any(warp.registers for warp in tb.whole.warps) and tb.whole.shared_lines == tb.evicted.shared_lines
        assert tb.whole.evicted is None and tb.whole.launch_id == tb.launch_id
    entry = work.launch.ccb_base + 128 * TINY.tb_slots
    good = device.transport.read_memory(entry, 64)
    for offset, message in ((12, "what was evicted of it is not there"), (40, "mechanism|checksum|not there")):
        device.transport.write_memory(entry + offset, b"\x77")
        with pytest.raises(ContextError, match=message):
            device.context(work.launch)
        device.transport.write_memory(entry, good)
    with pytest.raises(CommandRefused, match="not in a state"):
        device.preempt(work.launch)
    device.resume(work.launch)
    work.finishes()


@pytest.mark.parametrize("device", quick(["golden", "rtl"], ["golden"]), indirect=True)
@pytest.mark.parametrize("scramble", quick([False, True], [True]))
def test_any_sequence_leaves_the_result_right(device, scramble):
    work, rng, kept = Stirring(device, 9), np.random.default_rng(scramble), 0
    while not work.launch.finished:
        device.advance(int(rng.integers(1, 250)))
        mechanism, kind = list(Mechanism)[rng.integers(4)], rng.integers(5)
        other = Stirring(device, 2) if kind == 0 else None
        if work.launch.finished:
            break
        how = {"incremental": True} if kind == 1 else {"newcomer": other.launch} if other else {"in_place": kind > 2}
        if device.preempt(work.launch, mechanism, scramble=scramble, **how) is None:
            break
        kept += any(tb.registers_stay for tb in device.context(work.launch))
        if rng.integers(2) and not other:
            other = Stirring(device, 1)
        if other:
            other.finishes()
        device.resume(work.launch, gang=bool(rng.integers(2)))
    assert kept > 1 and evicted(device)[0]
    work.finishes()


def test_another_device_takes_over_once_all_is_in_memory(device):
    work = Stirring(device, 12)
    device.advance(UNDER_WAY[device.transport.name])
    device.preempt(work.launch, in_place=True)
    image = work.launch.kernel.image

    def taken_over():
        other = open_device("golden", TINY, memory_bytes=1 << 20)
        other.transport.write_memory(0, device.transport.read_memory(0, 1 << 20))
        return other, other.adopt(work.launch.handle, image)

    with pytest.raises(CommandRefused, match="does not hold it"):
        taken_over()
    device.preempt(work.launch)
    other, launch = taken_over()
    with other:
        assert any(tb.evicted for tb in other.context(launch))
        other.resume(launch)
        other.wait(launch)
        values = other.transport.read_memory(work.arrays[0].address, work.arrays[0].nbytes)
    device.resume(work.launch)
    work.finishes()
    assert values == work.arrays[0].get().tobytes()


def lines_alone(device, mechanism, scramble=False):
    """Return a launch that was preempted for one that needs registers alone, and that one."""
    work = Stirring(device, 12)
    device.advance(UNDER_WAY[device.transport.name])
    other = Uneven(device, 2, registers=16)
    device.preempt(work.launch, mechanism, scramble=scramble, newcomer=other.launch)
    assert [(tb.registers_stay, tb.lines_stay) for tb in device.context(work.launch)] == [(True, True), (False, True)]
    return work, other


@pytest.mark.parametrize("mechanism, scramble", quick(
    [(mechanism, scramble) for mechanism in Mechanism for scramble in (False, True)],
    [(Mechanism.OCCUPIED, False), (Mechanism.LIVE_TB, True)]))
def test_shared_memory_that_stays_alone_is_evicted_with_the_rest(device, mechanism, scramble):
    """A preempt of the whole ends well, and another device takes over what is in memory."""
    work, other = lines_alone(device, mechanism, scramble)
    assert not device.preempt(work.launch, scramble=scramble).way.in_place and evicted(device)[0] == 2
    contexts = device.context(work.launch)
    for tb in contexts:
        assert not tb.registers_stay and not tb.lines_stay and tb.whole.shared_lines == tb.evicted.shared_lines
        assert [warp.warp for warp in tb.evicted.warps] == [warp.warp for warp in tb.warps]
        assert [warp.warp for warp in tb.whole.warps] == [warp.warp for warp in tb.warps]
    assert any(tb.evicted.shared_lines for tb in contexts)
    assert not any(warp.registers for warp in contexts[1].evicted.warps)
    with open_device("golden", TINY, memory_bytes=1 << 20) as third:
        third.transport.write_memory(0, device.transport.read_memory(0, 1 << 20))
        launch = third.adopt(work.launch.handle, work.launch.kernel.image)
        third.resume(launch)
        third.wait(launch)
        values = third.transport.read_memory(work.arrays[0].address, work.arrays[0].nbytes)
    other.finishes()
    device.resume(work.launch)
    work.finishes()
    assert values == work.arrays[0].get().tobytes()


def test_shared_memory_that_stays_alone_yields_to_who_needs_it(device):
    work, other = lines_alone(device, Mechanism.LIVE_CP)
    other.finishes()
    assert evicted(device)[0] == 0
    Stirring(device, 2, seed=2).finishes()
    assert evicted(device)[0] == 2 and not device.read(f"kernel[{work.launch.slot}].lines_stay")
    device.resume(work.launch)
    work.finishes()


def test_a_launch_that_is_killed_leaves_nothing(device):
    work = Stirring(device, 12)
    device.advance(UNDER_WAY[device.transport.name])
    device.preempt(work.launch, in_place=True)
    device.kill(work.launch)
    assert device.read(f"kernel[{work.launch.slot}].registers_stay") == 0 and evicted(device) == (0, 0)
    Stirring(device, 2).finishes()


BEYOND = """
.version 8.0
.target sm_70
.address_size 64
.visible .entry beyond(.param .u64 first, .param .u64 second, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %a<4>;
    ld.param.u64 %a0, [first];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, 0;
LOOP:
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p0, %r1, %r0;
    @%p0 bra LOOP;
    st.global.u32 [%a0+%OFFSET], %r1;
    ret;
}
"""


@pytest.mark.parametrize("stays", [False, True])
def test_bounds_are_checked_of_what_comes_back(stays):
    """Which array an address comes from is known again: one beyond its end is found, though another array is there.
    Found by a thread block that runs while another stays, it ends that one too."""
    with open_device("golden", TINY, memory_bytes=1 << 20, check_bounds=True) as device:
        first, second = device.zeros(8, np.uint32), device.zeros(8, np.uint32)
        code = BEYOND.replace("%OFFSET", str(second.address - first.address))
        launch = device.load(compile_ptx(code).values())["beyond"](2, 8, [first, second, 100])
        device.advance(60)
        chosen = device.resident_tbs(launch)
        assert len(chosen) == 2
        report = device.preempt(launch, in_place=True, tbs=chosen[:1] if stays else None)
        assert report.tbs == 2 - stays and device.read(f"kernel[{launch.slot}].registers_stay")
        if stays:
            device.advance(2000)
            assert launch.finished
        else:
            device.resume(launch)
        with pytest.raises(KernelFault, match="out of bounds"):
            device.wait(launch)
        assert not device.transport.machine.stays()


def test_what_cannot_be_is_refused(device):
    work = Stirring(device, 12)
    device.advance(UNDER_WAY[device.transport.name])
    for others in ({"restart": True}, {"incremental": True}):
        with pytest.raises(DriverError, match=r"(restart|incremental) does not go with in_place|begin anew"):
            device.preempt(work.launch, in_place=True, **others)
    with pytest.raises(DriverError, match="cannot make room for itself"):
        device.preempt(work.launch, newcomer=work.launch)
    other = Uneven(device, 2)
    device.preempt(work.launch, in_place=True)
    other.finishes()
    device.resume(work.launch)
    with pytest.raises(DriverError, match="has ended and needs no room"):
        device.preempt(work.launch, newcomer=other.launch)
    with open_device("golden", TINY.replace(name="strict", in_place=False), memory_bytes=1 << 20) as strict:
        foreign = Uneven(strict, 20)
        with pytest.raises(DriverError, match="launched on another device"):
            device.preempt(work.launch, newcomer=foreign.launch)
        for how in ({"in_place": True}, {"newcomer": foreign.launch}):
            with pytest.raises(DriverError, match=r"\(strict\) keeps nothing in place: .* in_place = false; leave"):
                strict.preempt(foreign.launch, **how)
        foreign.finishes()
    work.finishes()
