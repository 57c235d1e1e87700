"""Registers that one instruction reads and writes, from its row of the table and its printed operands.

1. Results and sources are the registers of the printed operands by their roles, and the registers that the row adds.
2. The old value of a result is a source if the instruction keeps part of it whatever the mask. Such instructions are
   those whose row says so (``keeps``, role ``b``), those with ``dst_unused:UNUSED_PRESERVE`` (SDWA), and those whose
   `op_sel` writes the upper half. With DPP it is a source too, unless lanes without a source write zero
   (``bound_ctrl``) and no row or bank of lanes is masked out.
3. Lanes that are off keep their old values. The analysis of masks handles them (`liveness`): `Access.masked`.
4. An atomic operation with ``glc`` prints its result as its first operand. With a buffer or scalar memory, the result
   replaces the data.
5. Between ``s_set_gpr_idx_on`` and ``off`` a move selects its vector registers at run time: it may read any of them,
   and may write any one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..flashback.blocks import Register
from .opcodes import Kind, Row, row_of
from .operands import EXEC, FLAT_SCRATCH, M0, MODE, SCC, VCC, is_vector, registers, vector
from .text import AssemblyError, Statement

__all__ = ["Access", "access", "accesses_of"]

_IMPLICIT: dict[str, tuple[Register, ...]] = {
    "exec": EXEC, "vcc": VCC, "scc": (SCC,), "m0": (M0,), "mode": (MODE,), "flat_scratch": FLAT_SCRATCH}
_REFUSED = {
    "s_swappc_b64": "calls a function", "s_call_b64": "calls a function", "s_setpc_b64": "jumps to an address in a "
    "register", "s_cbranch_g_fork": "forks", "s_cbranch_i_fork": "forks", "s_cbranch_join": "forks"}
_UNREADABLE_MODIFIERS = {"lds": "loads straight into shared memory", "tfe": "writes a status beside its result",
                         "gds": "uses the global data share"}
_INLINE = "compile with -O3 so that functions are inlined, and without `noinline`"


@dataclass(frozen=True)
class Access:
    """The registers that an instruction reads and writes.

    Attributes
    ----------
    statement : Statement
    row : Row
    defs : tuple of Register
        Results, each once.
    uses : tuple of Register
        All registers it reads. Old values of results are among them if it keeps part of them whatever the mask is.
    keeps : bool
        Whether it keeps part of its vector results whatever the mask is, so that its write kills nothing.
    masked : bool
        Whether it works under ``exec``.
    across : bool
        Whether it reads lanes that may be off.
    """

    statement: Statement
    row: Row
    defs: tuple[Register, ...]
    uses: tuple[Register, ...]
    keeps: bool
    masked: bool
    across: bool

    def operand(self, place: int) -> tuple[Register, ...]:
        """Return the registers of a printed operand."""
        return registers(self.statement.operands[place]) or ()


def accesses_of(statements: list[Statement], vectors: int, file: str) -> list[Access]:
    """Return what each instruction of a kernel reads and writes.

    Parameters
    ----------
    statements : list of Statement
    vectors : int
        Vector registers of the kernel.
    file : str

    Raises
    ------
    AssemblyError
        If the table does not know an instruction, or not in this form.
    """
    found, indexed = [], ""
    for statement in statements:
        one = access(statement, file)
        if one.row.opcode.startswith("s_set_gpr_idx"):
            indexed = " ".join(statement.operands[1:])
        elif indexed and one.row.kind in (Kind.BRANCH, Kind.END):
            raise AssemblyError(file, statement.line, f"{statement.mnemonic} between s_set_gpr_idx_on and off, which "
                                                      "is not read: give what clang-19 prints unchanged")
        found.append(_indexed(one, vectors, "DST" in indexed) if indexed and one.masked else one)
    return found


def _indexed(one: Access, vectors: int, result: bool) -> Access:
    """Return an instruction that selects its vector registers at run time (module, 5)."""
    everything = tuple(vector(number) for number in range(vectors))
    defs = tuple(dict.fromkeys((*one.defs, *everything))) if result else one.defs
    return replace(one, row=replace(one.row, kind=Kind.FIXED), defs=defs, keeps=result or one.keeps, across=False,
                   uses=tuple(dict.fromkeys((*one.uses, *everything, M0))))


def access(statement: Statement, file: str) -> Access:
    """Return what an instruction reads and writes.

    Raises
    ------
    AssemblyError
        If the table does not know it, or not in this form.
    """
    row = row_of(statement.mnemonic)
    if row is None:
        raise AssemblyError(file, statement.line, _why_not(statement.mnemonic))
    for modifier in statement.modifiers:
        if modifier in _UNREADABLE_MODIFIERS:
            raise AssemblyError(file, statement.line, f"{statement.mnemonic} {_UNREADABLE_MODIFIERS[modifier]}, which "
                                                      "is not read: leave the kernel out")
    return _access(statement, row, _by_role(statement, _roles(statement, row), file))


def _why_not(mnemonic: str) -> str:
    if mnemonic in _REFUSED:
        return f"{mnemonic} {_REFUSED[mnemonic]}, which is not read: {_INLINE}"
    return (f"no gfx906 instruction {mnemonic!r} in the table: compile with -mcpu=gfx906, or add its row to "
            "compiler/amdgpu/opcodes")


def _roles(statement: Statement, row: Row) -> str:
    returns = row.kind is Kind.ATOMIC and "glc" in statement.modifiers
    if returns and row.opcode.startswith(("s_", "buffer_")):
        return "b" + row.roles[1:]
    return "d" + row.roles if returns else row.roles


def _by_role(statement: Statement, roles: str, file: str) -> list[tuple[str, tuple[Register, ...]]]:
    """Return roles and registers of the printed operands."""
    operands = statement.operands
    if "-" not in roles and len(operands) != len(roles):
        raise AssemblyError(file, statement.line, f"{statement.mnemonic} has {len(operands)} operands, not "
                                                  f"{len(roles)}: {statement.text}; give it what `clang-19 -S` prints")
    found = []
    for role, operand in zip(roles, operands, strict=False):
        regs = () if role == "-" else registers(operand)
        if regs is None or role in "db" and not regs and operand != "off":
            raise AssemblyError(file, statement.line, f"operand {operand!r} of {statement.mnemonic} is no register or "
                                                      "constant of gfx906; give it what `clang-19 -S` prints")
        found.append((role, regs))
    return found


def _access(statement: Statement, row: Row, operands: list[tuple[str, tuple[Register, ...]]]) -> Access:
    defs = [reg for role, regs in operands if role in "db" for reg in regs]
    uses = [reg for role, regs in operands if role in "sb" for reg in regs]
    keeps = row.keeps or "b" in row.roles or _keeps_part(statement)
    implicit = [reg for word in row.reads for reg in _IMPLICIT[word]]
    written = [reg for word in row.writes for reg in _IMPLICIT[word]]
    if keeps:
        uses += [reg for reg in defs if is_vector(reg)]
    across = row.kind is Kind.LANES or statement.mnemonic.endswith("_dpp")
    return Access(statement, row, tuple(dict.fromkeys((*defs, *written))), tuple(dict.fromkeys((*uses, *implicit))),
                  keeps, "exec" in row.reads and not row.opcode.startswith("s_"), across)


def _keeps_part(statement: Statement) -> bool:
    """Return whether the encoding keeps part of the result (module, 2)."""
    modifiers: dict[str, str] = {}
    for modifier in statement.modifiers:
        key, _, value = modifier.partition(":")
        modifiers[key] = value
    if statement.mnemonic.endswith("_sdwa"):
        return modifiers.get("dst_unused") == "UNUSED_PRESERVE"
    if statement.mnemonic.endswith("_dpp"):
        whole = all(modifiers.get(mask, "0xf") == "0xf" for mask in ("row_mask", "bank_mask"))
        return not (whole and "bound_ctrl" in modifiers)
    return not statement.mnemonic.startswith("v_pk_") and modifiers.get("op_sel", "[0]").rstrip("]").endswith("1")
