"""Jobs of the f32 kernels. Their references do the kernels' operations in the kernels' order, equal to the bit.

Where nvcc contracted a product and a sum, the reference has an `fma`.
"""

from __future__ import annotations

import numpy as np

from ..job import Job
from ..numerics import fma

__all__ = ["saxpy_job", "matmul_job", "hotspot_job", "layerforward_job"]

F32 = np.float32
SIDE = 16
"""Threads per TB in x and in y."""


def saxpy_job(blocks: int, rounds: int, seed: int, threads: int = 256) -> Job:
    """Return a job of `saxpy` with up to `rounds` elements per thread."""
    rng = np.random.default_rng(seed)
    n = blocks * threads * rounds - 11
    a = F32(rng.uniform(-2, 2))
    x, y = (rng.standard_normal(n, F32) for _ in range(2))
    return Job((blocks, 1, 1), (threads, 1, 1), {"a": float(a), "x": x, "y": y, "n": n}, {"y": fma(x, a, y)})


def matmul_job(rows: int, inner: int, columns: int, seed: int) -> Job:
    """Return a job of `matmul` on ``rows x inner`` and ``inner x columns`` matrices."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((rows, inner), F32), rng.standard_normal((inner, columns), F32)
    product = np.zeros((rows, columns), F32)
    for k in range(-(-inner // SIDE) * SIDE):
        left, right = (a[:, k], b[k]) if k < inner else (np.zeros(rows, F32), np.zeros(columns, F32))
        product = fma(left[:, None], right, product)
    grid = -(-columns // SIDE), -(-rows // SIDE), 1
    return Job(grid, (SIDE, SIDE, 1), {"a": a, "b": b, "c": np.zeros((rows, columns), F32), "rows": rows,
                                       "inner": inner, "columns": columns}, {"c": product})


def hotspot_job(rows: int, columns: int, steps: int, seed: int) -> Job:
    """Return a job of `hotspot` with `steps` steps, at most 7, on a chip of 16 mm x 16 mm.

    Raises
    ------
    ValueError
        If a TB would have no cell of its own.
    """
    if not 1 <= steps < SIDE // 2:
        raise ValueError(f"steps must be 1 to {SIDE // 2 - 1}, not {steps}")
    rng = np.random.default_rng(seed)
    temperature = (323 + 10 * rng.random((rows, columns))).astype(F32)
    power = (5 * rng.random((rows, columns))).astype(F32)
    thickness, conductivity = 5e-4, 100.0
    height, width = 0.016 / rows, 0.016 / columns
    inverse_x = F32(2 * conductivity * thickness * height / width)
    inverse_y = F32(2 * conductivity * thickness * width / height)
    inverse_z = F32(conductivity * height * width / thickness)
    step = F32(0.4 / (2 * inverse_x + 2 * inverse_y + inverse_z))  # the explicit scheme is stable below 1
    ambient = F32(80)
    now = temperature
    for _ in range(steps):
        around = np.pad(now, 1, mode="edge")
        twice = now + now
        rate = fma((around[2:, 1:-1] + around[:-2, 1:-1]) - twice, inverse_y, power)
        rate = fma((around[1:-1, 2:] + around[1:-1, :-2]) - twice, inverse_x, rate)
        rate = fma(ambient - now, inverse_z, rate)
        now = fma(rate, step, now)
    own = SIDE - 2 * steps
    return Job((-(-columns // own), -(-rows // own), 1), (SIDE, SIDE, 1),
               {"power": power, "from": temperature, "to": np.zeros((rows, columns), F32), "columns": columns,
                "rows": rows, "steps": steps, "step": float(step), "inverse_x": float(inverse_x),
                "inverse_y": float(inverse_y), "inverse_z": float(inverse_z), "ambient": float(ambient)}, {"to": now})


def layerforward_job(blocks: int, seed: int, hidden: int = SIDE) -> Job:
    """Return a job of `layerforward` with 16 inputs per TB, and the first 16 of `hidden` units."""
    if hidden < SIDE:
        raise ValueError(f"hidden must be at least {SIDE}, not {hidden}")
    rng = np.random.default_rng(seed)
    inputs = rng.random(SIDE * blocks + 1, F32)
    weights = rng.standard_normal((SIDE * blocks + 1, hidden + 1), F32)
    tree = weights[1:, 1:SIDE + 1].reshape(blocks, SIDE, SIDE) * inputs[1:].reshape(blocks, SIDE, 1)
    half = 1
    while half < SIDE:
        tree[:, ::2 * half] = tree[:, ::2 * half] + tree[:, half::2 * half]
        half *= 2
    left = weights.copy()
    left[1:, 1:SIDE + 1] = tree.reshape(-1, SIDE)
    sums = np.zeros((blocks, hidden), F32)
    sums[:, :SIDE] = tree[:, 0]
    return Job((1, blocks, 1), (SIDE, SIDE, 1),
               {"input": inputs, "weights": weights, "partial": np.zeros((blocks, hidden), F32), "hidden": hidden},
               {"weights": left, "partial": sums})
