"""What Verilator's ``-Wall`` is told to leave alone in exported netlists, each with its reason."""

__all__ = ["WAIVERS", "waived"]

WAIVERS = {
    "DECLFILENAME": "the modules of a block are in one file",
    "PROCASSINIT": "registers have a value at power-up, as those of an FPGA have, besides that of their reset",
    "CASEINCOMPLETE": "where no case matches, what was assigned before the case holds",
    "UNUSEDSIGNAL": "a block may need only some fields of a structure, or no clock",
}
"""Warning and reason."""


def waived(text: str, reasons: dict[str, str] = WAIVERS) -> str:
    """Return the text between waivers, which end with it."""
    off = "".join(f"/* verilator lint_off {name} */  // {reason}\n" for name, reason in reasons.items())
    on = "".join(f"/* verilator lint_on {name} */\n" for name in reversed(reasons))
    return f"{off}{text}{on}"
