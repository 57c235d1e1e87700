"""Simulated time on the driver: in slices without a trace, watched without a cycle, interrupted between two."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from caesura.hw.arch.isa.words import Instruction, encode
from caesura.sim import open_device
from caesura.software.compiler import KernelImage
from caesura.software.driver import CycleLimit, DriverError, LaunchError
from caesura.software.driver.machine import time_slices
from caesura.software.kernels import kernel
from support.selection import quick

ENDLESS = [("mov.i", {"d": 0, "imm": 0}), ("isub.i", {"d": 0, "a": 0, "imm": 1}),
           ("setp.ne.i", {"pd": 0, "a": 0, "imm": 0}), ("bra", {"guard": 0, "target": 1, "reconv": 4}), ("exit", {})]


@pytest.fixture(params=["golden", "rtl"])
def device(request):
    return open_device(request.param, "tiny", 1 << 16, trace=True)


def native(device, code, name="endless"):
    words = tuple(encode(Instruction.make(op, **fields)) for op, fields in code)
    return device.load([KernelImage(name, words, 4, 1)])[name]


def vecadd(device, grid=12):
    entry = device.load_ptx(kernel("vecadd").ptx_path)["vecadd"]
    a, b, c = (device.array(np.full(8 * grid, k, np.int32)) for k in (1, 2, 0))
    return entry(grid, 8, [a, b, c, 8 * grid]), c


def story(device):
    """All that can be seen of a kernel that is preempted and brought back."""
    launch, c = vecadd(device)
    passed = [device.advance(50), device.run(launch, 60)]
    saved = device.preempt(launch, "occupied")
    passed += [device.advance(33)]
    device.resume(launch)
    passed += [device.wait(launch), device.cycle]
    return passed, saved, c.get().tolist(), device.transport.take_trace().tobytes()


@pytest.mark.parametrize("backend", ["golden", pytest.param("rtl", marks=pytest.mark.full)])
def test_slices_change_nothing(backend, monkeypatch):
    whole, cut, watched = (open_device(backend, "tiny", 1 << 16, trace=True) for _ in range(3))
    expected = story(whole)
    monkeypatch.setattr(time_slices, "SLICE_SECONDS", 0)
    monkeypatch.setattr("caesura.software.driver.time.simulated_time.OBSERVER_SECONDS", 0)
    for device in (cut, watched):
        device._time._slices._cycles = 1
    assert story(cut) == expected
    seen = []
    watched.observer = lambda launch, cycle: seen.append((cycle, launch and (launch.peek_progress(), repr(launch))))
    assert story(watched) == expected
    assert len(seen) > 100 and seen == sorted(seen, key=lambda s: s[0])
    assert {s[1][0] for s in seen if s[1]} >= {(6, 12), (11, 12)} and any(s[1] is None for s in seen)


@pytest.mark.parametrize("device", quick(["golden", "rtl"], ["golden"]), indirect=True)
def test_observer_is_called_ten_times_a_second_at_most(device):
    launch, seen = native(device, ENDLESS)(1, 8, []), []
    device.observer = lambda launch, cycle: seen.append((time.monotonic(), launch, cycle))
    started = time.monotonic()
    with pytest.raises(CycleLimit):
        while time.monotonic() - started < 1.2:
            device.run(launch, 3000)
        device.wait(launch, 2000)
    times = [when for when, *_ in seen]
    assert 2 <= len(seen) <= 10 * (times[-1] - times[0]) + 2
    assert all(one is launch for _, one, _ in seen) and seen[-1][2] <= device.cycle
    device.observer = None
    device.advance(1000)
    assert len(seen) == len(times)


def interrupted(act, after=0.3):
    """Return how long `act` took to end after a Ctrl-C."""
    sent = []

    def press():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, press)
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            act()
        return time.monotonic() - sent[0]
    finally:
        timer.cancel()


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("how", quick(["wait", "advance", "run"], ["wait"]))
def test_interrupt_ends_within_a_second_and_harms_nothing(device, how):
    endless = native(device, ENDLESS)(1, 8, [])
    act = {"wait": lambda: device.wait(endless, 1 << 40), "advance": lambda: device.advance(1 << 40),
           "run": lambda: device.run(endless, 1 << 40)}[how]
    assert interrupted(act) < 1
    device.advance(100)
    launch, c = vecadd(device)
    device.wait(launch)
    assert (c.get() == 3).all() and not endless.finished


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_interrupted_kernel_goes_on_where_it_stood(backend, monkeypatch):
    """The interrupt comes in the middle of a slice, which is completed."""
    device = open_device(backend, "tiny", 1 << 17)
    launch, c = vecadd(device)
    wait = device.transport.wait

    def pressed(cycles):
        os.kill(os.getpid(), signal.SIGINT)
        return wait(min(cycles, 40))

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(device.transport, "wait", pressed)
        device.wait(launch)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not launch.finished and device.cycle >= 40
    device.wait(launch)
    assert (c.get() == 3).all()


def test_handler_of_the_program_stays(device):
    came = []
    before = signal.signal(signal.SIGINT, lambda *_: came.append(1))
    try:
        own = signal.getsignal(signal.SIGINT)
        timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        while not came:
            device.advance(1000)
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_can_let_time_pass(device):
    launch, c = vecadd(device)
    worker = threading.Thread(target=lambda: device.wait(launch))
    worker.start()
    worker.join(60)
    assert not worker.is_alive() and (c.get() == 3).all()


@pytest.mark.parametrize("cycles", [-1, 1.5, "9", None])
def test_limits_are_whole_numbers(device, cycles):
    launch, c = vecadd(device)
    before = device.cycle
    for act in (lambda: device.run(launch, cycles), lambda: device.wait(launch, cycles),
                lambda: device.preempt(launch, max_cycles=cycles), lambda: device.resume(launch, max_cycles=cycles)):
        with pytest.raises(LaunchError, match="cycles must be a whole number from 0"):
            act()
    assert device.cycle == before and issubclass(LaunchError, DriverError)
    device.wait(launch, np.int64(1 << 40))
    assert (c.get() == 3).all()
