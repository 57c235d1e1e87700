"""Jobs of the f64 kernels. Their references do the kernels' operations in the kernels' order, equal to the bit."""

from __future__ import annotations

import numpy as np

from ..job import Job
from ..numerics import fma_f64

__all__ = ["nbody_job"]


def nbody_job(bodies: int, sources: int, seed: int, threads: int = 64) -> Job:
    """Return a job of `nbody`, in which the first `sources` bodies attract all bodies."""
    rng = np.random.default_rng(seed)
    x, y, z = rng.standard_normal((3, bodies))
    mass = rng.uniform(0.1, 3, bodies).astype(np.float32)
    softening = 1e-3
    ax, ay, az = np.zeros((3, bodies))
    for j in range(sources):
        dx, dy, dz = x[j] - x, y[j] - y, z[j] - z
        square = fma_f64(dz, dz, fma_f64(dx, dx, dy * dy)) + softening
        scale = mass[j].astype(np.float64) / (np.sqrt(square) * square)
        ax, ay, az = fma_f64(dx, scale, ax), fma_f64(dy, scale, ay), fma_f64(dz, scale, az)
    speed = np.sqrt(fma_f64(az, az, fma_f64(ax, ax, ay * ay)).astype(np.float32))
    return Job((-(-bodies // threads), 1, 1), (threads, 1, 1),
               {"x": x, "y": y, "z": z, "mass": mass, "ax": np.zeros(bodies), "ay": np.zeros(bodies),
                "az": np.zeros(bodies), "speed": np.zeros(bodies, np.float32), "bodies": bodies, "sources": sources,
                "softening": softening},
               {"ax": ax, "ay": ay, "az": az, "speed": speed})
