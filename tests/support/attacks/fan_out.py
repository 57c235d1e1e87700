"""Launches on several SMs under random commands, each of which memory lets some SMs carry out and others not."""

from __future__ import annotations

import random
from typing import Any

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.sim.memory import ErrorRange
from caesura.software.driver import CommandRefused, Device, DriverError, NoSlot

from ..programs.stirring import Stirring

__all__ = ["FanOutCampaign"]

FAILED = CommandError.BUS_ERROR, CommandError.ABORTED
"""How a command may end that memory has refused on some SMs."""
MEANT_NOTHING = CommandError.NOT_RUNNING, CommandError.BUSY
"""Why one may be refused at once: the kernel is in no state for it."""


class FanOutCampaign:
    """Launches of the kernel that uses everything, and random commands for them while memory works or refuses the
    contexts of some launches on some SMs.

    Parameters
    ----------
    device : Device
        Device that runs nothing.
    seed : int
    launches : int

    Attributes
    ----------
    failed : int
        Commands that memory has refused on some SMs at least.
    released : int
        Launches that have given their slot up.
    """

    def __init__(self, device: Device, seed: int, launches: int = 3):
        self.device, self.rng = device, random.Random(seed)
        self.transport: Any = device.transport  # that of the RTL: its memory can refuse
        self.work = [Stirring(device, self.rng.randint(2, 30), seed=n + 1) for n in range(launches)]
        self.failed = self.released = 0

    def refuse(self) -> None:
        """Have memory refuse contexts: of each launch, on each SM, or not."""
        for work in self.work:
            for sm in range(self.device.geometry.sms):
                if self.rng.random() < 0.3:
                    start = work.launch.ccb_of(sm)
                    way = self.rng.choice(((True, False), (False, True), (True, True)))
                    self.transport.add_error_range(ErrorRange(start, start + work.launch.ccb_bytes, *way))

    def command(self) -> None:
        """Give one launch a command, and wait for its end."""
        rng, device, launch = self.rng, self.device, self.rng.choice(self.work).launch
        if launch.ended:
            return
        mechanism, limit = rng.choice(("occupied", "live", "live+cp")), 100_000
        way = rng.choice(("preempt", "preempt", "resume", "resume", "checkpoint", "abort", "release", "move"))
        try:
            if way == "preempt":
                tbs = [tb for tb in device.resident_tbs(launch) if rng.random() < 0.5] if rng.random() < 0.3 else None
                device.preempt(launch, mechanism, tbs=tbs, max_cycles=limit)
            elif way == "resume":
                device.begin_resume(launch)
                device.advance(rng.choice((50, 500, 3000)))
            elif way == "checkpoint":
                device.checkpoint(launch, mechanism, max_cycles=limit)
            elif way == "abort":
                device.begin_preempt(launch, mechanism)
                device.advance(rng.randrange(300))
                device.abort(launch, max_cycles=limit)
            elif way == "release":
                device.release_slot(launch)
                self.released += 1
            else:
                device.move(launch, rng.sample(range(device.geometry.sms), device.geometry.sms))
                self.released += 1
        except CommandRefused as refused:
            self.failed += refused.error in FAILED
            assert refused.error in (*FAILED, *MEANT_NOTHING, CommandError.NOT_IN_MEMORY), refused
        except NoSlot:
            pass
        except DriverError as kept:
            assert "keeps its kernel slot" in str(kept) or "has ended" in str(kept), kept

    def steps(self, steps: int) -> None:
        """Give so many commands."""
        for _ in range(steps):
            if self.rng.random() < 0.5:
                self.refuse()
            self.command()
            self.device.advance(self.rng.choice((0, 50, 300)))
            self.transport.clear_error_ranges()

    def run(self, steps: int = 25) -> None:
        """Give commands; then memory works, every launch goes on, ends, and has computed what it should."""
        self.steps(steps)
        for work in self.work:
            for _ in range(4):
                if work.launch.state is KernelState.PREEMPTED:
                    self.device.begin_resume(work.launch)
                    self.device.advance(300)
        for work in self.work:
            self.end(work)
        assert self.device.launches.keys() <= {*range(self.device.geometry.kernel_slots)}
        others = [Stirring(self.device, 1, 50 + n) for n in range(self.device.geometry.kernel_slots)]
        for work in others:
            work.finishes()

    def end(self, work: Stirring) -> None:
        """Wait for a launch, which may have been preempted again or wait for room."""
        for _ in range(50):
            state = work.launch.state
            if state is KernelState.FINISHED:
                break
            if state is KernelState.PREEMPTED:
                self.device.begin_resume(work.launch)
            self.device.advance(2000)
        work.finishes()
