"""The kernel slots of a device: their launches, and the memory that becomes free when a launch leaves its slot."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.image.context import ENTRY_BYTES, record_address
from caesura.hw.arch.proactive import UNKNOWN

from ..machine.errors import NoSlot
from ..machine.host_interface import HostInterface
from ..machine.lock import FairLock, whole
from ..memory.memory import DeviceMemory
from .events import Events
from .launch import Launch
from .profile import profile

__all__ = ["KernelSlots"]


class KernelSlots:
    """The kernel slots of a device and the launches in them.

    Parameters
    ----------
    host : HostInterface

    Attributes
    ----------
    launches : dict of int to Launch
        The last launch of each kernel slot that had a launch.
    queue_slots : frozenset of int
        Kernel slots that hardware queues use.
    away : list of Launch
        Preempted launches without a slot, in the order in which they lost their slots.
    closing : set of int
        Slots in which a kill goes on after their launch had left them.
    events : Events
    make_room : callable
        Called when no slot is free. It releases the slot of a launch that can do without, and returns whether it did.
    """

    def __init__(self, host: HostInterface):
        self.host = host
        self.launches: dict[int, Launch] = {}
        self.queue_slots: frozenset[int] = frozenset()
        self.away: list[Launch] = []
        self.closing: set[int] = set()
        self.events = Events(host, self.launches)
        self.make_room: Callable[[], bool] = lambda: False
        self._gone: weakref.WeakSet[Launch] = weakref.WeakSet()  # their context has been given back

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self.host.lock

    @whole
    def take(self) -> int:
        """Return a kernel slot for another launch, and free the memory of the slot's last launch.

        Raises
        ------
        NoSlot
            If no slot is free.
        """
        slots = [k for k in range(self.host.geometry.kernel_slots) if k not in self.queue_slots]
        slot = self._free(slots)
        if slot is None and self.make_room():
            slot = self._free(slots)
        if slot is None:
            raise NoSlot(f"all {len(slots)} kernel slots are in use; wait for a launch to finish, preempt or kill "
                         "one, or put the launch into a stream")
        self.events.take()
        self.free_local()
        if slot in self.launches:
            self.drop(self.launches[slot])
        return slot

    def _free(self, slots: list[int]) -> int | None:
        return next((k for k in slots if (self.launches[k].ended if k in self.launches else not self.closes(k))), None)

    def closes(self, slot: int) -> bool:
        """Return whether the machine is still killing the kernel of a slot; the read takes simulated time."""
        if slot in self.closing and self.host.fields(f"kernel[{slot}].state")["state"] != KernelState.KILLING:
            self.closing.discard(slot)
        return slot in self.closing

    def drop(self, launch: Launch) -> None:
        """Take the slot of a launch that has ended, and free its context."""
        if self.host.geometry.proactive:
            self._remember(launch)
        launch.leave_slot()
        del self.launches[launch.slot]
        self.forget(launch)
        self.give_back(launch)

    def _remember(self, launch: Launch) -> None:
        """Note how long the TBs of a launch took, for the next of its kernel."""
        tbs, cycles = profile(self.host, launch.slot, "tbs", "cycles")
        if tbs:
            launch.kernel.tb_cycles[launch.block] = min(cycles / tbs, UNKNOWN - 1)

    @whole
    def of(self, device: DeviceMemory) -> list[Launch]:
        """Return the launches of an owner, including those that have ended and still have a slot."""
        return [launch for launch in (*self.launches.values(), *self.away) if launch.device is device]

    def give_back(self, launch: Launch) -> None:
        """Free the context and the local memory of a launch that has ended."""
        self._gone.add(launch)
        launch.device.system.free(launch.handle)
        if launch.local_base:
            launch.device.system.free(launch.local_base)
            launch.local_base = 0

    def restored(self, launch: Launch) -> None:
        """Note that a launch has its context again because the machine has gone back to a snapshot."""
        self._gone.discard(launch)

    @whole
    def forget(self, launch: Launch) -> None:
        """Clear the record of a launch in memory, without its save areas, so that nothing can adopt it any more. Do
        nothing if the memory has been given back, since it may belong to another owner."""
        if launch in self._gone:
            return
        device, g = launch.device, self.host.geometry
        starts = [launch.handle, *(launch.ccb_of(sm) for sm in range(1, g.sms))]
        for sm, start in enumerate(starts):
            device.clear(start, record_address(g, launch.ccb_of(sm)) + ENTRY_BYTES - start)

    @whole
    def free_local(self) -> None:
        """Give back the local memory of launches that have ended."""
        for launch in [*self.launches.values()]:
            if launch.local_base and launch.ended:
                launch.device.system.free(launch.local_base)
                launch.local_base = 0
