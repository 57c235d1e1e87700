"""All that is proved, in the order in which docs/formal.md lists it."""

from __future__ import annotations

from . import allocating, buses, packing, register_bits, shares
from .property import Property

__all__ = ["PROPERTIES"]

PROPERTIES: tuple[Property, ...] = (
    *packing.PROPERTIES, *allocating.PROPERTIES, *register_bits.PROPERTIES, *buses.PROPERTIES,
    *shares.PROPERTIES)
