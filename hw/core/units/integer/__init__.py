"""Integer arithmetic of the SM: lanes for 32-bit operations and the unit that drives them."""

from .lane import IntegerLane
from .unit import IntegerUnit

__all__ = ["IntegerLane", "IntegerUnit"]
