"""The JSON of benchmarks of code: its size and registers, the time of the compiler, context flashback, a real GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from caesura.software.schema import MAY_LACK

__all__ = ["CodeBench", "CompileBench", "CtxbackBench", "GpuBench"]


@dataclass
class PtxasCode:
    """The result of ptxas for the same PTX."""

    registers: int
    instructions: int
    seconds: float
    ratio: Annotated[float, "our instructions over its"]
    rolled_instructions: Annotated[int, "where it may not unroll"]
    rolled_ratio: float
    register_ratio: float


@dataclass
class CodeRow:
    """A kernel."""

    kernel: str
    registers: Annotated[int, "vector registers per thread"]
    live: Annotated[int, "most vector registers that are live at one place"]
    seconds: float
    instructions: Annotated[int, "without words of preemption points"]
    points: Annotated[int, "words of preemption points"]
    ptxas: Annotated[PtxasCode | None, "null without ptxas"]
    doubles: Annotated[bool, "it is f64-heavy, and does not ship"]


@dataclass
class CodeMeans:
    """Geometric means of what ships; null without ptxas."""

    ratio: float | None
    rolled_ratio: float | None
    register_ratio: float | None


@dataclass
class WorstKernel:
    """The kernel with the greatest ratio."""

    kernel: str
    ratio: float


@dataclass
class WorstCode:
    """The worst of each set of kernels; null without ptxas."""

    shipped: WorstKernel | None
    doubles: WorstKernel | None


@dataclass
class CodeBench:
    """`caesura bench code`."""

    architecture: str
    limit: float
    missing: Annotated[str | None, "why there is no ptxas"]
    kernels: list[CodeRow]
    mean: CodeMeans
    worst: WorstCode
    met: bool


@dataclass
class CompiledKernel:
    """A kernel that ships."""

    kernel: str
    instructions: int
    seconds: float
    ptxas: Annotated[float | None, "seconds without its start; null without ptxas"]
    ratio: float | None


@dataclass
class CompiledSuite:
    """Kernels that ship."""

    architecture: str
    limit: Annotated[float, "of `mean`"]
    largest_limit: Annotated[float, "of the largest kernels' ratios"]
    missing: Annotated[str | None, "why there is no ptxas"]
    mean: Annotated[float | None, "geometric mean of the ratios"]
    ratio: Annotated[float | None, "of the sums"]
    worst: WorstKernel | None
    largest: list[WorstKernel]
    start: Annotated[float | None, "seconds in which ptxas starts"]
    seconds: Annotated[float, "of all"]
    ptxas: Annotated[float | None, "seconds of all"]
    met: bool
    kernels: list[CompiledKernel]


@dataclass
class StartUp:
    """`caesura compile` of what is in no cache."""

    kernel: str
    seconds: float
    start: Annotated[float, "of these, the start of the process"]
    numpy: Annotated[float, "seconds of a process that imports numpy"]
    ratio: Annotated[float, "`seconds` over `numpy`"]
    limit: float
    met: bool


@dataclass
class LargeKernel:
    """A large kernel."""

    kernel: str
    size: Annotated[int, "asked for"]
    instructions: int
    registers: int
    local_bytes: int
    seconds: float
    peak_bytes: int
    ratio: Annotated[float, "seconds over n ln n"]
    growth: Annotated[float | None, "ratio over that of the smallest"]
    exponent: float | None
    met: bool


@dataclass
class CompileBench:
    """`caesura bench compile`."""

    seconds_limit: float
    doubles_limit: float
    peak_limit: Annotated[int, "bytes"]
    judged_up_to: Annotated[int, "instructions"]
    growth_limit: float
    met: bool
    runs: list[LargeKernel]
    suite: Annotated[CompiledSuite | None, "null without shipped kernels"]
    start_up: Annotated[StartUp | None, "null without shipped kernels"]


@dataclass
class CtxbackRow:
    """A kernel and an objective; mean bytes and estimated cycles of one warp."""

    kernel: str
    objective: str
    instructions: int
    occupied: int
    copies: int
    doubled_window: float
    latency: float
    live_latency: float
    live: float
    strict: float
    relaxed: float
    reverting: float
    flashback: float
    defer: float
    combined: float
    checkpoint: float
    in_loops: Annotated[dict[str, float], "the same, each instruction counted ten times for each loop around it"]


@dataclass
class CtxbackBench:
    """`caesura bench ctxback`; figures by objective."""

    isa: str
    preset: Annotated[str | None, "null on gfx906"]
    window: int
    rows: list[CtxbackRow]
    saved: Annotated[dict[str, dict[str, float]], "by technique: mean share of what is occupied that is not saved"]
    saved_in_loops: Annotated[dict[str, dict[str, float]], "the same, weighted"]
    over_least: Annotated[dict[str, float | None], "flashback over CKPT's points, means of sizes as shares of what is "
                                                   "occupied"]
    over_least_bytes: Annotated[dict[str, float | None], "the same of sums of bytes"]
    paper: dict[str, dict[str, float] | float]
    doubled: Annotated[float, "change of the mean size with twice the window"]


@dataclass
class GpuIdentity:
    """A GPU."""

    name: str
    capability: Annotated[tuple[int, int], "major, minor"]
    driver: Annotated[str, "the CUDA version it supports"]


@dataclass
class GpuRow:
    """A kernel; one that the GPU refused has no figures."""

    kernel: str
    elements: Annotated[int, "compared", MAY_LACK]
    tolerance: Annotated[float | None, "null: to the bit", MAY_LACK]
    wrong_by_reference: Annotated[int, MAY_LACK]
    wrong_by_golden: Annotated[int, MAY_LACK]
    max_error: Annotated[float | None, "to the golden model; null where an infinity or a NaN stands against something "
                                       "else", MAY_LACK]
    refused: Annotated[str | None, "what the GPU said instead of running it"]


@dataclass
class RandomGpuRow:
    """A random kernel that is not right."""

    seed: int
    style: str
    wrong_words: int | None
    wrong_unoptimised: Annotated[int | None, "of the same kernel compiled there without optimisations"]
    refused: str | None


@dataclass
class RandomGpu:
    """Random kernels."""

    kernels: Annotated[int, "how many"]
    wrong: list[RandomGpuRow]


@dataclass
class GpuBench:
    """`caesura bench gpu`."""

    gpu: Annotated[GpuIdentity | None, "null if there is none"]
    skipped: Annotated[str | None, "why it did not run"]
    size: str
    seed: Annotated[int, "of the jobs, and of the first random kernel"]
    met: Annotated[bool, "every kernel ran and is right"]
    runs: list[GpuRow]
    random: RandomGpu
