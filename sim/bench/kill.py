"""Time of a kill, next to its bound and to preempts, and cost of the check for an eviction (REEF, 4, 7.3).

``caesura bench kill`` compiles kernels with the check and without it, and runs each. It forks the run with the check at
moments spread evenly over it. One fork kills the kernel. It counts the cycles until the kernel's thread blocks have
left the SM, and until its kernel slot and memory are free. Other forks preempt the kernel by each mechanism, and with a
restart. With ``--queued``, packets are put into a queue of a device of two SMs, as many as REEF's queue holds. The work
is reset at such moments; in one run the packets leave by themselves, in another they are withdrawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry
from caesura.hw.arch.image.context import Mechanism, mechanisms_of
from caesura.progress import Progress, quiet
from caesura.sim import MEMORY_BYTES
from caesura.sim.report.kill import print_report
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, differences, shipped_work, start_job
from caesura.software.driver import Device
from caesura.software.driver.reset.eviction import kill_bound

from .queued_resets import queued_rows

__all__ = ["DEFAULT", "MOMENTS", "PAPER", "KillRuns", "judged", "measure", "memory_cycles", "print_report",
           "run"]

DEFAULT = "hotspot", "vecadd", "matmul", "bfs", "nbody", "histogram"
"""Default kernels: with and without barriers, with few and many loads outstanding, with atomics."""
MOMENTS = 10
MAX_CYCLES = 5_000_000
RESTART = "restart"
PAPER = {"reset of the compute units": 3.0, "device queue of 4 packets": 31.0, "packet that leaves": 20.0,
         "preemption": 38.0, "preemption, with queues that can be stopped": 10.0}
"""Most microseconds on a Radeon Instinct MI50 (REEF, 4.1, 7.3); the last is an expectation of the authors (8)."""


def memory_cycles(g: Geometry) -> int:
    """Return the cycles in which the model of memory answers all outstanding requests of an SM."""
    outstanding = g.load_queue + g.atomic_queue + (g.unit_queue + 2) * g.warp_size
    return g.memory_latency + math.ceil(outstanding * SEGMENT_BYTES / g.bytes_per_cycle)


class KillRuns:
    """A kernel on the RTL that is killed and preempted at moments of its run.

    Parameters
    ----------
    g : Geometry
    work : CompiledJob

    Attributes
    ----------
    cycles : int
        Cycles of the undisturbed run.
    """

    def __init__(self, g: Geometry, work: CompiledJob):
        self.work = work
        self._machine = RtlTransport(g, MEMORY_BYTES)
        self.device = Device(self._machine)
        kernel = self.device.load([work.image])[work.image.name]
        self.launch, arrays = start_job(self.device, kernel, work.job)
        beginning = self._fork()
        self.cycles = self.device.wait(self.launch, MAX_CYCLES)
        self.correct = not any(differences(self.work.job, arrays).values())
        self._back(beginning)

    def _fork(self) -> tuple:
        return self._machine.snapshot(), self.device.host_state()

    def _back(self, fork: tuple) -> None:
        snapshot, host = fork
        self._machine.restore(snapshot)
        self.device.set_host_state(host)

    def at_moments(self, moments: int) -> Iterator[dict[str, Any]]:
        """Yield the cycles of a kill and of each preempt at moments spread evenly, None where nothing was saved."""
        began = self.device.cycle
        for k in range(moments):
            at = self.cycles * (2 * k + 1) // (2 * moments)
            self.device.run(self.launch, began + at - self.device.cycle)
            if self._peek(f"kernel[{self.launch.slot}].state", "state") != KernelState.RUNNING:
                return
            fork = self._fork()
            left, idle = self._kill()
            row: dict[str, Any] = {"at": at, "left": left, "idle": idle, "preempts": {}}
            for name, how in self._ways():
                self._back(fork)
                report = self.device.preempt(self.launch, max_cycles=MAX_CYCLES, **how)
                row["preempts"][name] = report.save_cycles if report else None
            self._back(fork)
            yield row

    def _ways(self) -> Iterator[tuple[str, dict[str, Any]]]:
        g = self.device.geometry
        yield from ((mechanism.label, {"mechanism": mechanism}) for mechanism in mechanisms_of(g))
        if g.restart and not self.launch.not_restartable:
            yield RESTART, {"mechanism": Mechanism.LIVE, "restart": True}

    def _kill(self) -> tuple[int, int]:
        """Kill the kernel; return the cycles until its thread blocks have left, and until it is idle."""
        slot, transport = self.launch.slot, self.device.transport
        self.device.write("command", op=Command.KILL, kernel=slot)
        began, left = transport.cycle, None
        while True:
            passed = transport.cycle - began
            if left is None and not self._peek("status", "resident"):
                left = passed
            if left is not None and self._peek(f"kernel[{slot}].state", "state") != KernelState.KILLING:
                return left, passed
            if passed > MAX_CYCLES:
                raise AssertionError(f"{self.work.image.name}: the kill has not ended after {passed:,} cycles")
            transport.advance(1)

    def _peek(self, path: str, field: str) -> int:
        fields = self.device.host.peek_fields(path)
        assert fields is not None
        return fields[field]


def measure(g: Geometry, plain_work: CompiledJob, work: CompiledJob, moments: int,
            progress: Progress = quiet) -> dict:
    """Return the figures of a kernel without the check and with it, and of its kills at some moments."""
    name = work.image.name
    progress(f"{name}: without the check")
    plain = KillRuns(g, plain_work)
    progress(f"{name}: with it")
    runs = KillRuns(g, work)
    found = []
    for k, row in enumerate(runs.at_moments(moments)):
        progress(f"{name}: moment {k + 1} of {moments}")
        found.append(row)
    job = runs.work.job
    return {"kernel": name, "tbs": math.prod(job.grid), "warps": -(-math.prod(job.block) // g.warp_size),
            "instructions": len(runs.work.image.code) - len(plain.work.image.code), "plain_cycles": plain.cycles,
            "cycles": runs.cycles, "correct": plain.correct and runs.correct, "moments": found}


def run(g: Geometry, size: str = "small", kernels: Sequence[str] = DEFAULT, moments: int = MOMENTS,
        queued: bool = False, progress: Progress = quiet) -> dict:
    """Measure shipped kernels; `docs/keys.md` documents the keys.

    Parameters
    ----------
    g : Geometry
        A geometry of one SM.
    size : str
        Size of the jobs.
    kernels : sequence of str
    moments : int
        Number of moments per kernel.
    queued : bool
        Measure packets of a queue too.
    progress : callable
    """
    rows = [measure(g, shipped_work(name, g, size), shipped_work(name, g, size, eviction_check=True), moments, progress)
            for name in kernels]
    queues = queued_rows(g, moments, progress) if queued else []
    return judged(g, rows, queues) | {"size": size}


def judged(g: Geometry, rows: list[dict], queues: list[dict]) -> dict:
    """Return the figures next to the bound, and whether they keep to it."""
    left, idle = kill_bound(g, memory_cycles(g))
    met = all(row["correct"] and all(each["left"] <= left and each["idle"] <= idle for each in row["moments"])
              for row in rows)
    return {"preset": g.name, "clock_mhz": g.clock_mhz, "paper": PAPER,
            "bound": {"left": left, "idle": idle, "memory": memory_cycles(g)},
            "met": met and all(row["correct"] for row in queues), "kernels": rows, "queued": queues}
