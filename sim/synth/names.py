"""Names of cells after synthesis, told in those of the source.

Yosys' ``autoname`` calls a cell after the nearest wire that has a name: ``save.pieces_TRELLIS_FF_Q_DI_LUT4_Z`` is the
look-up table in front of the register ``save.pieces``.
"""

from __future__ import annotations

import re

__all__ = ["BLOCK", "INNER", "INPUT", "OUTPUT", "module_of", "source_name", "without_brackets"]

BLOCK = "block"
"""Instance of the block in its harness."""
INNER = "whole"
"""Instance of a block in one that is reduced; names leave it out."""
INPUT, OUTPUT = "into__", "outof__"
"""What the names of the harness's registers at a port begin with."""
_CELL = re.compile(r"_(?:LUT[1-6]|INV|PFUMX|L6MUX21|CCU2C|TRELLIS_[A-Z0-9]+|DP16KD|PDPW16KD|MULT18X18D"
                   r"|SB_[A-Z0-9]+(?:_4K)?|MUXF[78]|CARRY4|FD[RSCP]E|DSP48E1|RAMB\d+E1|RAM\d+\w1?[DMS])_[A-Z].*$")
_PLACED = re.compile(r"\$(?:CCU2_|RAMW|DPR|PACKER|nextpnr|tr_io|glb|sb_io|lc|TRELLIS_IO).*$|_LC$")
_ROWS = re.compile(r"\.\d+\.\d+(?:_[A-Z].*)?$")
_NUMBER = re.compile(r"\$\d+")
_ELEMENT = re.compile(r"(?<=\S)\[(\d+)\]")
_BRACKETS = str.maketrans("<>", "[]")


def without_brackets(text: str) -> str:
    """Return an RTLIL text in which element 3 of an array is called ``<3>``, not ``[3]``; `source_name` knows it.

    Yosys hands signals to ABC a bit at a time: bit 3 of ``words`` would have the name of ``words[3]``, a signal of many
    bits, and what comes back does not fit.
    """
    return _ELEMENT.sub(r"<\1>", text)


def source_name(name: str) -> str:
    """Return the name that a signal has in the source: the path of its submodules in the block, then its own; of a
    register of the harness, the port.

    Of a cell, that of the nearest signal with a name; of a memory's, the memory's; empty of what the placer put there.
    """
    name = _CELL.sub("", _PLACED.sub("", name.replace("\\", "").translate(_BRACKETS)))
    name = _NUMBER.sub("", _ROWS.sub("", name))  # Amaranth numbers signals that have one name
    if name.startswith(f"{BLOCK}."):
        return name.removeprefix(f"{BLOCK}.").removeprefix(f"{INNER}.")
    return f"port {name.removeprefix(INPUT).removeprefix(OUTPUT)}" if name else ""


def module_of(name: str) -> str | None:
    """Return the path of the submodule that a cell belongs to, empty for the block itself; None in the harness."""
    if not name.replace("\\", "").startswith(f"{BLOCK}."):
        return None
    return source_name(name).rpartition(".")[0]
