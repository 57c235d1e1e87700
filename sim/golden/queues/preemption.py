"""Preemption by priority among hardware queues: which kernels leave the SMs, and when they come back."""

from __future__ import annotations

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.registers import device_register_map

from .packets import QueueHost
from .queue import OVER, Flight, Queue, QueueTable

__all__ = ["QueuePreemption"]


class QueuePreemption:
    """Chooses commands for kernels of queues, by the priorities of their queues.

    Parameters
    ----------
    table : QueueTable
    """

    def __init__(self, table: QueueTable):
        self._table = table

    def off(self, queue: Queue, host: QueueHost) -> bool:
        """Return whether its kernels are to leave the SMs, or to stay away."""
        return bool(self._table.registers["queue_preempts"] & 1) and not queue.stuck and any(
            other.control("priority") > queue.control("priority") and self._wants(other, host)
            for other in self._table.queues)

    def command(self, host: QueueHost) -> bool:
        """Give the commands that are to be given; return whether one was taken that needs another look."""
        free = self._table.free(host)
        for queue, flight in ((each, flight) for each in self._table.queues for flight in each.flights.values()):
            if flight.away or flight.owing or flight.adopting:
                continue
            states, off = set(host.states(flight.slot)), self.off(queue, host)
            saved, moves = flight.saved(host), states & {KernelState.PREEMPTING, KernelState.KILLING}
            resumable = KernelState.PREEMPTED in states and not moves and KernelState.RESUMING not in states
            if off and not moves and states & {KernelState.RUNNING, KernelState.RESUMING}:
                if host.give(kernel=flight.slot, **self._policy("queue_preempts")):
                    flight.resuming = False
                    flight.mine, flight.bound = True, bool(self._policy("queue_preempts")["in_place"])
            elif flight.mine and resumable and not off and not flight.broken:
                again = self._policy("queue_preempts")
                if host.give(op=Command.RESUME, kernel=flight.slot, scramble=again["scramble"]):
                    flight.resuming = True
            elif flight.mine and saved and off and not free and self._needed(queue, host):
                return self._leave(flight, host)
            elif flight.due and not off and not moves and KernelState.RUNNING in states:
                flight.due = False
                host.give(kernel=flight.slot, **self._policy("queue_checkpoints") | {"checkpoint": 1})
        return False

    def _wants(self, queue: Queue, host: QueueHost) -> bool:
        """Return whether a queue has a kernel that runs, or is to."""
        return queue.waits_for_slot and not queue.stuck or any(
            not flight.owing and (not queue.stuck if flight.away else not OVER.issuperset(host.states(flight.slot))
            and (flight.mine and not flight.broken or not flight.saved(host)))
            for flight in queue.flights.values())

    def _policy(self, path: str, whole: bool = False) -> dict[str, int]:
        """Return the fields of a preempt; of one that leaves nothing on the SMs."""
        fields = device_register_map()[path].unpack(self._table.registers[path])
        flags = {name: fields.get(name, 0) * (not whole) for name in ("restart", "incremental", "in_place")}
        return flags | {"op": Command.PREEMPT, "mechanism": fields["mechanism"], "scramble": fields["scramble"],
                        "trap": fields.get("trap", 0), "checkpoint": 0}

    def _needed(self, queue: Queue, host: QueueHost) -> bool:
        """Return whether a queue with a higher priority finds no kernel slot."""
        higher = [other for other in self._table.queues
                  if other.control("priority") > queue.control("priority") and not other.stuck]
        return any(other.waits_for_slot or any(flight.away for flight in other.flights.values())
                   and not self.off(other, host) for other in higher)

    def _leave(self, flight: Flight, host: QueueHost) -> bool:
        """Have a kernel that is saved leave its slot; what has stayed on the SMs first."""
        if flight.bound:
            flight.bound = False
            return host.give(kernel=flight.slot, **self._policy("queue_preempts", whole=True))
        flight.away = host.give(op=Command.RELEASE, kernel=flight.slot)
        flight.bound = not flight.away  # memory does not hold all of it: preempt it once more
        return flight.away
