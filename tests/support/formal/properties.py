"""All properties that are proved, in the order of docs/formal.md."""

from __future__ import annotations

from . import (
    allocating,
    buffers,
    buses,
    committing,
    compressing,
    making_room,
    packing,
    reading,
    register_bits,
    sequencing,
    shares,
)
from .property import Property

__all__ = ["PROPERTIES"]

PROPERTIES: tuple[Property, ...] = (
    *compressing.PROPERTIES, *packing.PROPERTIES, *reading.PROPERTIES, *allocating.PROPERTIES, *making_room.PROPERTIES,
    *register_bits.PROPERTIES, *committing.PROPERTIES, *sequencing.PROPERTIES, *buffers.PROPERTIES,
    *buses.PROPERTIES, *shares.PROPERTIES)
