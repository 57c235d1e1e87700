"""Classes of the encodings of registers, as the tables of the benchmarks count them."""

from __future__ import annotations

from caesura.hw.arch.encodings import Encoding

__all__ = ["CLASSES", "class_of"]

CLASSES = "uniform", "strided", "follows", "low", "random"
"""Of a register that is saved: it ``follows`` from the warp before (only with ``live+tb``), or of its lanes only the
lower bits are kept if it is ``low``."""


def class_of(encoding: Encoding) -> str:
    """Return the class of an encoding: one of `CLASSES`, or ``dead``."""
    if encoding.group:
        return "strided" if encoding.strided else "uniform"
    return encoding.name.lower().partition("_")[0]
