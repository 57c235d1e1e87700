"""Calls of Python functions in streams: what they raise, what they may wait for, and other threads."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from caesura.software.driver import (
    CycleLimit,
    DriverError,
    TaskState,
)
from support.programs.stream_work import Appending

HERE = Path(__file__).name


def test_a_call_may_put_more_into_streams(golden):
    stream, other, seen = golden.stream(), golden.stream(), []

    def again(n):
        seen.append(n)
        if n:
            (other if n % 2 else stream).call(lambda: again(n - 1))

    stream.call(lambda: again(5))
    golden.synchronize()
    assert seen == [5, 4, 3, 2, 1, 0]


def test_an_error_of_a_call_is_the_programs_own(golden):
    stream = golden.stream()
    stream.call(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        stream.synchronize()
    assert stream.call(lambda: 7).wait() == 7
    with pytest.raises(ZeroDivisionError):
        stream.call(lambda: 1 // 0).wait()
    stream.synchronize()  # told already


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit()], ids=repr)
def test_whatever_a_call_raises_ends_its_task(golden, error):
    def fails():
        raise error

    stream, behind = golden.stream(), []
    Appending(golden).append(stream, 0)
    task = stream.call(fails)
    stream.call(lambda: behind.append(1))
    for _ in range(2):
        with pytest.raises(type(error)):
            task.wait()
    assert task.state is TaskState.FAILED and not behind
    Appending(golden).append(stream, 0).wait()


@pytest.mark.usefixtures("interruptible")
def test_a_call_is_interrupted(golden):
    """The interrupt is raised where the call was carried out; the task says what has become of it."""
    stream = golden.stream()
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        stream.call(lambda: time.sleep(20), "nap")
    assert time.monotonic() - begin < 10
    with pytest.raises(DriverError, match=rf"nap, put into the stream at .*{HERE}:\d+, was interrupted"):
        stream.synchronize()
    Appending(golden).append(stream, 0).wait()


def test_a_call_may_wait_for_a_thread_that_uses_the_device(golden):
    found = threading.Event()
    thread = threading.Thread(target=lambda: golden.zeros(4, np.uint32).get() is not None and found.set(), daemon=True)

    def waits():
        thread.start()
        return found.wait(20)

    assert golden.stream().call(waits).wait()


def test_a_call_may_wait_for_other_streams(golden):
    stream, other, work = golden.stream(), golden.stream(), Appending(golden)
    work.append(stream, 1)

    def waits():
        work.append(other, 2).wait()
        return other.call(lambda: list(work.log.get()[:2])).wait()

    assert stream.call(waits).wait() == [1, 2]

    def waits_for_itself():
        stream.synchronize()

    with pytest.raises(CycleLimit, match="waits_for_itself, put in at .* is running"):
        stream.call(waits_for_itself).wait()


def test_others_wait_for_a_call_that_a_thread_carries_out(golden):
    """No time passes for what waits for it, and what does not goes on."""
    stream, begun, leave, work = golden.stream(), threading.Event(), threading.Event(), Appending(golden)

    def waits():
        begun.set()
        return leave.wait(20)

    thread = threading.Thread(target=lambda: stream.call(waits), daemon=True)
    thread.start()
    assert begun.wait(20)
    work.append(golden.stream(), 1).wait()
    assert not stream.idle
    before = golden.cycle
    threading.Timer(0.3, leave.set).start()
    stream.record().wait()
    assert stream.idle and golden.cycle - before < 1000
    thread.join(20)


def test_closing_a_stream_whose_call_is_carried_out(golden):
    stream, begun, leave = golden.stream(), threading.Event(), threading.Event()

    def waits():
        begun.set()
        leave.wait(20)

    thread = threading.Thread(target=lambda: stream.call(waits), daemon=True)
    thread.start()
    assert begun.wait(20)
    task = stream.tasks[0]
    stream.close()
    leave.set()
    thread.join(20)
    with pytest.raises(DriverError, match="its stream was closed"):
        task.wait()
    golden.stream().call(lambda: None).wait()
