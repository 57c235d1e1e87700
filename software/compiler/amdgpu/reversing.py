"""Which vector instructions of gfx906 can be reverted, as data, and by which instructions (CTXBack III-C).

A row says: if the result is the register of source `Reversal.recovered`, and no other source is, that source is what
the instructions of `inverse` make of the result and the other sources, in the lanes of the same mask. Where a row has
no inverse of its own, the instruction adds something to the recovered source; then, since ``~(~(x + f) + f) = x``, a
complement before and after the same instruction undoes it.

Undoing writes no ``vcc`` and no ``scc``, nor does what is undone: forms with a carry are in no row, and no scalar
instruction but those that leave ``scc`` alone; ``s_add_u32`` and its like write it, so they are not reverted (a backup
takes their place). With a modifier (``clamp``, SDWA, DPP) nothing is reversible. A shift to the left loses bits, as far
as assembly tells, so it is in no row. Two rows hold only for some constants:

* an odd factor has an inverse modulo 2**32; only constants that are printed are known (the inverse, which no such
  instruction can hold, lies in a scalar register of the routine);
* a rotation (``v_alignbit_b32`` of one register twice) by a constant goes back by the rest of 32.

``tests/software/compiler/amdgpu/test_reversing.py`` proves each row at 8 bits by trying everything, and at 32.
"""

from __future__ import annotations

from typing import NamedTuple

from ..flashback.blocks import Register
from .accesses import Access
from .opcodes.rows import rows

__all__ = ["Reversal", "REVERSALS", "recovered", "steps"]


class Reversal(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    opcode : str
    recovered : int
        Place among the sources of the one that is recovered.
    inverse : str
        The opcode that does it, or empty: the complement, the same, the complement.
    order : str
        Its sources: ``r`` the result, ``x`` the other source, in front so that it may be a constant (VOP2).
    constant : str
        ``"odd"``: the other source is an odd constant, and stands inverted in the inverse; ``"rotation"``: it is one,
        and stands as the rest of 32.
    """

    opcode: str
    recovered: int
    inverse: str = ""
    order: str = "xr"
    constant: str = ""


_ROWS = (
    Reversal("v_add_u32", 0, "v_subrev_u32"), Reversal("v_add_u32", 1, "v_subrev_u32"),
    Reversal("v_sub_u32", 0, "v_add_u32"), Reversal("v_sub_u32", 1, "v_sub_u32"),
    Reversal("v_subrev_u32", 0, "v_sub_u32"), Reversal("v_subrev_u32", 1, "v_add_u32"),
    Reversal("v_xor_b32", 0, "v_xor_b32"), Reversal("v_xor_b32", 1, "v_xor_b32"),
    Reversal("v_xnor_b32", 0, "v_xnor_b32"), Reversal("v_xnor_b32", 1, "v_xnor_b32"),
    Reversal("v_not_b32", 0, "v_not_b32", "r"), Reversal("v_bfrev_b32", 0, "v_bfrev_b32", "r"),
    Reversal("s_brev_b32", 0, "s_brev_b32", "r"),
    Reversal("v_mul_lo_u32", 0, "v_mul_lo_u32", "xr", "odd"), Reversal("v_mul_lo_u32", 1, "v_mul_lo_u32", "xr", "odd"),
    Reversal("s_mul_i32", 0, "s_mul_i32", "xr", "odd"), Reversal("s_mul_i32", 1, "s_mul_i32", "xr", "odd"),
    Reversal("v_alignbit_b32", 0, "v_alignbit_b32", "rrx", "rotation"),
    *(Reversal("v_add3_u32", place) for place in (0, 1, 2)),
    *(Reversal(row.opcode, 2) for row in rows("v_lshl_add_u32 v_xad_u32 v_mad_u32_{u24,u16} v_mad_i32_{i24,i16} "
                                              "v_sad_{u8,u16,u32,hi_u8}", "dsss")),
    *(Reversal(row.opcode, 1) for row in rows("v_bcnt_u32_b32 v_mbcnt_{lo,hi}_u32_b32", "dss")),
)
REVERSALS: dict[tuple[str, int], Reversal] = {(row.opcode, row.recovered): row for row in _ROWS}
"""By opcode and source."""
_WORD = 1 << 32


def reversal(access: Access) -> Reversal | None:
    """Return the row by which an instruction can be reverted; None if there is none."""
    statement = access.statement
    if len(access.defs) != 1 or statement.modifiers or statement.mnemonic.endswith(("_sdwa", "_dpp")):
        return None
    sources = [access.operand(place) for place in range(1, len(statement.operands))]
    places = [place for place, regs in enumerate(sources) if set(regs) & set(access.defs)]
    if access.row.opcode == "v_alignbit_b32":
        places = [0] if places == [0, 1] else []
    row = REVERSALS.get((access.row.opcode, places[0])) if len(places) == 1 else None
    return row if row is not None and (not row.constant or _constant(access, row) is not None) else None


def recovered(access: Access) -> Register | None:
    """Return the register whose old value follows from the new one; None if it does not."""
    return None if reversal(access) is None else access.defs[0]


def steps(access: Access) -> list[tuple[str, tuple[str, ...]]]:
    """Return the instructions that revert one that can be reverted: opcodes and operands, the result first."""
    row, (result, *sources) = reversal(access), access.statement.operands
    assert row is not None
    if not row.inverse:
        around = ("v_not_b32", (result, result))
        return [around, (access.row.opcode, (result, *sources)), around]
    others = [source for place, source in enumerate(sources) if place != row.recovered]
    constant = _constant(access, row)
    other = str(constant) if constant is not None else others[0] if others else ""
    return [(row.inverse, (result, *({"r": result, "x": other}[letter] for letter in row.order)))]


def _constant(access: Access, row: Reversal) -> int | None:
    """Return the constant that stands in the inverse, if the row needs one and it is there."""
    if not row.constant:
        return None
    sources = access.statement.operands[1:]
    word = sources[2] if row.constant == "rotation" else sources[1 - row.recovered]
    try:
        value = int(word, 0)
    except ValueError:
        return None
    if row.constant == "rotation":
        return -value % 32
    return pow(value, -1, _WORD) if value & 1 else None
