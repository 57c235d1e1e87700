"""The JSON of `caesura run` and `caesura preempt`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from caesura.sim.scenario import Limit
from caesura.sim.trace.statistics import KernelUse, SmUse
from caesura.software.driver.launch.switches import Switches
from caesura.software.job import Verdict
from caesura.software.schema import MAY_LACK, Name

__all__ = ["Preemption", "PreemptionFigures", "Report", "Run"]


@dataclass
class Report:
    """The cost of a preempt or a checkpoint."""

    mechanism: str
    patience: Annotated[int | str | None, "cycles of drain that it was given, or `unlimited`; null with `occupied` and "
                                          "`restart`"]
    grace: Annotated[int | str, "cycles that thread blocks were given to run to their end, or `unlimited`"]
    restart: Annotated[bool, "nothing was saved of thread blocks: they begin anew"]
    checkpoint: Annotated[bool, "they were saved as a base and have run on: `true` in `checkpoints` only"]
    incremental: Annotated[bool, "of those that had a base only what they had written since"]
    in_place: Annotated[bool, "registers and shared memory stayed on the SM as long as nobody needed their room"]
    trap: Annotated[bool, "warps were stopped in the preemption routines of the kernel"]
    select: Annotated[bool, "thread blocks that end sooner than they could be saved were given the grace"]
    scramble: Annotated[bool, "registers that were not saved came back as random bits"]
    save_cycles: Annotated[int | None, "preemption latency: request (or end of the grace) until the SM's resources "
                                       "are free"]
    drain_cycles: Annotated[int | None, "part of it in which no save traffic flows because warps still run"]
    data_bytes: Annotated[int | None, "written: registers and shared memory"]
    metadata_bytes: Annotated[int | None, "written: everything else"]
    registers: Annotated[int | None, "saved"]
    lines: Annotated[int | None, "of shared memory, saved"]
    tbs: Annotated[int | None, "saved"]
    warps: Annotated[int | None, "saved"]
    occupied_bytes: Annotated[int | None, "registers and shared memory that the saved thread blocks had allocated"]
    grace_cycles: Annotated[int | None, "what thread blocks took of the grace, before `save_cycles` begins"]
    counted: Annotated[bool, "false: the machine's counters were those of another command, and what they say is null"]
    patience_over: Annotated[bool | None, "the patience was used up, so warps that had not come to a preemption point "
                                          "stopped where they were; null if that is not known"]


@dataclass
class Resume:
    """The cost of a resume."""

    restore_cycles: Annotated[int | None, "request until all thread blocks run"]
    resume_cycles: Annotated[int | None, "request until the first instruction"]
    bytes: Annotated[int | None, "of entries and of the streams brought back"]
    counted: Annotated[bool, "as of a preempt"]


@dataclass(frozen=True, kw_only=True)
class JudgedLimit(Limit):
    """A time against its limit, in cycles."""

    met: Annotated[bool, "the time is within the limit"]


@dataclass
class SavedWarp:
    """A warp that was saved."""

    warp: int
    pc: int
    depth: Annotated[int, "of the SIMT stack"]
    live_lanes: int
    barrier: Annotated[int | None, "that it waits at"]
    registers: Annotated[int, "saved"]


@dataclass
class SavedTb:
    """A thread block that was saved."""

    launch_id: int
    ctaid: list[int]
    bytes: int
    data_bytes: int
    metadata_bytes: int
    shared_lines: int
    registers_stay: Annotated[bool, "on the SM and not saved"]
    lines_stay: Annotated[bool, "on the SM and not saved"]
    warps: list[SavedWarp]


@dataclass
class PreemptionFigures:
    """The cost of a preemption; its cycles are the kernel's own."""

    at: Annotated[int, "cycle of the request, from the launch"]
    correct: Annotated[bool | None, "verdict on the kernel that ran meanwhile, and those that ran while it was away; "
                                    "null if nothing is expected of it"]
    differences: Annotated[dict[str, int], "wrong elements of each of its arrays"]
    preempt: Report | None
    other_cycles: Annotated[int, "of the other kernel"]
    resume: Resume | None
    rest_cycles: Annotated[int, "from the end of the resume to the next request, or to the end of the kernel"]
    save_limit: Annotated[JudgedLimit | None, "null after a grace, in which others move what they like, and on the "
                                              "golden model"]
    restore_limit: Annotated[JudgedLimit | None, "null on the golden model"]
    live_bytes: Annotated[int, "registers live where the warps stood, and needed by lanes waiting elsewhere, and "
                               "shared memory saved"]
    stored_bytes: Annotated[int, "what warps stored themselves, in preemption routines (`software-...`); not in "
                                 "`preempt.data_bytes`"]
    evicted_tbs: Annotated[int, "thread blocks, of any kernel, that had stayed and were written to memory before all "
                                "were back; 0 unless `preempt.in_place`"]
    evicted_bytes: Annotated[int, "bytes of them"]


@dataclass
class Preemption(PreemptionFigures):
    """A preemption."""

    other: Annotated[str, Name("with"), "what ran meanwhile"]
    mechanism: Annotated[str, "that was asked for"]
    scramble: bool
    gang: bool
    checkpoints: Annotated[list[Report], "bases before it"]
    saved_tbs: list[SavedTb]
    preemptions: Annotated[list[Preemption], "of the other kernel"]
    missed: Annotated[list[int], "of the other kernel"]


@dataclass(frozen=True)
class ComparedArray(Verdict):
    """An array that was compared; a NaN or an infinity in `got` and `expected` is a string."""

    got: int | float | str | None
    expected: int | float | str | None


@dataclass(frozen=True, kw_only=True)
class CountedSm(SmUse):
    """An SM."""

    ipc: Annotated[float, "warp instructions per cycle"]


@dataclass(frozen=True, kw_only=True)
class CountedKernel(KernelUse):
    """A kernel in a slot of an SM."""

    ipc: Annotated[float, "warp instructions per cycle"]


@dataclass
class Counted:
    """The counts of the machine."""

    cycles: int
    ipc: Annotated[float, "warp instructions per cycle, of all SMs together"]
    bus_use: Annotated[float, "share of what the memory could have moved"]
    queue_bytes: Annotated[int, "that hardware queues moved"]
    sms: list[CountedSm]
    kernels: list[CountedKernel]


@dataclass
class Run:
    """`caesura run` and `caesura preempt`."""

    kernel: str
    source: Annotated[str, "`WHAT`"]
    job: Annotated[str | None, "the job file"]
    preset: Annotated[str, "name of the geometry"]
    backend: str
    correct: Annotated[bool | None, "all arrays that were compared are as they should be, of the kernels that ran "
                                    "meanwhile too; null if none of this kernel was"]
    cycles: Annotated[int, "from the launch to the end"]
    run_cycles: Annotated[int, "of them the kernel's own"]
    instructions: Annotated[int, "warp instructions it retired; on the RTL, preemption points at which warps were "
                                 "stopped are among them"]
    tbs: Annotated[int, "thread blocks completed"]
    switches: Annotated[Switches | None, "as the machine counted them; null if its geometry says `profile = false`"]
    arrays: Annotated[list[ComparedArray], "those that were compared"]
    uncompared: Annotated[list[str], "arrays that the kernel may have written and that were compared with nothing"]
    preemptions: Annotated[list[Preemption], "by time"]
    missed: Annotated[list[int], "cycles of requests at which nothing was left to save"]
    written: Annotated[list[str], "files"]
    statistics: Annotated[Counted, "with `--statistics`", MAY_LACK]
