"""One launch preempted again and again, each time with another mechanism and in another way."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.image.context import Capability, Mechanism
from caesura.hw.arch.waiting import UNLIMITED
from caesura.sim.scenario import CompiledJob
from caesura.sim.workloads.everywhere import Campaign, Forkable
from caesura.software.compiler import ImageError
from caesura.software.driver import CommandRefused, Launch
from caesura.software.kernels import hostile

__all__ = ["MechanismSequences", "WAYS"]

WAYS = "whole", "incremental", "base", "in place", "newcomer", "restart", "trap", "bit by bit"
"""Of preempting: whole; what was written since the launch was resumed, or since a base that is saved before; in place,
for a newcomer too; thread blocks begin anew; in preemption routines; thread blocks one after the other, each in a way
of its own."""
_GAPS = 0, 1, 2, 5, 20, 60, 150
"""Cycles of running time between preemptions."""
_PATIENCE = 0, 3, 40, None, UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED
_GRACE = 0, 0, 0, 1, 30, 400


class MechanismSequences(Campaign):
    """Random sequences of preemptions of one kernel on one machine.

    While it is away one thread block overwrites the whole SM, or all of its shared memory and some of its registers, or
    nobody runs.

    Parameters
    ----------
    transport : Forkable
    work : CompiledJob
        One whose image has preemption routines traps into them at times.

    Attributes
    ----------
    ways : Counter
        Preemptions after which something was left to resume, by way and mechanism.
    evicted : int
        Thread blocks that had stayed on the SM and were written to memory.
    """

    def __init__(self, transport: Forkable, work: CompiledJob):
        self.g = transport.geometry
        super().__init__(transport, work, CompiledJob(*hostile(self.g.replace(tb_slots=1))), fill=True)
        self.ways: Counter[tuple[str, Mechanism]] = Counter()
        self.evicted = 0
        try:
            self.restartable = not self._launch.not_restartable
        except ImageError:  # machine code that cannot be lifted
            self.restartable = False

    def run(self, seed: int | str, preemptions: int = 20) -> None:
        """Launch and preempt until at least so many preempts have left something to resume.

        Raises
        ------
        AssertionError
            If anything in memory differs from the undisturbed run at the end of a launch, or a neighbour's results.
        """
        self.rng = rng = random.Random(seed)
        before = self.ways.total()
        for _ in range(10 * preemptions):  # launches
            self._back(self._origin)
            self.device.advance(rng.randrange(self.cycles))
            while not self._launch.finished:
                self._preempt_somehow()
                self.device.run(self._launch, rng.choice(_GAPS))
            self.evicted += self.device.read("evicted_tbs")
            if wrong := self._wrong():
                raise AssertionError(f"{wrong} wrong bytes after {self.ways.total() - before} preemptions")
            if self.ways.total() - before >= preemptions:
                return
        raise AssertionError(f"only {self.ways.total() - before} preemptions")

    def _draw(self, alone: bool) -> tuple[str, Mechanism]:
        """Draw a mechanism, and a way that it and the machine have and the kernel allows; `alone`: of one preempt that
        nothing is done for before."""
        g = self.g
        possible = {"incremental": g.checkpoints, "base": g.checkpoints, "in place": g.in_place,
                    "newcomer": g.in_place, "trap": self.work.image.traps,
                    "restart": g.restart and self.restartable}
        way = self.rng.choice([way for way in WAYS if possible.get(way, True)])
        mechanism = self.rng.choice(list(Mechanism))
        if alone and way in ("base", "newcomer", "bit by bit") or way == "trap" and not mechanism.has(
                Capability.STOPS_AT_POINTS):
            way = "whole"
        return way, mechanism

    def _options(self, way: str, mechanism: Mechanism) -> dict:
        options: dict = {"scramble": True, "max_cycles": self.max_cycles}
        if mechanism.has(Capability.STOPS_AT_POINTS):
            options["patience"] = self.rng.choice(_PATIENCE)
        if way in ("incremental", "base"):
            options["incremental"] = True
        elif way == "in place":
            options["in_place"] = True
        elif way == "restart":
            options["restart"] = True
        elif way == "trap":
            options["trap"] = True
        return options

    def _preempt_somehow(self) -> None:
        rng, device, launch = self.rng, self.device, self._launch
        way, mechanism = self._draw(alone=False)
        newcomer = None
        if way == "base":
            device.checkpoint(launch, mechanism, scramble=True, max_cycles=self.max_cycles)
            device.run(launch, rng.choice(_GAPS))
        elif way == "newcomer":
            newcomer = self._small_neighbour()
            self._note(newcomer)
        elif way == "bit by bit":
            self._preempt_one_by_one()
            way, mechanism = self._draw(alone=True)
        options = self._options(way, mechanism)
        if newcomer and not newcomer.ended:
            options["newcomer"] = newcomer
        options["grace"] = rng.choice(_GRACE)
        if launch.state is KernelState.RUNNING:
            device.preempt(launch, mechanism, **options)
        if launch.state is KernelState.PREEMPTED and self._stays() and rng.random() < 0.3:
            self._evict()
        if newcomer:
            self._finish_small(newcomer)
        else:
            rng.choice((self._run_neighbour, self._run_small, lambda: None))()
        if launch.state is KernelState.PREEMPTED:
            self.ways[way, mechanism] += 1
            device.resume(launch, gang=rng.random() < 0.5, max_cycles=self.max_cycles)

    def _stays(self) -> bool:
        slot = self._launch.slot
        return any(self.device.read(f"kernel[{slot}].{what}") for what in ("registers_stay", "lines_stay"))

    def _evict(self) -> None:
        """Have all leave that stays on the SM, by a preempt of the whole."""
        try:
            self.device.preempt(self._launch, self.rng.choice(list(Mechanism)), scramble=True,
                                max_cycles=self.max_cycles)
        except CommandRefused:
            assert not self._stays(), "refused though something stays"  # a newcomer was faster

    def _preempt_one_by_one(self) -> None:
        """Preempt some of the thread blocks on the SM, each in a way of its own; the rest run on."""
        rng, launch = self.rng, self._launch
        for tb in self.device.resident_tbs(launch):
            if launch.state is not KernelState.RUNNING:
                return
            if rng.random() < 0.4:
                continue
            way, mechanism = self._draw(alone=True)
            if self.device.preempt(launch, mechanism, tbs=[tb], **self._options(way, mechanism)):
                self.ways[f"one: {way}", mechanism] += 1
                self.device.run(launch, rng.choice(_GAPS))

    def _small_neighbour(self) -> Launch:
        """Launch some warps of the neighbour, which leave registers to others."""
        job = self.neighbour.job
        warps = job.block[0] // self.g.warp_size
        self.threads = self.rng.choice((1, 2, warps // 2)) * self.g.warp_size
        for array in self._other_arrays.values():
            array.set(np.zeros_like(array.get()))
        arguments = [self._other_arrays.get(n, v) for n, v in job.arguments.items()]
        return self._other(job.grid, (self.threads, 1, 1), arguments, job.shared_bytes)

    def _finish_small(self, launch: Launch) -> None:
        self.device.wait(launch, self.max_cycles)
        for name, expected in self.neighbour.job.expected.items():
            assert (self._other_arrays[name].get()[:self.threads] == expected[:self.threads]).all(), "the neighbour"

    def _run_small(self) -> None:
        launch = self._small_neighbour()
        self._note(launch)
        self._finish_small(launch)
