"""The cost of a preemption at each instruction of a kernel, as data."""

from .build import explain
from .facts import InstructionFacts, KernelFacts, LoopFacts, PointFacts, RegionFacts

__all__ = ["explain", "InstructionFacts", "KernelFacts", "LoopFacts", "PointFacts", "RegionFacts"]
