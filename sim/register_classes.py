"""Classes of the encodings of registers, as the tables of the benchmarks count them."""

from __future__ import annotations

from caesura.hw.arch.image.encodings import Encoding

__all__ = ["CLASSES", "class_of"]

CLASSES = "uniform", "strided", "low", "random"
"""Classes of a register that is saved by itself. Only the lower bits of its lanes are kept if it is ``low``."""


def class_of(encoding: Encoding) -> str:
    """Return the class of an encoding: one of `CLASSES`, ``dead``, or ``follows`` with mechanism ``live+tb``."""
    if encoding.group:
        return "strided" if encoding.strided else "uniform"
    return encoding.name.lower().partition("_")[0]
