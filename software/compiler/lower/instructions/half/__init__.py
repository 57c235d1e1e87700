"""Instructions on f16 and bf16, computed by those on f32."""

from . import arithmetic, atomics, compare, convert

__all__ = ["arithmetic", "atomics", "compare", "convert"]
