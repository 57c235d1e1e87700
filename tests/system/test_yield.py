"""Kernels that yield, through the Python API."""

import functools
import random

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.software.driver import DriverError, LaunchError
from support.sim.yields import expected, images, order

TINY = preset("tiny").replace(watches=2)
MEMORY = 1 << 22
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


@pytest.fixture(params=[1, 2], ids=["one SM", "two SMs"])
def device(request):
    with open_device("golden", TINY.replace(sms=request.param), memory_bytes=MEMORY) as device:
        yield device


def test_a_producer_finds_room(device):
    work = Waiting(device, device.geometry.sms * 3)
    device.advance(500)
    assert work.consumer.progress[0] == 0
    producer = work.produce()
    device.wait(producer, 100_000)
    device.wait(work.consumer, 100_000)
    work.check()


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
    device.wait(producer, 100_000)
    device.wait(work.consumer, 100_000)
    work.check()


@pytest.mark.parametrize("seed", range(3))
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
        device.wait(launch, 200_000)
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


def test_tenants_get_the_place_of_those_who_wait(device):
    alice, bob = device.tenant(1 << 18, name="alice"), device.tenant(1 << 18, name="bob")
    waiting, other = Waiting(alice), Waiting(bob)
    device.advance(300)
    device.wait(other.produce(), 100_000)
    device.wait(other.consumer, 100_000)
    other.check()
    assert waiting.consumer.state is KernelState.RUNNING and waiting.consumer.progress[0] == 0
    alice.close()
    again = Waiting(device)
    device.wait(again.produce(), 100_000)
    device.wait(again.consumer, 100_000)
    again.check()
