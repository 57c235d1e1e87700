"""Kernels after the benchmarks of CTXBack (Ji and Wang 2020), Table I, and the persistent threads of Lin et al. Fig. 2.

They are written like batch jobs. A few thread blocks loop over all elements, unrolled, with several elements per
thread.
"""

from ..job import Job, ShippedKernel, by_size
from .layers import avgpool_job, directconv_job, lrn_job, relu_job
from .linear import dot_job, gaussian_job, matvec_job, sgemm_job, vectoradd_job
from .sorting import hybridsort_job, kmeans_job, mergesort_job, persistent_job

__all__ = ["KERNELS"]


def _avgpool(size: str, seed: int) -> Job:
    return avgpool_job(by_size(size, 3, 20, 60), by_size(size, 13, 27, 41), by_size(size, 22, 61, 75),
                       by_size(size, 2, 5, 10), seed)


def _directconv(size: str, seed: int) -> Job:
    return directconv_job(by_size(size, 3, 8, 16), by_size(size, 8, 16, 32), by_size(size, 6, 14, 30),
                          by_size(size, 27, 60, 90), by_size(size, 2, 2, 3), seed)


def _dot(size: str, seed: int) -> Job:
    return dot_job(by_size(size, 4_000, 60_000, 400_000) - 7, by_size(size, 2, 6, 18), seed)


def _gaussian(size: str, seed: int) -> Job:
    return gaussian_job(by_size(size, 2, 8, 24), by_size(size, 7, 21, 45), by_size(size, 2, 5, 8), seed)


def _hybridsort(size: str, seed: int) -> Job:
    return hybridsort_job(by_size(size, 1_000, 10_000, 60_000), by_size(size, 1, 5, 12), seed)


def _kmeans(size: str, seed: int) -> Job:
    return kmeans_job(by_size(size, 900, 8_000, 40_000), by_size(size, 5, 9, 20), by_size(size, 2, 8, 16), seed)


def _lrn(size: str, seed: int) -> Job:
    return lrn_job(by_size(size, 7, 24, 48), by_size(size, 300, 2_000, 7_000), by_size(size, 2, 8, 16), seed)


def _sgemm(size: str, seed: int) -> Job:
    return sgemm_job(by_size(size, 40, 122, 190), by_size(size, 21, 60, 130), by_size(size, 30, 125, 200),
                     by_size(size, 2, 8, 16), seed)


def _mergesort(size: str, seed: int) -> Job:
    return mergesort_job(by_size(size, 100, 1_000, 4_000), by_size(size, 5, 13, 29), by_size(size, 2, 8, 16), seed)


def _matvec(size: str, seed: int) -> Job:
    return matvec_job(by_size(size, 13, 110, 300), by_size(size, 600, 1_500, 3_000), by_size(size, 2, 8, 16), seed)


def _relu(size: str, seed: int) -> Job:
    return relu_job(by_size(size, 7_000, 100_000, 600_000) - 3, by_size(size, 2, 12, 24), seed)


def _vectoradd(size: str, seed: int) -> Job:
    return vectoradd_job(by_size(size, 4_000, 60_000, 400_000) - 5, by_size(size, 2, 6, 18), seed)


def _persistent(size: str, seed: int) -> Job:
    return persistent_job(by_size(size, 200, 3_000, 12_000), by_size(size, 2, 8, 24), seed)


KERNELS: tuple[ShippedKernel, ...] = (
    ShippedKernel("avgpool", "average pooling, windows shared by two outputs of a thread",
                  "CTXBack Table I, AP (TB of 32x4)", _avgpool, "ctxback"),
    ShippedKernel("directconv", "direct convolution, four output channels a thread",
                  "CTXBack Table I, DC (TB of 32x4)", _directconv, "ctxback"),
    ShippedKernel("dot", "f32 dot product, four sums a thread, tree in shared memory",
                  "CTXBack Table I, DOT (TB of 256)", _dot, "ctxback"),
    ShippedKernel("gaussian", "Gaussian elimination of many systems, four rows a thread",
                  "CTXBack Table I, GE (TB of 32x4)", _gaussian, "ctxback"),
    ShippedKernel("hybridsort", "keys to 1024 buckets: binary search, shared atomics, scan",
                  "CTXBack Table I, HS (TB of 128)", _hybridsort, "ctxback"),
    ShippedKernel("kmeans", "nearest centre of four points a thread, kept in registers",
                  "CTXBack Table I, KM (TB of 64)", _kmeans, "ctxback"),
    ShippedKernel("lrn", "local response normalisation over channels: roots and a division",
                  "CTXBack Table I, LRN (TB of 128)", _lrn, "ctxback"),
    ShippedKernel("sgemm", "f32 matrix product, tiles of 4 x 4 in registers",
                  "CTXBack Table I, MM (TB of 8x8)", _sgemm, "ctxback"),
    ShippedKernel("mergesort", "a list a thread, merged four by four in registers, divergent",
                  "CTXBack Table I, MS (TB of 64)", _mergesort, "ctxback"),
    ShippedKernel("matvec", "f32 matrix-vector product, four rows and columns a thread",
                  "CTXBack Table I, MV (TB of 64)", _matvec, "ctxback"),
    ShippedKernel("relu", "rectified linear units, vectors of four",
                  "CTXBack Table I, RELU (TB of 128)", _relu, "ctxback"),
    ShippedKernel("vectoradd", "f32 vector addition, four elements a thread and turn",
                  "CTXBack Table I, VA (TB of 256)", _vectoradd, "ctxback"),
    ShippedKernel("persistent", "persistent threads, work taken from a queue by atomics",
                  "Lin et al. Fig. 2 (TB of 64)", _persistent, "ctxback"),
)
"""The kernels of this folder, by the table's order."""
