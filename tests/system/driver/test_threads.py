"""Several threads use one device: each call is done as a whole, who waits is told, and everybody gets a turn."""

import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections import deque

import pytest

from caesura import open_device
from caesura.errors import InputError
from caesura.hw.arch.geometry import preset
from caesura.sim.golden.transport import GoldenTransport
from caesura.software.driver import Closed, Device, DriverError
from caesura.software.driver.machine.lock import FairLock
from caesura.software.driver.machine.time_slices import uninterrupted
from support.programs.stirring import Stirring
from support.programs.stream_work import StirTask
from support.selection import quick
from support.threads import LIMIT, together

MEMORY = 1 << 23
LONG = 1 << 20


@pytest.fixture(params=["golden-1", "golden-2", "rtl-1"])
def device(request):
    backend, sms = request.param.split("-")
    with open_device(backend, preset("tiny").replace(sms=int(sms)), memory_bytes=MEMORY) as device:
        yield device


@pytest.mark.parametrize("device", quick(["golden-1", "golden-2", "rtl-1"], ["golden-2", "rtl-1"]), indirect=True)
def test_threads_with_a_stream_each(device):
    def work(number):
        stream = device.stream(priority=number % 2)
        for n in range(4):
            StirTask(device, stream, 1 + n % 2, 10 * number + n).finish()

    together(*(lambda number=number: work(number) for number in range(5)))


@pytest.mark.parametrize("device", quick(["golden-1", "golden-2", "rtl-1"], ["golden-2"]), indirect=True)
def test_tenants_in_threads_of_their_own(device):
    def live(number):
        for n in range(2):
            with device.tenant(1 << 18, system_bytes=1 << 19) as tenant:
                with tenant.stream() as stream:
                    tasks = [StirTask(tenant, stream, 1, number + n) for _ in range(2)]
                for task in tasks:
                    task.check()
                StirTask(tenant, tenant.stream(), 100_000, number)

    together(*(lambda number=number: live(number) for number in range(3)))
    assert device.tenants == []


def test_one_thread_preempts_what_another_waits_for(device):
    """Who waits is not told of what is none of its business, and sees the end when it comes."""
    work, over = Stirring(device, 20), threading.Event()

    def wait():
        task = StirTask(device, device.stream(), 20, 5)
        task.finish()
        over.set()

    def disturb():
        for _ in range(6):
            if device.preempt(work.launch, "live+cp"):
                device.warps()
                device.resume(work.launch)

    together(wait, disturb)
    work.finishes()


def test_who_waits_sees_an_event_that_another_thread_has_taken(device):
    """Each of two threads waits for a launch; no simulated time is spent on waiting for what has happened."""
    launches = [Stirring(device, rounds, rounds) for rounds in (1, 30)]
    together(*(work.finishes for work in launches))
    assert device.cycle < 100_000


def test_registers_of_one_sm_are_not_mixed_up():
    with open_device("golden", preset("tiny").replace(sms=2), memory_bytes=MEMORY) as device:
        found = []

        def look(sm):
            for _ in range(200):
                with device.host.of_sm(sm):
                    found.append(device.read("sm_read") == 1 << sm)

        together(lambda: look(0), lambda: look(1), lambda: look(0))
        assert len(found) == 600 and all(found)


def test_the_lock_is_fair_and_can_be_taken_again():
    lock, order = FairLock(), []

    def greedy():
        for _ in range(50):
            with lock.turn, lock, lock.turn, lock:
                order.append("greedy")
                time.sleep(0.002)

    def modest():
        for _ in range(10):
            with lock.turn, lock:
                order.append("modest")

    together(greedy, modest)
    assert max(k for k, who in enumerate(order) if who == "modest") < 30


def test_an_interrupt_while_a_thread_waits_for_the_lock(interruptible):
    """The lock is not handed to who has gone."""
    lock, inside, leave = FairLock(), threading.Event(), threading.Event()

    def holder():
        with lock:
            inside.set()
            leave.wait(LIMIT)

    thread = threading.Thread(target=holder, daemon=True)
    thread.start()
    assert inside.wait(LIMIT)
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt), lock:
        pytest.fail("the other thread has it")
    leave.set()
    thread.join(LIMIT)
    together(lambda: lock.__enter__() and lock.__exit__())


@contextlib.contextmanager
def alarms(handler):
    """Have a signal handler called at random times, every millisecond or so."""
    rng = random.Random(1)

    def ring(*_):
        try:
            handler()
        finally:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0001, 0.002))

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def own_exception():
    raise TimeoutError


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("press", [lambda: signal.raise_signal(signal.SIGINT), own_exception], ids=["ctrl-c", "own"])
@pytest.mark.parametrize("poll", [lambda device, launch: (launch.progress, device.read("event")),
                                  lambda device, launch: (launch.finished, device.advance(20))],
                         ids=["read", "advance"])
def test_interrupts_at_any_moment_leave_the_device_to_others(press, poll, monkeypatch):
    # An interrupt within a callback of the interpreter (garbage, weak references) can be raised to nobody. The hook
    # that keeps it is no Python code: the next interrupt would come within that.
    unraised = deque()
    monkeypatch.setattr(sys, "unraisablehook", unraised.append)
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        work, came = Stirring(device, LONG), 0

        def interrupted():
            nonlocal came
            try:
                while True:
                    poll(device, work.launch)
            except (KeyboardInterrupt, TimeoutError):
                came += 1

        for _ in range(25):
            enough = came + 20
            while came < enough:
                with contextlib.suppress(KeyboardInterrupt, TimeoutError), alarms(press):
                    while came < enough:
                        interrupted()
            together(lambda: device.read("event"))
        device.kill(work.launch)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert {one.exc_type for one in unraised} <= {KeyboardInterrupt, TimeoutError}


class EndedTransport(GoldenTransport):
    """Refuses what comes after its end, as the RTL's does, with an error of its own."""

    ended = False

    def close(self):
        self.ended = True

    def _open(self):
        if self.ended:
            raise InputError("this simulation has been closed")

    def wait(self, cycles):
        self._open()
        return super().wait(cycles)

    def advance(self, cycles):
        self._open()
        return super().advance(cycles)


@pytest.mark.parametrize("wait", [lambda device, launch: device.wait(launch, 1 << 60),
                                  lambda device, launch: device.advance(1 << 60),
                                  lambda device, launch: device.synchronize(1 << 60)],
                         ids=["wait", "advance", "stream"])
@pytest.mark.parametrize("transport", quick([GoldenTransport, EndedTransport], [EndedTransport]))
def test_closing_ends_what_others_wait_for(transport, wait):
    device = Device(transport(preset("tiny"), MEMORY))
    work, ends = Stirring(device, LONG), []
    StirTask(device, device.stream(), LONG, 1)

    def waits():
        with pytest.raises(Closed, match="this device has been closed"):
            wait(device, work.launch)
        ends.append(1)

    def closes():
        time.sleep(0.3)
        device.close()

    together(waits, waits, closes)
    assert len(ends) == 2


def test_closing_ends_waiting_for_a_call():
    device, begun, leave = open_device("golden", "tiny", memory_bytes=MEMORY), threading.Event(), threading.Event()
    stream = device.stream()

    def waits():
        begun.set()
        leave.wait(LIMIT)

    def carries_out():
        with contextlib.suppress(Closed):
            stream.call(waits)

    def closes():
        assert begun.wait(LIMIT)
        threading.Timer(0.2, device.close).start()
        with pytest.raises(Closed):
            stream.synchronize()
        leave.set()

    together(carries_out, closes)


@pytest.mark.usefixtures("interruptible")
def test_a_signal_handler_may_use_the_device():
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        seen = []
        end = time.monotonic() + 1
        with alarms(lambda: seen.append(device.read("event"))):
            while time.monotonic() < end:
                device.read("event")
        assert len(seen) > 20
        together(lambda: device.read("event"))


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_not_lost_in_another_error():
    def fails():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        raise DriverError("mine")

    with pytest.raises(KeyboardInterrupt) as caught, uninterrupted():
        fails()
    assert isinstance(caught.value.__context__, DriverError)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
