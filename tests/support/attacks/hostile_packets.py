"""A tenant that writes anything into packets, objects, arguments and signals of its queue, beside another tenant."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np

from caesura import open_device
from caesura.hw.arch.packets import BARRIER_AND, DISPATCH, KERNEL_OBJECT, PACKET_BYTES, PacketType, QueueState
from caesura.software.compiler import compile_ptx
from caesura.software.driver import CycleLimit, DriverError
from support.sim.queues import ADD, DEVICE

__all__ = ["HostilePackets"]

MEMORY = 1 << 21
PART = 1 << 17
LIMIT = {"golden": 3000, "rtl": 6000}
"""Cycles after which a packet that has not completed is taken to wait for ever, and its queue is ended."""
THREADS = 16
SECRET = 0x5EC2E7


class HostilePackets:
    """Two tenants with a queue each.

    Parameters
    ----------
    backend : str
    seed : int

    Attributes
    ----------
    ends : Counter
        Result of the packets: ``done``, ``failed`` or ``waits``.
    """

    KINDS = "bits", "bits", "field", "field", "noise", "object", "object", "high", "barrier", "signal", "arguments"

    def __init__(self, backend: str, seed: int):
        self.rng, self.ends, self.limit = random.Random(seed), Counter(), LIMIT[backend]
        self.device = open_device(backend, DEVICE, memory_bytes=MEMORY)
        self.machine: Any = self.device.transport
        self.alice, self.bob = (self.device.tenant(PART, name=name) for name in ("alice", "bob"))
        self.secret = self.alice.array(np.full(256, SECRET, np.uint32))
        kernels = compile_ptx(ADD).values()
        self.theirs, self.kernel = (owner.load(kernels)["add"] for owner in (self.alice, self.bob))
        self.counts = [owner.zeros(1, np.uint32) for owner in (self.alice, self.bob)]
        self.other, self.queue = self.alice.queue([self.theirs], THREADS), self.bob.queue([self.kernel], THREADS)
        self.counted = [0, 0]
        self.aims = [self.secret.address, self.alice.system.base, self.alice.heap.end - 64, self.bob.system.end,
                     self.bob.system.base - 64, self.bob.heap.base, self.theirs.address, self.counts[0].address, 0, 64]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.device.close()

    def put(self, number=1):
        """A good packet of a tenant."""
        queue, kernel = ((self.other, self.theirs), (self.queue, self.kernel))[number]
        return queue.launch(kernel, 2, THREADS, [self.counts[number], 3])

    def good(self, number):
        """A good packet completes, and counts."""
        before = int(self.counts[number].get()[0])
        packet = self.put(number)
        (self.other, self.queue)[number].wait(max_cycles=60_000)
        assert packet.done and self.counts[number].get()[0] - before == 2 * THREADS

    def run(self, packets=20):
        for _ in range(packets):
            self.hostile(self.rng.choice(self.KINDS))
            self.good(1)
        self.good(0)
        assert (self.secret.get() == SECRET).all()

    def others(self):
        """All memory but the tenant's own."""
        memory = bytearray(self.machine.read_memory(0, MEMORY))
        for region in (self.bob.system, self.bob.heap):
            memory[region.base:region.end] = bytes(region.end - region.base)
        return bytes(memory)

    def hostile(self, kind):
        """Put a packet, write over something that belongs to it, and look at what becomes of it; then there is another
        queue, if this one does not go on with the right words."""
        regions = [(region.base, region.end - region.base) for region in (self.bob.system, self.bob.heap)]
        self.queue.stop()
        packet = self.queue.barrier([]) if kind == "barrier" else self.put()
        kept = [(base, self.machine.read_memory(base, size)) for base, size in regions]
        before = self.others()
        place, what = self.spoil(kind, packet)
        self.queue.enable()
        outcome = self.outcome(packet, kind)
        assert self.others() == before, f"{what}: memory of others has changed"
        self.ends[outcome] += 1
        if outcome == "failed":
            self.machine.write_memory(place, next(content[place - base:place - base + PACKET_BYTES]
                                                  for base, content in kept if base <= place < base + len(content)))
            self.queue.enable()
            self.queue.wait(max_cycles=60_000)
            return
        self.queue.end(max_cycles=60_000)
        for base, content in kept:
            self.machine.write_memory(base, content)
        self.queue = self.bob.queue([self.kernel], THREADS)

    def outcome(self, packet, kind):
        try:
            self.queue.wait(packet, self.limit)
            return "done"
        except CycleLimit:
            return "waits"
        except DriverError as error:
            assert self.queue.state is QueueState.FAILED, error
            assert "its packet is none" in str(error) or "its kernel object is none" in str(error) or (
                "no SM takes the kernel" in str(error)) or kind == "barrier" and "memory answered" in str(error), error
            return "failed"

    def spoil(self, kind, packet):
        """Write over the packet, its kernel object, its arguments or its signal; return where, and what was done."""
        rng = self.rng
        ring = self.queue.ring.place(packet.index)
        arguments = int.from_bytes(self.machine.read_memory(ring + 40, 4), "little")
        place = {"object": self.queue._objects.of(self.kernel).address, "arguments": arguments,
                 "signal": packet.signal.address}.get(kind, ring)
        old = self.machine.read_memory(place, PACKET_BYTES)
        data = bytearray(old)
        if kind == "noise":
            data = bytearray(rng.randbytes(PACKET_BYTES))
            data[0] = rng.choice((*PacketType, rng.randrange(256)))
        elif kind == "field" or kind in ("object", "barrier") and rng.random() < 0.7:
            layout = {"object": KERNEL_OBJECT, "barrier": BARRIER_AND}.get(kind, DISPATCH)
            for _ in range(rng.choice((1, 1, 2))):
                data = self.field(layout, data)
        elif kind == "high":
            for at in rng.sample((36, 44, 60), rng.randint(1, 3)):
                data[at:at + 4] = rng.choice((1, 0x8000_0000, rng.getrandbits(32))).to_bytes(4, "little")
        elif kind in ("arguments", "signal"):
            for _ in range(rng.randint(1, 4)):
                at = rng.randrange(0, 16 if kind == "arguments" else PACKET_BYTES, 4)
                data[at:at + 4] = rng.choice((*self.aims, rng.getrandbits(32), 0xFFFF_FFFF)).to_bytes(4, "little")
        else:
            for _ in range(rng.randint(1, 3)):
                data[rng.randrange(PACKET_BYTES)] ^= 1 << rng.randrange(8)
        self.machine.write_memory(place, bytes(data))
        return place, f"{kind} {old.hex()} -> {bytes(data).hex()}"

    def field(self, layout, data):
        """Set a field to an end of its range, another's address, or any number."""
        rng, word = self.rng, int.from_bytes(data, "little")
        name, place = rng.choice([*layout])
        mask = (1 << place.width) - 1
        now = word >> place.offset & mask
        value = rng.choice((0, 1, mask, mask >> 1, now + 1, now - 1, now ^ 1 << rng.randrange(place.width),
                            rng.getrandbits(place.width), *(self.aims if place.width >= 32 else ()))) & mask
        word = word & ~(mask << place.offset) | value << place.offset
        return bytearray(word.to_bytes(PACKET_BYTES, "little"))
