"""Work that can be taken off the device at once and run again later (reset-based preemption: REEF, 4).

`Work.reset` keeps to one order; `support.sim.eviction_model` explores why:

1. The flag is set. A thread block that begins from then on leaves before it has done anything.
2. Only then are the running kernels killed, since they may have begun before the flag. A kill before the flag would
   leave a gap: the next kernel of a queue begins in it, finds the flag clear, and survives. Only chance would make a
   repeated kill close the gap.
3. A kernel slot does not tell which kernel is in it. Before the kernel of a queue is killed its slot is taken from the
   queues, so that no other kernel can have the slot when the kill arrives.
4. The flag is cleared only when none of the work is left, neither buffered nor running.

Each launch that was killed or withdrawn, or of which a thread block left, is launched again from its start, in the
original order. So a launch that cannot be repeated (`compiler.preemption.restartable`) is not allowed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.packets import QueueState
from caesura.software.compiler.ir.variables import eviction_words
from caesura.software.compiler.preemption.restartable import reason

from ..core import DeviceCore
from ..launch.arguments import triple, whole_number
from ..launch.launch import Launch
from ..launch.loaded import LoadedKernel
from ..launch.tickets import Flag, Ticket, Ticketed
from ..machine.errors import CycleLimit, DriverError, KernelFault
from ..machine.lock import FairLock, whole
from ..machine.wanted import FLAG, a, checked, many, optional
from ..memory.memory import DeviceMemory
from ..queues.queue import Queue
from ..queues.queued import Queued
from ..queues.registers import Flight
from ..time.simulated_time import DEFAULT_CYCLES

__all__ = ["Piece", "ResetReport", "Work", "kill_bound"]

POLL_CYCLES = 4
"""Cycles between two looks at packets of queues."""


@dataclass(eq=False)
class Piece:
    """A launch that belongs to a `Work`, or a barrier of a queue.

    Attributes
    ----------
    kernel : LoadedKernel or None
        Its kernel; None for a barrier.
    grid, block, arguments, shared_bytes
        Parameters of the launch.
    queue : Queue or None
        Queue of its packet; None: it was started in a kernel slot.
    bound : bool
        Whether its packet has the barrier bit: it begins when all before it in the queue have completed.
    after : tuple of Piece
        Pieces for which a barrier waits.
    ticket : Ticket or None
        Ticket of its last launch.
    launch : Launch, Queued or None
        Its last launch.
    launches : int
        Number of its launches.
    dropped : str
        Effect of a reset on its last launch: ``"killed"``, ``"withdrawn"`` or nothing.
    """

    kernel: LoadedKernel | None
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    arguments: Sequence = ()
    shared_bytes: int = 0
    queue: Queue | None = None
    bound: bool = False
    after: tuple[Piece, ...] = ()
    ticket: Ticket | None = None
    launch: Launch | Queued | None = None
    launches: int = 0
    dropped: str = ""

    def __repr__(self):
        where = f", queue {self.queue.number}" if self.queue else ""
        return f"Piece({self.name!r}, grid {self.grid}, block {self.block}{where}, launched {self.launches} times)"

    @property
    def name(self) -> str:
        """Name of its kernel, or ``"barrier"``."""
        return self.kernel.name if self.kernel else "barrier"

    @property
    def ended(self) -> bool:
        """Whether its last launch has ended."""
        return self.launch.done if isinstance(self.launch, Queued) else self.launch is not None and self.launch.ended

    @property
    def whole(self) -> bool:
        """Whether its last launch has ended, and all of its thread blocks have run to their end."""
        return self.ended and not self.dropped and not (self.ticket is not None and self.ticket.left)


@dataclass(frozen=True)
class ResetReport:
    """The results of a reset.

    Attributes
    ----------
    free_cycles : int
        Cycles from the call until none of the work was on the device: kernel slots, memory and packets are free.
    kill_cycles : int
        Cycles from the first kill until all killed kernels had ended; 0 if none was killed.
    whole, killed, withdrawn, left : tuple of Piece
        Pieces that had ended by themselves as a whole; were killed; were taken out of a queue before they began; began
        and left. The last three include earlier resets, unless `Work.relaunch` came in between.
    """

    free_cycles: int
    kill_cycles: int
    whole: tuple[Piece, ...] = field(repr=False)
    killed: tuple[Piece, ...] = field(repr=False)
    withdrawn: tuple[Piece, ...] = field(repr=False)
    left: tuple[Piece, ...] = field(repr=False)


def kill_bound(g: Geometry, memory_cycles: int) -> tuple[int, int]:
    """Return two bounds after a kill, in cycles (docs/sm.md, Kills): until the thread blocks of the kernel have left
    the SM, whatever memory does, and until its kernel slot and its memory are free.

    Parameters
    ----------
    g : Geometry
    memory_cycles : int
        Cycles within which memory answers all its requests. Other kernels on the SM are assumed to have no atomics,
        since the slot waits for answers to atomics too.
    """
    left = (g.unit_queue + 2) * 14 * g.warp_size + 100
    return left, left + (g.unit_queue + 2) * g.warp_size + memory_cycles


class Work:
    """Launches that can be taken off the device together; see `Device.work`.

    Parameters
    ----------
    device : DeviceMemory
        Memory of the owner.
    core : DeviceCore

    Attributes
    ----------
    flag : Flag
        Flag that tells its thread blocks to leave.
    pieces : list of Piece
        Launches that are not known to have ended, in their order.
    """

    def __init__(self, device: DeviceMemory, core: DeviceCore):
        self._launcher, self._time, self._host, self._device = core.launcher, core.time, core.host, device
        self._device.require_open()
        self.flag = Flag(self._device)
        self.pieces: list[Piece] = []

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self._host.lock

    # Launches

    @checked(kernel=a(LoadedKernel), queue=optional(a(Queue)), barrier=FLAG)
    def launch(self, kernel: LoadedKernel, grid, block, arguments: Sequence, shared_bytes: int = 0, *,
               queue: Queue | None = None, barrier: bool = False) -> Piece:
        """Start a kernel, or put it into a queue.

        Parameters
        ----------
        kernel, grid, block, arguments, shared_bytes
            See `Kernel.__call__`.
        queue : Queue, optional
        barrier : bool
            Barrier bit of a packet, as for `Queue.launch`. A piece that needs results of an earlier piece has to set it
            if the queue has a capacity of more than 1.

        Raises
        ------
        DriverError
            If the kernel cannot be launched again once it has been killed, is to go into a queue and was compiled
            without the check, or is on another device.
        LaunchError
            Raised as by `Kernel.__call__` and `Queue.launch`.
        """
        self._require_clear()
        if kernel.device is not self._device:
            raise DriverError(f"kernel {kernel.name!r} is on another device; load it on this one")
        self._check_queue(queue)
        piece = Piece(kernel, triple(grid, "grid"), triple(block, "block"), arguments, shared_bytes, queue, barrier)
        kernel.parameter_words(arguments)
        spoiler = kernel.spoilers.apart if kernel.apart(arguments) else kernel.spoilers.always
        if spoiler is not None:
            raise DriverError(f"kernel {kernel.name!r} cannot be launched again once it was killed: {reason(spoiler)}; "
                              "launch it by itself, not as work")
        if queue is not None and not eviction_words(kernel.image.bindings):
            raise DriverError(f"kernel {kernel.name!r} in a queue would not leave: it was compiled without the check; "
                              "compile it with eviction_check")
        self._add(piece)
        return piece

    def _check_queue(self, queue: Queue | None) -> None:
        """Refuse a queue of another device."""
        if queue is not None and queue.host is not self._host:
            raise DriverError(f"queue {queue.number} is of another device; make one on this one")

    @checked(queue=a(Queue), after=many(Piece))
    def barrier(self, queue: Queue, after: Sequence[Piece]) -> Piece:
        """Put a packet into a queue that completes when all of up to five pieces in queues have completed.

        Raises
        ------
        DriverError
            If one is in no queue.
        LaunchError
            Raised as by `Queue.barrier`.
        """
        self._require_clear()
        self._check_queue(queue)
        for piece in after:
            if piece.queue is None:
                raise DriverError(f"a barrier waits for packets of queues; kernel {piece.name!r} was started in a "
                                  "kernel slot")
        piece = Piece(None, queue=queue, after=tuple(after))
        self._add(piece)
        return piece

    def _add(self, piece: Piece) -> None:
        self._start(piece)
        if all(each.whole or not each.ended for each in self.pieces):  # else barriers among them are still wanted
            self.pieces = [each for each in self.pieces if not each.ended]
        self.pieces.append(piece)

    @whole
    def _start(self, piece: Piece) -> None:
        """Launch a piece, the first time or again."""
        if piece.kernel is None:
            assert piece.queue is not None
            waited = [each.launch for each in piece.after if isinstance(each.launch, Queued) and not each.ended]
            piece.launch = piece.queue.barrier(waited)
        else:
            ticket = Ticket(self.flag)
            given = Ticketed(piece.arguments, ticket)
            start = self._launcher.start if piece.queue is None else partial(piece.queue.launch, barrier=piece.bound)
            piece.launch = start(piece.kernel, piece.grid, piece.block, given, piece.shared_bytes)
            piece.ticket = ticket
        piece.dropped = ""
        piece.launches += 1

    def _require_clear(self) -> None:
        if self.flag.is_set:
            raise DriverError("a reset of this work has not ended; call reset again")

    # Taken off the device

    @checked(withdraw=FLAG)
    def reset(self, *, withdraw: bool = False, max_cycles: int = DEFAULT_CYCLES) -> ResetReport:
        """Take all launches off the device; memory stays as it is. `relaunch` runs the pieces again that did not end.

        Parameters
        ----------
        withdraw : bool
            Take packets that have not begun out of their queues, which stop for this (REEF, 8). Otherwise these packets
            begin and leave.
        max_cycles : int

        Raises
        ------
        CycleLimit
            If something is left after `max_cycles`: memory has not answered, or a barrier waits for a packet outside
            the work. The flag stays set, and another reset goes on.
        DriverError
            If a queue with packets of the work is stopped, or has failed; nothing has changed.
        """
        limit, began = whole_number(max_cycles, "max_cycles"), self._device.transport.cycle
        queues = {queue: self._packets(queue) for queue in dict.fromkeys(piece.queue for piece in self.pieces)
                  if queue is not None}
        for queue in (queue for queue, mine in queues.items() if mine):
            if queue.state in (QueueState.STOPPED, QueueState.FAILED):
                raise DriverError(f"queue {queue.number} is stopped, and what is left in it would stay; enable it "
                                  "first")
        self.flag.write(True)
        asked = self._device.transport.cycle
        self._kill_launches()
        for queue, mine in queues.items():
            self._take_off(queue, mine, withdraw)
        killed = [piece for piece in self.pieces if piece.dropped == "killed"]
        ended = self._settle(killed, limit, began)
        free = self._settle(self.pieces, limit, began) - began
        self._forget(killed)
        self.flag.write(False)
        groups = {what: tuple(piece for piece in self.pieces if piece.dropped == what) for what in ("withdrawn", "")}
        return ResetReport(free, ended - asked if killed else 0, tuple(piece for piece in groups[""] if piece.whole),
                           tuple(killed), groups["withdrawn"], tuple(piece for piece in groups[""] if not piece.whole))

    def _packets(self, queue: Queue) -> dict[int, Piece]:
        """Return the pieces of the work that are left in a queue, by packet."""
        return {piece.launch.index: piece for piece in self.pieces
                if piece.queue is queue and isinstance(piece.launch, Queued) and not piece.ended}

    @whole
    def _kill_launches(self) -> None:
        """Kill the pieces that were started in kernel slots."""
        for piece in self.pieces:
            if isinstance(piece.launch, Launch) and not piece.ended:
                self._kill(piece, piece.launch.slot)

    def _kill(self, piece: Piece, slot: int) -> None:
        """Kill the launch of this piece in a kernel slot, if there is one."""
        self._host.write("event", refused=1)
        self._host.write("command", op=Command.KILL, kernel=slot)
        if not self._host.fields("event")["refused"]:
            piece.dropped = "killed"

    @whole
    def _take_off(self, queue: Queue, mine: dict[int, Piece], withdraw: bool) -> None:
        """Take the pieces that are left in a queue off: all at once, or only the running ones while the rest leaves."""
        if not mine:
            return
        first = queue.stop() if withdraw else None
        self._kill_running(queue, mine)
        if first is not None:
            for index, piece in mine.items():
                if index >= first and isinstance(piece.launch, Queued):
                    queue.void(piece.launch)
                    piece.dropped = "withdrawn"
            queue.enable()

    def _kill_running(self, queue: Queue, mine: dict[int, Piece]) -> None:
        """Kill those of these pieces that a queue has in flight, by packet."""
        for flight in queue.in_flight():
            if flight.index in mine:
                self._kill_flight(queue, flight, mine[flight.index])

    def _kill_flight(self, queue: Queue, flight: Flight, piece: Piece) -> None:
        """Kill a kernel in flight, in whatever slot it is meanwhile; nothing happens if it has ended.

        It may end at any moment, or lose its slot and come back to another one. No other kernel can come into the slot
        only while the slot is taken from the queues.
        """
        usual = sum(1 << slot for slot in self._launcher.slots.queue_slots)
        now: Flight | None = flight
        while now is not None:
            if now.away:
                if queue.drop(now):
                    piece.dropped = "killed"
                    return
            else:
                self._host.write("queue_slots", usual & ~(1 << now.slot))
                try:
                    if queue.find(flight.index) == now:
                        self._kill(piece, now.slot)
                        return
                finally:
                    self._host.write("queue_slots", usual)
            now = queue.find(flight.index)

    def _settle(self, pieces: list[Piece], limit: int, began: int) -> int:
        """Let time pass until all of these pieces have ended; return the cycle."""
        while not all(piece.ended for piece in pieces):
            passed = self._device.transport.cycle - began
            if passed >= limit:
                names = ", ".join(sorted({piece.name for piece in pieces if not piece.ended}))
                raise CycleLimit(f"{names}: not off the device {passed} cycles after a reset; reset again to go on")
            self._time.advance(min(POLL_CYCLES, limit - passed))
        return self._device.transport.cycle

    def _forget(self, killed: list[Piece]) -> None:
        """Clear the records of killed launches, so that nothing can adopt them, and free their local memory."""
        for piece in killed:
            if isinstance(piece.launch, Launch) and piece.launch.state is KernelState.IDLE:
                self._launcher.slots.forget(piece.launch)
        self._launcher.slots.free_local()

    # Back

    def relaunch(self) -> list[Piece]:
        """Launch the pieces again that a reset has not left whole, from their start and in their order; return them.

        A barrier comes again if a piece behind it in its queue does, and waits for the pieces that are not whole yet.
        """
        self._require_clear()
        again = [piece for piece in self.pieces if piece.kernel and piece.ended and not piece.whole]
        last = {piece.queue: k for k, piece in enumerate(self.pieces) if piece in again}
        wanted = [piece for k, piece in enumerate(self.pieces)
                  if piece in again or piece.kernel is None and k < last.get(piece.queue, -1)]
        for piece in wanted:
            self._start(piece)
        self.pieces = [piece for piece in self.pieces if piece in wanted or not piece.ended]
        return again

    def wait(self, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Let time pass until all pieces have ended.

        Raises
        ------
        CycleLimit
            If it takes longer than `max_cycles`.
        KernelFault
            If a thread block of a piece in a kernel slot faulted.
        """
        limit, began = whole_number(max_cycles, "max_cycles"), self._device.transport.cycle
        while not all(piece.ended for piece in self.pieces):
            passed = self._device.transport.cycle - began
            if passed >= limit:
                raise CycleLimit(f"work has not ended after {passed} cycles")
            self._time.advance(min(POLL_CYCLES, limit - passed))
        self._launcher.slots.events.take()
        for launch in (piece.launch for piece in self.pieces if isinstance(piece.launch, Launch)):
            if tbs := launch.faulted_tbs:
                raise KernelFault(launch.fault, launch.kernel.name, tbs)
