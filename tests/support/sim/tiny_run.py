"""A small preemption on `tiny` for tests: collatz, which diverges, away for a kernel that overwrites everything."""

from __future__ import annotations

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Capability, Mechanism
from caesura.hw.arch.waiting import UNLIMITED
from caesura.hw.arch.way import Way
from caesura.sim.scenario import CompiledJob, PreemptionResult, run_preemption
from caesura.software.compiler import CompileOptions
from caesura.software.driver import Device
from caesura.software.kernels import collatz_job, hostile, kernel

__all__ = ["TINY", "AT", "work", "neighbour", "preempted"]

TINY = PRESETS["tiny"]
AT = 500


def work(points: bool = True) -> CompiledJob:
    """Return the kernel with a job of four thread blocks of two warps, of which two are resident at a time."""
    shipped = kernel("collatz")
    options = CompileOptions(max_registers=TINY.regs_per_thread, preemption_points=points)
    return CompiledJob(shipped.image(options), collatz_job(60, 30, seed=1, threads=16))


def neighbour() -> CompiledJob:
    """Return the kernel that overwrites everything."""
    return CompiledJob(*hostile(TINY))


def preempted(device: Device, mechanism: Mechanism = Mechanism.LIVE) -> PreemptionResult:
    """Run the scenario, warps run on to their preemption points, and return what it reports."""
    patience = UNLIMITED if mechanism.has(Capability.STOPS_AT_POINTS) else None
    result = run_preemption(device, work(), neighbour(), AT, Way(mechanism, patience), max_cycles=100_000)
    assert result.correct and result.preempt and result.resume
    return result
