"""The JSON of benchmarks of simulators, of kills, of recorded cycles, and of the model of a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from caesura.sim.bench.golden_speed import Speed as GoldenSpeed
from caesura.sim.bench.recording import Difference
from caesura.sim.model.costs import KernelCosts
from caesura.software.schema import MAY_LACK

from .bench_preemption import OfGeometry
from .run import PreemptionFigures

__all__ = ["CalibrateBench", "CyclesBench", "DeadlineBench", "DevicesBench", "EventsBench", "GoldenBench", "KillBench",
           "LimitsBench", "MachinesBench", "SpeedBench"]


@dataclass
class DeviceRow:
    """A device."""

    sms: int
    cycles: Annotated[int, "of a round"]
    cycles_per_second: Annotated[int, "with one thread"]
    cost: Annotated[float, "processor time per SM and cycle over that of one SM"]
    threads: int
    gain_of_threads: float


@dataclass
class DevicesBench:
    """`caesura bench devices`."""

    preset: str
    rounds: int
    limit: Annotated[float, "of the cost"]
    processors: int
    devices: list[DeviceRow]
    worst_cost: float
    met: bool


@dataclass
class SpeedRow:
    """A kernel; figures by simulator: `first`, `plain`, `optimised`."""

    name: str
    cycles: int
    instructions: Annotated[int, "retired"]
    cycles_per_second: dict[str, int]
    instructions_per_second: dict[str, int]
    ratio: Annotated[dict[str, float], "over `first`"]
    same_cycles: Annotated[bool, "on all simulators"]
    correct: bool


@dataclass
class SpeedBench:
    """`caesura bench speed`."""

    preset: str
    size: str
    rounds: int
    goal: float
    cache_bytes: Annotated[int | None, "second-level cache of a core; null if not known"]
    code_bytes: Annotated[dict[str, int], "of a cycle, by simulator"]
    runs: list[SpeedRow]
    least_ratio: Annotated[float | None, "of the kernels, optimised"]
    correct: bool
    met: bool


@dataclass
class EngineRow:
    """An engine of Amaranth's simulator."""

    ready: Annotated[float, "seconds until the first cycle"]
    cycles: int
    seconds: float
    cycles_per_second: int


@dataclass
class EventsBench:
    """`caesura bench events`."""

    preset: str
    kernel: str
    goal: float
    ratio: Annotated[float, "cycles per second of the event-driven engine over Amaranth's"]
    ready_ratio: Annotated[float, "of the time until the first cycle"]
    same: Annotated[bool, "cycles and memory"]
    met: bool
    engines: Annotated[dict[str, EngineRow], "`amaranth` and `events`"]


@dataclass(frozen=True, kw_only=True)
class GoldenRow(GoldenSpeed):
    """A kernel."""

    numpy_rate: Annotated[int, "warp instructions per second"]
    compiled_rate: Annotated[int, "warp instructions per second"]
    rate_with_build: Annotated[int, "compiled, the time of g++ included"]
    ratio: Annotated[float, "numpy's seconds over the compiled engine's"]


@dataclass
class GoldenBench:
    """`caesura bench golden`."""

    preset: str
    size: str
    build_seconds: Annotated[float, "processor time of g++"]
    gpgpu_sim: Annotated[tuple[int, int], "the slowest and the fastest rate of GPGPU-Sim's functional mode"]
    met: Annotated[bool, "all are correct, and compiled at least as fast as the fastest"]
    runs: list[GoldenRow]


@dataclass
class LimitRow(PreemptionFigures):
    """A preemption; `differences` are of both kernels."""

    kernel: str
    mechanism: str
    gang: Annotated[bool, "thread blocks started together"]


@dataclass
class LimitsBench:
    """`caesura bench limits`."""

    preset: str
    size: str
    met: bool
    runs: list[LimitRow]


@dataclass
class KillBound:
    """The upper bound of a kill, in cycles."""

    left: int
    idle: int
    memory: Annotated[int, "in which memory answers all"]


@dataclass
class KillMoment:
    """A kill, and preempts from the same state."""

    at: Annotated[int, "cycle"]
    left: Annotated[int, "cycles from the kill until thread blocks have left"]
    idle: Annotated[int, "cycles until the slot is free"]
    preempts: Annotated[dict[str, int | None], "cycles by mechanism; null where nothing was saved"]


@dataclass
class KillRow:
    """A kernel."""

    kernel: str
    tbs: int
    warps: Annotated[int, "of a TB"]
    instructions: Annotated[int, "of the check"]
    plain_cycles: Annotated[int, "of the run without the check"]
    cycles: Annotated[int, "of the run with it"]
    correct: bool
    moments: list[KillMoment]


@dataclass
class QueuedReset:
    """A reset of packets in a queue."""

    at: Annotated[int, "cycle"]
    withdraw: bool
    free: Annotated[int, "cycles"]
    kill: Annotated[int, "cycles"]
    whole: Annotated[int, "packets"]
    killed: Annotated[int, "packets"]
    withdrawn: Annotated[int, "packets"]
    left: Annotated[int, "packets"]
    correct: bool


@dataclass
class KillBench:
    """`caesura bench kill`."""

    preset: str
    clock_mhz: float | None
    paper: Annotated[dict[str, float], "REEF, in microseconds"]
    bound: KillBound
    met: Annotated[bool, "all are within the bound, and all results right"]
    kernels: list[KillRow]
    queued: Annotated[list[QueuedReset], "with `--queued`, else empty"]
    size: str


@dataclass
class CyclesBench:
    """`caesura bench cycles`."""

    folder: str
    presets: list[str]
    rows: Annotated[int, "measured"]
    recorded: Annotated[bool, "with `--record`"]
    met: Annotated[bool, "there are no differences"]
    differences: list[Difference]


@dataclass(kw_only=True)
class CalibrateBench(OfGeometry):
    """`caesura bench calibrate`."""

    moments: int
    seed: int
    digest: Annotated[str, "of the geometry"]
    file: Annotated[str | None, "cost file"]
    kernels: Annotated[dict[str, KernelCosts], "as in the cost file"]


@dataclass
class ErrorSpread:
    """Shares."""

    mean: float
    max: float


@dataclass
class MachineErrors:
    """Errors of the model."""

    latency_error: ErrorSpread
    work_error: ErrorSpread
    throughput_error: ErrorSpread


@dataclass
class MachineRun:
    """A workload on a machine."""

    latencies: Annotated[list[int | float], "of each work, in cycles"]
    latency: Annotated[float, "their mean"]
    cycles: int | float
    tbs_per_kilocycle: float
    preempts: int
    seconds: float
    wrong: Annotated[int, "elements of results"]


@dataclass
class WorkloadRow:
    """A workload; errors are shares."""

    workload: int
    way: str
    works: int
    tbs: int
    rtl: MachineRun
    model: MachineRun
    latency_error: float
    work_error: float
    throughput_error: float


@dataclass(kw_only=True)
class MachinesBench(OfGeometry):
    """`caesura bench machines`."""

    sms: int
    seed: int
    kernels: list[str]
    workloads: list[WorkloadRow]
    errors: MachineErrors
    wrong: Annotated[int, "elements of results"]
    aims: Annotated[dict[str, float], "of the mean errors"]
    seconds: Annotated[dict[str, float], "by machine"]
    times_as_fast: float
    met: bool


@dataclass
class DeadlineRow:
    """A way of making room; cycles."""

    way: str
    arrivals: int
    ended: Annotated[int, "urgent kernels"]
    latencies: Annotated[list[int | float], "sorted"]
    cycles: Annotated[int | float, "of the whole run"]
    batch_tbs: Annotated[int, "thread blocks of the long kernel that ended and were not lost"]
    wrong: Annotated[int, "elements of results"]
    seconds: float
    late: int
    min: Annotated[int | float, "unless none has ended", MAY_LACK]
    median: Annotated[float, "unless none has ended", MAY_LACK]
    p99: Annotated[float, "unless none has ended; a value measured", MAY_LACK]
    max: Annotated[float, "unless none has ended", MAY_LACK]
    batch_speed: Annotated[float | None, "over that of `none`; null without it"]


@dataclass(kw_only=True)
class DeadlineBench(OfGeometry):
    """`caesura bench deadline`."""

    machine: str
    sms: int
    clock_mhz: float | None
    seed: int
    batch: Annotated[str, "kernel"]
    tbs: int
    urgent: Annotated[str, "kernel"]
    urgent_tbs: int
    arrivals: int
    every: int
    lead: int
    deadline: int
    runs: list[DeadlineRow]
    met: Annotated[bool, "no result is wrong"]
