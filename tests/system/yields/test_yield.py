"""Kernels that yield, through the Python API: on the golden model, on the RTL of a device of two SMs and, in the full
set, on that of one; a flag that is written in each cycle of a run."""

import functools
import random

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.packets import SIGNAL_BYTES, SIGNAL_VALUE
from caesura.software.driver import DriverError, LaunchError
from support.programs.yields import expected, images, order
from support.selection import quick
from support.sim.queues import DEVICE

TINY = preset("tiny").replace(watches=3, entries=6)
MEMORY = 1 << 22
LIMIT = 100_000
kernels = functools.cache(images)


class Waiting:
    """Consumers on all SMs, and a producer for whom they make room."""

    def __init__(self, owner, count=6, delay=200):
        self.count, loaded = count, owner.load(kernels().values())
        self.flags, self.out = owner.zeros(32 * count, np.uint32), owner.zeros((count, 16), np.uint32)
        self.consumer = loaded["consumer"](count, 16, [self.flags, self.out, 128])
        self.produce = lambda: loaded["producer"](count, 8, [self.flags, 128, delay])

    def check(self):
        assert (self.out.get() == 1000 + np.arange(self.count)[:, None] + np.arange(16)).all()


@pytest.fixture(params=[("golden", TINY), ("golden", DEVICE), pytest.param(("rtl", TINY), marks=pytest.mark.full),
                        ("rtl", DEVICE)],
                ids=["golden", "golden, two SMs", "RTL", "RTL, two SMs"])
def device(request):
    backend, geometry = request.param
    with open_device(backend, geometry, memory_bytes=MEMORY) as device:
        yield device


def test_a_producer_finds_room(device):
    work = Waiting(device, device.geometry.sms * 3)
    device.advance(2000)
    assert work.consumer.progress[0] == 0
    producer = work.produce()
    device.wait(producer, LIMIT)
    device.wait(work.consumer, LIMIT)
    work.check()
    assert device.read("kernel[0].yields") > 0 and device.read("kernel[0].away") == 0


def test_the_host_wakes_those_that_wait(device):
    """What the host writes comes back to those who wait for it, and to nobody else."""
    work = Waiting(device, device.geometry.sms * 4)
    device.advance(3000)
    assert work.consumer.progress[0] == 0 and device.read("kernel[0].away") != 0
    for done in range(work.count):
        flags = work.flags.get()
        flags[32 * done] = 1000 + done
        work.flags.set(flags)
    device.wait(work.consumer, LIMIT)
    work.check()


def test_a_chain_whose_first_waits_for_its_last(device):
    """Of 5 thread blocks an SM has room for 2; each waits for the next one, which is launched after it."""
    count = 5
    flags, out = device.zeros(count + 1, np.uint32), device.zeros((count, 16), np.uint32)
    chain = device.load([kernels()["chain"]])["chain"]
    device.wait(chain(count, 16, [flags, out, count - 1]), LIMIT)
    assert flags.get()[:count].tolist() == list(range(count, 0, -1))
    threads, blocks = np.arange(16), np.arange(count)[:, None]
    assert (out.get() == blocks * 17 + threads + count - blocks).all()


def test_giving_the_place_away(device):
    """`caesura_yield(0, 0)`: thread blocks of two kernels take turns."""
    counter, loaded = device.zeros(1, np.uint32), device.load([kernels()["polite"]])["polite"]
    launches = [loaded(3, 16, [counter, 0, 4]) for _ in range(2)]
    for launch in launches:
        device.wait(launch, LIMIT)
    assert counter.get()[0] == 2 * 3 * 4
    assert sum(device.read(f"kernel[{launch.slot}].yields") for launch in launches) > 0


class Moments:
    """Consumers that have filled all SMs, and one of whom is to be woken in any cycle."""

    def __init__(self, device):
        self.device, self.work = device, Waiting(device, 2 * device.geometry.sms + 1)
        device.advance(20)

    def forks(self, cycles):
        """Yield in each of so many cycles the machine that has come there; it goes on from there."""
        transport = self.device.transport
        for _ in range(cycles):
            here = transport.snapshot(), self.device.host_state()
            yield
            transport.restore(here[0])
            self.device.set_host_state(here[1])
            self.device.advance(1)


@pytest.mark.parametrize("geometry, cycles", [
    pytest.param(TINY, 1500, marks=pytest.mark.full), pytest.param(DEVICE, 12, marks=pytest.mark.full), (DEVICE, 3)],
    ids=["RTL-1500", "RTL, two SMs-12", "RTL, two SMs-3"])
def test_a_flag_written_in_any_cycle_is_seen(geometry, cycles):
    """The host writes while consumers arrive at their barrier, are saved, are away, come back; the last one finds no
    room, so that they leave. Who waits for it ends, the others do not, and then they do."""
    with open_device("rtl", geometry, memory_bytes=MEMORY) as device:
        moments = Moments(device)
        if cycles < 100:
            device.advance(150)
        for number, _ in enumerate(moments.forks(cycles)):
            work, first = moments.work, number % moments.work.count
            for written in (first, *(k for k in range(work.count) if k != first)):
                flags = work.flags.get()
                flags[32 * written] = 1000 + written
                work.flags.set(flags)
                before = work.consumer.progress[0]
                device.run(work.consumer, 3000)
                assert work.consumer.progress[0] == before + 1, f"cycle {number}: block {written} was not woken"
            work.check()


@pytest.mark.full
@pytest.mark.parametrize("sms", [1, 2])
def test_a_flag_stored_in_any_cycle_is_seen(sms):
    """A producer of another kernel stores after any delay, on the SM of who waits for it or on another."""
    with open_device("rtl", TINY.replace(sms=sms), memory_bytes=MEMORY) as device:
        for delay in range(1, 120):
            work = Waiting(device, 2 * sms + 1, delay)
            device.advance(delay % 37)
            producer = work.produce()
            device.wait(producer, LIMIT)
            device.wait(work.consumer, LIMIT)
            work.check()


one_of_the_golden_model = pytest.mark.parametrize(
    "device", [("golden", TINY), *(pytest.param(machine, marks=pytest.mark.full) for machine in (
        ("golden", DEVICE), ("rtl", TINY), ("rtl", DEVICE)))], indirect=True,
    ids=["golden", "golden, two SMs", "RTL", "RTL, two SMs"])
"""Where the others are in the full set."""


@one_of_the_golden_model
def test_preempted_and_resumed_by_the_driver(device):
    work = Waiting(device, device.geometry.sms * 3, delay=2000)
    device.advance(500)
    producer = work.produce()
    device.advance(300)
    for way in ({}, {"mechanism": "live+cp"}, {"in_place": True}):
        assert device.preempt(work.consumer, **way) is not None
        assert work.consumer.state is KernelState.PREEMPTED
        device.advance(200)
        device.resume(work.consumer)
        device.advance(150)
    device.wait(producer, LIMIT)
    device.wait(work.consumer, LIMIT)
    work.check()


@pytest.mark.parametrize("seed", quick(range(3), [0]))
def test_thread_blocks_of_two_kernels_wait_for_each_other_on_any_sm(device, seed):
    rng = random.Random(seed)
    sizes = [2 * device.geometry.sms] * 2
    after = order(rng, *sizes)
    flags, out = expected(after, sizes[0], 16)
    done, found = device.zeros(32 * len(after), np.uint32), device.zeros(out.shape, np.uint32)
    loaded = device.load(kernels().values())["graph"]
    launches = [loaded(count, 16, [device.array(np.array(after[first:first + count], np.int32)),
                                   done.address + 128 * first, found.address + 64 * first, 128, 50])
                for first, count in ((0, sizes[0]), (sizes[0], sizes[1]))]
    for launch in launches:
        device.wait(launch, 2 * LIMIT)
    assert done.get()[::32].tolist() == flags and (found.get() == out).all()


def test_they_do_not_begin_anew(device):
    work = Waiting(device)
    assert "yields" in work.consumer.not_restartable
    with pytest.raises(DriverError, match=r"cannot begin anew: it yields at \d+"):
        device.preempt(work.consumer, restart=True)
    device.kill(work.consumer)


def test_a_machine_without_watches_refuses_the_launch():
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        loaded = device.load(kernels().values())
        with pytest.raises(LaunchError, match="kernel 'consumer' .*it yields .*no watch table; choose a geometry with"):
            loaded["consumer"](2, 16, [device.zeros(64, np.uint32), device.zeros(32, np.uint32), 128])
        device.wait(loaded["producer"](2, 8, [device.zeros(64, np.uint32), 128, 5]))


@one_of_the_golden_model
def test_tenants_get_the_place_of_those_who_wait(device):
    alice, bob = device.tenant(1 << 18, name="alice"), device.tenant(1 << 18, name="bob")
    waiting, other = Waiting(alice), Waiting(bob)
    device.advance(300)
    device.wait(other.produce(), LIMIT)
    device.wait(other.consumer, LIMIT)
    other.check()
    assert waiting.consumer.state is KernelState.RUNNING and waiting.consumer.progress[0] == 0
    alice.close()
    again = Waiting(device)
    device.wait(again.produce(), LIMIT)
    device.wait(again.consumer, LIMIT)
    again.check()


def test_those_that_are_away_are_not_on_the_sm(device):
    work = Waiting(device, device.geometry.sms * 4)
    device.advance(3000)
    away = 0
    for sm in range(device.geometry.sms):
        with work.consumer.device.host.of_sm(sm):
            away += device.read("kernel[0].away").bit_count()
    assert away > 0 and work.consumer.resident_tbs + away == device.read("kernel[0].launched")
    device.kill(work.consumer)


@pytest.mark.parametrize("backend", quick(["golden", "rtl"], ["rtl"]))
def test_a_completion_signal_wakes_those_that_wait(backend):
    """Thread blocks on both SMs wait for a packet of a hardware queue."""
    with open_device(backend, DEVICE, memory_bytes=MEMORY) as device:
        loaded = device.load(kernels().values())
        signal, out, other = device.zeros(32, np.uint32), device.zeros((6, 16), np.uint32), device.zeros(64, np.uint32)
        queue = device.queue([loaded["producer"]], 8)
        device.write(f"queue[{queue.number}].system_end", signal.address + SIGNAL_BYTES)
        queue.stop()
        queue.launch(loaded["producer"], 2, 8, [other, 128, 400])
        device.transport.write_memory(queue.ring.base + 14 * 4, int(signal.address).to_bytes(4, "little"))
        consumer = loaded["consumer"](6, 16, [signal.address + SIGNAL_VALUE, out, 0])
        device.advance(4000)
        assert consumer.progress[0] == 0 and device.read("kernel[0].away") != 0
        queue.enable()
        device.wait(consumer, LIMIT)
        assert (out.get() == np.arange(16, dtype=np.uint32) - np.uint32(1)).all(), "the value was 0, and is -1"
        assert other.get()[0] == 1000
