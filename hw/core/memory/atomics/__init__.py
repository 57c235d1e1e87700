"""Atomic read-modify-write operations on global and shared memory."""

from .global_unit import GlobalAtomics
from .lane import AtomicLane
from .pipeline import AtomicPipeline

__all__ = ["AtomicLane", "AtomicPipeline", "GlobalAtomics"]
