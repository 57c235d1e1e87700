"""The reversible instructions of our set, as data, and the instructions that revert them (CTXBack III-C).

A row applies if the result is the register of source `Reversal.recovered`. Then `inverse` computes that source from the
result and the other source, in the same lanes. No row writes a predicate beside its result, or reads one that it could
change, so reverting does not touch carries. Instructions that round, saturate or clamp have no row. Two rows hold only
for some constants:

* an odd factor has an inverse modulo 2**32, an even one has none;
* a shift to the left is reversible if the bits it shifts out are known to be zero.

``tests/software/compiler/flashback/test_reversing.py`` proves each row at 8 bits exhaustively, and at 32 bits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ..ir.kernel import Imm, Op, Pred, Reg
from ..ir.spec import machine_opcode

__all__ = ["Reversal", "REVERSALS", "ROTATIONS", "reverting"]


class Reversal(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    opcode : str
        Mnemonic, without ``.i``.
    recovered : int
        Index in `Op.uses` of the source that is recovered.
    inverse : str
        Mnemonic of the inverse, which takes the result and, if there is one, the other source, in this order.
    constant : str
        The other source must be a constant that is ``"odd"`` (the inverse takes it inverted), or that shifts out
        zeros (``"lossless"``); empty if any will do.
    """

    opcode: str
    recovered: int
    inverse: str
    constant: str = ""


_ROWS = (
    Reversal("iadd", 0, "isub"), Reversal("iadd", 1, "isub"),
    Reversal("isub", 0, "iadd"), Reversal("isub", 1, "irsub"),
    Reversal("irsub", 0, "irsub"), Reversal("irsub", 1, "iadd"),
    Reversal("xor", 0, "xor"), Reversal("xor", 1, "xor"), Reversal("not", 0, "not"),
    Reversal("imul.lo", 0, "imul.lo", "odd"), Reversal("shl", 0, "shr.u", "lossless"))
REVERSALS: dict[tuple[str, int], Reversal] = {
    (row.opcode, row.recovered): row
    for row in (*_ROWS, *(row._replace(opcode="u" + row.opcode, inverse="u" + row.inverse) for row in _ROWS),
                Reversal("pxor", 0, "pxor"), Reversal("pxor", 1, "pxor"))}
"""Rows by mnemonic and recovered source. A negation is ``irsub`` from 0."""
ROTATIONS = {"shf.l": "shf.r", "shf.r": "shf.l"}
"""Funnel shifts whose first two sources are one register, and their inverses."""


def reverting(op: Op, leading_zeros: int = 0) -> Op | None:
    """Return the instruction that recovers the value `op` (stage ``machine``) has overwritten; None if there is none.

    Parameters
    ----------
    op : Op
    leading_zeros : int
        Leading bits of the overwritten source that are known to have been zero, 0 to 32.
    """
    if len(op.defs) != 1 or op.defs[0] is None:
        return None
    result = op.defs[0]
    registers = [use.reg if isinstance(use, Pred) else use for use in op.uses]
    places = [k for k, reg in enumerate(registers) if reg == result]
    if op.guard is not None and op.guard.reg == result:
        return None
    if op.name in ROTATIONS and places == [0, 1]:
        return replace(op, name=ROTATIONS[op.name])
    row = REVERSALS.get((op.name, places[0])) if len(places) == 1 else None
    if row is None:
        return None
    others = [use for k, use in enumerate(op.uses) if k != row.recovered]
    if row.constant and not _holds(row, others, leading_zeros):
        return None
    if row.constant == "odd":
        others = [Imm(pow(others[0].value, -1, 1 << 32))]
    source = Pred(result, op.uses[row.recovered].negated) if isinstance(op.uses[row.recovered], Pred) else result
    found = replace(op, name=row.inverse, uses=(source, *others))
    return found if machine_opcode(found) is not None else None


def _holds(row: Reversal, others: list[Imm | Reg | Pred], leading_zeros: int) -> bool:
    constant = others[0]
    if not isinstance(constant, Imm):
        return False
    return bool(constant.value & 1) if row.constant == "odd" else constant.value <= leading_zeros
