"""The JSON of benchmarks of preemptions: how long they take, and what they save."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from caesura.hw.arch.geometry import Geometry
from caesura.software.schema import MAY_LACK

__all__ = ["Campaign", "CheckpointsBench", "EstimatesBench", "InPlaceBench", "Means", "MechanismsBench", "OfGeometry",
           "PatienceBench", "PointsBench", "TrapsBench"]

Means = dict[str, float]


@dataclass(kw_only=True)
class OfGeometry:
    """The geometry of a result."""

    preset: Annotated[str, "name of the geometry"]
    geometry: Annotated[Geometry | None, "all sizes; null for a preset"]


@dataclass(kw_only=True)
class Campaign(OfGeometry):
    """The results from which `--resume` goes on, with the same settings and the same code."""

    size: Annotated[str, "of the jobs"]
    met: Annotated[bool, "nothing is missing, all results are right, and limits are kept"]


@dataclass(kw_only=True)
class Measured:
    """The kernel of a row."""

    kernel: str
    code: Annotated[str, "hash of its machine code and launch"]


@dataclass
class Spread:
    """Cycles."""

    median: float
    p99: float
    max: float


@dataclass
class AgainstBus:
    """Times without drain, next to what the bus needs."""

    median: float
    bus_median: float
    limit_median: float
    worst_share: Annotated[float, "largest time over its limit"]
    met: bool


@dataclass
class ContextBytes:
    """Means of bytes: of registers of a warp, and of registers and shared memory of the SM."""

    warp_occupied: float
    warp_live: float
    warp_written: float
    warp_metadata: float
    sm_occupied: float
    sm_live: float
    sm_written: float
    sm_metadata: float
    tbs: float
    warps: float


@dataclass(kw_only=True)
class MechanismRow:
    """A kernel and a mechanism; one with an `error` has no figures."""

    kernel: str
    mechanism: str
    code: Annotated[str, "hash of its machine code and launch", MAY_LACK]
    error: Annotated[str, "why it could not be measured", MAY_LACK]
    drawn: Annotated[int, "moments drawn", MAY_LACK]
    preemptions: Annotated[int, "of these before the kernel's end", MAY_LACK]
    saved: Annotated[int, "of these with something to save", MAY_LACK]
    correct: Annotated[bool, MAY_LACK]
    moments: Annotated[list[int], "cycle of each request from the launch", MAY_LACK]
    latencies: Annotated[list[int], "`save_cycles` of each", MAY_LACK]
    latency: Annotated[Spread | None, "null if there is none", MAY_LACK]
    drain: Annotated[Spread | None, "null if there is none", MAY_LACK]
    resume: Annotated[Spread | None, "null if there is none", MAY_LACK]
    save: Annotated[AgainstBus | None, "null if nothing was saved", MAY_LACK]
    restore: Annotated[AgainstBus | None, "null if nothing was saved", MAY_LACK]
    bytes: Annotated[ContextBytes | None, "null if nothing was saved", MAY_LACK]
    classes: Annotated[Means | None, "`live+cp` only: shares of registers saved as `uniform`, `strided`, `low` (upper "
                                     "bits once, lower bits per lane), `random`, `dead` ones, among those allocated",
                       MAY_LACK]


@dataclass(kw_only=True)
class OverheadRow:
    """The cost of preemption points that are never taken; a row with an `error` has no figures."""

    kernel: str
    code: Annotated[str, "hash of its machine code and launch", MAY_LACK]
    error: Annotated[str, "why it could not be measured", MAY_LACK]
    cycles: Annotated[int, MAY_LACK]
    cycles_without: Annotated[int, "compiled without preemption points", MAY_LACK]
    percent: Annotated[float, MAY_LACK]
    limit: Annotated[float, MAY_LACK]
    met: Annotated[bool, MAY_LACK]
    correct: Annotated[bool, MAY_LACK]


@dataclass(kw_only=True)
class MechanismsBench(Campaign):
    """`caesura bench mechanisms`."""

    preemptions: int
    seed: int
    clock_mhz: float | None
    correct: bool
    runs: list[MechanismRow]
    overhead: list[OverheadRow]
    saved_share: Annotated[Means, "share of register context not written, mean over the kernels, by mechanism"]
    paper: Annotated[dict[str, str | float], "figures of Lin et al."]


@dataclass(kw_only=True)
class PatienceRow(Measured):
    """A kernel and a mechanism; cycles by patience: `occupied`, `zero`, `default`, `unlimited` and shares asked for."""

    mechanism: str
    moments: Annotated[int, "those before the kernel's end"]
    worst: dict[str, int]
    mean: Means
    worst_moment: Annotated[Means, "greatest latency over that of `occupied` at the same moment"]
    worst_limit: float
    mean_limit: float
    worst_met: bool
    mean_met: bool


@dataclass
class PatienceSummary:
    """A patience, over all kernels."""

    kernels: int
    relative: Annotated[float, "geometric mean of the mean latency over the lower one of zero and unlimited patience"]
    kept: Annotated[int, "kernels in which that is at most 1"]
    worst: Annotated[float, "worst latency over that of `occupied`, where that is most"]
    over_occupied: Annotated[float, "mean latency over that of `occupied`, mean over the kernels"]
    worst_moment: float


@dataclass(kw_only=True)
class PatienceBench(Campaign):
    """`caesura bench patience`."""

    moments: int
    seed: int
    mechanisms: list[str]
    shares: list[str]
    runs: list[PatienceRow]
    summary: Annotated[dict[str, dict[str, PatienceSummary]], "by mechanism and patience"]


@dataclass(kw_only=True)
class PointsRow(Measured):
    """A kernel with its points placed in one way."""

    interval: Annotated[str, "estimated cycles, or `instructions`"]
    points: int
    words: Annotated[int, "of the code"]
    cycles: Annotated[int, "undisturbed"]
    moments: Annotated[int, "those before the kernel's end"]
    mean: Annotated[Means, "`save_cycles` by `occupied` and by mechanism and patience, as `live zero`"]
    worst: dict[str, int]


@dataclass
class PointsSummary:
    """A placement; means over those with points by instructions."""

    interval: str
    kernels: int
    points: int
    cycles: float
    words: float
    over_occupied: Annotated[Means, "`mean` over that of `occupied` with points by instructions, mean over the kernels"]
    worst: Annotated[Means, "the same of `worst`, the greatest of the kernels"]


@dataclass(kw_only=True)
class PointsBench(Campaign):
    """`caesura bench points`."""

    moments: int
    seed: int
    mechanisms: list[str]
    intervals: list[int]
    runs: list[PointsRow]
    summary: list[PointsSummary]


@dataclass(kw_only=True)
class EstimateErrors:
    """An estimate; errors are over the mean of what came."""

    known: Annotated[int, "moments at which there was one"]
    error: Annotated[float | None, "mean of the absolute difference"]
    bias: Annotated[float | None, "mean of the signed difference"]


@dataclass(kw_only=True)
class DrainEstimate(EstimateErrors):
    """An estimate of a drain."""

    right: Annotated[int, "the shorter of drain and switch would have been chosen"]
    over_best: Annotated[float | None, "cycles of the choices over those of the best"]


@dataclass(kw_only=True)
class EstimateRow(Measured):
    """A kernel; cycles."""

    moments: Annotated[int, "those before the kernel's end"]
    drain: Annotated[float, "mean"]
    switch: Annotated[float, "mean"]
    by_time: DrainEstimate
    by_pace: DrainEstimate
    by_size: EstimateErrors


@dataclass
class EstimateSummary:
    """An estimate, over all kernels."""

    kernels: int
    moments: int
    error: float | None
    bias: float | None
    right: Annotated[int, "but for `by_size`", MAY_LACK]
    over_best: Annotated[float | None, "but for `by_size`", MAY_LACK]


@dataclass(kw_only=True)
class EstimatesBench(Campaign):
    """`caesura bench estimates`."""

    moments: int
    seed: int
    runs: list[EstimateRow]
    summary: Annotated[dict[str, EstimateSummary], "by estimate"]


@dataclass
class BaseFigures:
    """A base."""

    tbs: int
    bytes: int
    registers: int
    occupied_bytes: int
    saves: Annotated[int, "cycles without the drain"]


@dataclass
class IncrementFigures:
    """An increment, and a whole preempt at the same moment."""

    after: Annotated[int, "cycles since the base"]
    with_base: Annotated[int, "thread blocks that had a base"]
    stream_bytes: Annotated[int, "written of them now"]
    base_stream_bytes: Annotated[int, "written of them then"]
    tbs: int
    bytes: int
    whole_bytes: int
    registers: int
    whole_registers: int
    saves: Annotated[int, "cycles without the drain"]
    whole_saves: int


@dataclass(kw_only=True)
class CheckpointRow(Measured):
    """A kernel and a mechanism."""

    mechanism: str
    at: Annotated[int, "cycle of the base"]
    correct: bool
    base: Annotated[BaseFigures | None, "null if the kernel had ended"]
    moments: Annotated[dict[str, IncrementFigures], "of `warning`, `half` and `three quarters`, those with something "
                                                    "to save"]
    restored: Annotated[dict[str, IncrementFigures], "the same of one that is preempted whole at `at`, resumed, and "
                                                     "preempted and resumed twice again"]


@dataclass
class CheckpointSummary:
    """A moment, over all kernels."""

    kernels: int
    with_base: Annotated[int, "kernels that had thread blocks with a base"]
    of_base: Annotated[float | None, "`stream_bytes` over `base_stream_bytes`"]
    of_whole_bytes: float | None
    of_whole_registers: float | None
    of_whole_saves: float | None


@dataclass(kw_only=True)
class CheckpointsBench(Campaign):
    """`caesura bench checkpoints`."""

    mechanisms: list[str]
    runs: list[CheckpointRow]
    summary: Annotated[dict[str, dict[str, CheckpointSummary]], "by mechanism and moment; restored ones are called so"]


@dataclass(kw_only=True)
class Departure:
    """A switch to the newcomer; cycles."""

    saves: Annotated[int, "latency"]
    drains: Annotated[int, "the drain in it"]
    patience: int | str | None
    tbs: Annotated[int, "saved"]
    bytes: int
    registers: Annotated[int, "saved"]
    lines: Annotated[int, "saved"]
    registers_stay: Annotated[int, "thread blocks"]
    lines_stay: Annotated[int, "thread blocks"]
    first: Annotated[int | None, "until the first thread block of the newcomer that came after the request starts; "
                                 "null if none did"]


@dataclass(kw_only=True)
class WholeSwitch(Departure):
    """A switch to the newcomer, and back."""

    newcomer: Annotated[int, "until all of it had ended"]
    evicted_tbs: Annotated[int, "after the preempt, until then"]
    evicted_bytes: int
    restores: Annotated[int | None, "of the resume"]
    resumes: Annotated[int | None, "of the resume"]
    restored_bytes: Annotated[int | None, "of the resume"]
    total: Annotated[int, "until both had ended"]


@dataclass
class InPlaceMoment:
    """A moment: switches with unlimited patience, and with the driver's own."""

    at: Annotated[int, "cycle of the newcomer's launch"]
    complete: WholeSwitch
    in_place: WholeSwitch
    own_complete: Departure
    own_in_place: Departure


@dataclass(kw_only=True)
class InPlaceRow(Measured):
    """A pair of kernels, `K1-K2`."""

    cycles: Annotated[int, "of the first kernel, undisturbed"]
    correct: bool
    moments: Annotated[dict[str, InPlaceMoment], "of `1/4`, `1/2` and `3/4`, those with something to save"]


@dataclass
class InPlaceSummary:
    """Means over pairs of what in place comes to over complete."""

    pairs: int
    saves: float | None
    bytes: float | None
    first: float | None
    newcomer: float | None
    restores: float | None
    total: float | None
    own_saves: float | None
    own_first: float | None


@dataclass(kw_only=True)
class InPlaceBench(Campaign):
    """`caesura bench in-place`."""

    mechanism: str
    paper: Annotated[float, "mean of Lin et al."]
    runs: list[InPlaceRow]
    summary: Annotated[dict[str, InPlaceSummary], "of the pairs `drawn`, those `chosen` and `all`"]


@dataclass
class TrapMoment:
    """A preempt; cycles."""

    latency: int
    drain: int
    tbs: int
    bytes: Annotated[int, "those that routines store included"]
    data: Annotated[int, "bytes without metadata"]
    restore: int
    lost: Annotated[int, "by which the kernel ends later, without those in which the other runs"]


@dataclass(kw_only=True)
class TrapRow(Measured):
    """A kernel and a way."""

    way: Annotated[str, "`occupied`, `points`, or a kind of routines"]
    words: Annotated[int, "of the code"]
    trap_words: Annotated[int, "of vectors and routines"]
    correct: bool
    moments: Annotated[list[TrapMoment | None], "null: the kernel had ended"]


@dataclass
class TrapSummary:
    """A way: means over the kernels, of the moments that all ways have in common."""

    kernels: int
    latency: Annotated[float | None, "over that of `occupied`"]
    bytes: Annotated[float | None, "over those of `occupied`"]
    restore: Annotated[float | None, "over that of `occupied`"]
    latency_of_stored: Annotated[float | None, "over that of routines that store everything"]
    bytes_of_stored: float | None
    restore_of_stored: float | None
    drain: Annotated[float | None, "cycles"]
    lost: Annotated[float | None, "cycles"]
    code: Annotated[float | None, "words of routines over words of code"]
    worst: Annotated[float | None, "greatest latency of a moment over that of `occupied`"]


@dataclass(kw_only=True)
class TrapsBench(Campaign):
    """`caesura bench traps`."""

    mechanism: str
    moments: int
    runs: list[TrapRow]
    summary: Annotated[dict[str, TrapSummary], "by way"]
