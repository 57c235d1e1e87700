"""Kernels after the benchmarks of Li et al. (PEP) Table I that the other folders lack, written from the algorithms.

The references are numpy's, in f64 or f32. They do not follow the order in which nvcc contracts products and sums, and
the special functions of the core approximate; so the results are compared within tolerances.
"""

from __future__ import annotations

import numpy as np

from ..job import Job, ShippedKernel, by_size
from ..numerics import fma

__all__ = ["KERNELS", "blackscholes_job", "cutcp_job", "extract_job", "lbm_job", "mriq_job", "srad_cuda_1_job",
           "srad_cuda_2_job", "stencil_job"]

F32 = np.float32
SIDE = 16
"""Threads per TB of `srad_cuda_1` and `srad_cuda_2` in x and in y."""


def extract_job(count: int, seed: int) -> Job:
    """Return a job of `extract` on `count` pixels."""
    pixels = np.random.default_rng(seed).integers(0, 256, count).astype(F32)
    return Job((-(-count // 512), 1, 1), (512, 1, 1), {"count": count, "image": pixels},
               {"image": np.exp(pixels.astype(float) / 255).astype(F32)}, tolerance={"image": 1e-5})


def srad_cuda_2_job(tiles_y: int, tiles_x: int, seed: int) -> Job:
    """Return a job of `srad_cuda_2` on ``tiles_y x tiles_x`` tiles of 16 x 16 pixels."""
    rng = np.random.default_rng(seed)
    shape = tiles_y * SIDE, tiles_x * SIDE
    east, west, north, south, c, image = (rng.random(shape, F32) for _ in range(6))
    below, right = np.vstack((c[1:], c[-1:])), np.hstack((c[:, 1:], c[:, -1:]))
    change = 0.25 * 0.5 * (c * north + below * south + c * west + right * east)
    return Job((tiles_x, tiles_y, 1), (SIDE, SIDE, 1),
               {"east": east, "west": west, "north": north, "south": south, "coefficient": c, "image": image,
                "columns": shape[1], "rows": shape[0], "lambda": 0.5},
               {"image": (image + change).astype(F32)}, tolerance={"image": 1e-5})


def stencil_job(tiles_y: int, tiles_x: int, planes: int, seed: int) -> Job:
    """Return a job of `stencil` on `planes` planes of ``tiles_y x tiles_x`` tiles of 64 x 4 cells."""
    cells = np.random.default_rng(seed).random((planes, 4 * tiles_y, 64 * tiles_x), F32)
    c0, c1 = F32(1 / 6), F32(1 / 36)
    inner = slice(1, -1)
    around = (cells[2:, inner, inner] + cells[:-2, inner, inner] + cells[inner, :-2, inner] + cells[inner, 2:, inner]
              + cells[inner, inner, :-2] + cells[inner, inner, 2:])
    expected = np.zeros_like(cells)
    expected[inner, inner, inner] = c1 * around - c0 * cells[inner, inner, inner]
    return Job((tiles_x, tiles_y, 1), (32, 4, 1),
               {"c0": float(c0), "c1": float(c1), "from": cells, "to": np.zeros_like(cells), "nx": 64 * tiles_x,
                "ny": 4 * tiles_y, "nz": planes}, {"to": expected}, tolerance={"to": 1e-5})


def mriq_job(blocks: int, samples: int, seed: int) -> Job:
    """Return a job of `mriq` with 256 points per TB, and `samples` samples of k-space."""
    rng = np.random.default_rng(seed)
    k = rng.random((samples, 4), F32)
    x, y, z = (rng.random(256 * blocks, F32) for _ in range(3))
    angle = F32(2 * np.pi) * fma(k[:, 2], z[:, None], fma(k[:, 0], x[:, None], k[:, 1] * y[:, None]))
    weight = k[:, 3].astype(float)
    real, imaginary = ((weight * part(angle.astype(float))).sum(1).astype(F32) for part in (np.cos, np.sin))
    bound = 1e-5 * samples
    return Job((blocks, 1, 1), (256, 1, 1),
               {"samples": samples, "k": k, "x": x, "y": y, "z": z, "real": np.zeros_like(x),
                "imaginary": np.zeros_like(x)}, {"real": real, "imaginary": imaginary},
               tolerance={"real": (bound, None), "imaginary": (bound, None)})


def _normal(d: np.ndarray) -> np.ndarray:
    t = 1 / (1 + 0.2316419 * np.abs(d))
    series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = 0.39894228 * np.exp(-0.5 * d * d) * series
    return np.where(d > 0, 1 - tail, tail)


def blackscholes_job(blocks: int, rounds: int, seed: int) -> Job:
    """Return a job of `blackscholes` with up to `rounds` options per thread."""
    rng = np.random.default_rng(seed)
    count = 128 * blocks * rounds - 11
    price, strike, years = (rng.uniform(low, high, count).astype(F32) for low, high in ((5, 30), (1, 100), (0.25, 10)))
    s, x, t = (a.astype(float) for a in (price, strike, years))
    rate, volatility = 0.02, 0.3
    d1 = (np.log(s / x) + (rate + 0.5 * volatility ** 2) * t) / (volatility * np.sqrt(t))
    n1, n2 = _normal(d1), _normal(d1 - volatility * np.sqrt(t))
    discounted = x * np.exp(-rate * t)
    return Job((blocks, 1, 1), (128, 1, 1),
               {"call": np.zeros(count, F32), "put": np.zeros(count, F32), "price": price, "strike": strike,
                "years": years, "rate": rate, "volatility": volatility, "count": count},
               {"call": (s * n1 - discounted * n2).astype(F32),
                "put": (discounted * (1 - n2) - s * (1 - n1)).astype(F32)}, tolerance={"call": 1e-4, "put": 1e-4})


def cutcp_job(blocks: int, parts: int, seed: int) -> Job:
    """Return a job of `cutcp` with a region per TB, and `parts` times 128 atoms."""
    rng = np.random.default_rng(seed)
    spacing, cutoff2 = F32(0.5), F32(16)
    atom = (rng.random((128 * parts, 4)) * (8 * blocks, 4, 2, 1)).astype(F32)
    region, k, y, x = np.indices((blocks, 4, 8, 16))
    points = np.stack((16 * region + x, y, k), -1).reshape(-1, 1, 3) * float(spacing)
    r2 = ((atom[:, :3].astype(float) - points) ** 2).sum(-1)
    term = atom[:, 3] / np.sqrt(r2) * (1 - r2 / 16) ** 2
    potential = np.where(r2 < 16, term, 0).sum(1).astype(F32)
    return Job((blocks, 1, 1), (128, 1, 1),
               {"atoms": len(atom), "atom": atom, "spacing": float(spacing), "cutoff2": float(cutoff2),
                "inverse_cutoff2": 1 / 16, "potential": np.zeros_like(potential)}, {"potential": potential},
               tolerance={"potential": 1e-4})


def lbm_job(rows: int, planes: int, seed: int, threads: int = 120) -> Job:
    """Return a job of `lbm` on a lattice of ``threads x rows x planes`` cells, one in ten of them solid."""
    rng = np.random.default_rng(seed)
    steps = np.array([(0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1),
                      (1, 1, 0), (-1, -1, 0), (1, -1, 0), (-1, 1, 0), (1, 0, 1), (-1, 0, -1), (1, 0, -1), (-1, 0, 1),
                      (0, 1, 1), (0, -1, -1), (0, 1, -1), (0, -1, 1)])
    back = np.array([0, *(d + 1 if d % 2 else d - 1 for d in range(1, 19))])
    weights = np.array([1 / 3] + [1 / 18] * 6 + [1 / 36] * 12).reshape(-1, 1, 1, 1)
    before = (weights * rng.uniform(0.9, 1.1, (19, planes, rows, threads))).astype(F32)
    solid = (rng.random(before.shape[1:]) < 0.1).astype(np.int32)
    omega = 1.25
    f = np.stack([np.roll(one.astype(float), step[::-1], (0, 1, 2)) for one, step in zip(before, steps, strict=True)])
    density = f.sum(0)
    velocity = np.einsum("di,dzyx->izyx", steps, f) / density
    along = np.einsum("di,izyx->dzyx", steps, velocity)
    equal = weights * density * (1 + 3 * along + 4.5 * along ** 2 - 1.5 * (velocity ** 2).sum(0))
    after = np.where(solid, f[back], f + omega * (equal - f)).astype(F32)
    return Job((rows, planes, 1), (threads, 1, 1),
               {"from": before, "to": np.zeros_like(before), "solid": solid, "omega": omega}, {"to": after},
               tolerance={"to": 1e-5})


def srad_cuda_1_job(tiles_y: int, tiles_x: int, seed: int) -> Job:
    """Return a job of `srad_cuda_1` on ``tiles_y x tiles_x`` tiles of 16 x 16 pixels."""
    rng = np.random.default_rng(seed)
    image = np.exp(rng.normal(0, 0.3, (tiles_y * SIDE, tiles_x * SIDE))).astype(F32)
    here, around, speckle = image.astype(float), np.pad(image.astype(float), 1, mode="edge"), 0.05
    n, s, w, e = (x - here for x in (around[:-2, 1:-1], around[2:, 1:-1], around[1:-1, :-2], around[1:-1, 2:]))
    gradient, laplacian = (n * n + s * s + w * w + e * e) / here ** 2, (n + s + w + e) / here
    variation = (0.5 * gradient - 0.0625 * laplacian ** 2) / (1 + 0.25 * laplacian) ** 2
    c = (1 / (1 + (variation - speckle) / (speckle * (1 + speckle)))).clip(0, 1)
    outputs = {"east": e, "west": w, "north": n, "south": s, "coefficient": c}
    return Job((tiles_x, tiles_y, 1), (SIDE, SIDE, 1),
               {**{name: np.zeros_like(image) for name in outputs}, "image": image, "columns": image.shape[1],
                "rows": image.shape[0], "speckle": speckle},
               {name: one.astype(F32) for name, one in outputs.items()},
               tolerance={name: 1e-4 if name == "coefficient" else 1e-5 for name in outputs})


def _lbm(size: str, seed: int) -> Job:
    return lbm_job(by_size(size, 2, 4, 8), by_size(size, 1, 3, 8), seed)


def _srad_cuda_1(size: str, seed: int) -> Job:
    return srad_cuda_1_job(by_size(size, 2, 4, 8), by_size(size, 1, 3, 6), seed)


def _extract(size: str, seed: int) -> Job:
    return extract_job(by_size(size, 2, 6, 48) * 512 - 77, seed)


def _srad_cuda_2(size: str, seed: int) -> Job:
    return srad_cuda_2_job(by_size(size, 2, 4, 8), by_size(size, 1, 3, 6), seed)


def _stencil(size: str, seed: int) -> Job:
    return stencil_job(by_size(size, 2, 6, 12), by_size(size, 1, 2, 4), by_size(size, 4, 10, 18), seed)


def _mriq(size: str, seed: int) -> Job:
    return mriq_job(by_size(size, 2, 6, 24), by_size(size, 4, 32, 128), seed)


def _blackscholes(size: str, seed: int) -> Job:
    return blackscholes_job(by_size(size, 2, 12, 32), by_size(size, 1, 4, 8), seed)


def _cutcp(size: str, seed: int) -> Job:
    return cutcp_job(by_size(size, 2, 6, 16), by_size(size, 1, 1, 2), seed)


KERNELS: tuple[ShippedKernel, ...] = (
    ShippedKernel("cutcp", "cutoff Coulomb potential on a lattice, atoms in shared memory",
                  "PEP Table I, CP (TB of 128)", _cutcp, "pep"),
    ShippedKernel("lbm", "a step of the lattice-Boltzmann method, D3Q19", "PEP Table I, LBM (TB of 120)", _lbm, "pep"),
    ShippedKernel("mriq", "sums of cosines and sines over k-space", "PEP Table I, MRI (TB of 256)", _mriq, "pep"),
    ShippedKernel("stencil", "f32 3-D stencil along z, planes in shared memory", "PEP Table I, ST (TB of 32x4)",
                  _stencil, "pep"),
    ShippedKernel("blackscholes", "option prices: logarithms, exponentials, roots and divisions",
                  "PEP Table I, BS (TB of 128)", _blackscholes, "pep"),
    ShippedKernel("extract", "exponentials of an image", "PEP Table I, SRAD1 (TB of 512)", _extract, "pep"),
    ShippedKernel("srad_cuda_1", "first half of a diffusion step, tiles in shared memory",
                  "PEP Table I, SRAD2 (TB of 16x16)", _srad_cuda_1, "pep"),
    ShippedKernel("srad_cuda_2", "second half of a diffusion step, tiles in shared memory",
                  "PEP Table I, SRAD2 (TB of 16x16)", _srad_cuda_2, "pep"),
)
"""The kernels of this folder, in the order of the paper's table. The catalogue does not name them yet."""
