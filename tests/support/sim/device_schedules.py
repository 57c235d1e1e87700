"""Random commands for several launches on a device, through the Python API, some of them for one SM only."""

import random
from collections import Counter
from typing import Any

from caesura import open_device
from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import Mechanism, ccb_bytes
from caesura.sim.memory import ErrorRange
from caesura.software.driver import CommandRefused
from support.programs.stirring import BLOCKS, Stirring

__all__ = ["DeviceSchedules"]

MEMORY = 1 << 20
LIMIT = 300_000
"""Cycles in which a command ends."""


class DeviceSchedules:
    """A device on which launches of the kernel that uses everything are begun, disturbed, and looked at in the end.

    Parameters
    ----------
    backend : str
    g : Geometry

    Attributes
    ----------
    seen : Counter
        Commands by name and what became of them, and how launches ended.
    """

    def __init__(self, backend, g):
        self.backend, self.g, self.seen = backend, g, Counter()

    def run(self, seed, steps=25):
        """Give so many commands, then let every launch end, and look at what each has computed."""
        self.rng = rng = random.Random(seed)
        with open_device(self.backend, self.g, memory_bytes=MEMORY) as self.device:
            self.memory: Any = self.device.transport
            self.scramble = rng.random() < 0.5
            self.work = [self._launch() for _ in range(rng.randint(1, min(3, self.g.kernel_slots)))]
            for _ in range(steps):
                self._weather()
                self.device.advance(rng.choice((1, 5, 30, 100, 300, 900)))
                self._command(rng.randrange(len(self.work)))
            if self.backend == "rtl":
                self.memory.clear_error_ranges()
            for work in self.work:
                self._end(work)

    def _launch(self):
        work = Stirring(self.device, self.rng.choice((1, 2, 4)), self.rng.randrange(1000))
        work.launch.scramble = self.scramble  # of commands that the driver does not know of, too
        return work

    def _replace(self, number):
        """Look at a launch that has ended, and begin another."""
        self._look(self.work[number])
        self.work[number] = self._launch()

    def _weather(self):
        """Let reads or writes of the contexts of one SM fail for a while."""
        if self.backend != "rtl" or self.rng.random() < 0.7:
            return
        launch = self.rng.choice(self.work).launch
        self.memory.clear_error_ranges()
        if self.rng.random() < 0.4:
            sm = self.rng.randrange(self.g.sms)
            end = launch.ccb_of(sm) + ccb_bytes(self.g, launch.area_bytes) - self.rng.choice((0, 2048))
            self.memory.add_error_range(ErrorRange(launch.ccb_of(sm), max(launch.ccb_of(sm) + 128, end),
                                                   reads=self.rng.random() < 0.6, writes=self.rng.random() < 0.6))

    def _command(self, number):
        """Give a launch a command, for all SMs or one; what comes of it depends on what it does."""
        rng, launch = self.rng, self.work[number].launch
        if launch.ended:
            return self._replace(number)
        op = rng.choices(("preempt", "resume", "abort", "hasten", "kill", "one"), (8, 8, 4, 3, 1, 4))[0]
        try:
            if op == "preempt":
                self._preempt(launch)
            elif op == "resume":
                self.device.begin_resume(launch, gang=rng.random() < 0.5)
            elif op == "abort":
                self.device.abort(launch, LIMIT)
            elif op == "hasten":
                self.device.hasten(launch)
            elif op == "one":
                self._of_one(launch)
            else:
                self.device.kill(launch, LIMIT)
                self._replace(number)
            self.seen[op, "taken"] += 1
        except CommandRefused as error:
            self.seen[op, error.error.name] += 1

    def _preempt(self, launch):
        rng, options = self.rng, {}
        options["mechanism"] = rng.choice(list(Mechanism))
        if options["mechanism"] is not Mechanism.OCCUPIED and rng.random() < 0.5:
            options["patience"] = rng.choice((0, 20, "unlimited"))
        if rng.random() < 0.3:
            options["grace"] = rng.choice((50, 500, "unlimited"))
        options |= rng.choice(({}, {}, {"in_place": True}, {"incremental": True}))
        if rng.random() < 0.2:
            resident = self.device.resident_tbs(launch)
            options["tbs"] = [tb for tb in resident if rng.random() < 0.5]
        begin = self.device.begin_preempt
        if rng.random() < 0.2 and "in_place" not in options and "grace" not in options:
            options.pop("incremental", None)
            begin = self.device.begin_checkpoint
        begin(launch, **options, scramble=self.scramble)

    def _of_one(self, launch):
        """Preempt or resume on one SM, whatever the others do."""
        host, sm = self.device.host, self.rng.randrange(self.g.sms)
        op = self.rng.choice((Command.PREEMPT, Command.RESUME))
        with host.of_sm(sm):
            host.write("command", op=op, kernel=launch.slot, mechanism=Mechanism.LIVE_CP, scramble=int(self.scramble))

    def _end(self, work):
        """Bring a launch to its end, and look at it."""
        launch = work.launch
        for _ in range(50):
            state = launch.state
            if state in (KernelState.FINISHED, KernelState.IDLE):
                break
            if state is KernelState.PREEMPTED:
                self.device.resume(launch, max_cycles=LIMIT)
            elif state is KernelState.PREEMPTING:
                self._hasten(launch)
                self._wait(launch, state)
            elif state is KernelState.RUNNING:
                self.device.run(launch, LIMIT)
            else:
                self._wait(launch, state)
        assert launch.finished, launch
        self._look(work)

    def _hasten(self, launch):
        """Have a preempt wait no longer; it may have ended before the command comes."""
        try:
            self.device.hasten(launch)
        except CommandRefused as error:
            assert error.error is CommandError.NOT_RUNNING
            assert launch.state is not KernelState.PREEMPTING

    def _wait(self, launch, state):
        passed = 0
        while launch.state is state:
            passed += self.device.transport.wait(1000)
            self.device.launcher.slots.events.take()
            assert passed < LIMIT, f"{state.name} for ever"

    def _look(self, work):
        """What has finished has done what it was to do, each thread block once."""
        self.seen["ended", work.launch.state.name] += 1
        if work.launch.finished:
            assert work.launch.progress == (BLOCKS, BLOCKS)
            work.finishes()
