"""Wavelet transform of images: jobs of `copy_src_to_components` and `fdwt53`."""

from __future__ import annotations

import numpy as np

from ..job import Job, PaperRow, ShippedKernel, by_size

__all__ = ["KERNELS", "copy_src_to_components_job", "fdwt53_job"]

INT32 = np.int32
BLOCK = 256
STRIP, WINDOW = 192, 8


def copy_src_to_components_job(pixels: int, seed: int) -> Job:
    """Return a job of `copy_src_to_components` on random pixels."""
    source = np.random.default_rng(seed).integers(0, 256, (pixels, 3)).astype(np.uint8)
    planes = ("red", "green", "blue")
    empty = {plane: np.zeros(pixels, INT32) for plane in planes}
    return Job((-(-pixels // BLOCK), 1, 1), (BLOCK, 1, 1), {**empty, "source": source, "pixels": pixels},
               {plane: source[:, k].astype(INT32) - 128 for k, plane in enumerate(planes)})


def _lifted(image: np.ndarray) -> np.ndarray:
    """Return the low and the high half of one level of the 5/3 transform along the first axis, mirrored at both ends.
    """
    n = len(image)

    def at(i):
        i = np.abs(i)
        return image[np.maximum(np.where(i < n, i, 2 * (n - 1) - i), 0)]

    odd, even = np.arange(-1, n + 1, 2), np.arange(0, n, 2)
    high = at(odd) - ((at(odd - 1) + at(odd + 1)) >> 1)
    low = at(even) + ((high[:len(even)] + high[1:len(even) + 1] + 2) >> 2)
    return np.concatenate([low, high[1:1 + n // 2]])


def fdwt53_job(columns: int, rows: int, windows: int, seed: int) -> Job:
    """Return a job of `fdwt53` on a random image; a TB processes `windows` windows of eight rows, downwards."""
    image = np.random.default_rng(seed).integers(-128, 128, (rows, columns)).astype(INT32)
    return Job((-(-columns // STRIP), -(-rows // (WINDOW * windows)), 1), (STRIP, 1, 1),
               {"in": image, "out": np.zeros((rows, columns), INT32), "columns": columns, "rows": rows,
                "windows": windows}, {"out": _lifted(_lifted(image.T).T)})


def _copy_src_to_components(size: str, seed: int) -> Job:
    return copy_src_to_components_job(by_size(size, 2, 12, 96) * BLOCK - 21, seed)


def _fdwt53(size: str, seed: int) -> Job:
    return fdwt53_job(by_size(size, 101, 379, 760), by_size(size, 13, 90, 254), by_size(size, 2, 4, 4), seed)


KERNELS = (
    ShippedKernel("copy_src_to_components", "bytes of pixels to planes, staged in shared memory",
                  "Lin et al. Table II, DWT_1 (TB of 256)", _copy_src_to_components, "rodinia",
                  PaperRow("DWT_1", "copySrcToComponents", warps=8, tbs=6, registers=4, shared_bytes=804)),
    ShippedKernel("fdwt53", "5/3 wavelet transform, a window that slides down in shared memory",
                  "Lin et al. Table II, DWT_2 (TB of 192)", _fdwt53, "rodinia",
                  PaperRow("DWT_2", "fdwt53Kernel", warps=6, tbs=5, registers=32, shared_bytes=8668)),
)
