"""Devices with hardware queues and a kernel that counts."""

from functools import partial

import numpy as np
import pytest

from caesura import open_device
from caesura.software.compiler import compile_ptx
from support.sim.queues import ADD, DEVICE

LIMIT = 60_000
"""Cycles in which everything has completed."""

class Queues:
    """A device with kernels that count: `counter(k)` is what those of packet k have added to."""

    def __init__(self, backend, queues=1, packets=16, priorities=(0, 0, 0)):
        self.device = open_device(backend, DEVICE, memory_bytes=1 << 20)
        self.kernel = self.device.load(compile_ptx(ADD).values())["add"]
        self.counters = self.device.zeros(64, np.uint32)
        self.queues = [self.device.queue([self.kernel], 16, packets=packets, priority=priorities[k])
                       for k in range(queues)]
        for queue in self.queues:
            queue.wait = partial(queue.wait, max_cycles=LIMIT)
        self.queue, self.number = self.queues[0], 0

    def put(self, queue=None, blocks=3, rounds=3):
        """Put a kernel into a queue; each adds to a counter of its own, once a thread."""
        counter = self.device.array_at(self.counters.address, 64, np.uint32)
        address = counter.address + 4 * self.number
        self.number += 1
        return (queue or self.queue).launch(self.kernel, blocks, 16, [address, rounds])

    def counted(self):
        return self.counters.get()[:self.number].tolist()


@pytest.fixture(params=["golden", "rtl"])
def queues(request):
    made = []

    def make(*arguments, **options):
        made.append(Queues(request.param, *arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.device.close()
