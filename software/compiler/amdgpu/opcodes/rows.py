"""The rows of the table of opcodes.

The operands of an instruction have *roles*, one letter each, in the order in which they are printed:

=====  =============================================================================================
``d``  a result
``s``  a source
``b``  both, a result that is computed from, or keeps part of, its old value
``-``  no register (a label, a counter or a number)
=====  =============================================================================================

The printed operand says how many registers it has (``v[2:3]``). `Row.reads` and `Row.writes` hold registers that are
read or written without being printed: ``exec``, ``vcc``, ``scc``, ``m0``, ``mode``, ``flat_scratch``.
"""

from __future__ import annotations

import enum
import itertools
import re
from dataclasses import dataclass

__all__ = ["Kind", "Row", "rows"]


class Kind(enum.Enum):
    """The effect of an instruction on anything but registers.

    ``COMPUTE`` has none; ``LANES`` reads lanes that may be off; ``LOAD``, ``STORE`` and ``ATOMIC`` access memory.
    ``CACHE`` makes stores of others visible, or has an effect on the wave that is not repeated. ``WAIT`` changes
    nothing that a register shows. ``FIXED`` cannot be repeated (clocks, the program counter, modes). ``LIMIT`` forbids
    repetition across it (the barrier; begin and end of a part that selects vector registers at run time). ``BRANCH``
    branches; ``END`` ends the wave.
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
    """The row of one opcode.

    Attributes
    ----------
    opcode : str
        Mnemonic without the suffix of an encoding (``_e32``, ``_e64``, ``_sdwa``, ``_dpp``).
    roles : str
    kind : Kind
    space : str
        Space of a memory operation: ``"global"``, ``"lds"``, ``"scratch"``, ``"constant"`` (read through the scalar
        cache), or ``""`` if it may be any.
    reads, writes : tuple of str
        Registers that are read and written without being printed.
    keeps : bool
        Whether it leaves part of its first result as it was.
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
    """Return the rows of a family.

    `names`, `reads` and `writes` are words. In `names`, ``{a,b}`` stands for either, ``{,a}`` also for nothing.
    """
    return [Row(name, roles, kind, space, tuple(reads.split()), tuple(writes.split()), keeps)
            for word in names.split() for name in _expanded(word)]


def _expanded(word: str) -> list[str]:
    parts = [part[1:-1].split(",") if part.startswith("{") else [part] for part in re.split(r"(\{[^}]*\})", word)]
    return ["".join(choice) for choice in itertools.product(*parts)]
