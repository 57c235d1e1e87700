"""OpenCL versions of the benchmarks of CTXBack (Ji and Wang 2020), Table I, and their gfx906 assembly by LLVM 19.

They only serve to count the savings of context flashback on AMD's instruction set (`compiler.amdgpu`). Trip counts are
uniform. Loops are unrolled four to eight times, and sizes are multiples of that number, so that no remainders are left.
The assembly (``make opencl``) lies beside its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["KERNELS", "OpenClKernel"]


@dataclass(frozen=True)
class OpenClKernel:
    """A kernel.

    Attributes
    ----------
    name : str
    abbreviation : str
        Name in the paper's figures.
    about : str
    vector_kib, shared_kib : float
        KiB of vector registers and of shared memory that a warp of the paper's kernel occupies.
    """

    name: str
    abbreviation: str
    about: str
    vector_kib: float
    shared_kib: float = 0.0

    @property
    def assembly(self) -> Path:
        """Path of the assembly."""
        return Path(__file__).parent / f"{self.name}.s"

    @property
    def source(self) -> Path:
        """Path of the source."""
        return Path(__file__).parent / f"{self.name}.cl"


KERNELS: tuple[OpenClKernel, ...] = (
    OpenClKernel("avgpool", "AP", "average pooling, four planes a turn", 7.0),
    OpenClKernel("directconv", "DC", "direct convolution, four output channels a thread, four input ones a turn", 8.0),
    OpenClKernel("dot", "DOT", "f32 dot product, four sums a thread, a tree in shared memory", 6.0, 1.0),
    OpenClKernel("gaussian", "GE", "the elimination step of Gaussian elimination, eight rows a turn", 8.0),
    OpenClKernel("hybridsort", "HS", "keys to 1024 buckets: binary search and counts in shared memory", 7.0, 12.0),
    OpenClKernel("kmeans", "KM", "nearest centre of four points a thread, eight features a turn", 13.0),
    OpenClKernel("lrn", "LRN", "local response normalisation over channels, four a turn", 4.0),
    OpenClKernel("sgemm", "MM", "f32 matrix product, tiles of 4 x 4 in registers, four steps a turn", 13.0, 0.5),
    OpenClKernel("mergesort", "MS", "two lists merged four elements at a time in registers, four a turn", 10.5),
    OpenClKernel("matvec", "MV", "f32 matrix-vector product, four rows, eight columns a turn", 13.0, 0.25),
    OpenClKernel("relu", "RELU", "rectified linear units, eight elements a turn", 4.0),
    OpenClKernel("vectoradd", "VA", "f32 vector addition, four elements a turn", 3.0),
)
"""The kernels by the table's order."""
