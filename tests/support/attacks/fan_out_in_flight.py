"""Commands to several SMs while which memory begins to fail for one SM, some cycles later, and then works again."""

from __future__ import annotations

from typing import Any

import numpy as np

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.sim.memory import ErrorRange
from caesura.software.driver import CommandRefused, DriverError, NoSlot
from support.programs.stir import image, stirred

from ..programs.stirring import BLOCK, BLOCKS
from .fan_out import FAILED, MEANT_NOTHING, FanOutCampaign

__all__ = ["FanOutInFlight"]

LIMIT = 100_000


class FanOutInFlight(FanOutCampaign):
    """Memory fails in the middle of a command, for one SM, and works again before the command has ended, or after that.

    Attributes
    ----------
    outages : int
        How often memory has failed.
    adopted : int
        Launches that another device has taken over in the end.
    """

    outages = adopted = 0

    def outage(self) -> None:
        """Let some cycles pass, then have memory refuse the contexts of a launch, or of all, on one SM."""
        rng, sm = self.rng, self.rng.randrange(self.device.geometry.sms)
        self.transport.advance(rng.randrange(400))
        way = rng.choice(((True, False), (False, True), (True, True)))
        for work in self.work if rng.random() < 0.3 else [rng.choice(self.work)]:
            start = work.launch.ccb_of(sm)
            self.transport.add_error_range(ErrorRange(start, start + work.launch.ccb_bytes, *way))
        self.outages += 1
        self.transport.advance(rng.choice((1, 10, 100, 400, 1500)))
        if rng.random() < 0.7:
            self.transport.clear_error_ranges()

    def command(self) -> None:
        """Give one launch a command, let memory fail meanwhile, and wait for its end."""
        rng, device, launch = self.rng, self.device, self.rng.choice(self.work).launch
        if launch.ended:
            return
        mechanism = rng.choice(("occupied", "live", "live+cp", "live+tb"))
        way = rng.choice(("preempt", "preempt", "resume", "resume", "checkpoint", "abort", "hasten", "release", "move"))
        try:
            if way in ("release", "move"):
                self.outage()
                if way == "release":
                    device.release_slot(launch)
                else:
                    device.move(launch, rng.sample(range(device.geometry.sms), device.geometry.sms))
                self.released += 1
            elif way == "resume":
                device.begin_resume(launch, gang=rng.random() < 0.5)
                self.outage()
            elif way == "checkpoint":
                device.begin_checkpoint(launch, mechanism)
                self.outage()
                self.settle(launch)
            else:
                device.begin_preempt(launch, mechanism, incremental=rng.random() < 0.3)
                self.outage()
                if way == "abort":
                    device.abort(launch, max_cycles=LIMIT)
                elif way == "hasten":
                    device.hasten(launch)
                self.settle(launch)
        except CommandRefused as refused:
            self.failed += refused.error in FAILED
            assert refused.error in (*FAILED, *MEANT_NOTHING, CommandError.NOT_IN_MEMORY), refused
        except NoSlot:
            pass
        except DriverError as kept:
            assert "keeps its kernel slot" in str(kept) or "has ended" in str(kept), kept
        self.transport.clear_error_ranges()

    def settle(self, launch) -> None:
        """Wait for the end of a preempt, a checkpoint, or what its withdrawal has made of it."""
        passed = 0
        while launch.state in (KernelState.PREEMPTING, KernelState.RESUMING) and passed < LIMIT:
            passed += self.device.advance(200)
            if passed > 2000:  # a resume may wait for room that a neighbour has
                break
        if launch.state is KernelState.PREEMPTING:
            self.device.finish_preempt(launch, LIMIT)

    def refuse(self) -> None:
        """Memory fails while a command runs, not before."""

    def taken_over(self) -> None:
        """Another device takes all launches over that have not ended; for one SM of it memory fails at first."""
        device, left = self.device, []
        for work in self.work:
            while not work.launch.ended and work.launch.state is not KernelState.PREEMPTED:
                self.preempt(work.launch)
        for work in self.work:
            if not work.launch.ended and work.launch.away is None:
                self.preempt(work.launch)
                try:
                    device.release_slot(work.launch)
                except DriverError as kept:  # of an SM on which it has ended there is no record
                    assert "it has ended on SM" in str(kept), kept
                    device.resume(work.launch)
                    work.finishes()
            if not work.launch.ended:
                left.append(work)
        memory = self.transport.read_memory(0, self.transport.memory_bytes)
        with open_device("rtl", device.geometry, memory_bytes=len(memory)) as other:
            machine: Any = other.transport
            machine.write_memory(0, memory)
            for work in left:
                launch = work.launch
                start = launch.ccb_of(self.rng.randrange(device.geometry.sms))
                machine.add_error_range(ErrorRange(start, start + launch.ccb_bytes))
                try:
                    other.adopt(launch.handle, image(16))
                except CommandRefused as refused:
                    assert refused.error is CommandError.BUS_ERROR and launch.handle not in [
                        each.handle for each in other.launches.values()]
                else:
                    raise AssertionError("what cannot be read was believed")
                machine.clear_error_ranges()
            launches = [other.adopt(work.launch.handle, image(16)) for work in left]
            for work, launch in zip(left, launches, strict=True):
                outputs = [other.array_at(work.arrays[k].address, BLOCK * BLOCKS, np.uint32) for k in (0, 2)]
                other.resume(launch)
                other.wait(launch)
                right = stirred(work.words, BLOCK * BLOCKS, work.rounds)
                assert all(np.array_equal(*pair) for pair in zip(outputs, right, strict=True))
                self.adopted += 1

    def preempt(self, launch) -> None:
        """Have all of a launch in memory, where it is not already."""
        try:
            self.device.preempt(launch, "live", max_cycles=LIMIT)
        except CommandRefused as refused:
            assert refused.error is CommandError.NOT_RUNNING, refused
