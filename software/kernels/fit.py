"""Checks whether shipped kernels fit an SM."""

from __future__ import annotations

from caesura.hw.arch.geometry import Geometry
from caesura.software.compiler import CompileError, CompileOptions
from caesura.software.driver import LaunchError
from caesura.software.driver.launch.fit import check_block, check_fit

from .job import Job, ShippedKernel

__all__ = ["check_job", "refusal"]


def check_job(kernel: ShippedKernel, g: Geometry, job: Job) -> None:
    """Check that a job of a shipped kernel can run on an SM.

    Nothing is compiled if the thread block is too large anyway.

    Raises
    ------
    CompileError
        If the kernel cannot be compiled for the SM.
    LaunchError
        If the SM has no room for the job.
    """
    check_block(g, kernel.name, job.grid, job.block)
    image = kernel.image(CompileOptions(max_registers=g.regs_per_thread))
    check_fit(g, image, job.grid, job.block, image.shared_bytes + job.shared_bytes)


def refusal(kernel: ShippedKernel, g: Geometry, job: Job) -> str:
    """Return the reason of `check_job` why a job of a shipped kernel cannot run on an SM; empty if it can."""
    try:
        check_job(kernel, g, job)
    except (CompileError, LaunchError) as error:
        return str(error)
    return ""
