"""The table of the instructions of gfx906: the reads and writes of each, as data."""

from __future__ import annotations

from .memory import MEMORY
from .rows import Kind, Row
from .scalar import SCALAR
from .vector import VECTOR

__all__ = ["OPCODES", "ENCODINGS", "Kind", "Row", "row_of"]

OPCODES: dict[str, Row] = {row.opcode: row for row in (*SCALAR, *VECTOR, *MEMORY)}
"""Rows by opcode."""
ENCODINGS = ("_e32", "_e64", "_sdwa", "_dpp")
"""Suffixes of vector mnemonics that name an encoding."""


def row_of(mnemonic: str) -> Row | None:
    """Return the row of a mnemonic, without the suffix of its encoding; None if there is none."""
    if mnemonic in OPCODES:
        return OPCODES[mnemonic]
    base, _, encoding = mnemonic.rpartition("_")
    return OPCODES.get(base) if mnemonic.startswith("v_") and f"_{encoding}" in ENCODINGS else None
