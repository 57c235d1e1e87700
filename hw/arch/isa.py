"""The instruction set: one table from which decoder, assembler, golden model and documentation derive.

A word has 64 bits: a 10-bit opcode in bits 63..54 and a 54-bit payload (Lin et al. IV-A), so that a
preemption point carries a whole liveness vector.

Opcode map
----------
======================  ==========================================================================
``0x000 .. 0x07f``      ALU, register form (format ``R``); low 7 bits are `AluOp`
``0x080 .. 0x0ff``      ALU, immediate form (format ``I``): operand b is the 32-bit immediate
``0x100 .. 0x17f``      memory (format ``M``): bits 6..4 `Space`, bit 3 store, bits 2..0 `Size`
``0x180 .. 0x1ff``      control (formats ``B`` and ``G``)
``0x200 .. 0x2ff``      reserved: f64, special functions
``0x300 .. 0x37f``      reserved: uniform data path, atomics, votes, shuffles
``0x380 .. 0x3ff``      preemption (format ``L``): ``pp``, ``pp.div``, and ``bar.pp`` in 16 opcodes
======================  ==========================================================================

Every format but ``L`` has a guard predicate. Source: Lin et al. IV-A, design decisions in
`docs/architecture.md`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .geometry import PC_BITS

__all__ = ["AluOp", "Space", "Size", "Special", "Format", "Unit", "Opcode", "FIELDS", "OPCODES", "BY_NAME",
           "BY_CODE", "PT", "LIVE_BITS", "LIVE_REST", "liveness_vector", "registers_of_vector"]

PT = 7
"""Predicate number that always reads true and ignores writes."""
LIVE_BITS = 54
"""Bits of a liveness vector."""
LIVE_REST = LIVE_BITS - 1
"""Bit of a liveness vector that stands for every allocated register from this number up."""


class AluOp(enum.IntEnum):
    """Operation of a lane; the low 7 bits of an ALU opcode. Those from 64 up are `AluOp.is_float`.

    `a`, `b`, `c` are 32-bit operands, `pa` and `pb` predicate operands (already negated if so encoded).
    Integer arithmetic is modulo 2**32. Floating point is IEEE 754 binary32 with subnormals; RN, RZ, RM, RP round
    to nearest even, to zero, down, up; a result that is not a number is ``0x7fffffff``, but for `FNEG` and `FABS`.
    """

    MOV = 0
    IADD = 1
    ISUB = 2
    IRSUB = 3
    IADDC = 4
    ISUBC = 5
    IMUL_LO = 6
    IMUL_HI_S = 7
    IMUL_HI_U = 8
    IMAD_LO = 9
    AND = 10
    OR = 11
    XOR = 12
    NOT = 13
    SHL = 14
    SHR_U = 15
    SHR_S = 16
    SHF_L = 17
    SHF_R = 18
    IMIN_S = 19
    IMIN_U = 20
    IMAX_S = 21
    IMAX_U = 22
    IABS = 23
    SEXT_8 = 24
    SEXT_16 = 25
    SEL = 27
    SETP_EQ = 32
    SETP_NE = 33
    SETP_LT_S = 34
    SETP_LE_S = 35
    SETP_GT_S = 36
    SETP_GE_S = 37
    SETP_LT_U = 38
    SETP_LE_U = 39
    SETP_GT_U = 40
    SETP_GE_U = 41
    S2R = 42
    LDP = 43
    PAND = 48
    POR = 49
    PXOR = 50
    FADD_RN = 64
    FADD_RZ = 65
    FADD_RM = 66
    FADD_RP = 67
    FSUB_RN = 68
    FSUB_RZ = 69
    FSUB_RM = 70
    FSUB_RP = 71
    FMUL_RN = 72
    FMUL_RZ = 73
    FMUL_RM = 74
    FMUL_RP = 75
    FFMA_RN = 76
    FFMA_RZ = 77
    FFMA_RM = 78
    FFMA_RP = 79
    FSETP_EQ = 80
    FSETP_NE = 81
    FSETP_LT = 82
    FSETP_LE = 83
    FSETP_GT = 84
    FSETP_GE = 85
    FSETP_EQU = 86
    FSETP_NEU = 87
    FSETP_LTU = 88
    FSETP_LEU = 89
    FSETP_GTU = 90
    FSETP_GEU = 91
    FSETP_NUM = 92
    FSETP_NAN = 93
    FMIN = 94
    FMAX = 95
    FNEG = 96
    FABS = 97
    FSAT = 98
    F2I_S_RN = 99
    F2I_S_RZ = 100
    F2I_S_RM = 101
    F2I_S_RP = 102
    F2I_U_RN = 103
    F2I_U_RZ = 104
    F2I_U_RM = 105
    F2I_U_RP = 106
    I2F_S_RN = 107
    I2F_S_RZ = 108
    I2F_S_RM = 109
    I2F_S_RP = 110
    I2F_U_RN = 111
    I2F_U_RZ = 112
    I2F_U_RM = 113
    I2F_U_RP = 114
    FRND_RN = 115
    FRND_RZ = 116
    FRND_RM = 117
    FRND_RP = 118

    @property
    def is_float(self) -> bool:
        """The floating-point lane executes it."""
        return self >= AluOp.FADD_RN


class Space(enum.IntEnum):
    """Address space of a memory instruction (bits 6..4 of its opcode)."""

    GLOBAL = 0
    SHARED = 1


class Size(enum.IntEnum):
    """Access size of a memory instruction (bits 2..0 of its opcode)."""

    U8 = 0
    S8 = 1
    U16 = 2
    S16 = 3
    B32 = 4
    B64 = 5
    B128 = 6

    @property
    def bytes(self) -> int:
        """Bytes accessed by a lane."""
        return (1, 1, 2, 2, 4, 8, 16)[self]

    @property
    def registers(self) -> int:
        """Consecutive vector registers that carry the data; the first is a multiple of this."""
        return (1, 1, 1, 1, 1, 2, 4)[self]


class Special(enum.IntEnum):
    """Special registers, read by ``s2r``. `SMID` and `CLOCK` are volatile: a migrated TB may see them change."""

    LANEID = 0
    WARPID = 1
    SMID = 2
    CLOCK = 3
    TID_X = 4
    TID_Y = 5
    TID_Z = 6
    NTID_X = 8
    NTID_Y = 9
    NTID_Z = 10
    CTAID_X = 12
    CTAID_Y = 13
    CTAID_Z = 14
    NCTAID_X = 16
    NCTAID_Y = 17
    NCTAID_Z = 18


class Unit(enum.IntEnum):
    """Where an instruction executes."""

    ALU = 0
    GLOBAL = 1
    SHARED = 2
    CONTROL = 3


class Format(enum.Enum):
    """Payload layout; the fields are in `FIELDS`."""

    R = "register"
    I = "immediate"  # noqa: E741 - the field's usual name
    M = "memory"
    B = "branch"
    G = "guard only"
    L = "liveness"


_GUARD = {"guard": (50, 3), "guard_not": (53, 1)}

FIELDS: dict[Format, dict[str, tuple[int, int]]] = {
    Format.R: _GUARD | {"d": (44, 6), "a": (38, 6), "b": (32, 6), "c": (26, 6),
                        "pa": (22, 3), "pa_not": (25, 1), "pb": (18, 3), "pb_not": (21, 1), "pd": (15, 3)},
    Format.I: _GUARD | {"d": (44, 6), "pd": (44, 3), "a": (38, 6), "pa": (34, 3), "pa_not": (37, 1),
                        "imm": (0, 32)},
    Format.M: _GUARD | {"d": (44, 6), "a": (38, 6), "no_base": (32, 1), "imm": (0, 32)},
    Format.B: _GUARD | {"target": (PC_BITS, PC_BITS), "reconv": (0, PC_BITS)},
    Format.G: dict(_GUARD),
    Format.L: {"live": (0, LIVE_BITS)},
}
"""Field name to (lowest payload bit, width) for each format."""


@dataclass(frozen=True)
class Opcode:
    """One row of the instruction table.

    Attributes
    ----------
    name : str
        Mnemonic, as the assembler writes it.
    code : int
        10-bit opcode.
    format : Format
        Payload layout.
    unit : Unit
        Where it executes.
    operands : tuple of str
        Operands in assembly order. ``d a b c`` vector registers, ``pd pa pb`` predicates, ``imm``,
        ``sreg`` and ``param`` (both in the immediate), ``mem`` (``[a + imm]``), ``data`` (register field ``d``
        read, of a store), ``target``, ``reconv``, ``live``.
    semantics : str
        One line.
    alu : AluOp or None
        Lane operation of an ALU instruction.
    space, size, store
        Of a memory instruction.
    barrier : int or None
        Barrier id of a ``bar.pp``.
    """

    name: str
    code: int
    format: Format
    unit: Unit
    operands: tuple[str, ...]
    semantics: str
    alu: AluOp | None = None
    space: Space | None = None
    size: Size | None = None
    store: bool = False
    barrier: int | None = None

    @property
    def data_registers(self) -> int:
        """Vector registers written (load, ALU) or read as data (store), from field ``d`` up."""
        if self.size is not None:
            return self.size.registers
        return 1 if "d" in self.operands else 0


_ALU_ROWS: tuple[tuple[AluOp, str, str, str, str], ...] = (
    # operation, mnemonic, operands of the register form, of the immediate form ("" = none), semantics
    (AluOp.MOV, "mov", "d b", "d imm", "d = b"),
    (AluOp.IADD, "iadd", "d a b", "d a imm", "d = a + b"),
    (AluOp.ISUB, "isub", "d a b", "d a imm", "d = a - b"),
    (AluOp.IRSUB, "irsub", "d a b", "d a imm", "d = b - a"),
    (AluOp.IADDC, "iaddc", "d pd a b pa", "", "{pd, d} = a + b + pa"),
    (AluOp.ISUBC, "isubc", "d pd a b pa", "", "{pd, d} = a + ~b + pa; pd is carry, that is, no borrow"),
    (AluOp.IMUL_LO, "imul.lo", "d a b", "d a imm", "d = low half of a * b"),
    (AluOp.IMUL_HI_S, "imul.hi.s", "d a b", "d a imm", "d = high half of the signed product a * b"),
    (AluOp.IMUL_HI_U, "imul.hi.u", "d a b", "d a imm", "d = high half of the unsigned product a * b"),
    (AluOp.IMAD_LO, "imad.lo", "d a b c", "", "d = low half of a * b, plus c"),
    (AluOp.AND, "and", "d a b", "d a imm", "d = a & b"),
    (AluOp.OR, "or", "d a b", "d a imm", "d = a | b"),
    (AluOp.XOR, "xor", "d a b", "d a imm", "d = a ^ b"),
    (AluOp.NOT, "not", "d b", "", "d = ~b"),
    (AluOp.SHL, "shl", "d a b", "d a imm", "d = a << b, 0 if b (unsigned) is above 31"),
    (AluOp.SHR_U, "shr.u", "d a b", "d a imm", "d = a >> b, 0 if b (unsigned) is above 31"),
    (AluOp.SHR_S, "shr.s", "d a b", "d a imm", "d = signed a >> b, all sign bits if b (unsigned) is above 31"),
    (AluOp.SHF_L, "shf.l", "d a b c", "", "d = high word of {b, a} << (c mod 32)"),
    (AluOp.SHF_R, "shf.r", "d a b c", "", "d = low word of {b, a} >> (c mod 32)"),
    (AluOp.IMIN_S, "imin.s", "d a b", "d a imm", "d = signed minimum of a and b"),
    (AluOp.IMIN_U, "imin.u", "d a b", "d a imm", "d = unsigned minimum of a and b"),
    (AluOp.IMAX_S, "imax.s", "d a b", "d a imm", "d = signed maximum of a and b"),
    (AluOp.IMAX_U, "imax.u", "d a b", "d a imm", "d = unsigned maximum of a and b"),
    (AluOp.IABS, "iabs", "d b", "", "d = b < 0 ? -b : b (signed, modulo 2**32)"),
    (AluOp.SEXT_8, "sext.8", "d b", "", "d = bits 7..0 of b, sign-extended"),
    (AluOp.SEXT_16, "sext.16", "d b", "", "d = bits 15..0 of b, sign-extended"),
    (AluOp.SEL, "sel", "d a b pa", "d a imm pa", "d = pa ? a : b"),
    (AluOp.SETP_EQ, "setp.eq", "pd a b", "pd a imm", "pd = a == b"),
    (AluOp.SETP_NE, "setp.ne", "pd a b", "pd a imm", "pd = a != b"),
    (AluOp.SETP_LT_S, "setp.lt.s", "pd a b", "pd a imm", "pd = signed a < b"),
    (AluOp.SETP_LE_S, "setp.le.s", "pd a b", "pd a imm", "pd = signed a <= b"),
    (AluOp.SETP_GT_S, "setp.gt.s", "pd a b", "pd a imm", "pd = signed a > b"),
    (AluOp.SETP_GE_S, "setp.ge.s", "pd a b", "pd a imm", "pd = signed a >= b"),
    (AluOp.SETP_LT_U, "setp.lt.u", "pd a b", "pd a imm", "pd = unsigned a < b"),
    (AluOp.SETP_LE_U, "setp.le.u", "pd a b", "pd a imm", "pd = unsigned a <= b"),
    (AluOp.SETP_GT_U, "setp.gt.u", "pd a b", "pd a imm", "pd = unsigned a > b"),
    (AluOp.SETP_GE_U, "setp.ge.u", "pd a b", "pd a imm", "pd = unsigned a >= b"),
    (AluOp.S2R, "s2r", "", "d sreg", "d = special register"),
    (AluOp.LDP, "ldp", "", "d param", "d = parameter word at byte offset imm (a multiple of 4)"),
    (AluOp.PAND, "pand", "pd pa pb", "", "pd = pa & pb"),
    (AluOp.POR, "por", "pd pa pb", "", "pd = pa | pb"),
    (AluOp.PXOR, "pxor", "pd pa pb", "", "pd = pa ^ pb"),
    (AluOp.FADD_RN, "fadd.rn", "d a b", "d a imm", "d = a + b"),
    (AluOp.FADD_RZ, "fadd.rz", "d a b", "d a imm", "d = a + b"),
    (AluOp.FADD_RM, "fadd.rm", "d a b", "d a imm", "d = a + b"),
    (AluOp.FADD_RP, "fadd.rp", "d a b", "d a imm", "d = a + b"),
    (AluOp.FSUB_RN, "fsub.rn", "d a b", "d a imm", "d = a - b"),
    (AluOp.FSUB_RZ, "fsub.rz", "d a b", "d a imm", "d = a - b"),
    (AluOp.FSUB_RM, "fsub.rm", "d a b", "d a imm", "d = a - b"),
    (AluOp.FSUB_RP, "fsub.rp", "d a b", "d a imm", "d = a - b"),
    (AluOp.FMUL_RN, "fmul.rn", "d a b", "d a imm", "d = a * b"),
    (AluOp.FMUL_RZ, "fmul.rz", "d a b", "d a imm", "d = a * b"),
    (AluOp.FMUL_RM, "fmul.rm", "d a b", "d a imm", "d = a * b"),
    (AluOp.FMUL_RP, "fmul.rp", "d a b", "d a imm", "d = a * b"),
    (AluOp.FFMA_RN, "ffma.rn", "d a b c", "", "d = a * b + c, rounded once"),
    (AluOp.FFMA_RZ, "ffma.rz", "d a b c", "", "d = a * b + c, rounded once"),
    (AluOp.FFMA_RM, "ffma.rm", "d a b c", "", "d = a * b + c, rounded once"),
    (AluOp.FFMA_RP, "ffma.rp", "d a b c", "", "d = a * b + c, rounded once"),
    (AluOp.FSETP_EQ, "fsetp.eq", "pd a b", "pd a imm", "pd = a == b; false if one is a NaN"),
    (AluOp.FSETP_NE, "fsetp.ne", "pd a b", "pd a imm", "pd = a != b, both numbers"),
    (AluOp.FSETP_LT, "fsetp.lt", "pd a b", "pd a imm", "pd = a < b; false if one is a NaN"),
    (AluOp.FSETP_LE, "fsetp.le", "pd a b", "pd a imm", "pd = a <= b; false if one is a NaN"),
    (AluOp.FSETP_GT, "fsetp.gt", "pd a b", "pd a imm", "pd = a > b; false if one is a NaN"),
    (AluOp.FSETP_GE, "fsetp.ge", "pd a b", "pd a imm", "pd = a >= b; false if one is a NaN"),
    (AluOp.FSETP_EQU, "fsetp.equ", "pd a b", "pd a imm", "pd = a == b; true if one is a NaN"),
    (AluOp.FSETP_NEU, "fsetp.neu", "pd a b", "pd a imm", "pd = a != b; true if one is a NaN"),
    (AluOp.FSETP_LTU, "fsetp.ltu", "pd a b", "pd a imm", "pd = a < b; true if one is a NaN"),
    (AluOp.FSETP_LEU, "fsetp.leu", "pd a b", "pd a imm", "pd = a <= b; true if one is a NaN"),
    (AluOp.FSETP_GTU, "fsetp.gtu", "pd a b", "pd a imm", "pd = a > b; true if one is a NaN"),
    (AluOp.FSETP_GEU, "fsetp.geu", "pd a b", "pd a imm", "pd = a >= b; true if one is a NaN"),
    (AluOp.FSETP_NUM, "fsetp.num", "pd a b", "", "pd = neither is a NaN"),
    (AluOp.FSETP_NAN, "fsetp.nan", "pd a b", "", "pd = one is a NaN"),
    (AluOp.FMIN, "fmin", "d a b", "d a imm", "d = minimum of a and b; of a NaN and a number the number; -0 < +0"),
    (AluOp.FMAX, "fmax", "d a b", "d a imm", "d = maximum of a and b; of a NaN and a number the number; -0 < +0"),
    (AluOp.FNEG, "fneg", "d b", "", "d = b with its sign inverted"),
    (AluOp.FABS, "fabs", "d b", "", "d = b with its sign cleared"),
    (AluOp.FSAT, "fsat", "d b", "", "d = b clamped to 0 .. 1, a NaN to +0"),
    (AluOp.F2I_S_RN, "f2i.s.rn", "d b", "", "d = f32 b as signed integer, clamped, a NaN as 0"),
    (AluOp.F2I_S_RZ, "f2i.s.rz", "d b", "", "d = f32 b as signed integer, clamped, a NaN as 0"),
    (AluOp.F2I_S_RM, "f2i.s.rm", "d b", "", "d = f32 b as signed integer, clamped, a NaN as 0"),
    (AluOp.F2I_S_RP, "f2i.s.rp", "d b", "", "d = f32 b as signed integer, clamped, a NaN as 0"),
    (AluOp.F2I_U_RN, "f2i.u.rn", "d b", "", "d = f32 b as unsigned integer, clamped, a NaN as 0"),
    (AluOp.F2I_U_RZ, "f2i.u.rz", "d b", "", "d = f32 b as unsigned integer, clamped, a NaN as 0"),
    (AluOp.F2I_U_RM, "f2i.u.rm", "d b", "", "d = f32 b as unsigned integer, clamped, a NaN as 0"),
    (AluOp.F2I_U_RP, "f2i.u.rp", "d b", "", "d = f32 b as unsigned integer, clamped, a NaN as 0"),
    (AluOp.I2F_S_RN, "i2f.s.rn", "d b", "", "d = signed integer b as f32"),
    (AluOp.I2F_S_RZ, "i2f.s.rz", "d b", "", "d = signed integer b as f32"),
    (AluOp.I2F_S_RM, "i2f.s.rm", "d b", "", "d = signed integer b as f32"),
    (AluOp.I2F_S_RP, "i2f.s.rp", "d b", "", "d = signed integer b as f32"),
    (AluOp.I2F_U_RN, "i2f.u.rn", "d b", "", "d = unsigned integer b as f32"),
    (AluOp.I2F_U_RZ, "i2f.u.rz", "d b", "", "d = unsigned integer b as f32"),
    (AluOp.I2F_U_RM, "i2f.u.rm", "d b", "", "d = unsigned integer b as f32"),
    (AluOp.I2F_U_RP, "i2f.u.rp", "d b", "", "d = unsigned integer b as f32"),
    (AluOp.FRND_RN, "frnd.rn", "d b", "", "d = f32 b rounded to an integral value"),
    (AluOp.FRND_RZ, "frnd.rz", "d b", "", "d = f32 b rounded to an integral value"),
    (AluOp.FRND_RM, "frnd.rm", "d b", "", "d = f32 b rounded to an integral value"),
    (AluOp.FRND_RP, "frnd.rp", "d b", "", "d = f32 b rounded to an integral value"),
)


def _alu_opcodes():
    for op, name, register, immediate, semantics in _ALU_ROWS:
        if register:
            yield Opcode(name, int(op), Format.R, Unit.ALU, tuple(register.split()), semantics, alu=op)
        if immediate:
            suffix = "" if op in (AluOp.S2R, AluOp.LDP) else ".i"
            yield Opcode(name + suffix, 0x80 | op, Format.I, Unit.ALU, tuple(immediate.split()),
                         semantics.replace(" b", " imm") if suffix else semantics, alu=op)


def _memory_opcodes():
    for space in Space:
        unit = Unit.GLOBAL if space is Space.GLOBAL else Unit.SHARED
        where = space.name.lower()
        for size in Size:
            code = 0x100 | space << 4 | size
            yield Opcode(f"ld.{where}.{size.name.lower()}", code, Format.M, unit, ("d", "mem"),
                         f"d = {size.bytes}-byte {where} load at a + imm", space=space, size=size)
            if size not in (Size.S8, Size.S16):
                name = f"b{8 * size.bytes}"
                yield Opcode(f"st.{where}.{name}", code | 8, Format.M, unit, ("mem", "data"),
                             f"{size.bytes}-byte {where} store of d at a + imm; of lanes that write one byte the "
                             "highest wins", space=space, size=size, store=True)


def _control_opcodes():
    control = Unit.CONTROL
    yield Opcode("bra", 0x180, Format.B, control, ("target", "reconv"),
                 "lanes whose guard holds go to target; on divergence all meet again at reconv")
    yield Opcode("exit", 0x181, Format.G, control, (), "lanes whose guard holds end")
    yield Opcode("nop", 0x182, Format.G, control, (), "nothing")
    yield Opcode("membar", 0x183, Format.G, control, (), "wait until the warp's stores are acknowledged")
    yield Opcode("trap", 0x184, Format.G, control, (), "fault if any lane's guard holds")
    yield Opcode("pp", 0x380, Format.L, control, ("live",),
                 "preemption point: if a preempt is pending, stop; live says what to save; a pp.div follows")
    yield Opcode("pp.div", 0x381, Format.L, control, ("live",),
                 "second word of pp: what to save if the SIMT stack is deeper than one entry")
    for barrier in range(16):
        yield Opcode(f"bar.pp.{barrier}", 0x390 | barrier, Format.L, control, ("live",),
                     f"wait at barrier {barrier} for every warp of the TB; a preemption point while waiting",
                     barrier=barrier)


OPCODES: tuple[Opcode, ...] = (*_alu_opcodes(), *_memory_opcodes(), *_control_opcodes())
"""Every instruction, in opcode groups."""
BY_NAME: dict[str, Opcode] = {op.name: op for op in OPCODES}
BY_CODE: dict[int, Opcode] = {op.code: op for op in OPCODES}
assert len(BY_NAME) == len(BY_CODE) == len(OPCODES)


def liveness_vector(registers) -> int:
    """Return the 54-bit vector that saves at least `registers` (an iterable of register numbers)."""
    vector = 0
    for register in registers:
        vector |= 1 << min(register, LIVE_REST)
    return vector


def registers_of_vector(vector: int, allocated: int) -> list[int]:
    """Return the registers that `vector` saves in a warp with `allocated` registers, ascending."""
    return [r for r in range(allocated) if vector >> min(r, LIVE_REST) & 1]
