"""What a row of the table of opcodes says.

The operands of an instruction have *roles*, a letter each, in the order in which they are printed:

=====  =============================================================================================
``d``  a result
``s``  a source
``b``  both: a result that is computed from, or keeps part of, its old value
``-``  no register: a label, a counter, a number
=====  =============================================================================================

How many registers an operand has is printed with it (``v[2:3]``). What is read or written without being printed stands
in `Row.reads` and `Row.writes`: ``exec``, ``vcc``, ``scc``, ``m0``, ``mode``, ``flat_scratch``.
"""

from __future__ import annotations

import enum
import itertools
import re
from dataclasses import dataclass

__all__ = ["Kind", "Row", "rows"]


class Kind(enum.Enum):
    """What an instruction has to do with anything but registers.

    ``COMPUTE`` nothing; ``LANES`` it reads lanes that may be off; ``LOAD``, ``STORE`` and ``ATOMIC`` memory; ``CACHE``
    it makes stores of others visible, or does something to the wave that is not repeated; ``WAIT`` nothing that a
    register shows; ``FIXED`` it cannot be repeated (clocks, the program counter, modes); ``LIMIT`` nothing is done
    again behind it (the barrier; begin and end of a part in which vector registers are found at run time); ``BRANCH``;
    ``END`` of the wave.
    """

    COMPUTE = "compute"
    LANES = "lanes"
    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    CACHE = "cache"
    WAIT = "wait"
    FIXED = "fixed"
    LIMIT = "limit"
    BRANCH = "branch"
    END = "end"


@dataclass(frozen=True)
class Row:
    """A row: one opcode.

    Attributes
    ----------
    opcode : str
        Mnemonic without the suffix of an encoding (``_e32``, ``_e64``, ``_sdwa``, ``_dpp``).
    roles : str
    kind : Kind
    space : str
        Of a memory operation: ``"global"``, ``"lds"``, ``"scratch"``, ``"constant"`` (read through the scalar cache),
        or ``""`` if it may be any.
    reads, writes : tuple of str
        What is read and written without being printed.
    keeps : bool
        It leaves part of its first result as it was.
    """

    opcode: str
    roles: str
    kind: Kind = Kind.COMPUTE
    space: str = ""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    keeps: bool = False


def rows(names: str, roles: str, kind: Kind = Kind.COMPUTE, space: str = "", reads: str = "", writes: str = "",
         keeps: bool = False) -> list[Row]:
    """Return the rows of a family: `names` are words in which ``{a,b}`` stands for either, ``{,a}`` also for nothing;
    `reads` and `writes` are words."""
    return [Row(name, roles, kind, space, tuple(reads.split()), tuple(writes.split()), keeps)
            for word in names.split() for name in _expanded(word)]


def _expanded(word: str) -> list[str]:
    parts = [part[1:-1].split(",") if part.startswith("{") else [part] for part in re.split(r"(\{[^}]*\})", word)]
    return ["".join(choice) for choice in itertools.product(*parts)]
