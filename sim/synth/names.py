"""Translates names of cells after synthesis to names of the source.

Yosys' ``autoname`` names a cell after the nearest wire with a name. So ``save.pieces_TRELLIS_FF_Q_DI_LUT4_Z`` is the
look-up table in front of the register ``save.pieces``.
"""

from __future__ import annotations

import re

__all__ = ["BLOCK", "INNER", "INPUT", "OUTPUT", "module_of", "source_name", "without_brackets"]

BLOCK = "block"
"""Name of the block's instance in its harness."""
INNER = "whole"
"""Name of the instance of a block in its reduced version; source names leave it out."""
INPUT, OUTPUT = "into__", "outof__"
"""Prefixes of the names of the harness's registers at ports."""
_CELL = re.compile(r"_(?:LUT[1-6]|INV|PFUMX|L6MUX21|CCU2C|TRELLIS_[A-Z0-9]+|DP16KD|PDPW16KD|MULT18X18D"
                   r"|SB_[A-Z0-9]+(?:_4K)?|MUXF[78]|CARRY4|FD[RSCP]E|DSP48E1|RAMB\d+E1|RAM\d+\w1?[DMS])_[A-Z].*$")
_PLACED = re.compile(r"\$(?:CCU2_|RAMW|DPR|PACKER|nextpnr|tr_io|glb|sb_io|lc|TRELLIS_IO).*$|_LC$")
_ROWS = re.compile(r"\.\d+\.\d+(?:_[A-Z].*)?$")
_NUMBER = re.compile(r"\$\d+")
_ELEMENT = re.compile(r"(?<=\S)\[(\d+)\]")
_BRACKETS = str.maketrans("<>", "[]")


def without_brackets(text: str) -> str:
    """Return an RTLIL text in which element 3 of an array is called ``<3>``, not ``[3]``; `source_name` reverses this.

    Yosys hands signals to ABC one bit at a time. Bit 3 of ``words`` would have the name of ``words[3]``, a signal of
    many bits, and the result would not fit.
    """
    return _ELEMENT.sub(r"<\1>", text)


def source_name(name: str) -> str:
    """Return the name of a signal in the source: the path of its submodules in the block, then its own name.

    A register of the harness has the name of the port.

    A cell has the name of the nearest named signal. A cell of a memory has the name of the memory. Cells of the placer
    have an empty name.
    """
    name = _CELL.sub("", _PLACED.sub("", name.replace("\\", "").translate(_BRACKETS)))
    name = _NUMBER.sub("", _ROWS.sub("", name))  # Amaranth numbers signals of the same name
    if name.startswith(f"{BLOCK}."):
        return name.removeprefix(f"{BLOCK}.").removeprefix(f"{INNER}.")
    return f"port {name.removeprefix(INPUT).removeprefix(OUTPUT)}" if name else ""


def module_of(name: str) -> str | None:
    """Return the path of a cell's submodule, empty for the block itself, None for the harness."""
    if not name.replace("\\", "").startswith(f"{BLOCK}."):
        return None
    return source_name(name).rpartition(".")[0]
