"""The reversible vector instructions of gfx906, as data, and the instructions that revert them (CTXBack III-C).

A row applies if the result is the register of source `Reversal.recovered`, and no other source is. The instructions of
`inverse` then compute that source from the result and the other sources, in the lanes of the same mask. A row without
an inverse is an instruction that adds something to the recovered source. Since ``~(~(x + f) + f) = x``, a complement
before and after the same instruction undoes it.

Neither the instruction nor its inverse writes ``vcc`` or ``scc``. So no row has a carry, and the only scalar
instructions are those that leave ``scc`` alone. ``s_add_u32`` and the like write it, so they are not reverted (a backup
takes their place). With a modifier (``clamp``, SDWA, DPP) nothing is reversible. A shift to the left may lose bits, so
it has no row. Two rows hold only for some constants:

* an odd factor has an inverse modulo 2**32; only printed constants are known (no such instruction can hold the inverse,
  which lies in a scalar register of the routine);
* a rotation (``v_alignbit_b32`` of one register twice) by a constant is reverted by a rotation by 32 less the constant.

``tests/software/compiler/amdgpu/test_reversing.py`` proves each row at 8 bits exhaustively, and at 32 bits.
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
        Index of the recovered source.
    inverse : str
        Opcode that recovers it; empty: the complement, the same opcode, the complement.
    order : str
        Sources of the inverse: ``r`` the result, ``x`` the other source, in front so that it may be a constant (VOP2).
    constant : str
        ``"odd"`` if the other source is an odd constant, which the inverse takes inverted; ``"rotation"`` if it is a
        constant, which the inverse takes as 32 less it.
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
"""Rows by opcode and recovered source."""
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
    """Return the register whose old value can be recovered from the new one; None if there is none."""
    return None if reversal(access) is None else access.defs[0]


def steps(access: Access) -> list[tuple[str, tuple[str, ...]]]:
    """Return the instructions that revert a reversible one: opcodes and operands, the result first."""
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
    """Return the constant of the inverse, if the row needs one and the instruction has it."""
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
