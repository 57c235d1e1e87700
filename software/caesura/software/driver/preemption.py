"""Preempts and resumes launches, and reads what was saved of them."""

from __future__ import annotations

from dataclasses import dataclass

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.registers import Command

from .arguments import whole_number
from .context import Contexts
from .errors import CommandRefused, CycleLimit, DriverError
from .inspection import Inspection
from .launch import Launch
from .launcher import Launcher
from .saved_context import read_context
from .simulated_time import DEFAULT_CYCLES, SimulatedTime

__all__ = ["Preemption", "PreemptReport", "ResumeReport"]


@dataclass(frozen=True)
class PreemptReport:
    """What the counters say of a preempt; cycles are of the core clock.

    Attributes
    ----------
    mechanism : hw.arch.context.Mechanism
    save_cycles : int
        Preemption latency: from the request until the SM's resources are free.
    drain_cycles : int
        Part of it in which no save traffic flows because warps still run.
    data_bytes, metadata_bytes : int
        Written.
    registers, lines, tbs, warps : int
        Saved.
    occupied_bytes : int
        Registers and shared memory the saved TBs had allocated.
    """

    mechanism: Mechanism
    save_cycles: int
    drain_cycles: int
    data_bytes: int
    metadata_bytes: int
    registers: int
    lines: int
    tbs: int
    warps: int
    occupied_bytes: int


@dataclass(frozen=True)
class ResumeReport:
    """What the counters say of a resume.

    Attributes
    ----------
    restore_cycles : int
        From the request until all TBs run.
    resume_cycles : int
        From the request until the first instruction issued.
    bytes : int
        Read.
    """

    restore_cycles: int
    resume_cycles: int
    bytes: int


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

    def preempt(self, launch: Launch, mechanism: Mechanism | str = Mechanism.LIVE, *,
                scramble: bool = False, max_cycles: int = DEFAULT_CYCLES) -> PreemptReport | None:
        """Take a running launch off the SM and save it; see `Device.preempt`."""
        self._launcher.check_device(launch)
        limit = whole_number(max_cycles, "max_cycles")
        mechanism = _mechanism(mechanism)
        if launch.finished:
            return None
        self._launcher.check_own(launch)
        before, launch.scramble = launch.scramble, scramble
        try:
            self._launcher.command(Command.PREEMPT, launch, mechanism=mechanism, scramble=int(scramble))
        except CommandRefused:
            launch.scramble = before
            if launch.finished:  # meanwhile: asking takes time too
                return None
            raise
        self._finish("preempt", launch, limit)
        if launch.finished:
            return None
        counter = {n: self._host.read(f"save_{n}") for n in
                   ("cycles", "data_bytes", "metadata_bytes", "registers", "lines", "tbs", "warps")}
        return PreemptReport(mechanism, counter["cycles"], self._host.read("drain_cycles"), counter["data_bytes"],
                             counter["metadata_bytes"], counter["registers"], counter["lines"], counter["tbs"],
                             counter["warps"], counter["tbs"] * launch.occupied_tb_bytes)

    def resume(self, launch: Launch, *, gang: bool = False, max_cycles: int = DEFAULT_CYCLES) -> ResumeReport:
        """Bring a preempted launch back; see `Device.resume`."""
        self._launcher.check_own(launch)
        limit = whole_number(max_cycles, "max_cycles")
        self._launcher.command(Command.RESUME, launch, scramble=int(launch.scramble), gang=int(gang))
        self._finish("resume", launch, limit)
        return ResumeReport(*(self._host.read(name) for name in ("restore_cycles", "resume_cycles", "restore_bytes")))

    def _finish(self, what: str, launch: Launch, max_cycles: int) -> None:
        passed = self._time.wait_until(lambda: not self._host.fields("status")["busy"], max_cycles, launch)
        status = self._host.fields("status")
        if status["busy"]:
            raise CycleLimit(f"{what} of kernel {launch.kernel.image.name!r} has not ended after {passed} cycles\n"
                             + self._inspection.describe_warps())
        if status["error"]:
            raise CommandRefused(f"{what} of kernel {launch.kernel.image.name!r}", CommandError(status["error"]))

    def context(self, launch: Launch) -> Contexts:
        """Return the saved TBs of a preempted launch; see `Device.context`."""
        self._launcher.check_own(launch)
        return read_context(self._host.transport, launch)


def _mechanism(given: Mechanism | str) -> Mechanism:
    try:
        return Mechanism.of(given) if isinstance(given, str) else Mechanism(given)
    except ValueError:
        names = ", ".join(repr(m.label) for m in Mechanism)
        raise DriverError(f"no mechanism {given!r}; there are {names}") from None
