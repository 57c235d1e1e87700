"""Double precision of the SM: an IEEE 754 binary64 pipeline shared by the lanes."""

from .unit import F64Unit

__all__ = ["F64Unit"]
