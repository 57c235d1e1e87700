"""Hardware queues of a device: kernels in packets in memory, started one after the other without the host."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from caesura.hw.arch.commands import Command
from caesura.hw.arch.footprint import local_region_bytes
from caesura.hw.arch.image.context import area_bound, ccb_bytes
from caesura.hw.arch.packets import (
    BARRIER_BIT,
    DEPENDENCIES,
    KERNEL_OBJECT_MAGIC,
    PACKET_BYTES,
    SIGNAL_BYTES,
    SIGNAL_END,
    SIGNAL_START,
    SIGNAL_VALUE,
    PacketType,
    QueueError,
    QueueState,
    VendorFormat,
)

from ..launch.arguments import triple, whole_number
from ..launch.fit import check_fit
from ..launch.loaded import LoadedKernel
from ..machine.errors import CycleLimit, DriverError, LaunchError
from ..machine.host_interface import HostInterface
from ..machine.lock import FairLock, whole
from ..machine.wanted import FLAG, a, checked, many, optional
from ..memory.memory import DeviceMemory
from ..memory.regions import Allocation
from ..time.simulated_time import DEFAULT_CYCLES, SimulatedTime

__all__ = ["Flight", "Queue", "Queued"]

SLICE = 200
"""Cycles between two looks at a signal."""
LOOK = 4
"""Cycles between two looks at a queue that is to do something soon; its processor has the registers in between."""
SETTLED = 100_000
"""Cycles in which a packet completes of which nothing is left but its signal, unless memory does not answer."""
_FAILED = {
    QueueError.BAD_PACKET: "its packet is none that a queue takes: something has written over it",
    QueueError.BAD_OBJECT: "its kernel object is none: something has written over it",
    QueueError.REFUSED: "no SM takes the kernel: a thread block of it does not fit, or its grid is empty",
    QueueError.BUS_ERROR: "the memory answered with an error",
    QueueError.BAD_CONTEXT: "its kernel was preempted, and what memory holds of it cannot be read; stop and enable the "
                            "queue to try again, or end it",
    QueueError.UNCERTAIN: "the memory answered with an error at the write of its completion signal, and does not say "
                          "whether that was done; mend the memory, and stop and enable the queue, or end it",
}
_OF_SIGNALS = QueueError.BAD_SIGNAL, QueueError.UNCERTAIN
"""Errors that are of a packet's completion signal."""
_HEADER_BARRIER = 8
"""The bit of a packet's header that has it wait for those before it."""


@dataclass(frozen=True)
class Flight:
    """A kernel of a queue that has been begun and has not completed.

    Attributes
    ----------
    place : int
        Of those that the queue has in flight, from 0 on.
    index : int
        Of its packet.
    slot : int
        Its kernel slot.
    away : bool
        It is preempted and has no slot.
    """

    place: int
    index: int
    slot: int
    away: bool


@dataclass(eq=False)
class Queued:
    """A packet of a queue.

    Attributes
    ----------
    queue : Queue
    name : str
        Of its kernel, or ``"barrier"``.
    index : int
        Of the packet, counted from the beginning of the queue.
    signal : Allocation
        Its completion signal: 1 until it has completed, then 0.
    held : sequence
        What it uses until it is seen to have completed.
    kernel : LoadedKernel or None
        None of a packet that launches none.
    lost : bool
        Its queue was ended before it had completed.
    """

    queue: Queue
    name: str
    index: int
    signal: Allocation
    held: Sequence[object] = ()
    kernel: LoadedKernel | None = None
    lost: bool = False

    @property
    def done(self) -> bool:
        """It has completed; asking takes no simulated time."""
        return not self._word(SIGNAL_VALUE)

    @property
    def ended(self) -> bool:
        """It has completed, and uses nothing any more."""
        if self.done:
            self.held = ()
            return True
        return False

    def reads_constants(self, bank: object) -> bool:
        """Return whether its kernel reads a constant bank."""
        return self.kernel is not None and self.kernel.bank is bank

    @property
    def start_cycle(self) -> int:
        """When its kernel was started, 0 until it has completed; of a barrier 0."""
        return self._word(SIGNAL_START)

    @property
    def end_cycle(self) -> int:
        """When the queue saw that it had finished, likewise."""
        return self._word(SIGNAL_END)

    def _word(self, offset: int) -> int:
        words = self.queue.transport.read_memory(self.signal.address + offset, 8)
        return int.from_bytes(words, "little")

    def wait(self, **limit: int) -> None:
        """Let time pass until it has completed; see `Queue.wait`."""
        self.queue.wait(self, **limit)


def check_kernel(owner: DeviceMemory, kernel: LoadedKernel) -> None:
    """Refuse a kernel that a queue of an owner cannot launch: its code is no longer there, or another owner's."""
    if kernel.device.host is not owner.host:
        raise DriverError(f"kernel {kernel.name!r} is on another device than the queue; load it on this one")
    if kernel.device is not owner:
        raise DriverError(f"kernel {kernel.name!r} is of {kernel.device.name}, the queue of {owner.name}; use one of "
                          "its own")
    _ = kernel.address  # raises if its module has been unloaded


class _Left(NamedTuple):
    """How far a queue had come when it ended: packets completed, and the first that was not started."""

    completed: int
    unstarted: int


class Queue:
    """A hardware queue; see `Device.queue`.

    Packets are HSA's kernel dispatch and barrier-AND packets (`hw.arch.packets`). They are begun in order, up to
    `capacity` at a time; those of several queues share the device.

    Parameters
    ----------
    device : DeviceMemory
        Of its owner.
    time : SimulatedTime
    number : int
    kernels : sequence of LoadedKernel
        Those that it launches; room for saving their thread blocks is kept.
    block_threads, shared_bytes : int
        Most threads and shared memory of a thread block; what kernels declare there is room for anyway.
    packets : int
        Of its ring, a power of two.
    priority : int
        0 to 15; of queues that have something to begin the highest goes first.
    capacity : int
        Kernels in flight at most, each with save areas and local memory of its own.

    Attributes
    ----------
    window_end : int
        First byte beyond the global memory that its kernels reach.
    given_back : callable
        Called once it has ended: another may have the queue of the machine.
    """

    def __init__(self, device: DeviceMemory, time: SimulatedTime, number: int, kernels: Sequence[LoadedKernel],
                 block_threads: int, shared_bytes: int, packets: int, priority: int, capacity: int):
        self._time, self.number = time, number
        self._device, self._host = device, device.host
        g = self._device.geometry
        if not kernels:
            raise DriverError("a queue is made for the kernels that it launches; give one or more")
        for kernel in kernels:
            check_kernel(device, kernel)
        if whole_number(packets, "packets") not in (1 << k for k in range(16)):
            raise DriverError(f"packets must be a power of two up to 32768, not {packets}")
        if whole_number(priority, "priority") not in range(16):
            raise DriverError(f"priority must be 0 to 15, not {priority}")
        if whole_number(capacity, "capacity") not in range(1, g.queue_capacity + 1):
            raise DriverError(f"capacity must be 1 to {g.queue_capacity}, the queue_capacity of this machine "
                              f"({g.name}), not {capacity}")
        if whole_number(block_threads, "block_threads") > g.warps * g.warp_size:
            raise DriverError(f"block_threads must be up to {g.warps * g.warp_size}, the threads of an SM of this "
                              f"machine ({g.name}), not {block_threads}")
        if whole_number(shared_bytes, "shared_bytes") > g.shared_bytes:
            raise DriverError(f"shared_bytes must be up to {g.shared_bytes}, the shared memory of an SM of this "
                              f"machine ({g.name}), not {shared_bytes}")
        self._packets, self._places, self._capacity = packets, capacity, capacity
        self._warps = -(-block_threads // g.warp_size)
        self._shared = max(shared_bytes, *(each.image.shared_bytes for each in kernels))
        self._registers = max(kernel.image.registers for kernel in kernels)
        self._local = max(kernel.image.all_local_bytes for kernel in kernels)
        area = area_bound(g, self._warps, self._registers, self._shared)
        local = g.tb_slots * local_region_bytes(g, self._warps, self._local)
        reserve = self._device.reserve
        self._ring = reserve(packets * PACKET_BYTES, self._device.system)
        self._contexts = reserve(capacity * g.sms * ccb_bytes(g, area), self._device.system)
        self._locals = reserve(capacity * g.sms * local, self._device.system) if local else None
        self._objects: weakref.WeakKeyDictionary[LoadedKernel, Allocation] = weakref.WeakKeyDictionary()
        self._queued: list[Queued] = []
        self._ending, self._left = False, None
        self._left: _Left | None
        self.given_back: Callable[[Queue], None] = lambda queue: None
        self._first = self._written = self._host.read(f"queue[{number}].read_index")  # what its last owner has left
        for memory in (self._ring, self._contexts, self._locals):
            if memory is not None:
                self._device.clear(memory.address, memory.size)
        invalid = PacketType.INVALID.to_bytes(PACKET_BYTES, "little")
        self.transport.write_memory(self._ring.address, invalid * packets)
        heap = self._device.heap
        self.window_end = heap.end
        for name, value in {
                "base": self._ring.address, "size": packets.bit_length() - 1, "write_index": self._written,
                "ccb_base": self._contexts.address, "ccb_stride": ccb_bytes(g, area), "area_bytes": area,
                "local_base": self._locals.address if self._locals else 0, "local_stride": local,
                "window_base": heap.base, "window_end": heap.end, "capacity": capacity,
                "system_base": self._device.system.base, "system_end": self._device.system.end}.items():
            self._host.write(f"queue[{number}].{name}", value)
        self._host.write(f"queue[{number}].control", enable=1, priority=priority)

    @property
    def lock(self) -> FairLock:
        """Of the device."""
        return self._host.lock

    @property
    def host(self) -> HostInterface:
        """The device."""
        return self._host

    @property
    def transport(self):
        """The machine."""
        return self._device.transport

    @property
    def owner(self) -> DeviceMemory:
        """Whose kernels it launches."""
        return self._device

    @property
    def capacity(self) -> int:
        """Kernels in flight at most (REEF 4.1), 1 to what the queue was made with, for which it has save areas. Those
        that are in flight stay when it is set to fewer; then one more is begun whenever there is room.

        Raises
        ------
        DriverError
            If it is set to another number, or the queue has ended.
        """
        return self._capacity

    @capacity.setter
    @whole
    def capacity(self, most: int) -> None:
        self._require_use()
        if whole_number(most, "capacity") not in range(1, self._places + 1):
            raise DriverError(f"capacity must be 1 to {self._places}, with which queue {self.number} was made, "
                              f"not {most}")
        self._host.write(f"queue[{self.number}].capacity", most)
        self._capacity = most

    def _require_use(self) -> None:
        """Refuse what is asked of a queue that has ended, or is to."""
        if self._ending:
            raise DriverError(f"queue {self.number} has been ended; make another")

    @whole
    def fit_window(self) -> None:
        """Have kernels that are started from now on reach the memory that the owner's heap has now: tenants may have
        come or gone since the last."""
        end = self._device.heap.end
        if self.window_end != end:
            self._host.write(f"queue[{self.number}].window_end", end)
            self.window_end = end

    # Packets

    @checked(kernel=a(LoadedKernel), barrier=FLAG)
    @whole
    def launch(self, kernel: LoadedKernel, grid, block, arguments: Sequence, shared_bytes: int = 0, *,
               barrier: bool = False) -> Queued:
        """Put a kernel into the queue.

        Parameters
        ----------
        kernel : LoadedKernel
        grid, block : tuple of int
            Up to three numbers, or one.
        arguments : sequence
            As of a launch.
        shared_bytes : int
            Dynamic shared memory.
        barrier : bool
            It is begun when all packets before it have completed (HSA's barrier bit); of a queue with a capacity of 1
            each is.

        Raises
        ------
        LaunchError
            If the kernel does not fit the SM or what the queue was made for, its module has been unloaded, the
            arguments are wrong, or the ring is full.
        DriverError
            If the kernel is another owner's, or the queue has been ended.
        """
        self._require_use()
        g, image = self._device.geometry, kernel.image
        check_kernel(self._device, kernel)
        grid, block = triple(grid, "grid"), triple(block, "block")
        shared = image.shared_bytes + whole_number(shared_bytes, "shared_bytes")
        words = kernel.parameter_words(arguments, shared - image.shared_bytes)
        threads = check_fit(g, image, grid, block, shared)
        if (-(-threads // g.warp_size) > self._warps or shared > self._shared or image.registers > self._registers
                or image.all_local_bytes > self._local):
            raise LaunchError(f"kernel {image.name!r} with {threads} threads a TB and {shared} bytes of shared memory "
                              "is larger than what the queue was made for; make one with this kernel, block_threads "
                              "and shared_bytes")
        kernarg = self._device.reserve(max(64, 4 * len(words)), self._device.system)
        self.transport.write_memory(kernarg.address, np.array(words, "<u4").tobytes())
        size = [blocks * width for blocks, width in zip(grid, block, strict=True)]
        packet = np.zeros(PACKET_BYTES // 4, "<u4")
        packet[1:3] = block[0] | block[1] << 16, block[2]
        packet[3:6] = size
        packet[6:8] = image.all_local_bytes, -(-shared // 4) * 4
        made = self._object(kernel)
        packet[8], packet[10] = made.address, kernarg.address
        held = [kernel, kernarg, made, *kernel.holdings(arguments)]
        self.fit_window()
        return self._put(image.name, PacketType.DISPATCH | barrier << _HEADER_BARRIER | 3 << 16, packet, held, kernel)

    @checked(after=many(Queued), any_of=FLAG, barrier=FLAG)
    def barrier(self, after: Sequence[Queued], any_of: bool = False, *, barrier: bool = False) -> Queued:
        """Put a packet into the queue that completes when all of up to five others have, of any queue of its owner; or,
        with `any_of`, when one of them has. What is behind it waits for that. With `barrier` it waits for all before it
        in the queue, too.

        Raises
        ------
        LaunchError
            If there are more, or the ring is full.
        DriverError
            If one is of another device, or of a queue of another owner.
        """
        for each in after:
            if each.queue.host is not self._host:
                raise DriverError(f"packet {each.index} ({each.name}) is of a queue of another device; a barrier waits "
                                  "for packets of its own")
            if each.queue.owner is not self._device:
                raise DriverError(f"packet {each.index} ({each.name}) is of {each.queue.owner.name}, the queue of "
                                  f"{self._device.name}; a queue reads only signals of its owner")
            if each.lost:
                raise DriverError(f"packet {each.index} ({each.name}) never completes: its queue, {each.queue.number}, "
                                  "has been ended")
        if len(after) > DEPENDENCIES:
            raise LaunchError(f"a barrier waits for up to {DEPENDENCIES} packets, not {len(after)}; put several")
        packet = np.zeros(PACKET_BYTES // 4, "<u4")
        packet[2:2 + 2 * len(after):2] = [each.signal.address for each in after]
        kind = PacketType.BARRIER_OR if any_of else PacketType.BARRIER_AND
        return self._put("barrier", kind | barrier << _HEADER_BARRIER, packet, list(after))

    def checkpoint_others(self) -> Queued:
        """Put a packet into the queue that has kernels of queues with a lower priority checkpointed, as soon as it is
        its turn: the early word of a launch (PEP III-D), after which ``Device.preempt_by(incremental=True)`` saves what
        they have written since. It completes when the word is out."""
        packet = np.zeros(PACKET_BYTES // 4, "<u4")
        return self._put("checkpoint", PacketType.VENDOR | VendorFormat.CHECKPOINT << 16, packet, [])

    @whole
    def _put(self, name: str, header: int, packet: np.ndarray, held: Sequence[object],
             kernel: LoadedKernel | None = None) -> Queued:
        """Write a packet, its first word last, and ring the doorbell."""
        self._require_use()
        self._queued = self.unfinished()
        before = self._written - self._first - self._packets  # whose place it takes
        if (self._written - self._host.read(f"queue[{self.number}].read_index") >= self._packets
                and any(each.index <= before for each in self._queued)):  # the index follows the signal in a few cycles
            raise LaunchError(f"all {self._packets} packets of the queue are in use; wait for one, or make a queue of "
                              "more")
        signal = self._device.reserve(SIGNAL_BYTES, self._device.system)
        value = bytearray(SIGNAL_BYTES)
        value[SIGNAL_VALUE] = 1
        self.transport.write_memory(signal.address, bytes(value))
        packet[14] = signal.address
        place = self._ring.address + self._written % self._packets * PACKET_BYTES
        self.transport.write_memory(place + 4, packet[1:].tobytes())
        self.transport.write_memory(place, header.to_bytes(4, "little"))
        queued = Queued(self, name, self._written - self._first, signal, held, kernel)
        self._queued.append(queued)
        self._written += 1
        self._host.write(f"queue[{self.number}].write_index", self._written)
        return queued

    def _object(self, kernel: LoadedKernel) -> Allocation:
        """Return the kernel object of a kernel that is loaded, made the first time."""
        if kernel not in self._objects:
            image = kernel.image
            made = self._device.reserve(PACKET_BYTES, self._device.system)
            words = [KERNEL_OBJECT_MAGIC, kernel.address, len(image.words), image.registers, kernel.bank.address,
                     kernel.bank.size, image.trap_base, -(-image.parameter_bytes // 4)]
            self.transport.write_memory(made.address, np.array(words, "<u4").tobytes().ljust(PACKET_BYTES, b"\0"))
            self._objects[kernel] = made
        return self._objects[kernel]

    # Where it is

    def unfinished(self) -> list[Queued]:
        """Return the packets that have not completed."""
        return [each for each in self._queued if not each.ended]

    @property
    def state(self) -> QueueState:
        """What it does."""
        if self._left:
            return QueueState.STOPPED
        return QueueState(self._status()["state"])

    @property
    def completed(self) -> int:
        """Packets before the first that has not completed: as the queue says, and it may know of the last signal a few
        cycles later than who reads that."""
        if self._left:
            return self._left.completed
        signalled = next((each.index for each in self._queued if not each.done), self._written - self._first)
        return max(signalled, self._host.read(f"queue[{self.number}].read_index") - self._first)

    @checked(queued=optional(a(Queued)))
    def wait(self, queued: Queued | None = None, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Let time pass until a packet has completed, or all that are in the queue.

        Raises
        ------
        DriverError
            If the queue cannot go on; the message says why.
        CycleLimit
            If it takes longer than `max_cycles`.
        """
        passed, limit = 0, whole_number(max_cycles, "max_cycles")
        if queued is not None and queued.queue is not self:
            where = "another queue" if queued.queue.host is self._host else "a queue of another device"
            raise DriverError(f"queued: packet {queued.index} ({queued.name}) is of {where}; wait for it there")
        wanted = [queued] if queued else self._queued
        while not all(each.done for each in wanted):
            if self._left:
                lost = next(each for each in wanted if not each.done)
                raise DriverError(f"queue {self.number} has been ended, and packet {lost.index} ({lost.name}) never "
                                  "completes; make another queue")
            status = self._status()
            if status["state"] == QueueState.FAILED:
                at = self._failed(status)
                name = next((each.name for each in self._queued if each.index == at), "?")
                raise DriverError(f"queue {self.number} has stopped at packet {at} ({name}): "
                                  f"{_FAILED[QueueError(status['error'])]}")
            if status["state"] in (QueueState.STOPPED, QueueState.PREEMPTED) and self._is_left(wanted):
                raise DriverError(f"queue {self.number} is stopped and will not go on; enable it first")
            if passed >= limit:
                put = self._written - self._first
                raise CycleLimit(f"queue {self.number} has completed {self.completed} of {put} packets after "
                                 f"{passed} cycles{self._refused(status)}")
            passed += self._time.advance(min(SLICE, limit - passed))

    def _refused(self, status: dict[str, int]) -> str:
        """Return what a message adds if the queue tries to complete a packet, and memory refuses."""
        if status["error"] != QueueError.BAD_SIGNAL:
            return ""
        at = self._failed(status)
        return (f": the memory answers with an error at the completion signal of packet {at}, which the device writes "
                "again and again; mend the memory, or end the queue")

    def _failed(self, status: dict[str, int]) -> int:
        """Return the index of the packet that the queue has failed at, or whose signal memory refuses."""
        if of := status["of"]:
            return self._packet_of(of - 1)
        return self._packet_of(None) if status["error"] in _OF_SIGNALS else (
            self._host.read(f"queue[{self.number}].unstarted") - self._first)

    def _packet_of(self, place: int | None) -> int:
        """Return the index of the packet of a kernel in flight, or of the barrier that has been passed."""
        path = f"queue[{self.number}]"
        if place is None:
            return self._host.read(f"{path}.unstarted") - 1 - self._first
        return self._host.read(f"{path}.packet[{place}]") - self._first

    def _is_left(self, wanted: Sequence[Queued]) -> bool:
        """The queue is stopped, and one of these is away or was not started."""
        if self.enabled:
            return False
        first = self._host.read(f"queue[{self.number}].unstarted") - self._first
        away = {flight.index for flight in self.in_flight() if flight.away}
        return any(not each.done and (each.index >= first or each.index in away) for each in wanted)

    @whole
    def in_flight(self) -> list[Flight]:
        """Return the kernels in flight. Each is read by itself, while the queue goes on."""
        if self._left:
            return []
        path, word = f"queue[{self.number}]", self._host.read(f"queue[{self.number}].in_flight")
        return [Flight(place, self._host.read(f"{path}.packet[{place}]") - self._first, word >> 8 * place + 4 & 7,
                       bool(word >> 8 * place & 2)) for place in range(self._places) if word >> 8 * place & 1]

    def find(self, index: int) -> Flight | None:
        """Return the kernel in flight of a packet, if there is one."""
        return next((flight for flight in self.in_flight() if flight.index == index), None)

    def _status(self) -> dict[str, int]:
        return self._host.fields(f"queue[{self.number}].status")

    @property
    def enabled(self) -> bool:
        """It has not been stopped."""
        return not self._left and bool(self._host.fields(f"queue[{self.number}].control")["enable"])

    @whole
    def stop(self) -> int:
        """Begin no more packets: what was fetched and not started is dropped, kernels that run end, one that is
        preempted and has lost its slot waits for `enable`. Return the index of the first packet that has not been
        started, which `enable` goes on with."""
        if self._left:
            return self._left.unstarted
        self._control(enable=0)
        return self._host.read(f"queue[{self.number}].unstarted") - self._first

    @whole
    def _control(self, **fields: int) -> None:
        path = f"queue[{self.number}].control"
        self._host.write(path, priority=self._host.fields(path)["priority"], **fields)

    def end(self, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Stop, kill the kernels in flight, and give the queue back: it takes nothing more, and another can be made in
        its place. Safe to repeat.

        Raises
        ------
        CycleLimit
            If they have not ended after `max_cycles`; ending it again goes on.
        """
        passed, limit = 0, whole_number(max_cycles, "max_cycles")
        with self.lock:
            self._ending = True
        while not self._give_back():
            if passed >= limit:
                raise CycleLimit(f"a kernel of queue {self.number} has not ended {passed} cycles after it was killed")
            self._kill_all()
            passed += self._time.advance(min(SLICE, limit - passed))

    @whole
    def _give_back(self) -> bool:
        """Give the queue back, once, if no kernel of it is in flight; return whether it has been."""
        if self._left:
            return True
        if self.enabled:
            self.stop()
        status = self._status()
        if self.in_flight() or status["uncertain"] or status["state"] == QueueState.RUNNING:
            return False
        unstarted = self._host.read(f"queue[{self.number}].unstarted") - self._first
        self._left = _Left(self.completed, unstarted)
        for each in self._queued:
            each.held, each.lost = (), not each.done
        self._contexts = self._locals = None
        self._objects.clear()
        self.given_back(self)
        return True

    @whole
    def _kill_all(self) -> None:
        """Kill the kernels in flight, drop those that have no slot, and give completions up that memory refuses."""
        flights = self.in_flight()
        self._control(enable=0, discard=(1 << self._places) - 1 | BARRIER_BIT)
        for flight in flights:
            if not flight.away:
                self._kill(flight)

    def _kill(self, flight: Flight) -> None:
        """Kill a kernel in flight that has a slot; nothing happens if it has ended, or lost the slot. The slot is taken
        from the queues meanwhile, so that nobody else can come into it."""
        usual = self._host.read("queue_slots")
        self._host.write("queue_slots", usual & ~(1 << flight.slot))
        try:
            if self.find(flight.index) == flight:
                self._host.write("command", op=Command.KILL, kernel=flight.slot)
        finally:
            self._host.write("queue_slots", usual)

    def void(self, queued: Queued) -> None:
        """Make a barrier that waits for nothing of a packet that the queue, which is stopped, has not started: when the
        queue goes on the packet completes, and that is all it does."""
        self._require_use()
        words = np.zeros(PACKET_BYTES // 4, "<u4")
        words[0], words[14] = PacketType.BARRIER_AND, queued.signal.address
        place = self._ring.address + (self._first + queued.index) % self._packets * PACKET_BYTES
        self.transport.write_memory(place, words.tobytes())

    @whole
    def drop(self, flight: Flight) -> bool:
        """Be done with a kernel that is preempted and has no slot: it does not come back, and its packet completes.
        Return False if it has come back meanwhile, and nothing was done.

        Raises
        ------
        CycleLimit
            If memory does not answer the queue processor.
        """
        if self._left:
            return False
        enabled = self.enabled
        self._control(enable=0)  # from now on it does not come back
        try:
            now = self.find(flight.index)
            if now is None or not now.away:
                return False
            self._control(enable=0, discard=1 << flight.place)
            for _ in range(SETTLED // LOOK):
                if self.find(flight.index) is None:
                    return True
                self.transport.advance(LOOK)
        finally:
            if enabled:
                self._go_on()
        raise CycleLimit(f"queue {self.number} has not dropped its kernel after {SETTLED} cycles: memory has not "
                         "answered what the queue processor asks for")

    @whole
    def enable(self) -> None:
        """Go on after `stop`, or after a failure has been mended. Where the device is uncertain about a completion the
        signal decides: one that is not 0 is counted down once more.

        Raises
        ------
        CycleLimit
            If memory does not answer the queue processor.
        """
        self._require_use()
        self._go_on()

    def _go_on(self) -> None:
        self._control(enable=0)
        self._settle()
        self._control(enable=1)

    def _settle(self) -> None:
        """Have packets end whose completion is uncertain and has been counted."""
        doubtful = self._status()["uncertain"]
        counted = sum(1 << bit for bit in range(doubtful.bit_length()) if doubtful >> bit & 1 and self._has_ended(
            self._packet_of(None if 1 << bit == BARRIER_BIT else bit)))
        if not counted:
            return
        self._control(enable=0, discard=counted)
        for _ in range(SETTLED // LOOK):
            if not self._status()["uncertain"] & counted:
                return
            self.transport.advance(LOOK)
        raise CycleLimit(f"queue {self.number} has not settled its completions after {SETTLED} cycles: memory has not "
                         "answered what the queue processor asks for")

    def _has_ended(self, index: int) -> bool:
        """Return whether the signal of a packet says that it has completed."""
        return all(each.done for each in self._queued if each.index == index)
