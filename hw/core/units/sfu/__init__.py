"""Special functions of the SM: tables, the lane that interpolates in them,
and the unit around lanes."""

from .errors import ERRORS
from .unit import SpecialFunctionUnit

__all__ = ["ERRORS", "SpecialFunctionUnit"]
