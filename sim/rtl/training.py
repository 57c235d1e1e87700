"""Training runs of a simulator: short stretches of kernels that no benchmark of speed runs, each preempted once.

Run as ``python -m caesura.sim.rtl.training LIBRARY GEOMETRY`` (the geometry as a dictionary of its fields).
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from caesura.hw.arch.geometry import Geometry
from caesura.sim.rtl.optimise import TRAINING_CYCLES, TRAINING_KERNELS
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, shipped_work, start_job
from caesura.software.driver import Device
from caesura.software.kernels import hostile, kernel
from caesura.software.kernels.fit import refusal

__all__ = ["train"]


def train(library: Path, g: Geometry) -> int:
    """Run the kernels that fit an SM, each preempted once by one that fills it; return how many fitted."""
    done = 0
    for work in (*_fitting(g), CompiledJob(*hostile(g))):
        device = Device(RtlTransport(g, 64 << 20, simulator=library))
        launch, _ = start_job(device, device.load([work.image])[work.image.name], work.job)
        device.advance(TRAINING_CYCLES)
        if not launch.finished and device.preempt(launch, "live+cp" if done % 2 else "occupied"):
            other, job = hostile(g)
            device.wait(start_job(device, device.load([other])[other.name], job)[0])
            device.resume(launch)
        device.advance(TRAINING_CYCLES)
        done += 1
    return done


def _fitting(g: Geometry) -> list[CompiledJob]:
    """Return the kernels that the SM takes."""
    shipped = [kernel(name) for name in TRAINING_KERNELS]
    return [shipped_work(k.name, g, "tiny") for k in shipped if not refusal(k, g, k.job("tiny"))]


if __name__ == "__main__":
    train(Path(sys.argv[1]), Geometry(**ast.literal_eval(sys.argv[2])))
