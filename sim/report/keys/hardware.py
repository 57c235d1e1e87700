"""The JSON of `caesura synth`, `caesura board` and `caesura bench area`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from caesura.hw.arch.geometry import Geometry
from caesura.software.schema import MAY_LACK, Name

__all__ = ["AreaBench", "BoardBuild", "BoardIdentity", "Synthesis"]


@dataclass(kw_only=True)
class Cells:
    """Cells of an FPGA."""

    LUT: Annotated[int, "look-up tables"]
    carry: int
    distributed_ram: Annotated[int, Name("distributed RAM")]
    flip_flops: Annotated[int, Name("flip-flops")]
    multipliers: int
    block_ram: Annotated[int, Name("block RAM")]


@dataclass
class Step:
    """A stretch of a path that is called after one signal."""

    near: Annotated[str, "signal"]
    cells: int
    ns: Annotated[float, "routing to it included"]


@dataclass
class CriticalPath:
    """The longest path from clock edge to clock edge."""

    start: Annotated[str, "signal"]
    end: Annotated[str, "signal"]
    ns: float
    routing: Annotated[float, "nanoseconds of them between cells"]
    harness: Annotated[bool, "the path is not the block's"]
    steps: list[Step]


@dataclass(kw_only=True)
class Mapped(Cells):
    """The cells of a device that a block uses."""

    parts: Annotated[dict[str, Cells], "by submodule"]
    lacking: Annotated[dict[str, tuple[int, int]], "what it takes and what there is, by column, where that is too "
                                                   "little; look-up tables of carries and distributed RAM included"]


@dataclass(kw_only=True)
class Placed(Mapped):
    """The size and the speed of a block."""

    mhz: Annotated[float | None, "null if nothing was placed"]
    path: Annotated[CriticalPath | None, "null if nothing was placed"]
    error: Annotated[str, "what the placer says if it fails", MAY_LACK]


@dataclass(kw_only=True)
class SynthesisedBlock(Placed):
    """A block."""

    block: str
    geometry: str


@dataclass
class Synthesis:
    """`caesura synth`."""

    preset: Annotated[str, "name of the geometry"]
    lanes: int
    target: str
    device: str
    seed: int
    clock: Annotated[float | None, "MHz asked for"]
    available: Annotated[dict[str, int], "cells of the device by column"]
    met: Annotated[bool, "each block fits and is placed"]
    blocks: list[SynthesisedBlock]


@dataclass(kw_only=True)
class BoardBuild(Placed):
    """`caesura board build`."""

    board: str
    device: str
    geometry: Annotated[str, "name"]
    left_out: str | None
    memory_bytes: int
    baud: int
    clock: Annotated[float, "MHz asked for"]
    aim: Annotated[float, "MHz"]
    seed: int
    available: Annotated[dict[str, int], "cells of the device by column"]
    met: Annotated[bool, "the board was placed and is as fast as the clock"]
    bitstream: Annotated[str | None, "file"]


@dataclass
class BoardIdentity:
    """`caesura board identify`."""

    port: str
    board: str
    memory_bytes: int
    clock_hz: int
    geometry: Geometry


@dataclass(kw_only=True)
class AreaRow(Cells):
    """The size of a part."""

    block: str


@dataclass(kw_only=True)
class AreaMachine:
    """An SM."""

    parts: list[AreaRow]
    without: Annotated[list[AreaRow], "the same without preemption"]
    sum: AreaRow
    sum_without: AreaRow
    price: Annotated[AreaRow, "of preemption"]
    taken: Annotated[dict[str, int], "by column"]
    room: Annotated[dict[str, int], "by column"]
    fits: bool


@dataclass(kw_only=True)
class AreaEngine:
    """The preemption engine."""

    least: Annotated[AreaRow, "without optional mechanisms"]
    aims: Annotated[dict[str, int], "by column"]
    mechanisms: Annotated[list[AreaRow], "what each adds"]
    inherent: Annotated[list[AreaRow], "what each takes of `least`"]
    aims_met: Annotated[dict[str, bool], "by column"]


@dataclass
class AreaBench:
    """`caesura bench area`."""

    preset: Annotated[str, "name of the geometry"]
    lanes: int
    device: str
    available: Annotated[dict[str, int], "cells of the device by column"]
    spare: Annotated[float, "share of the device that has to be left"]
    met: bool
    machine: Annotated[AreaMachine, "unless `--only mechanisms`", MAY_LACK]
    engine: Annotated[AreaEngine, "unless `--only machine`", MAY_LACK]
