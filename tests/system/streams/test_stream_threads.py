"""Streams of several threads on one device."""

import threading

import numpy as np
import pytest

from caesura import open_device
from caesura.software.compiler import compile_ptx
from support.programs.stream_work import Appending
from support.selection import quick
from support.sim.queues import ADD

MEMORY = 1 << 22


def test_an_end_that_is_seen_while_others_are_looked_at_is_not_missed(golden, monkeypatch):
    """Its event is taken on the way: no time passes before the stream has gone on."""
    stream, work = golden.stream(), Appending(golden)
    priorities, events = golden._core.streams.priorities, golden.launcher.slots.events
    keep, seen = priorities.keep, []

    def late(running, waiting):
        keep(running, waiting)
        if running and not seen:
            while not running[0].launch.finished:
                golden.transport.advance(64)
            events.take()
            seen.append(golden.cycle)

    first, second = work.append(stream, 1), work.append(stream, 2)
    monkeypatch.setattr(priorities, "keep", late)
    stream.synchronize(max_cycles=20_000)
    assert seen and first.over and second.over and golden.cycle - seen[0] < 10_000


def test_an_end_that_another_thread_has_seen_is_looked_at_before_time_passes(golden, monkeypatch):
    """Between its look at the event and what it was to begin then, this thread waits already."""
    stream, work = golden.stream(), Appending(golden)
    task, time_of, events, seen = work.append(stream, 1), golden._core.time, golden.launcher.slots.events, []
    pump = time_of.pump

    def before():
        pump()
        if task.launch is not None and not seen:
            while not task.launch.finished:
                golden.transport.advance(64)
            events.take()
            seen.append(golden.cycle)

    monkeypatch.setattr(time_of, "pump", before)
    monkeypatch.setattr(golden._core.streams, "pump", before)
    task.wait(max_cycles=20_000)
    assert seen and golden.cycle - seen[0] < 10_000


@pytest.mark.parametrize(("threads", "rounds"), quick([(16, 25)] * 4 + [(8, 8)], [(8, 8)]))
@pytest.mark.parametrize("calls", [False, True])
def test_threads_with_streams_take_no_more_time_than_their_kernels(threads, rounds, calls):
    """Streams have several priorities, and functions of the host or none. No time passes in which nothing runs."""
    errors = []
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        add = device.load([compile_ptx(ADD)["add"]])["add"]

        def use(number):
            try:
                stream = device.stream(priority=number % 3)
                for k in range(rounds):
                    counter = device.zeros(1, np.uint32)
                    stream.launch(add, 1, 16, [counter, 20 + k % 3])
                    copy = stream.copy_from(counter)
                    if calls:
                        stream.call(lambda: device.zeros(4, np.uint32))
                    if k % 5 == 0:
                        assert copy.wait(max_cycles=1_000_000)[0] == 16
                stream.synchronize(max_cycles=1_000_000)
            except BaseException as error:  # noqa: BLE001 - told below
                errors.append(error)

        working = [threading.Thread(target=use, args=(number,)) for number in range(threads)]
        for thread in working:
            thread.start()
        for thread in working:
            thread.join(120)
        assert not errors and not any(thread.is_alive() for thread in working)
        assert device.cycle < 1000 * threads * rounds
