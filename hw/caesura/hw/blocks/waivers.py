"""What Verilator's ``-Wall`` is told to leave alone in exported netlists, each with its reason."""

import re

__all__ = ["WAIVERS", "named", "waived"]

WAIVERS = {
    "DECLFILENAME": "the modules of a block are in one file",
    "PROCASSINIT": "registers have a value at power-up too, as those of an FPGA",
    "CASEINCOMPLETE": "where no case matches, what was assigned before holds",
    "UNUSEDSIGNAL": "a block may need only some fields of a structure, or no clock",
}
"""Warning and reason."""
NAMES = {"SYMRSVDWORD": "`register` is a word of C++, not of SystemVerilog"}
"""The same for names."""


def named(text: str) -> str:
    """Return a module or package between waivers for names, if it needs them."""
    return waived(text, NAMES) if re.search(r"\bregister\b", text) else text


def waived(text: str, reasons: dict[str, str]) -> str:
    """Return the text between waivers, which end with it."""
    off = "".join(f"/* verilator lint_off {name} */  // {reason}\n"
                  for name, reason in reasons.items())
    on = "".join(f"/* verilator lint_on {name} */\n" for name in reversed(reasons))
    return f"{off}{text}{on}"
