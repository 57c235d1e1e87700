"""Hardware queues of a device: kernels in packets in memory, started one after the other without the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from caesura.hw.arch.commands import Command
from caesura.hw.arch.image.context import ccb_bytes
from caesura.hw.arch.packets import BARRIER_BIT, QueueError, QueueState

from ..launch.arguments import triple, whole_number
from ..launch.fit import check_fit
from ..launch.loaded import LoadedKernel
from ..machine.errors import CycleLimit, DriverError, LaunchError
from ..machine.host_interface import HostInterface
from ..machine.lock import FairLock, whole
from ..machine.wanted import FLAG, a, checked, many, optional
from ..memory.memory import DeviceMemory
from ..time.simulated_time import DEFAULT_CYCLES, SimulatedTime
from .options import LargestBlock, QueueOptions, check_kernel
from .packet import KernelObjects, barrier_packet, checkpoint_packet, dispatch_packet, void_packet
from .queued import Queued, completion_signal
from .registers import FAILURES, Flight, QueueRegisters
from .ring import Ring

__all__ = ["Queue"]

SLICE = 200
"""Cycles between two looks at a signal."""
LOOK = 4
"""Cycles between two looks at a queue that is about to act. Its processor uses the registers in between."""
SETTLED = 100_000
"""Cycles in which a packet completes once only its signal is left, unless memory does not answer."""


class _Left(NamedTuple):
    """Progress of a queue at its end: packets completed, and the first packet that was not started."""

    completed: int
    unstarted: int


class Queue:
    """A hardware queue; see `Device.queue`.

    Packets are HSA's kernel dispatch and barrier-AND packets (`hw.arch.packets`). They are begun in order, up to
    `capacity` at a time; those of several queues share the device.

    Parameters
    ----------
    device : DeviceMemory
        Memory of its owner.
    time : SimulatedTime
    number : int
    options : QueueOptions

    Attributes
    ----------
    ring : Ring
    window_end : int
        First byte beyond the global memory that its kernels reach.
    given_back : callable
        Called once the queue has ended. Another owner may then have the hardware queue.

    Raises
    ------
    DriverError
        If the machine has no such queue, or a kernel cannot be launched.
    """

    def __init__(self, device: DeviceMemory, time: SimulatedTime, number: int, options: QueueOptions):
        self._time, self.number = time, number
        self._device, self._host = device, device.host
        g = device.geometry
        options.check(device)
        self._places = self._capacity = options.capacity
        self._largest = LargestBlock.of(g, options)
        self._registers = QueueRegisters(self._host, number)
        self.ring = Ring(device, self._registers, options.packets)
        area, local = self._largest.area_bytes(g), self._largest.local_region(g)
        self._contexts = device.reserve(options.capacity * g.sms * ccb_bytes(g, area), device.system)
        self._locals = device.reserve(options.capacity * g.sms * local, device.system) if local else None
        self._objects = KernelObjects(device)
        self._queued: list[Queued] = []
        self._ending = False
        self._left: _Left | None = None
        self.given_back: Callable[[Queue], None] = lambda queue: None
        self._registers.count_from_here()
        self.ring.clear()
        for memory in (self._contexts, self._locals):
            if memory is not None:
                device.clear(memory.address, memory.size)
        self.window_end = device.heap.end
        for name, value in {
                "base": self.ring.base, "size": options.packets.bit_length() - 1, "write_index": self._registers.first,
                "ccb_base": self._contexts.address, "ccb_stride": ccb_bytes(g, area), "area_bytes": area,
                "local_base": self._locals.address if self._locals else 0, "local_stride": local,
                "window_base": device.heap.base, "window_end": self.window_end, "capacity": options.capacity,
                "system_base": device.system.base, "system_end": device.system.end}.items():
            self._registers.write(name, value)
        self._host.write(f"queue[{number}].control", enable=1, priority=options.priority)

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
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
        """The owner of the kernels that it launches."""
        return self._device

    @property
    def capacity(self) -> int:
        """Limit of the kernels in flight (REEF 4.1), between 1 and the capacity at its creation, for which it has save
        areas. A lower limit leaves the kernels in flight alone. After it one more begins whenever there is room.

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
        self._registers.write("capacity", most)
        self._capacity = most

    def _require_use(self) -> None:
        """Refuse an operation on a queue that has ended, or is about to."""
        if self._ending:
            raise DriverError(f"queue {self.number} has been ended; make another")

    @whole
    def fit_window(self) -> None:
        """Let kernels that start from now on reach the present memory of the owner's heap, whose end moves when tenants
        come or go."""
        end = self._device.heap.end
        if self.window_end != end:
            self._registers.write("window_end", end)
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
            One to three numbers.
        arguments : sequence
            Arguments as for a launch.
        shared_bytes : int
            Dynamic shared memory.
        barrier : bool
            Begin the kernel when all packets before it have completed (HSA's barrier bit). With a capacity of 1 every
            packet does so.

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
        if not self._largest.holds(image, -(-threads // g.warp_size), shared):
            raise LaunchError(f"kernel {image.name!r} with {threads} threads a TB and {shared} bytes of shared memory "
                              "is larger than what the queue was made for; make one with this kernel, block_threads "
                              "and shared_bytes")
        kernarg = self._device.reserve(max(64, 4 * len(words)), self._device.system)
        self.transport.write_memory(kernarg.address, np.array(words, "<u4").tobytes())
        made = self._objects.of(kernel)
        packet = dispatch_packet(image, grid, block, shared, (made.address, kernarg.address), barrier)
        held = [kernel, kernarg, made, *kernel.holdings(arguments)]
        self.fit_window()
        return self._put(image.name, packet, held, kernel)

    @checked(after=many(Queued), any_of=FLAG, barrier=FLAG)
    def barrier(self, after: Sequence[Queued], any_of: bool = False, *, barrier: bool = False) -> Queued:
        """Put a packet into the queue that completes when all of up to five packets have completed, or one of them with
        `any_of`. They may be in any queue of its owner. Packets behind it wait for its completion. With `barrier` it
        also waits for all packets before it in the queue.

        Raises
        ------
        LaunchError
            If there are more than five, or the ring is full.
        DriverError
            If one belongs to another device, or to a queue of another owner.
        """
        for each in after:
            each.require_reach(self._device)
        packet = barrier_packet([each.signal.address for each in after], any_of, barrier)
        return self._put("barrier", packet, list(after))

    def checkpoint_others(self) -> Queued:
        """Put a packet into the queue that has kernels of queues with a lower priority checkpointed, as soon as it is
        its turn: the early word of a launch (PEP III-D), after which ``Device.preempt_by(incremental=True)`` saves what
        they have written since. It completes when the word is out."""
        return self._put("checkpoint", checkpoint_packet(), [])

    @whole
    def _put(self, name: str, packet: np.ndarray, held: Sequence[object], kernel: LoadedKernel | None = None) -> Queued:
        """Put a packet into the ring, with a completion signal."""
        self._require_use()
        self._queued = self.unfinished()
        self.ring.require_place({each.index for each in self._queued})
        signal = completion_signal(self._device)
        queued = Queued(self, name, self.ring.write(packet, signal), signal, held, kernel)
        self._queued.append(queued)
        self.ring.submit()
        return queued

    # Where it is

    def unfinished(self) -> list[Queued]:
        """Return the packets that have not completed."""
        return [each for each in self._queued if not each.ended]

    @property
    def state(self) -> QueueState:
        """State of the queue."""
        return QueueState.STOPPED if self._left else QueueState(self._registers.status()["state"])

    @property
    def completed(self) -> int:
        """Number of packets before the first that has not completed, as the queue counts them. The queue may count the
        last one a few cycles after its signal."""
        if self._left:
            return self._left.completed
        signalled = next((each.index for each in self._queued if not each.done), self.ring.count)
        return max(signalled, self._registers.completed)

    @checked(queued=optional(a(Queued)))
    def wait(self, queued: Queued | None = None, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Let time pass until a packet has completed, or all packets in the queue.

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
            status = self._registers.status()
            if status["state"] == QueueState.FAILED:
                at = self._registers.failed_at(status)
                name = next((each.name for each in self._queued if each.index == at), "?")
                raise DriverError(f"queue {self.number} has stopped at packet {at} ({name}): "
                                  f"{FAILURES[QueueError(status['error'])]}")
            if status["state"] in (QueueState.STOPPED, QueueState.PREEMPTED) and self._is_left(wanted):
                raise DriverError(f"queue {self.number} is stopped and will not go on; enable it first")
            if passed >= limit:
                raise CycleLimit(f"queue {self.number} has completed {self.completed} of {self.ring.count} packets "
                                 f"after {passed} cycles{self._registers.refusal(status)}")
            passed += self._time.advance(min(SLICE, limit - passed))

    def _is_left(self, wanted: Sequence[Queued]) -> bool:
        """Return whether the queue is stopped, and one of these packets is away or was not started."""
        if self.enabled:
            return False
        first = self._registers.unstarted
        away = {flight.index for flight in self.in_flight() if flight.away}
        return any(not each.done and (each.index >= first or each.index in away) for each in wanted)

    @whole
    def in_flight(self) -> list[Flight]:
        """Return the kernels in flight. Each read is separate, while the queue goes on."""
        return [] if self._left else self._registers.in_flight(self._places)

    def find(self, index: int) -> Flight | None:
        """Return the kernel in flight of a packet, if there is one."""
        return next((flight for flight in self.in_flight() if flight.index == index), None)

    @property
    def enabled(self) -> bool:
        """Whether the queue has not been stopped."""
        return not self._left and self._registers.enabled

    @whole
    def stop(self) -> int:
        """Begin no more packets. Fetched packets that were not started are dropped, and running kernels end. A
        preempted kernel without a slot waits for `enable`. Return the index of the first packet that has not been
        started; `enable` goes on with it."""
        if self._left:
            return self._left.unstarted
        self._registers.control(enable=0)
        return self._registers.unstarted

    def end(self, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Stop, kill the kernels in flight, and give the queue back. It takes no more packets, and another queue can be
        made in its place. Safe to repeat.

        Raises
        ------
        CycleLimit
            If they have not ended after `max_cycles`; another call goes on.
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
        """Give the queue back once, if none of its kernels is in flight; return whether it has been given back."""
        if self._left:
            return True
        if self.enabled:
            self.stop()
        status = self._registers.status()
        if self.in_flight() or status["uncertain"] or status["state"] == QueueState.RUNNING:
            return False
        unstarted = self._registers.unstarted
        self._left = _Left(self.completed, unstarted)
        for each in self._queued:
            each.held, each.lost = (), not each.done
        self._contexts = self._locals = None
        self._objects.clear()
        self.given_back(self)
        return True

    @whole
    def _kill_all(self) -> None:
        """Kill the kernels in flight, drop those without a slot, and give up completions that memory refuses."""
        flights = self.in_flight()
        self._registers.control(enable=0, discard=(1 << self._places) - 1 | BARRIER_BIT)
        for flight in flights:
            if not flight.away:
                with self._registers.without_slot(flight.slot):  # so that nothing else can come into it
                    if self.find(flight.index) == flight:  # else it has ended, or lost the slot
                        self._host.write("command", op=Command.KILL, kernel=flight.slot)

    def void(self, queued: Queued) -> None:
        """Replace a packet that has not been started by a barrier without signals; the queue must be stopped. When the
        queue goes on, the packet only completes."""
        self._require_use()
        self.ring.replace(queued.index, void_packet(), queued.signal)

    @whole
    def drop(self, flight: Flight) -> bool:
        """Drop a preempted kernel without a slot: it does not come back, and its packet completes. Return False, with
        nothing done, if it has come back meanwhile.

        Raises
        ------
        CycleLimit
            If memory does not answer the queue processor.
        """
        if self._left:
            return False
        enabled = self.enabled
        self._registers.control(enable=0)  # from now on it does not come back
        try:
            now = self.find(flight.index)
            if now is None or not now.away:
                return False
            self._registers.control(enable=0, discard=1 << flight.place)
            self._until(lambda: self.find(flight.index) is None, "dropped its kernel")
            return True
        finally:
            if enabled:
                self._go_on()

    @whole
    def enable(self) -> None:
        """Go on after `stop`, or after a failure has been mended. If the device is uncertain about a completion, the
        signal decides: a signal other than 0 is decremented once more.

        Raises
        ------
        CycleLimit
            If memory does not answer the queue processor.
        """
        self._require_use()
        self._go_on()

    def _go_on(self) -> None:
        self._registers.control(enable=0)
        self._settle()
        self._registers.control(enable=1)

    def _settle(self) -> None:
        """Let packets end whose completion is uncertain and has been counted."""
        doubtful = self._registers.status()["uncertain"]
        counted = sum(1 << bit for bit in range(doubtful.bit_length()) if doubtful >> bit & 1 and self._has_ended(
            self._registers.packet_of(None if 1 << bit == BARRIER_BIT else bit)))
        if counted:
            self._registers.control(enable=0, discard=counted)
            self._until(lambda: not self._registers.status()["uncertain"] & counted, "settled its completions")

    def _until(self, over: Callable[[], bool], what: str) -> None:
        """Let time pass until the queue processor has done a short operation."""
        for _ in range(SETTLED // LOOK):
            if over():
                return
            self.transport.advance(LOOK)
        raise CycleLimit(f"queue {self.number} has not {what} after {SETTLED} cycles: memory has not answered what the "
                         "queue processor asks for")

    def _has_ended(self, index: int) -> bool:
        """Return whether the signal of a packet says that it has completed."""
        return all(each.done for each in self._queued if each.index == index)
