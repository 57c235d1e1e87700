"""The hardware queues of a device, and their owners."""

from __future__ import annotations

from caesura.hw.arch.image.context import Capability
from caesura.hw.arch.way import Way

from ..launch.launcher import Launcher
from ..machine.errors import DriverError
from ..machine.lock import FairLock, whole
from ..memory.memory import DeviceMemory
from ..preemption.patience import whole_sm_patience
from ..time.simulated_time import SimulatedTime
from .options import QueueOptions
from .queue import Queue
from .queued import Queued

__all__ = ["Queues"]

_FIELDS = ("mechanism", "scramble", "incremental", "in_place", "trap")
"""Fields of a way that register ``queue_preempts`` holds."""


class Queues:
    """Gives out the hardware queues of a device.

    Parameters
    ----------
    launcher : Launcher
    time : SimulatedTime
    """

    def __init__(self, launcher: Launcher, time: SimulatedTime):
        self._launcher, self._time, self._host = launcher, time, launcher.host
        self._queues: list[Queue] = []
        self._way: Way | None = Way()
        launcher.more_users.append(self.packets)

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self._host.lock

    def of(self, owner: DeviceMemory) -> list[Queue]:
        """Return the queues of an owner."""
        return [queue for queue in self._queues if queue.owner is owner]

    def packets(self) -> list[Queued]:
        """Return the packets of all queues that have not completed."""
        return [queued for queue in self._queues for queued in queue.unfinished()]

    @whole
    def make(self, owner: DeviceMemory, options: QueueOptions) -> Queue:
        """Return a free hardware queue; see `Device.queue`."""
        owner.require_open()
        g = self._host.geometry
        taken = {queue.number for queue in self._queues}
        number = next((k for k in range(g.queues) if k not in taken), None)
        if number is None:
            raise DriverError(f"all {g.queues} hardware queues of this machine ({g.name}) are in use; end one "
                              "(Queue.end)" if g.queues else
                              f"this machine ({g.name}) has no hardware queues: its geometry says queues = 0; launch "
                              "kernels instead, or use streams")
        self._take_slots()
        self.preempt_by(self._way)
        queue = Queue(owner, self._time, number, options)
        queue.given_back = self._remove
        self._queues.append(queue)
        return queue

    def _take_slots(self) -> None:
        """Reserve the upper half of the kernel slots for queues."""
        g, slots = self._host.geometry, self._launcher.slots
        upper = frozenset(range((g.kernel_slots + 1) // 2, g.kernel_slots))
        if not upper:
            raise DriverError(f"this machine ({g.name}) has one kernel slot, for launches: none is left for queues")
        if any(not launch.ended for slot, launch in slots.launches.items() if slot in upper):
            raise DriverError("launches use the kernel slots of queues; make queues first, or wait for the launches")
        if g.spare_entries:
            for slot in upper:  # kernels of queues have as many entries as there are TB slots
                self._host.write(f"kernel[{slot}].entries", 0)
        slots.queue_slots = upper
        self._host.write("queue_slots", sum(1 << slot for slot in upper))

    def preempt_by(self, way: Way | None) -> None:
        """Say how kernels of queues are preempted for those of a higher priority; see `Device.preempt_by`."""
        self._way = way
        host = self._host
        if not host.geometry.queues:
            return
        if way is None:
            host.write("queue_preempts", enable=0)
            return
        host.write("queue_preempts", enable=1, **{name: way.fields[name] for name in _FIELDS})
        host.write("queue_checkpoints", mechanism=way.mechanism, scramble=way.scramble)
        if way.mechanism.has(Capability.STOPS_AT_POINTS):
            given = way.patience_cycles
            host.write("patience", whole_sm_patience(host.geometry, way.mechanism) if given is None else given)
        host.hold("grace", way.grace_cycles)

    def _remove(self, queue: Queue) -> None:
        """Take a queue back that has ended."""
        self._queues = [each for each in self._queues if each is not queue]
