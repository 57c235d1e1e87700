"""A launch is announced: the machine saves bases, drains short thread blocks; the bits are the same (PEP III-D)."""

import dataclasses

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.proactive import Case
from caesura.sim.memory import ErrorRange
from caesura.software.driver import CommandRefused, DriverError
from support.programs.stirring import Stirring
from support.programs.uneven import Uneven
from support.selection import quick

G = preset("tiny").replace(proactive=True)
SHORT, LONG = 1, 400
"""Rounds of thread blocks that end sooner than they could be saved, and later."""


def opened(backend="rtl"):
    return open_device(backend, G, memory_bytes=1 << 20)


@pytest.fixture(params=["golden", "rtl"])
def device(request):
    with opened(request.param) as device:
        yield device


def cases(device):
    return {case: number for case, number in device.announcement_counts().cases.items() if number}


def test_an_announced_preempt_saves_less_than_the_base(device):
    work, rng = Stirring(device, 40), np.random.default_rng(1)
    device.advance(200)
    whole = device.preempt(work.launch, "occupied")
    device.resume(work.launch)
    device.announce(work.launch, 900)
    assert device.announced() == [work.launch]
    device.advance(900 + int(rng.integers(100)))
    counts = device.announcement_counts()
    assert counts.bases == len(device.resident_tbs(work.launch)) == 2 and not counts.bases_wasted
    assert work.launch.state is KernelState.RUNNING and work.launch.switches.checkpointed == 0
    report = device.preempt(work.launch, "occupied", incremental=True)
    assert 0 < report.registers < whole.registers and report.tbs == 2
    assert cases(device) == {Case.TWO_CHECKPOINTS: 2} and not device.announced()
    assert all(tb.base is not None for tb in device.context(work.launch))
    device.resume(work.launch)
    work.finishes()


class Again:
    """Launches of one loaded kernel: the machine is told what thread blocks took in the launch before."""

    def __init__(self, device, rounds):
        self.first = Uneven(device, rounds, registers=16)
        self.first.finishes()
        self.device, self.kernel, self.rounds = device, self.first.launch.kernel, rounds
        self.output = device.zeros(self.first.output.size, np.uint32)
        self.launch = self.kernel(self.first.launch.grid, self.first.launch.block, [self.output, rounds])
        assert self.launch.block in self.kernel.tb_cycles

    def finishes(self):
        self.device.wait(self.launch)
        assert np.array_equal(self.output, self.first.output)


def test_thread_blocks_that_end_before_the_arrival_are_left_to_end(device):
    """They take less time than a save of two of them."""
    work = Again(device, SHORT)
    device.announce(work.launch, 10_000)
    device.advance(40)
    resident = len(device.resident_tbs(work.launch))
    assert resident and not work.launch.finished
    device.preempt(work.launch, "occupied", select=True, grace="unlimited", incremental=True)
    counts = device.announcement_counts()
    assert not counts.bases and {*cases(device)} == {Case.DRAIN}
    assert work.launch.switches.drained + work.launch.switches.finished == 1
    if not work.launch.finished:
        assert not device.context(work.launch)
        device.resume(work.launch)
    work.finishes()


def test_long_thread_blocks_are_saved_at_once_and_the_others_get_the_grace(device):
    """When the preempt comes some have taken most of the mean of the launch before, others have just begun."""
    work = Again(device, LONG // 8)
    mean = round(work.kernel.tb_cycles[work.launch.block])
    saved = drained = 0
    for _ in range(9):
        device.advance(mean - 150)
        if work.launch.finished:
            break
        device.announce(work.launch, 50)
        device.advance(20)
        before = device.announcement_counts().cases[Case.DRAIN]
        report = device.preempt(work.launch, "live", patience=0, select=True, grace=3000, incremental=True)
        drained += device.announcement_counts().cases[Case.DRAIN] - before
        if report is None:
            break
        assert not device.resident_tbs(work.launch)
        saved += report.tbs
        device.resume(work.launch)
    assert saved and drained
    work.finishes()


def test_what_does_not_drain_in_its_grace_is_saved(device):
    """The mean is wrong: thread blocks that are said to end soon do not."""
    work = Again(device, LONG)
    work.finishes()
    work.kernel.tb_cycles[work.launch.block] = 1
    taken = device.launcher.slots.drop
    device.launcher.slots.drop = lambda launch: (taken(launch), work.kernel.tb_cycles.update({launch.block: 1}))
    output = device.zeros(work.output.size, np.uint32)
    launch = work.kernel(work.launch.grid, work.launch.block, [output, LONG])
    device.advance(500)
    device.announce(launch, 100)
    device.advance(50)
    report = device.preempt(launch, "occupied", select=True, grace=100)
    assert cases(device) == {Case.DRAIN: 2} and report.tbs == 2
    assert report.grace_cycles >= 99 and launch.switches.at_once == 1
    device.resume(launch)
    device.wait(launch)
    assert np.array_equal(output, work.output)


def test_it_is_withdrawn_and_expires(device):
    work = Stirring(device, 60)
    device.advance(100)
    device.announce(work.launch, 10_000, expiry=0)
    device.advance(3)
    assert not device.announced()
    device.announce(work.launch, 10_000)
    device.withdraw()
    assert not device.announced()
    device.advance(1000)
    assert device.announcement_counts().bases <= 2
    report = device.preempt(work.launch, "occupied")
    assert report.tbs and not cases(device), "no announcement stands"
    device.resume(work.launch)
    work.finishes()


def test_a_second_announcement_takes_the_place_of_the_first(device):
    work = Stirring(device, 60)
    device.advance(100)
    device.announce(work.launch, 500)
    device.advance(700)
    device.announce(work.launch, 500)
    device.advance(700)
    assert device.announcement_counts().bases == 4, "each TB twice"
    device.preempt(work.launch, "live", incremental=True)
    device.resume(work.launch)
    work.finishes()


def test_memory_that_refuses_a_base_ends_the_announcement():
    with opened() as device:
        work = Stirring(device, 60)
        device.advance(100)
        start = work.launch.ccb_base
        device.transport.add_error_range(ErrorRange(start, start + work.launch.ccb_bytes))
        device.announce(work.launch, 500)
        device.advance(1500)
        assert not device.announced() and device.announcement_counts().bases == 0
        assert work.launch.state is KernelState.RUNNING and not device.read("status") & 1
        device.transport.clear_error_ranges()
        report = device.preempt(work.launch, "occupied", incremental=True)
        assert report.tbs == 2 and all(tb.base is None for tb in device.context(work.launch))
        device.resume(work.launch)
        work.finishes()


def test_thread_blocks_that_wait_for_the_last_base_leave_sooner_when_the_launch_arrives_meanwhile():
    """The increment has no register that was written since; run_on saves the same bases, and more later."""
    registers, stalls = {}, {}
    for run_on in (False, True):
        for wait in range(120, 330, 30):
            with opened() as device:
                work = Stirring(device, 60)
                device.advance(300)
                device.announce(work.launch, 100, run_on=run_on)
                device.advance(wait)
                started = device.transport.cycle
                report = device.preempt(work.launch, "occupied", incremental=True)
                registers.setdefault(run_on, []).append(report.registers)
                stalls.setdefault(run_on, []).append(device.transport.cycle - started)
                device.resume(work.launch)
                work.finishes()
    assert sum(registers[False]) < sum(registers[True]) / 2
    assert sum(stalls[False]) < sum(stalls[True])


@pytest.mark.parametrize("first", quick(range(8), [0]))
def test_arrivals_in_every_cycle_until_the_bases_are_saved(first):
    """Registers that are not saved come back as random bits."""
    with opened() as device:
        work = Stirring(device, 60)
        device.advance(300)
        device.announce(work.launch, 100)
        start = device.transport.snapshot(), device.launcher.host_state()
        seen = set()
        for wait in range(first, 500, 8):
            device.transport.restore(start[0])
            device.launcher.set_host_state(start[1])
            device.advance(wait)
            device.preempt(work.launch, "live+cp", incremental=True, scramble=True)
            seen |= {*cases(device)}
            Uneven(device, 2).finishes()
            device.resume(work.launch)
            if wait % 64 == first:
                work.finishes()
            else:
                device.advance(100)
        assert seen == {Case.SINGLE, Case.TWO_CHECKPOINTS}


@pytest.mark.parametrize("seed", quick(range(200), range(4)))
@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_any_order_of_commands_leaves_the_result_right(backend, seed):
    """Announcements, arrivals that select or not, aborts, hastening, a second announcement, failing memory."""
    rng = np.random.default_rng(seed)
    with opened(backend) as device:
        work, other = Stirring(device, 25, seed), None
        for _ in range(40):
            device.advance(int(rng.integers(1, 300)))
            launch = work.launch
            if launch.finished:
                break
            failing = backend == "rtl" and rng.integers(6) == 0
            if failing:
                place = launch.ccb_base + int(rng.integers(launch.ccb_bytes - 64))
                device.transport.add_error_range(ErrorRange(place, place + 64))
            try:
                match rng.integers(5):
                    case 0 | 1:
                        mechanism = str(rng.choice(["occupied", "live", "live+cp"]))
                        device.announce(launch, int(rng.integers(600)), mechanism, expiry=int(rng.integers(1, 2000)),
                                        run_on=bool(rng.integers(2)))
                    case 2:
                        device.withdraw()
                    case _:
                        select = bool(rng.integers(2))
                        device.begin_preempt(launch, "live", incremental=bool(rng.integers(2)), select=select,
                                             grace=int(rng.integers(1, 800)) if select else 0, scramble=False,
                                             patience=int(rng.integers(100)))
                        device.advance(int(rng.integers(200)))
                        match rng.integers(4):
                            case 0:
                                device.abort(launch)
                            case 1:
                                device.hasten(launch)
                        if launch.state is not KernelState.RUNNING:
                            device.finish_preempt(launch)
            except CommandRefused:
                pass
            if failing:
                device.transport.clear_error_ranges()
            if launch.state is KernelState.PREEMPTED:
                if rng.integers(2) and (other is None or other.launch.finished):
                    other = Uneven(device, 2)
                    other.finishes()
                device.resume(launch)
        if rng.integers(8) == 0 and not work.launch.finished:
            device.kill(work.launch)
            Stirring(device, 5).finishes()
        else:
            work.finishes()


@pytest.mark.full
@pytest.mark.parametrize("seed", range(6))
def test_on_two_sms_with_queues_each_sm_decides_for_itself(seed):
    rng, two = np.random.default_rng(seed), G.replace(sms=2, queues=1)
    with open_device("rtl", two, memory_bytes=1 << 22) as device:
        work = Stirring(device, 40, seed)
        for _ in range(6):
            device.advance(int(rng.integers(100, 800)))
            if work.launch.finished:
                break
            before = device.announcement_counts()
            device.announce(work.launch, int(rng.integers(800)))
            assert device.announced() == [work.launch] or work.launch.finished
            device.advance(int(rng.integers(1200)))
            report = device.preempt(work.launch, "live+cp", incremental=True, select=True, grace=300, scramble=True)
            if report is None:
                break
            counts = device.announcement_counts()
            assert sum(counts.cases.values()) - sum(before.cases.values()) >= report.tbs
            assert not device.announced()
            device.resume(work.launch)
        work.finishes()


def test_what_cannot_be_announced_is_refused_in_one_line(device):
    work = Stirring(device, 20)
    for call, why in (
            (lambda: device.announce(work.launch, -1), "cycles"),
            (lambda: device.announce(work.launch, 1 << 32), "nearer arrival"),
            (lambda: device.announce(work.launch, 5, expiry=-3), "expiry -3"),
            (lambda: device.announce([], 5), "no launch is to give way"),
            (lambda: device.announce(work.launch, 5, "fast"), "no mechanism 'fast'"),
            (lambda: device.preempt(work.launch, select=True), "select needs grace"),
            (lambda: device.announce(work.launch, 5, grace=4), "no option 'grace'")):
        with pytest.raises(DriverError, match=why) as raised:
            call()
        assert "\n" not in str(raised.value)
    work.finishes()
    with pytest.raises(DriverError, match="has ended"):
        device.announce(work.launch, 5)
    plain = dataclasses.replace(G, name="plain", proactive=False)
    with open_device("golden", plain, memory_bytes=1 << 20) as other:
        work = Stirring(other, 20)
        for call in (lambda: other.announce(work.launch, 5), other.withdraw, other.announced, other.announcement_counts,
                     lambda: other.preempt(work.launch, select=True, grace=5)):
            with pytest.raises(DriverError, match="proactive = false"):
                call()
