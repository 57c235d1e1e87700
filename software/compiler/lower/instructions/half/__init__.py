"""Instructions on f16 and bf16, computed by f32 instructions."""

from . import arithmetic, atomics, compare, convert

__all__ = ["arithmetic", "atomics", "compare", "convert"]
