"""Integer operations of the instruction table on plain Python integers, one lane."""

from caesura.hw.arch.isa.opcodes import AluOp

WORD = 1 << 32
VALUES = (0, 1, 2, 31, 32, 33, 0x7F, 0x80, 0xFF80, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, WORD - 1, WORD - 32,
          0x0408, 0x2000, 0x1F01, 0x081F, 0x2020, 0x0120, 0xFF00, 0x40FF, 0x3210, 0xFEDC)


def signed(x: int) -> int:
    return x - WORD if x >> 31 else x


def extracted(a: int, b: int, signed_field: bool) -> int:
    """Return what PTX bfe gives for position b[7:0] and length b[15:8], bit by bit as its manual puts it."""
    position, length = b & 255, b >> 8 & 255
    sign = a >> min(position + length - 1, 31) & 1 if signed_field and length else 0
    bits = [a >> position + i & 1 if i < length and position + i <= 31 else sign for i in range(32)]
    return sum(bit << i for i, bit in enumerate(bits))


def inserted(a: int, b: int, c: int) -> int:
    """Return what PTX bfi gives, bit by bit."""
    position, length = b & 255, b >> 8 & 255
    for i in range(length):
        if position + i <= 31:
            bit = 1 << position + i
            c = c & ~bit | (bit if a >> i & 1 else 0)
    return c


def permuted(a: int, b: int, c: int) -> int:
    """Return what PTX prmt gives in its default mode, byte by byte."""
    source = (a | b << 32).to_bytes(8, "little")
    chosen = [(source[c >> 4 * i & 7], c >> 4 * i + 3 & 1) for i in range(4)]
    return int.from_bytes(bytes((255 if byte > 127 else 0) if sign else byte for byte, sign in chosen), "little")


def reference(op: AluOp, a: int, b: int, c: int, pa: bool, pb: bool) -> tuple[int | None, bool | None]:
    """Return (d, pd) of one lane as the instruction table words it."""
    sa, sb = signed(a), signed(b)
    shift = c % 32
    value = {
        AluOp.MOV: lambda: b, AluOp.IADD: lambda: a + b, AluOp.ISUB: lambda: a - b, AluOp.IRSUB: lambda: b - a,
        AluOp.IADDC: lambda: a + b + pa, AluOp.ISUBC: lambda: a + (WORD - 1 - b) + pa,
        AluOp.IMUL_LO: lambda: a * b, AluOp.IMUL_HI_S: lambda: sa * sb >> 32, AluOp.IMUL_HI_U: lambda: a * b >> 32,
        AluOp.IMAD_LO: lambda: a * b + c, AluOp.AND: lambda: a & b, AluOp.OR: lambda: a | b,
        AluOp.XOR: lambda: a ^ b, AluOp.NOT: lambda: WORD - 1 - b,
        AluOp.SHL: lambda: a << b if b < 32 else 0, AluOp.SHR_U: lambda: a >> b if b < 32 else 0,
        AluOp.SHR_S: lambda: sa >> min(b, 31),
        AluOp.SHF_L: lambda: (b << 32 | a) << shift >> 32, AluOp.SHF_R: lambda: (b << 32 | a) >> shift,
        AluOp.IMIN_S: lambda: min(sa, sb), AluOp.IMIN_U: lambda: min(a, b), AluOp.IMAX_S: lambda: max(sa, sb),
        AluOp.IMAX_U: lambda: max(a, b), AluOp.IABS: lambda: abs(sb),
        AluOp.SEXT_8: lambda: b % 256 - (256 if b >> 7 & 1 else 0),
        AluOp.SEXT_16: lambda: b % 65536 - (65536 if b >> 15 & 1 else 0), AluOp.SEL: lambda: a if pa else b,
        AluOp.BREV: lambda: int(f"{b:032b}"[::-1], 2), AluOp.BFE_U: lambda: extracted(a, b, False),
        AluOp.BFE_S: lambda: extracted(a, b, True), AluOp.BFI: lambda: inserted(a, b, c),
        AluOp.PRMT: lambda: permuted(a, b, c), AluOp.CLZ: lambda: 32 - b.bit_length(),
        AluOp.POPC: lambda: f"{b:b}".count("1"),
    }
    test = {
        AluOp.IADDC: lambda: a + b + pa >= WORD, AluOp.ISUBC: lambda: a + pa > b,
        AluOp.SETP_EQ: lambda: a == b, AluOp.SETP_NE: lambda: a != b, AluOp.SETP_LT_S: lambda: sa < sb,
        AluOp.SETP_LE_S: lambda: sa <= sb, AluOp.SETP_GT_S: lambda: sa > sb, AluOp.SETP_GE_S: lambda: sa >= sb,
        AluOp.SETP_LT_U: lambda: a < b, AluOp.SETP_LE_U: lambda: a <= b, AluOp.SETP_GT_U: lambda: a > b,
        AluOp.SETP_GE_U: lambda: a >= b, AluOp.PAND: lambda: pa and pb, AluOp.POR: lambda: pa or pb,
        AluOp.PXOR: lambda: pa != pb,
    }
    return (value[op]() % WORD if op in value else None), (bool(test[op]()) if op in test else None)
