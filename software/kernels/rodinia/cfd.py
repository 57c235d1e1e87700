"""Inviscid flow in an unstructured grid: jobs of `initialize_variable`, `compute_step_factor` and `compute_flux`.

All compute in f32. The references do the kernels' operations in their order, with an `fma` where nvcc has one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..job import Job, PaperRow, ShippedKernel, by_size
from ..numerics import fma

__all__ = ["KERNELS", "compute_flux_job", "compute_step_factor_job", "initialize_variable_job"]

F32 = np.float32
GAMMA, HALF = F32(1.4), F32(0.5)
SMOOTHING = F32(0.1)
FACES = 4
WALL, FAR = -1, -2
FAR_FIELD = np.array([1.4, 1.68, 0, 0, 3.508], F32)
BLOCK = 192


@dataclass(frozen=True)
class _Cells:
    """Cells with the values that follow from density, momentum and energy."""

    state: np.ndarray
    velocity: np.ndarray
    pressure: np.ndarray
    speed: np.ndarray
    sound: np.ndarray

    @classmethod
    def of(cls, state: np.ndarray) -> _Cells:
        density, energy = state[0], state[4]
        x, y, z = velocity = state[1:4] / density
        square = fma(z, z, fma(x, x, y * y))
        pressure = (GAMMA - F32(1)) * (energy - HALF * density * square)
        return cls(state, velocity, pressure, np.sqrt(square), np.sqrt(GAMMA * pressure / density))

    def __getitem__(self, index) -> _Cells:
        return _Cells(*(x[..., index] for x in (self.state, self.velocity, self.pressure, self.speed, self.sound)))

    def transport(self, flux: np.ndarray, normal: np.ndarray) -> np.ndarray:
        """Return the flux plus the flow of half of this state over a face."""
        (vx, vy, vz), (x, y, z), push = self.velocity, normal, HALF * self.pressure
        volume = HALF * fma(vz, z, fma(vx, x, vy * y))
        moved = [flux[k] + fma(push, normal[k - 1], volume * self.state[k]) for k in (1, 2, 3)]
        return np.array([fma(volume, self.state[0], flux[0]), *moved,
                         fma(volume, self.state[4] + self.pressure, flux[4])])


def _random_state(rng: np.random.Generator, cells: int) -> np.ndarray:
    density, pressure = rng.uniform(0.5, 2, cells), rng.uniform(0.5, 2, cells)
    velocity = rng.normal(0, 0.7, (3, cells))
    energy = pressure / 0.4 + density * (velocity ** 2).sum(0) / 2
    return np.array([density, *(density * velocity), energy], F32)


def initialize_variable_job(blocks: int, seed: int, threads: int = BLOCK) -> Job:
    """Return a job of `initialize_variable` with one cell per thread; the cells hold other values before."""
    cells = blocks * threads
    before = np.random.default_rng(seed).standard_normal((5, cells), F32)
    return Job((blocks, 1, 1), (threads, 1, 1), {"cells": cells, "state": before},
               {"state": np.repeat(FAR_FIELD[:, None], cells, axis=1)})


def compute_step_factor_job(blocks: int, seed: int, threads: int = BLOCK) -> Job:
    """Return a job of `compute_step_factor` with one cell per thread."""
    rng = np.random.default_rng(seed)
    cells = blocks * threads
    state, areas = _random_state(rng, cells), rng.uniform(0.1, 3, cells).astype(F32)
    c = _Cells.of(state)
    return Job((blocks, 1, 1), (threads, 1, 1),
               {"cells": cells, "state": state, "areas": areas, "factors": np.zeros(cells, F32)},
               {"factors": HALF / (np.sqrt(areas) * (c.speed + c.sound))})


def compute_flux_job(blocks: int, seed: int, threads: int = BLOCK) -> Job:
    """Return a job of `compute_flux` with one cell per thread, random neighbours, and faces at walls and far field."""
    rng = np.random.default_rng(seed)
    cells = blocks * threads
    state, normals = _random_state(rng, cells), rng.standard_normal((3, FACES, cells), F32)
    neighbours = rng.integers(0, cells, (FACES, cells)).astype(np.int32)
    kind = rng.random((FACES, cells))
    neighbours[kind < 0.15], neighbours[kind > 0.9] = WALL, FAR

    own, far, flux = _Cells.of(state), _Cells.of(FAR_FIELD[:, None]), np.zeros((5, cells), F32)
    for face in range(FACES):
        other, normal = neighbours[face], normals[:, face]
        c, (x, y, z) = own[np.maximum(other, 0)], normal
        length = np.sqrt(fma(z, z, fma(x, x, y * y)))
        smooth = length * -SMOOTHING * (own.speed + c.speed + own.sound + c.sound)
        inside = own.transport(c.transport(fma(own.state - c.state, smooth, flux), normal), normal)
        outside = own.transport(far.transport(flux, normal), normal)
        wall = flux.copy()
        wall[1:4] = fma(own.pressure, normal, flux[1:4])
        flux = np.where(other >= 0, inside, np.where(other == WALL, wall, outside))
    return Job((blocks, 1, 1), (threads, 1, 1),
               {"cells": cells, "neighbours": neighbours, "normals": normals, "state": state,
                "fluxes": np.zeros((5, cells), F32)}, {"fluxes": flux})


def _initialize_variable(size: str, seed: int) -> Job:
    return initialize_variable_job(by_size(size, 2, 16, 64), seed)


def _compute_step_factor(size: str, seed: int) -> Job:
    return compute_step_factor_job(by_size(size, 1, 16, 64), seed)


def _compute_flux(size: str, seed: int) -> Job:
    return compute_flux_job(by_size(size, 1, 8, 32), seed)


KERNELS = (
    ShippedKernel("initialize_variable", "a state from constant memory to all cells",
                  "Lin et al. Table II, CFD_1 (TB of 192)", _initialize_variable, "rodinia",
                  PaperRow("CFD_1", "initialize_variable", warps=6, tbs=8, registers=6, shared_bytes=32)),
    ShippedKernel("compute_step_factor", "time steps of a flow: divisions and roots",
                  "Lin et al. Table II, CFD_2 (TB of 192)", _compute_step_factor, "rodinia",
                  PaperRow("CFD_2", "compute_step_factor", warps=6, tbs=8, registers=8, shared_bytes=48)),
    ShippedKernel("compute_flux", "fluxes of a flow over four faces, three kinds of them",
                  "Lin et al. Table II, CFD_3 (TB of 192)", _compute_flux, "rodinia",
                  PaperRow("CFD_3", "compute_flux", warps=6, tbs=4, registers=39, shared_bytes=36)),
)
