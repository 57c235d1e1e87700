"""Operations of the instruction set: what each unit can do, where an instruction executes, what it
addresses.

The values of the enumerations are the bits that stand in opcodes; `hw.arch.isa.opcodes` makes the
instructions of them.
"""

from __future__ import annotations

import enum

__all__ = ["AluOp", "F64Op", "SfuOp", "ExchangeOp", "AtomicOp", "Space", "Size", "Special",
           "UNIFORM_SPECIALS", "Unit", "VOLATILE_SPECIALS"]


class AluOp(enum.IntEnum):
    """Operation of a lane; the low 7 bits of an ALU opcode. Those from 64 up are `AluOp.is_float`.

    `a`, `b`, `c` are 32-bit operands, `pa` and `pb` predicate operands (already negated if so
    encoded). Integer arithmetic is modulo 2**32. Floating point is IEEE 754 binary32 with
    subnormals; RN, RZ, RM, RP round to nearest even, to zero, down, up; a result that is not a
    number is ``0x7fffffff``, but for `FNEG` and `FABS`.
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
    BREV = 26
    SEL = 27
    BFE_U = 28
    BFE_S = 29
    BFI = 30
    PRMT = 31
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
    CLZ = 44
    POPC = 45
    BALLOT = 46
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
    FFTZ = 119

    @property
    def is_float(self) -> bool:
        """The floating-point lane executes it."""
        return self >= AluOp.FADD_RN


class F64Op(enum.IntEnum):
    """Operation of the f64 unit; the low 7 bits of its opcode.

    IEEE 754 binary64 (and binary32) with subnormals; RN, RZ, RM, RP as in `AluOp`; a result that is
    not a number is ``0x7fff_ffff_ffff_ffff`` (binary32: ``0x7fffffff``). D is binary64, F binary32,
    I a 32-bit and L a 64-bit integer.
    """

    DADD_RN = 0
    DADD_RZ = 1
    DADD_RM = 2
    DADD_RP = 3
    DSUB_RN = 4
    DSUB_RZ = 5
    DSUB_RM = 6
    DSUB_RP = 7
    DMUL_RN = 8
    DMUL_RZ = 9
    DMUL_RM = 10
    DMUL_RP = 11
    DFMA_RN = 12
    DFMA_RZ = 13
    DFMA_RM = 14
    DFMA_RP = 15
    DRND_RN = 16
    DRND_RZ = 17
    DRND_RM = 18
    DRND_RP = 19
    D2F_RN = 20
    D2F_RZ = 21
    D2F_RM = 22
    D2F_RP = 23
    D2I_S_RN = 24
    D2I_S_RZ = 25
    D2I_S_RM = 26
    D2I_S_RP = 27
    D2I_U_RN = 28
    D2I_U_RZ = 29
    D2I_U_RM = 30
    D2I_U_RP = 31
    D2L_S_RN = 32
    D2L_S_RZ = 33
    D2L_S_RM = 34
    D2L_S_RP = 35
    D2L_U_RN = 36
    D2L_U_RZ = 37
    D2L_U_RM = 38
    D2L_U_RP = 39
    F2L_S_RN = 40
    F2L_S_RZ = 41
    F2L_S_RM = 42
    F2L_S_RP = 43
    F2L_U_RN = 44
    F2L_U_RZ = 45
    F2L_U_RM = 46
    F2L_U_RP = 47
    L2D_S_RN = 48
    L2D_S_RZ = 49
    L2D_S_RM = 50
    L2D_S_RP = 51
    L2D_U_RN = 52
    L2D_U_RZ = 53
    L2D_U_RM = 54
    L2D_U_RP = 55
    L2F_S_RN = 56
    L2F_S_RZ = 57
    L2F_S_RM = 58
    L2F_S_RP = 59
    L2F_U_RN = 60
    L2F_U_RZ = 61
    L2F_U_RM = 62
    L2F_U_RP = 63
    F2D = 64
    I2D_S = 65
    I2D_U = 66
    DMIN = 67
    DMAX = 68
    DSETP_EQ = 80
    DSETP_NE = 81
    DSETP_LT = 82
    DSETP_LE = 83
    DSETP_GT = 84
    DSETP_GE = 85
    DSETP_EQU = 86
    DSETP_NEU = 87
    DSETP_LTU = 88
    DSETP_LEU = 89
    DSETP_GTU = 90
    DSETP_GEU = 91
    DSETP_NUM = 92
    DSETP_NAN = 93


class SfuOp(enum.IntEnum):
    """Operation of the special-function unit; the low 6 bits of its opcode. Maximum errors:
    `hw.core.units.sfu`."""

    RCP = 0
    RSQ = 1
    SQRT = 2
    EX2 = 3
    LG2 = 4
    SIN = 5
    COS = 6
    RCP64H = 7
    RSQ64H = 8


class ExchangeOp(enum.IntEnum):
    """Operation of the exchange unit; the low 6 bits of its opcode.
    Those with bit 3 set are immediate forms."""

    SHFL_IDX = 0
    SHFL_UP = 1
    SHFL_DOWN = 2
    SHFL_BFLY = 3
    MATCH = 4
    SHFL_IDX_I = 8
    SHFL_UP_I = 9
    SHFL_DOWN_I = 10
    SHFL_BFLY_I = 11


class AtomicOp(enum.IntEnum):
    """Operation of an atomic on a word of memory; the low 4 bits of its opcode. The result is the
    word before.

    `b` and `c` are the operands; `INC` and `DEC` are CUDA's (wrap at b). `FADD` is binary32, round
    to nearest even.
    """

    ADD = 0
    MIN_S = 1
    MIN_U = 2
    MAX_S = 3
    MAX_U = 4
    AND = 5
    OR = 6
    XOR = 7
    EXCH = 8
    CAS = 9
    FADD = 10
    INC = 11
    DEC = 12


class Space(enum.IntEnum):
    """Address space of a memory instruction (bits 6..4 of its opcode)."""

    GLOBAL = 0
    SHARED = 1
    LOCAL = 2
    """Private to a thread: byte offset in its `local_bytes`; 8, 16 or 32 bits an access."""
    CONSTANT = 3
    """Byte offset in the kernel's constant bank; loads only."""
    PARAMETER = 4
    """Byte offset in the kernel's parameters; loads only."""


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
    """Special registers, read by ``s2r``. Those of `VOLATILE_SPECIALS` are volatile:
    a migrated TB may see them change. `SMID` is the number of the SM on its device, `NSMID` that
    of the device's SMs. `CLOCK` and `CLOCK_HIGH` are the words of the count of cycles since
    reset."""

    LANEID = 0
    WARPID = 1
    SMID = 2
    CLOCK = 3
    TID_X = 4
    TID_Y = 5
    TID_Z = 6
    NSMID = 7
    NTID_X = 8
    NTID_Y = 9
    NTID_Z = 10
    CLOCK_HIGH = 11
    CTAID_X = 12
    CTAID_Y = 13
    CTAID_Z = 14
    NCTAID_X = 16
    NCTAID_Y = 17
    NCTAID_Z = 18


VOLATILE_SPECIALS = frozenset({Special.SMID, Special.NSMID, Special.CLOCK, Special.CLOCK_HIGH})
"""Special registers that may change while a TB is away, or as it runs."""
UNIFORM_SPECIALS = frozenset(s for s in Special if not s.name.startswith(("LANEID", "TID_")))
"""Special registers that are the same in all lanes of a warp: those that ``us2r`` reads."""


class Unit(enum.IntEnum):
    """Where an instruction executes."""

    ALU = 0
    GLOBAL = 1
    SHARED = 2
    CONTROL = 3
    F64 = 4
    SFU = 5
    EXCHANGE = 6
    CONSTANT = 7
    UNIFORM = 8
