"""All that is proved, in the order in which docs/formal.md lists it."""

from __future__ import annotations

from . import allocating, packing, register_bits
from .property import Property

__all__ = ["PROPERTIES"]

PROPERTIES: tuple[Property, ...] = (
    *packing.PROPERTIES, *allocating.PROPERTIES, *register_bits.PROPERTIES)
