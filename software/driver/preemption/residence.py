"""Preempted launches without a kernel slot: their whole state is in memory, and they come back from there."""

from __future__ import annotations

from collections.abc import Sequence

from caesura.hw.arch.commands import Command, KernelState

from ..launch.arguments import whole_number
from ..launch.launch import ENDED, Launch
from ..launch.launcher import Launcher
from ..machine.bounds import monitor_of
from ..machine.errors import CommandRefused, CycleLimit, DriverError
from ..machine.lock import FairLock, whole
from ..time.simulated_time import DEFAULT_CYCLES, SimulatedTime

__all__ = ["Residence"]


class Residence:
    """Takes kernel slots from preempted launches, and gives them one when they are wanted again.

    A launch that has been preempted as a whole stands in memory, with a record by which any machine can adopt it
    (docs/preemption.md, Taken over from memory). So its slot can be released, and the launch adopted into another slot.
    The machine knows whether memory holds all of the launch: the state of the slot says so, and otherwise the machine
    refuses a release.

    Parameters
    ----------
    launcher : Launcher
    time : SimulatedTime
    """

    def __init__(self, launcher: Launcher, time: SimulatedTime):
        self._launcher, self._time = launcher, time
        self._host, self._slots = launcher.host, launcher.slots
        self._slots.make_room = self.make_room
        launcher.come_back = self.come_back

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self._host.lock

    @whole
    def release(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Take the kernel slot of a preempted launch; see `Device.release_slot`."""
        self._launcher.check_device(launch)
        if launch.away is not None:
            return
        name = launch.kernel.image.name
        if launch.ended:
            raise DriverError(f"the launch of kernel {name!r} has ended; there is nothing to release")
        self._launcher.check_own(launch)
        if why := self.bound(launch):
            raise DriverError(f"the launch of kernel {name!r} keeps its kernel slot: {why}")
        self._leave(launch, max_cycles)

    @whole
    def move(self, launch: Launch, parts: Sequence[int], max_cycles: int = DEFAULT_CYCLES) -> None:
        """Have each SM take another part of a preempted launch; see `Device.move`."""
        sms = self._host.geometry.sms
        wanted = [whole_number(part, "parts") for part in parts]
        if sorted(wanted) != [*range(sms)]:
            raise DriverError(f"parts must name each of the {sms} SMs once, not {list(parts)}")
        self.release(launch, max_cycles)
        launch.parts = [launch.parts[part] for part in wanted]

    @whole
    def make_room(self) -> bool:
        """Take the slot of a preempted launch that can do without; return whether there was one."""
        for launch in [*self._slots.launches.values()]:
            if not self.bound(launch):
                try:
                    self._leave(launch, DEFAULT_CYCLES)
                except CommandRefused:
                    continue
                return True
        return False

    def bound(self, launch: Launch) -> str:
        """Return the reason why a launch cannot do without its slot; empty if it can."""
        if monitor_of(self._host.transport):
            return "which arrays its addresses come from is not in memory, and bounds are checked here"
        if launch.state is not KernelState.PREEMPTED:
            return f"it is {launch.state.name.lower()}; preempt it first"
        if self._host.fields(f"kernel[{launch.slot}].state")["recorded"]:
            return ""
        return self._missing(launch)

    def _missing(self, launch: Launch) -> str:
        """Return which state of a preempted launch is not in memory."""
        path, over = f"kernel[{launch.slot}]", []
        for sm in range(self._host.geometry.sms):
            with self._host.of_sm(sm):
                state = KernelState(self._host.fields(f"{path}.state")["state"])
                stays = self._host.geometry.in_place and any(
                    self._host.read(f"{path}.{name}_stay") for name in ("registers", "lines"))
            if stays:
                return "some of it is still on the SM; preempt it without in_place"
            if state not in (KernelState.PREEMPTED, *ENDED):
                return f"on SM {sm} it is {state.name.lower()}; preempt it there too"
            over += [f"SM {sm}"] * (state is KernelState.FINISHED)
        if over:
            return f"it has ended on {', '.join(over)}, which memory does not say; resume it, and it ends elsewhere too"
        if launch.outcome:
            return "its last command failed, and memory does not hold all of it; preempt, resume or kill it"
        return ("not all of its thread blocks were preempted, so memory does not hold all of it; preempt it once more, "
                "as a whole")

    def _leave(self, launch: Launch, max_cycles: int) -> None:
        """Release the slot of a launch; its state in memory stays."""
        slot = launch.slot
        launch.go_away()
        self._slots.away.append(launch)
        try:
            self._launcher.command(Command.RELEASE, launch)
        except CommandRefused:
            self._slots.away.remove(launch)
            launch.come_back(slot)
            raise
        del self._slots.launches[slot]
        self._slots.closing.add(slot)
        passed = self._time.wait_until(lambda: not self._slots.closes(slot), max_cycles, launch)
        if self._slots.closes(slot):
            raise CycleLimit(f"the slot of kernel {launch.kernel.image.name!r} is not free after {passed} cycles: "
                             "memory has not answered yet; the launch is safe, and resumes in another slot")

    @whole
    def come_back(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Give a kernel slot to a preempted launch without one; it stays preempted."""
        left, slot = launch.away, self._slots.take()
        launch.come_back(slot)
        self._slots.launches[slot] = launch
        self._slots.away.remove(launch)
        name = launch.kernel.image.name
        try:
            self._launcher.describe(launch, launch.registers)
            self._launcher.command(Command.ADOPT, launch)
            passed = self._time.wait_until(lambda: launch.state is not KernelState.ADOPTING, max_cycles, launch)
            if launch.state is KernelState.ADOPTING:
                raise CycleLimit(f"kernel {name!r} has not been taken from memory after {passed} cycles; it is safe "
                                 "there, so resume it once memory answers")
            if error := launch.outcome:
                raise CommandRefused(f"kernel {name!r} could not be brought back to a kernel slot", error)
        except BaseException:
            self._launcher.vacate(launch)
            self._slots.away.append(launch)
            launch.away = left
            raise

    @whole
    def kill(self, launch: Launch) -> None:
        """End a launch without a slot. Do nothing if another thread has ended it, or has given it a slot."""
        if launch not in self._slots.away:
            return
        self._slots.away.remove(launch)
        launch.end_away()
        self._slots.forget(launch)
        self._slots.give_back(launch)
