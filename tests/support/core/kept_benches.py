"""The benches of `support.programs` on blocks and simulators that are kept from test to test."""

from typing import Any

from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.arch.isa.words import Instruction
from caesura.hw.core.front_end.front import FrontEnd
from support.core import front_end, side_units

from ..hw.simulation import Simulator, component

__all__ = ["POINT", "WIDE", "FrontEndBench", "SideBench"]

WIDE = preset("gtx480").replace(warps=6, tb_slots=3, icache_lines=4)
"""A front end of wide warps, small enough to be elaborated soon."""
POINT = [Instruction.make("pp", live=0b11), Instruction.make("pp.div", live=0b111)]
"""A preemption point."""


class FrontEndBench(front_end.FrontEndBench):
    """As `support.core.front_end.FrontEndBench`."""

    def __init__(self, g: Geometry, programs: list[list[Instruction]], **options: Any):
        super().__init__(g, programs, dut=component(FrontEnd, g), simulator=Simulator, **options)


class SideBench(side_units.SideBench):
    """As `support.core.side_units.SideBench`; the unit is kept if it comes from `component`."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments, simulator=Simulator)
