"""Registers of a wave as flashback counts them, and how operands name them.

Vector registers are ``v0`` to ``v255``, one word per lane. Scalar ones are numbered as the machine encodes them: ``s0``
to ``s101``, and the special ones below. The condition code ``scc`` and the mode register have numbers of our own. All
hold 32 bits; masks of 64 lanes (``exec``, ``vcc``, any pair) are two registers.
"""

from __future__ import annotations

import re

from ..flashback.blocks import Register, RegisterClass

__all__ = ["EXEC", "VCC", "SCC", "M0", "MODE", "FLAT_SCRATCH", "SCALARS", "VECTORS", "vector", "scalar", "registers",
           "name", "is_vector"]

VECTORS = 256
"""Vector registers that a wave can have."""
SCALARS = 102
"""Scalar registers that a wave can have, without the special ones."""
_SPECIAL = {"flat_scratch": 102, "xnack_mask": 104, "vcc": 106, "exec": 126}
_SINGLE = {"m0": 124, "scc": 253, "mode": 254}
_PLAIN = re.compile(r"([sv])(\d+)$")
_RANGE = re.compile(r"([sv])\[(\d+):(\d+)\]$")
_TRAPS = re.compile(r"ttmp")
_NO_REGISTER = re.compile(
    r"-?(0x[0-9a-f]+|\d+(\.\d+)?(e[+-]?\d+)?)$|off$|null$|src_(shared|private)_(base|limit)$|[\w.$@+-]*[.@$][\w.$@+-]*$")
_DECORATION = re.compile(r"^-?(?:\|(.*)\||(?:abs|neg|sext)\((.*)\))$")


def vector(number: int) -> Register:
    """Return a vector register."""
    return Register(RegisterClass.VECTOR, number)


def scalar(number: int) -> Register:
    """Return a scalar register."""
    return Register(RegisterClass.SCALAR, number)


EXEC = (scalar(126), scalar(127))
VCC = (scalar(106), scalar(107))
FLAT_SCRATCH = (scalar(102), scalar(103))
M0, SCC, MODE = scalar(124), scalar(253), scalar(254)
_NAMES = {scalar(number + half): f"{word}_{'lo' if half == 0 else 'hi'}" for word, number in _SPECIAL.items()
          for half in (0, 1)} | {scalar(number): word for word, number in _SINGLE.items()}
_BY_NAME = {word: (reg,) for reg, word in _NAMES.items()} | {
    word: (scalar(number), scalar(number + 1)) for word, number in _SPECIAL.items()}


def is_vector(reg: Register) -> bool:
    """Return whether a register has one word per lane."""
    return reg.kind is RegisterClass.VECTOR


def name(reg: Register) -> str:
    """Return the name of a register in assembly."""
    return _NAMES.get(reg, f"{'v' if is_vector(reg) else 's'}{reg.index}")


def registers(operand: str) -> tuple[Register, ...] | None:
    """Return the registers that an operand names, the lowest first; none for a constant, ``off`` or a symbol.

    Returns
    -------
    tuple of Register, or None
        None if the operand is not understood.
    """
    bare = operand.lstrip("-") if operand[:2] != "-0" else operand
    while (inner := _DECORATION.match(bare)) is not None:
        bare = next(group for group in inner.groups() if group is not None).lstrip("-")
    if (found := _BY_NAME.get(bare)) is not None:
        return found
    if (plain := _PLAIN.match(bare)) is not None:
        return _numbered(plain[1], int(plain[2]), int(plain[2]))
    if (span := _RANGE.match(bare)) is not None:
        return _numbered(span[1], int(span[2]), int(span[3]))
    return () if _NO_REGISTER.match(bare) else None


def _numbered(letter: str, first: int, last: int) -> tuple[Register, ...] | None:
    if last < first or last >= (VECTORS if letter == "v" else SCALARS):
        return None
    kind = RegisterClass.VECTOR if letter == "v" else RegisterClass.SCALAR
    return tuple(Register(kind, number) for number in range(first, last + 1))
