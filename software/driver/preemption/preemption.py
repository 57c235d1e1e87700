"""Preempts and resumes launches, and reads what was saved of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import Capability
from caesura.hw.arch.waiting import UNLIMITED
from caesura.hw.arch.way import Way
from caesura.software.compiler import KernelImage

from ..launch.arguments import whole_number
from ..launch.context import Contexts
from ..launch.inspection import Inspection
from ..launch.launch import ENDED, Launch
from ..launch.launcher import Launcher
from ..machine.errors import CommandRefused, CycleLimit, DriverError
from ..machine.lock import FairLock, whole
from ..memory.memory import DeviceMemory
from ..time.simulated_time import DEFAULT_CYCLES, SimulatedTime
from .estimate import Estimate, Estimator
from .overlaps import Overlaps
from .patience import default_patience
from .preempt_options import check_launch
from .reports import PreemptReport, ResumeReport
from .residence import Residence
from .saved_context import read_context

__all__ = ["Preemption"]


class Preemption:
    """Preempts and resumes the launches of a device.

    Parameters
    ----------
    launcher : Launcher
    time : SimulatedTime
    inspection : Inspection
    """

    def __init__(self, launcher: Launcher, time: SimulatedTime, inspection: Inspection):
        self._launcher, self._time, self._inspection = launcher, time, inspection
        self._host = launcher.host
        self._residence = Residence(launcher, time)
        self._asked: WeakKeyDictionary[Launch, Way | None] = WeakKeyDictionary()  # None: a resume since
        self._saves, self._restores = Overlaps(KernelState.PREEMPTING, True), Overlaps(KernelState.RESUMING, False)

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self._host.lock

    @whole
    def begin_preempt(self, launch: Launch, way: Way, tbs: Iterable[int] | None = None,
                      newcomer: Launch | None = None) -> None:
        """Ask for a preempt or a checkpoint; see `Device.begin_preempt` and `Device.begin_checkpoint`."""
        self._launcher.check_device(launch)
        way = way.but(in_place=way.in_place or newcomer is not None)
        check_launch(launch, way, newcomer)
        if newcomer is not None:
            self._check_newcomer(launch, newcomer)
        state = launch.state
        if state is KernelState.FINISHED:
            return
        self._launcher.check_own(launch)
        if state is KernelState.PREEMPTED and way.scramble != launch.scramble:
            raise DriverError("what is saved of this launch already was preempted with another `scramble`; a launch is "
                              "resumed with one, so give the same")
        if way.mechanism.has(Capability.STOPS_AT_POINTS):
            if way.patience is None:  # a routine ends soon
                way = way.but(patience=UNLIMITED if way.trap else default_patience(launch, way.mechanism))
            self._host.write("patience", way.patience_cycles)
        self._host.hold("grace", way.grace_cycles)
        self._host.hold_each("spared", self._others(launch, tbs))
        if way.in_place:
            self._host.hold("newcomer", self._host.pack("newcomer", **_room_for(newcomer)))
        before, launch.scramble = launch.scramble, way.scramble
        try:
            self._launcher.command(Command.PREEMPT, launch, **way.fields)
        except CommandRefused:
            launch.scramble = before
            if launch.finished:  # meanwhile: asking takes time too
                return
            raise
        launch.scrambled.add(way.scramble)
        self._asked[launch] = way.but(patience=None) if way.restart else way
        self._saves.begin(launch, bool(way.grace_cycles))

    def move(self, launch: Launch, parts: Sequence[int], max_cycles: int = DEFAULT_CYCLES) -> None:
        """Have each SM take another part of a preempted launch; see `Device.move`."""
        self._residence.move(launch, parts, whole_number(max_cycles, "max_cycles"))

    def keeps_slot(self, launch: Launch) -> bool:
        """Return whether a launch that has a kernel slot cannot do without."""
        return launch.away is None and bool(self._residence.bound(launch))

    def release_slot(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Take the kernel slot of a preempted launch; see `Device.release_slot`."""
        self._residence.release(launch, whole_number(max_cycles, "max_cycles"))

    def _check_newcomer(self, launch: Launch, newcomer: Launch) -> None:
        name = newcomer.kernel.image.name
        if newcomer is launch:
            raise DriverError(f"the launch of kernel {name!r} cannot make room for itself; give another as newcomer")
        self._launcher.check_own(newcomer)
        if newcomer.ended:
            raise DriverError(f"the newcomer, a launch of kernel {name!r}, has ended and needs no room; leave it out")

    def resident_tbs(self, launch: Launch) -> list[int]:
        """Return the TBs of a launch on the SM; see `Device.resident_tbs`."""
        self._launcher.check_own(launch)
        return [*self._inspection.resident(launch.slot)]

    def estimate(self, launch: Launch) -> Estimate:
        """Return how long a launch would hold the SM; see `Device.estimate`."""
        self._launcher.check_own(launch)
        return Estimator(self._host, self._inspection).estimate(launch)

    def _others(self, launch: Launch, tbs: Iterable[int] | None) -> list[int]:
        """Return for each SM a vector of all entries but those of some TBs that are there; of none for all TBs."""
        g = launch.device.geometry
        if tbs is None:
            return [0] * g.sms
        chosen = {whole_number(tb, "tbs") for tb in tbs}
        vectors = [(1 << g.context_entries) - 1] * g.sms
        for tb, (sm, entry) in self._inspection.resident(launch.slot).items():
            if tb in chosen:
                vectors[sm] &= ~(1 << entry)
        return vectors

    def finish_preempt(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> PreemptReport | None:
        """Wait for the end of a preempt or a checkpoint; see `Device.finish_preempt`."""
        limit = whole_number(max_cycles, "max_cycles")
        self._launcher.check_device(launch)
        if launch.finished:
            return None
        asked, name = self._asked.get(launch), launch.kernel.image.name
        if asked is None:
            raise DriverError(f"no preempt or checkpoint of kernel {name!r} has been begun"
                              + " since its last resume" * (launch in self._asked) + "; begin one first")
        self._finish("checkpoint" if asked.checkpoint else "preempt", launch, KernelState.PREEMPTING, limit)
        if launch.ended:
            if launch.finished:
                return None
            raise DriverError(f"kernel {name!r} was killed while it was preempted; launch it again")
        return self._report(launch, asked)

    @whole
    def _report(self, launch: Launch, way: Way) -> PreemptReport:
        """Return what the counters say of the last preempt of a launch."""
        self._saves.end(launch)
        counted = self._saves.alone(launch)
        counter: dict[str, Any] = {n: self._host.read(f"save_{n}") if counted else None for n in
                                   ("cycles", "data_bytes", "metadata_bytes", "registers", "lines", "tbs", "warps")}
        drained: Any = self._host.read("drain_cycles") if counted else None
        occupied: Any = counter["tbs"] * launch.occupied_tb_bytes if counted else None
        grace_used: Any = (self._host.read("grace_cycles") if counted else None) if way.grace else 0
        return PreemptReport(way, counter["cycles"], drained, counter["data_bytes"], counter["metadata_bytes"],
                             counter["registers"], counter["lines"], counter["tbs"], counter["warps"], occupied,
                             grace_used, counted)

    @whole
    def begin_resume(self, launch: Launch, *, gang: bool = False) -> None:
        """Ask for a resume; see `Device.begin_resume`."""
        self._launcher.check_own(launch)
        self._launcher.command(Command.RESUME, launch, scramble=int(launch.scramble), gang=int(gang))
        self._asked[launch] = None
        self._restores.begin(launch)

    def finish_resume(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> ResumeReport:
        """Wait for the end of a resume; see `Device.finish_resume`."""
        limit = whole_number(max_cycles, "max_cycles")
        self._launcher.check_device(launch)
        if self._asked.get(launch, launch) is not None:
            raise DriverError(f"no resume of kernel {launch.kernel.image.name!r} has been begun"
                              + " since its last preempt" * (launch in self._asked) + "; begin one first")
        self._finish("resume", launch, KernelState.RESUMING, limit)
        return self._resumed(launch)

    @whole
    def _resumed(self, launch: Launch) -> ResumeReport:
        """Return what the counters say of the last resume of a launch."""
        self._restores.end(launch)
        counted = self._restores.alone(launch)
        restored, resumed, read = (self._host.read(name) if counted else None
                                   for name in ("restore_cycles", "resume_cycles", "restore_bytes"))
        return ResumeReport(cast(int, restored), cast(int, resumed), cast(int, read), counted)

    def abort(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Withdraw what is under way; see `Device.abort`."""
        limit = whole_number(max_cycles, "max_cycles")
        self._launcher.check_own(launch)
        with self.lock:
            before = launch.peek_state()
            self._launcher.command(Command.ABORT, launch)
            if before is not KernelState.RESUMING:  # of what a preempt has saved
                self._restores.begin(launch)
        self._wait("abort", launch, (KernelState.PREEMPTING,), limit)
        if launch.state is KernelState.RESUMING:
            self._wait("abort", launch, (KernelState.RESUMING,), limit)
        if (error := launch.outcome) not in (CommandError.NONE, CommandError.ABORTED):
            raise self._failed("abort", launch, error)

    @whole
    def hasten(self, launch: Launch) -> None:
        """Have a preempt wait no longer; see `Device.hasten`."""
        self._launcher.check_own(launch)
        self._launcher.command(Command.HASTEN, launch)

    def kill(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> None:
        """End a launch; see `Device.kill`."""
        limit = whole_number(max_cycles, "max_cycles")
        if launch.away is not None:
            return self._residence.kill(launch)
        with self.lock:  # or another thread's launch could have the slot when the command comes
            self._launcher.check_device(launch)
            if launch.ended:
                return
            self._launcher.check_own(launch)
            try:
                self._launcher.command(Command.KILL, launch)
            except CommandRefused:
                if launch.state not in (*ENDED, KernelState.KILLING):
                    raise
        self._wait("kill", launch, (KernelState.KILLING,), limit)
        self._launcher.slots.forget(launch)
        self._launcher.slots.free_local()

    def host_state(self) -> dict[Launch, Way | None]:
        """Return what was begun, to go with a snapshot of the machine."""
        return dict(self._asked)

    def set_host_state(self, state: dict[Launch, Way | None]) -> None:
        """Put back what `host_state` returned."""
        self._asked = WeakKeyDictionary(state)

    def adopt(self, device: DeviceMemory, handle: int, image: KernelImage, max_cycles: int = DEFAULT_CYCLES) -> Launch:
        """Take a launch over from memory of an owner; see `Device.adopt`."""
        limit = whole_number(max_cycles, "max_cycles")
        launch = self._launcher.adopt(device, handle, image)
        try:
            self._wait("adopt", launch, (KernelState.ADOPTING,), limit)
            if error := launch.outcome:
                raise CommandRefused(f"adopt of kernel {image.name!r} at {handle:#x}", error, _NOT_ADOPTED.get(error))
        except BaseException:
            self._launcher.refused(launch)
            raise
        return launch

    def _finish(self, what: str, launch: Launch, state: KernelState, max_cycles: int) -> None:
        self._wait(what, launch, (state,), max_cycles)
        if error := launch.outcome:
            raise self._failed(what, launch, error)

    def _failed(self, what: str, launch: Launch, error: CommandError) -> CommandRefused:
        """Return what is raised where a command has ended badly; of several SMs some may have carried it out."""
        command = f"{what} of kernel {launch.kernel.image.name!r}"
        if not self._host.geometry.has_uncore:
            return CommandRefused(command, error, state=launch.known_state())
        states = []
        for sm in range(self._host.geometry.sms):
            with self._host.of_sm(sm):
                fields = self._host.fields(f"kernel[{launch.slot}].state")
            state = KernelState(fields["state"]).name.lower()
            states.append(f"{state} on SM {sm}{' (failed)' if fields['error'] else ''}")
        return CommandRefused(f"{command}, now {', '.join(states)}; preempt, resume or kill the rest", error)

    def _wait(self, what: str, launch: Launch, states: Collection[KernelState], max_cycles: int) -> None:
        """Let time pass while a launch is in one of some states."""
        passed = self._time.wait_until(lambda: launch.state not in states, max_cycles, launch)
        if launch.state in states:
            raise CycleLimit(f"{what} of kernel {launch.kernel.image.name!r} has not ended after {passed} cycles\n"
                             + self._inspection.describe_warps())

    def context(self, launch: Launch) -> Contexts:
        """Return the saved TBs of a preempted launch; see `Device.context`."""
        if launch.away is None:
            self._launcher.check_own(launch)
        self._launcher.check_device(launch)
        return read_context(self._host, launch)


def _room_for(newcomer: Launch | None) -> dict[str, int]:
    """Return the fields of register `newcomer`: as many TBs as are to come to each SM, and it has slots for."""
    if newcomer is None:
        return {"kernel": 0, "tbs": 0}
    g, total = newcomer.device.geometry, newcomer.progress[1]
    left = total - newcomer.device.host.read(f"kernel[{newcomer.slot}].launched")
    return {"kernel": newcomer.slot, "tbs": min(-(-left // g.sms), g.tb_slots, g.warps // newcomer.warps_per_tb)}


_NOT_ADOPTED = {
    CommandError.BAD_IMAGE: "memory does not hold it as a preempt has left it: it was not preempted, it ran again "
                            "since, or something has written there; launch the kernel again",
    CommandError.BUS_ERROR: "the memory answered with an error",
}
