"""Several threads use one device: each call is done as a whole, who waits is told, and everybody gets a turn."""

import os
import signal
import threading
import time

import pytest

from caesura import open_device
from caesura.hw.arch.geometry import preset
from caesura.software.driver.lock import FairLock
from support.sim.stirring import Stirring
from support.sim.stream_work import StirTask
from support.threads import LIMIT, together

MEMORY = 1 << 23


@pytest.fixture(params=["golden-1", "golden-2", "rtl-1"])
def device(request):
    backend, sms = request.param.split("-")
    with open_device(backend, preset("tiny").replace(sms=int(sms)), memory_bytes=MEMORY) as device:
        yield device


def test_threads_with_a_stream_each(device):
    def work(number):
        stream = device.stream(priority=number % 2)
        for n in range(4):
            StirTask(device, stream, 1 + n % 2, 10 * number + n).finish()

    together(*(lambda number=number: work(number) for number in range(5)))


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
            with lock, lock:
                order.append("greedy")
                time.sleep(0.002)

    def modest():
        for _ in range(10):
            with lock:
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
