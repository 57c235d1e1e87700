"""Floating point of the SM: IEEE 754 binary32 lanes and the unit that drives them."""

from .unit import FloatUnit

__all__ = ["FloatUnit"]
