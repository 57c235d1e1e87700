"""Hardware queues of a device in the golden model: packets from memory, priorities, kernels that come and go.

What is begun, preempted and brought back is what `hw.device.queues` does; when is not: the model looks at its queues
between two slices of instructions.
"""

from __future__ import annotations

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.packets import QueueError
from caesura.hw.arch.registers import device_register_map

from .packets import QueueHost, count_down
from .preemption import QueuePreemption
from .processor import QueueProcessor
from .queue import OVER, Queue, QueueTable

__all__ = ["GoldenQueues"]

_READ_ONLY = "read_index", "status", "unstarted", "in_flight"


class GoldenQueues:
    """The queues of a device.

    Parameters
    ----------
    g : Geometry
        Geometry with `queues`.
    """

    def __init__(self, g: Geometry):
        self._table = QueueTable(g)
        self._preemption = QueuePreemption(self._table)
        self._processor = QueueProcessor(self._table, self._preemption)

    # Registers

    def holds(self, path: str) -> bool:
        """Return whether a register is one of the queues that there are."""
        return path in self._table.registers or path.startswith("queue[") and int(path[6]) < len(self._table.queues)

    def read(self, path: str, host: QueueHost) -> int:
        """Return what a register reads."""
        if path in self._table.registers:
            return self._table.registers[path]
        queue, name = self._table.queues[int(path[6])], path[9:]
        if name == "read_index":
            return queue.read_index
        if name == "unstarted":
            return queue.next
        if name == "in_flight":
            return queue.in_flight
        if name.startswith("packet["):
            flight = queue.flights.get(int(name[7]))
            return flight.index if flight else 0
        if name == "status":
            error, of = queue.error, queue.of
            if not error and (owing := queue.owing) is not None:
                error, of = QueueError.BAD_SIGNAL, owing
            return device_register_map()[path].pack(state=queue.state(host), error=error, of=of)
        return queue.word(name)

    def write(self, path: str, value: int, host: QueueHost) -> None:
        """Write a register."""
        if path in self._table.registers:
            self._table.registers[path] = value
        elif path[9:] not in _READ_ONLY and not path[9:].startswith("packet["):
            self._table.queues[int(path[6])].words[path[9:]] = value
            self._drop(self._table.queues[int(path[6])], host)

    # Actions of the queues

    def step(self, host: QueueHost) -> None:
        """Do what there is to be done."""
        for queue in self._table.queues:
            self._complete_again(queue, host)
        while (any(self._tend(queue, place, host) for queue in self._table.queues for place in [*queue.flights])
               or self._preemption.command(host) or self._processor.begin(host)):
            pass

    def _drop(self, queue: Queue, host: QueueHost) -> None:
        """Drop what a queue that is stopped has not started, and of what is away that which is to be discarded."""
        if queue.enabled:
            if queue.held:  # it goes on: what could not be resumed is tried once more
                queue.held = False
                for flight in queue.flights.values():
                    flight.broken = False
            return
        queue.roomless, queue.error, queue.held, queue.tries = False, QueueError.NONE, True, 0
        for place in [place for place, flight in queue.flights.items() if flight.away and queue.discards(place)]:
            self._complete(queue, place, host)
        self._complete_again(queue, host)

    def _tend(self, queue: Queue, place: int, host: QueueHost) -> bool:
        """See what has become of a kernel in flight; return whether its packet has completed."""
        flight = queue.flights[place]
        if flight.adopting and KernelState.ADOPTING not in host.states(flight.slot):
            flight.adopting = False
            if any(host.errors(flight.slot)):
                host.give(op=Command.KILL, kernel=flight.slot)
                flight.away = True
                queue.fail(QueueError.BAD_CONTEXT, place)
        if flight.resuming and KernelState.RESUMING not in host.states(flight.slot):
            ended = zip(host.states(flight.slot), host.errors(flight.slot), strict=True)
            flight.resuming = False
            flight.mine = flight.broken = any(
                state is KernelState.PREEMPTED and error not in (CommandError.NONE, CommandError.ABORTED)
                for state, error in ended)
            if flight.broken and queue.enabled:
                queue.fail(QueueError.BAD_CONTEXT, place)
        if flight.away or flight.owing or flight.adopting or not OVER.issuperset(host.states(flight.slot)):
            return False
        self._complete(queue, place, host)
        return True

    def _complete(self, queue: Queue, place: int, host: QueueHost) -> None:
        """Be done with a kernel in flight, unless memory refuses its signal."""
        flight = queue.flights[place]
        if count_down(host, flight.signal, (flight.start, host.cycle)) or queue.discards(place):
            del queue.flights[place]
        else:
            flight.owing, flight.away, flight.mine, flight.due = True, False, False, False

    def _complete_again(self, queue: Queue, host: QueueHost) -> None:
        """Try again what memory has refused."""
        if queue.barrier is not None and (count_down(host, queue.barrier) or queue.discards_barrier):
            queue.barrier = None
        for place in [place for place, flight in queue.flights.items() if flight.owing]:
            self._complete(queue, place, host)
