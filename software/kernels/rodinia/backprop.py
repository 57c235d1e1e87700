"""Back-propagation through a layer of a neural network: jobs of `adjust_weight`."""

from __future__ import annotations

import numpy as np

from ..job import Job, PaperRow, ShippedKernel, by_size
from ..numerics import fma_f64

__all__ = ["KERNELS", "adjust_weight_job"]

F32 = np.float32
SIDE = 16
RATE = MOMENTUM = 0.3


def adjust_weight_job(blocks: int, seed: int, hidden: int = SIDE) -> Job:
    """Return a job of `adjust_weight` with 16 inputs per TB, and the first 16 of `hidden` units.

    Raises
    ------
    ValueError
        If there are fewer than 16 units.
    """
    if hidden < SIDE:
        raise ValueError(f"hidden must be at least {SIDE}, not {hidden}")
    rng = np.random.default_rng(seed)
    sources, units = SIDE * blocks + 1, slice(1, SIDE + 1)
    delta, inputs = rng.standard_normal(hidden + 1, F32), rng.random(sources, F32)
    weights, moves = (rng.standard_normal((sources, hidden + 1), F32) for _ in range(2))
    new_weights, new_moves = weights.copy(), moves.copy()
    wide, last = delta[units].astype(float), MOMENTUM * moves[:, units].astype(float)
    move = fma_f64(RATE * wide, inputs[:, None].astype(float), last)
    move[0] = fma_f64(wide, RATE, last[0])
    new_weights[:, units] = move + weights[:, units]
    new_moves[:, units] = move
    return Job((1, blocks, 1), (SIDE, SIDE, 1),
               {"delta": delta, "hidden": hidden, "input": inputs, "weights": weights, "moves": moves},
               {"weights": new_weights, "moves": new_moves})


def _adjust_weight(size: str, seed: int) -> Job:
    return adjust_weight_job(by_size(size, 2, 12, 96), seed)


KERNELS = (
    ShippedKernel("adjust_weight", "weights moved along their gradients, rates in f64",
                  "Lin et al. Table II, BP_2 (TB of 16x16)", _adjust_weight, "rodinia",
                  PaperRow("BP_2", "adjust_weight", warps=8, tbs=6, registers=18, shared_bytes=40)),
)
