"""Which shipped kernels fit an SM."""

from __future__ import annotations

from caesura.hw.arch.geometry import Geometry
from caesura.software.compiler import CompileError, CompileOptions
from caesura.software.driver import LaunchError
from caesura.software.driver.fit import check_block, check_fit, check_parameters

from .job import Job, ShippedKernel

__all__ = ["refusal"]


def refusal(kernel: ShippedKernel, g: Geometry, job: Job) -> str:
    """Return why a job of a shipped kernel cannot run on an SM; empty if it can.

    Nothing is compiled where the size of a thread block says it already.
    """
    try:
        check_block(g, kernel.name, job.grid, job.block)
        image = kernel.image(CompileOptions(max_registers=g.regs_per_thread))
        check_fit(g, image, job.grid, job.block, image.shared_bytes + job.shared_bytes)
        check_parameters(g, image)
    except (CompileError, LaunchError) as error:
        return str(error)
    return ""
