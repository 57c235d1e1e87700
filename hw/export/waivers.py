"""Warnings of Verilator's ``-Wall`` that exported netlists disable, each with its reason."""

import re

__all__ = ["NAMES_OF_VECTORS", "WAIVERS", "named", "waived"]

WAIVERS = {
    "DECLFILENAME": "the modules of a block are in one file",
    "PROCASSINIT": "registers have a value at power-up too, as those of an FPGA",
    "VARHIDDEN": "a signal may have the name of an instance around its module",
    "CMPCONST": "where a field has few values, a comparison may be decided",
    "UNOPTFLAT": "no bit depends on itself, only vectors on other bits of theirs",
    "UNUSEDSIGNAL": "a block may need only some fields of a structure, or no clock",
}
"""Reason for each warning."""
NAMES_OF_VECTORS = {"UNOPTFLAT": WAIVERS["UNOPTFLAT"]}
"""The same for the module around a netlist, which gives names to fields of its vectors."""
NAMES = {"SYMRSVDWORD": "words of C++, not of SystemVerilog"}
"""The same for names."""

_CPP = re.compile(r"\b(?:auto|catch|char|double|float|interrupt|long|register|short|throw|try)\b")


def named(text: str) -> str:
    """Return a module or package, between waivers for names if it needs them."""
    return waived(text, NAMES) if _CPP.search(text) else text


def waived(text: str, reasons: dict[str, str]) -> str:
    """Return the text between waivers, which end with it."""
    off = "".join(f"/* verilator lint_off {name} */  // {reason}\n"
                  for name, reason in reasons.items())
    on = "".join(f"/* verilator lint_on {name} */\n" for name in reversed(reasons))
    return f"{off}{text}{on}"
