"""What the commands about code and registers write as JSON: each object as a dataclass, for `software.schema`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from caesura.software.compiler.explain.facts import InstructionFacts, LoopFacts, PointFacts, RegionFacts
from caesura.software.compiler.flashback.kernel import FlashbackFacts
from caesura.software.schema import Name

__all__ = ["Assembled", "CacheCleaned", "CacheList", "Compiled", "Explained", "Flashbacks", "Registers",
           "ShippedKernels"]


@dataclass
class ShippedRow:
    """A kernel that ships."""

    name: str
    summary: str
    source: Annotated[str, "what it stands for"]
    block: Annotated[list[int], "threads of a TB"]
    grid: Annotated[list[int], "of the small job"]
    registers: Annotated[int, "vector registers per thread"]
    shared_bytes: int
    local_bytes: Annotated[int, "per thread"]
    constant_bytes: int
    instructions: Annotated[int, "words"]
    stack_depth: Annotated[int, "most entries of the SIMT stack"]
    fits: Annotated[list[str], "names of the geometries it fits: of all presets, or of the one asked for"]
    refusals: Annotated[dict[str, str], "why it does not fit, by name of the geometry"]


@dataclass
class ShippedKernels:
    """`caesura kernels`."""

    kernels: list[ShippedRow]


@dataclass
class Symbol:
    """A variable in constant memory."""

    name: str
    type: str
    offset: int
    size: Annotated[int, "bytes"]


@dataclass
class KernelParameter:
    """A parameter."""

    name: str
    type: str
    offset: int
    size: Annotated[int, "bytes"]
    pointer: bool
    texture: Annotated[bool, "it is known to be a texture object"]


@dataclass
class OriginPlace:
    """A place in CUDA."""

    file: str
    line: int
    column: int
    function: Annotated[str, "that was inlined; else empty"]
    caller: Annotated[int, "number of the place where it was inlined, from 1; 0 for none"]


@dataclass
class KernelCode:
    """A kernel's machine code."""

    name: str
    registers: Annotated[int, "vector registers per thread"]
    predicates: int
    shared_bytes: int
    local_bytes: Annotated[int, "per thread"]
    spill_bytes: Annotated[int, "of them for spilled registers"]
    constant_bytes: int
    stack_depth: int
    symbols: Annotated[list[Symbol], "variables in constant memory"]
    parameters: list[KernelParameter]
    words: Annotated[list[str], "hexadecimal"]
    traps: Annotated[list[str], "words of preemption routines, which follow"]
    lines: Annotated[list[int], "source line of each word, 0 for none"]
    origins: Annotated[list[OriginPlace], "places in CUDA that lines come from"]
    origin_numbers: Annotated[list[int], "place of each word, from 1, 0 for none; empty without `-lineinfo`"]


@dataclass
class Refused:
    """A kernel that cannot be compiled."""

    name: str
    line: int
    column: int
    message: str


@dataclass
class Assembled:
    """`caesura asm` and `caesura disasm`."""

    kernels: list[KernelCode]


@dataclass
class Compiled(Assembled):
    """`caesura compile`."""

    refused: list[Refused]


@dataclass(frozen=True, kw_only=True)
class ExplainedInstruction(InstructionFacts):
    """An instruction, and what a warp that stands before it has to keep."""

    shapes: Annotated[dict[str, str], "live registers known to be `uniform`, `= N`, `stride N` or `stride ?`"]  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True)
class ExplainedPoint(PointFacts):
    """A preemption point."""

    why: Annotated[str, "why it stands there, in words"]


@dataclass(frozen=True, kw_only=True)
class ExplainedRegion(RegionFacts):
    """An idempotent region."""

    why: Annotated[str, "why it begins there, in words"]


@dataclass
class ExplainedKernel:
    """A kernel; numbers of registers, addresses in instruction words, bytes of one warp."""

    name: str
    source: Annotated[str, "file"]
    registers: Annotated[int, "vector registers per thread"]
    predicates: int
    shared_bytes: int
    local_bytes: Annotated[int, "per thread"]
    spill_bytes: Annotated[int, "of them for spilled registers"]
    constant_bytes: int
    stack_depth: int
    idempotent: Annotated[str, "verdict in words"]
    assumption: Annotated[str, "what patterns lean on"]
    warp_size: Annotated[int, "threads of a warp"]
    register_bytes: Annotated[int, "of a vector register of a warp"]
    block: Annotated[tuple[int, int, int] | None, "shape of a TB; null if not known"]
    occupied_bytes: Annotated[int, "all vector registers"]
    uniforms: Annotated[int, "uniform registers used"]
    metadata_bytes: Annotated[int, "bound of the rest of a warp's record"]
    instructions: list[ExplainedInstruction]
    points: list[ExplainedPoint]
    loops: list[LoopFacts]
    regions: list[ExplainedRegion]
    smallest: Annotated[int, "address of the smallest context; in loops, if there are any"]
    largest: Annotated[int, "address of the largest context"]
    longest_interval: Annotated[int | None, "most instructions between preemption points; null: no bound"]
    spoiler: Annotated[tuple[int, int | None] | None,
                       "load and store, or twice the atomic, that keep the kernel from being idempotent; null: none"]
    spoiler_restrict: Annotated[tuple[int, int | None] | None,
                                "as `spoiler`, provided that pointer parameters do not overlap"]


@dataclass
class Explained:
    """`caesura explain`."""

    preset: Annotated[str, "name of the geometry"]
    kernels: list[ExplainedKernel]
    refused: list[Refused]


@dataclass
class Routines:
    """Preemption routines."""

    bodies: Annotated[int, "that are left when instructions share them"]
    steps: Annotated[int, "of all"]


@dataclass
class Copy:
    """A backup that the program makes."""

    pc: Annotated[int, "address it stands before"]
    source: Annotated[str, Name("from")]
    to: str


@dataclass
class FlashbackKernel:
    """A kernel; bytes and cycles of one warp, addresses in instruction words."""

    name: str
    objective: Annotated[str, "what plans are chosen by"]
    window: Annotated[int, "most instructions back"]
    occupied_bytes: Annotated[int, "all registers"]
    mean_bytes: Annotated[dict[str, float], "mean over all instructions, by technique"]
    mean_bytes_in_loops: Annotated[dict[str, float], "each instruction counted ten times for each loop "
                                                       "around it"]
    routines: Routines
    copies: list[Copy]
    instructions: list[FlashbackFacts]


@dataclass
class Flashbacks:
    """`caesura explain --flashback`."""

    preset: Annotated[str, "name of the geometry, or `gfx906`"]
    kernels: list[FlashbackKernel]
    refused: list[Refused]


@dataclass
class RegisterField:
    """A field of a register."""

    name: str
    low: Annotated[int, "lowest bit"]
    width: int
    reset: int
    description: str


@dataclass
class RegisterRow:
    """A register."""

    path: str
    address: Annotated[int, "in bytes"]
    access: str
    description: str
    reset: int
    combine: Annotated[str, "what a device of several SMs reads"]
    last: Annotated[str, "the command whose last SMs alone are read; empty: all SMs"]
    where: Annotated[str, "the attribute of a geometry without which a machine lacks the register"]
    fields: list[RegisterField]


@dataclass
class Registers:
    """`caesura registers`."""

    bytes: Annotated[int, "of the address space"]
    registers: list[RegisterRow]


@dataclass
class CacheEntry:
    """A file of the cache."""

    kind: Annotated[str, "folder"]
    what: str
    design: Annotated[str | None, "null if it is not known"]
    file: Annotated[str, "path in the folder"]
    bytes: int
    unused_seconds: int


@dataclass
class CacheList:
    """`caesura cache`."""

    folder: str
    bytes: int
    entries: list[CacheEntry]


@dataclass
class CacheCleaned:
    """`caesura cache --clean`."""

    folder: str
    removed: Annotated[int, "files"]
    bytes: int
