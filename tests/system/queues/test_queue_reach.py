"""Packets of a tenant's queue name only the tenant's own memory. Kernel objects, code, constants, arguments and signals
elsewhere are refused, and nothing there is read, run or changed."""

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.packets import PACKET_BYTES
from caesura.software.compiler import compile_ptx
from caesura.software.driver import DriverError
from support.programs.shared_counters import HEAD
from support.sim.queues import DEVICE

MEMORY = 1 << 21
CONSTANT = HEAD.rstrip() + """
.const .align 4 .u32 table[2] = {7, 9};
.visible .entry constant(.param .u64 output)
{
    .reg .b32 %r<2>;
    .reg .b64 %a<2>;
    ld.param.u64 %a0, [output];
    ld.const.u32 %r0, [table+4];
    red.global.add.u32 [%a0], %r0;
    ret;
}
"""
PLACES = {"object": (None, 32), "code": (0, 4), "constants": (0, 16), "arguments": (None, 40), "signal": (None, 56)}
"""Where the address of each stands: in the packet, or in the kernel object."""


class Tenants:
    """A tenant with a queue, beside another whose memory is the first one's aim."""

    def __init__(self, backend):
        self.device = open_device(backend, DEVICE, memory_bytes=MEMORY)
        self.bob, self.alice = (self.device.tenant(1 << 17, name=name) for name in ("bob", "alice"))
        self.kernel = self.bob.load(compile_ptx(CONSTANT).values())["constant"]
        theirs = self.alice.load(compile_ptx(CONSTANT).values())["constant"]
        self.output = self.bob.zeros(1, np.uint32)
        self.queue = self.bob.queue([self.kernel], 16)
        other = self.alice.queue([theirs], 16)
        self.theirs = other.launch(theirs, 1, 1, [self.alice.zeros(1, np.uint32)])
        other.wait(max_cycles=20_000)
        self.aims = {"object": other._objects.of(theirs).address, "code": theirs.address,
                     "constants": theirs.bank.address, "arguments": theirs.bank.address,
                     "signal": self.theirs.signal.address}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.device.close()

    @property
    def machine(self):
        return self.device.transport

    def memory_of(self, tenant):
        return [self.machine.read_memory(region.base, region.end - region.base)
                for region in (tenant.system, tenant.heap)]

    def put(self):
        return self.queue.launch(self.kernel, 1, 1, [self.output])

    def place(self, packet, what):
        """Return where the address of something stands that a packet names."""
        origin, offset = PLACES[what]
        if origin is None:
            return self.queue.ring.place(packet.index) + offset
        return self.queue._objects.of(self.kernel).address + offset


@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_a_packet_that_names_anothers_memory_is_refused(backend):
    """Each thing is the other tenant's own, which is right there; then it lies in bob's window, or just outside his
    system memory."""
    with Tenants(backend) as work:
        before, done = work.memory_of(work.alice), 0
        packet = work.put()
        work.queue.wait(max_cycles=20_000)
        for what in PLACES:
            system = work.bob.system
            for aim in (work.aims[what], work.bob.heap.base, system.end, system.base - 64 & ~63):
                work.queue.stop()
                packet, done = work.put(), done + 1
                place = work.place(packet, what)
                kept = work.machine.read_memory(place, 4)
                work.machine.write_memory(place, aim.to_bytes(4, "little"))
                work.queue.enable()
                which = "kernel object" if what in ("object", "code", "constants") else "packet"
                with pytest.raises(DriverError, match=f"its {which} is none"):
                    work.queue.wait(max_cycles=20_000)
                work.machine.write_memory(place, kept)
                work.queue.enable()
                work.queue.wait(max_cycles=20_000)
                assert packet.done and work.output.get()[0] == 9 * (done + 1)
        assert work.memory_of(work.alice) == before


@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_a_barrier_that_would_count_down_anothers_signal_is_refused(backend):
    with Tenants(backend) as work:
        before = work.memory_of(work.alice)
        work.queue.stop()
        packet = work.queue.barrier([])
        place = work.place(packet, "signal")
        kept = work.machine.read_memory(place, 4)
        work.machine.write_memory(place, work.aims["signal"].to_bytes(4, "little"))
        work.queue.enable()
        with pytest.raises(DriverError, match="its packet is none"):
            work.queue.wait(max_cycles=20_000)
        work.machine.write_memory(place, kept)
        work.queue.enable()
        work.queue.wait(max_cycles=20_000)
        assert packet.done and work.memory_of(work.alice) == before


@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_a_barrier_that_would_wait_for_anothers_signal_is_refused(backend):
    """The other's signal is 0, so a queue that looked at it would go on."""
    with Tenants(backend) as work:
        system = work.bob.system
        for aim in (work.aims["signal"], work.bob.heap.base, system.end, system.base - 64 & ~63):
            work.queue.stop()
            packet = work.queue.barrier([])
            place = work.place(packet, "signal") - 56 + 8 + 8 * 4
            work.machine.write_memory(place, aim.to_bytes(4, "little"))
            work.queue.enable()
            with pytest.raises(DriverError, match="its packet is none"):
                work.queue.wait(max_cycles=20_000)
            work.machine.write_memory(place, bytes(4))
            work.queue.enable()
            work.queue.wait(max_cycles=20_000)
            assert packet.done
        with pytest.raises(DriverError, match="is of alice, the queue of bob; a queue reads only signals of its owner"):
            work.queue.barrier([work.theirs])


@pytest.mark.parametrize("backend", ["golden", "rtl"])
@pytest.mark.parametrize(("dispatch", "offset"), [(True, 36), (True, 44), (True, 60), (False, 60), (False, 12),
                                                  (False, 44)])
def test_an_address_has_32_bits(backend, dispatch, offset):
    """Of a kernel object, arguments, signals; of the first and the last signal that a barrier waits for."""
    with Tenants(backend) as work:
        work.queue.stop()
        packet = work.put() if dispatch else work.queue.barrier([work.put()] * 5)
        place = work.place(packet, "signal") - 56 + offset
        for bit in (0, 31):
            work.machine.write_memory(place, (1 << bit).to_bytes(4, "little"))
            work.queue.enable()
            with pytest.raises(DriverError, match="its packet is none"):
                work.queue.wait(max_cycles=20_000)
        work.machine.write_memory(place, bytes(4))
        work.queue.enable()
        work.queue.wait(max_cycles=20_000)
        assert packet.done and work.output.get()[0] == 9


def test_the_window_is_looked_at_to_the_last_byte():
    """What ends with the memory is taken, what ends a byte later is not."""
    with Tenants("golden") as work:
        number = work.queue.number
        end = work.device.read(f"queue[{number}].system_end")
        named = max(memory.address + memory.size for memory in (
            work.put().signal, work.queue._objects.of(work.kernel)))
        work.queue.wait(max_cycles=20_000)
        assert work.kernel.address < named <= end
        for changed, good in ((end, True), (work.queue._objects.of(work.kernel).address + PACKET_BYTES - 1, False)):
            work.queue.stop()
            work.device.write(f"queue[{number}].system_end", changed)
            work.put()
            work.queue.enable()
            if good:
                work.queue.wait(max_cycles=20_000)
            else:
                with pytest.raises(DriverError, match="none"):
                    work.queue.wait(max_cycles=20_000)
