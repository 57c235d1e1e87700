"""The instruction set: one table from which decoder, assembler, golden model and documentation
derive.

A word has 64 bits: a 10-bit opcode in bits 63..54 and a 54-bit payload (Lin et al. IV-A), so that a
preemption point carries a whole liveness vector (`hw.arch.isa.liveness`). Payloads are laid out in
`hw.arch.isa.formats`.

Opcode map
----------
======================  ==========================================================================
``0x000 .. 0x07f``      ALU, register form (format ``R``); low 7 bits are `AluOp`.
``0x080 .. 0x0ff``      ALU, immediate form (format ``I``); operand b is the 32-bit immediate.
``0x100 .. 0x17f``      memory (format ``M``), bits 6..4 `Space`, bit 3 store, bits 2..0 `Size`;
                        size 5 of local memory is an access of 4 bytes by all lanes; size 7 of
                        global memory is a load of 4 bytes that watches what it reads.
``0x180 .. 0x1ff``      control (formats ``B``, ``G`` and ``C``).
``0x200 .. 0x27f``      f64 (format ``R``); low 7 bits are `F64Op`.
``0x280 .. 0x2bf``      special functions (format ``R``); low 6 bits are `SfuOp`.
``0x2c0 .. 0x2ff``      exchange between lanes (formats ``R``, ``I``); low 6 bits are `ExchangeOp`.
``0x300 .. 0x33f``      atomics with a result (format ``A``), bit 5 `Space`, bit 4 64-bit,
                        bits 3..0 `AtomicOp`.
``0x340 .. 0x37f``      uniform data path (formats ``R``, ``I``, ``M``), bit 5 immediate form.
``0x380 .. 0x3af``      preemption (format ``L``); ``pp``, ``pp.div``, ``bar.pp`` in 16 opcodes, and
                        ``bar.yield``.
``0x3c0 .. 0x3ff``      atomics without a result (format ``A``), as those with one.
======================  ==========================================================================

Every format but ``C`` and ``L`` has a guard predicate. The operations are in
`hw.arch.isa.operations`.
Source: Lin et al. IV-A; why it is as it is: docs/architecture.md, Decisions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .alu_rows import ALU_ROWS
from .formats import FIELDS, Format
from .operations import (
    UNIFORM_SPECIALS,
    VOLATILE_SPECIALS,
    AluOp,
    AtomicOp,
    ExchangeOp,
    F64Op,
    SfuOp,
    Size,
    Space,
    Special,
    Unit,
)

__all__ = ["AluOp", "F64Op", "SfuOp", "ExchangeOp", "AtomicOp", "Space", "Size", "Special", "Unit",
           "Opcode", "OPCODES", "BY_NAME", "BY_CODE", "PT", "UNWATCH_CODE", "VECTOR_WORDS",
           "WATCH_SIZE", "YIELD_BIT", "UNIFORM_SPECIALS", "VOLATILE_SPECIALS"]

PT = 7
"""Predicate number that always reads true and ignores writes."""
WATCH_SIZE = 7
"""Bits 2..0 of the opcode of a global load that watches what it reads."""
UNWATCH_CODE = 0x188
"""Opcode of ``unwatch``: the only one of control with this in bits 6..0."""
YIELD_BIT = 5
"""Bit of the opcode that tells ``bar.yield`` from ``bar.pp``."""
VECTOR_WORDS = 4
"""Instruction words of a trap vector, a power of two."""
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
        Operands in assembly order. ``d a b c`` are vector registers, ``ud ua ub uc`` uniform
        registers in the same fields, ``pd pa pb`` predicates. ``sreg`` and ``param`` stand in the
        immediate, as ``imm`` does. ``mem`` is ``[a + imm]``. ``data`` is register field ``d`` of a
        store, which is read. The others are ``target``, ``reconv`` and ``live``.
    semantics : str
        One line.
    alu : AluOp or None
        Lane operation of an ALU or uniform instruction.
    function : F64Op, SfuOp, ExchangeOp, AtomicOp or None
        Operation of another unit.
    pairs : str
        Those of ``d a b c`` that name aligned register pairs (64-bit values).
    space, size, store
        Address space and access size of a memory instruction, and whether it stores.
    barrier : int or None
        Barrier id of a ``bar.pp``.
    yields : bool
        Known only to machines whose geometry says ``watches``.
    all_lanes : bool
        Executed by all lanes of the warp that have not exited, active or not; its guard is ignored.
    """

    name: str
    code: int
    format: Format
    unit: Unit
    operands: tuple[str, ...]
    semantics: str
    alu: AluOp | None = None
    function: F64Op | SfuOp | ExchangeOp | AtomicOp | None = None
    pairs: str = ""
    space: Space | None = None
    size: Size | None = None
    store: bool = False
    barrier: int | None = None
    all_lanes: bool = False
    yields: bool = False

    @property
    def data_registers(self) -> int:
        """Vector registers written (load, ALU) or read as data (store), from field ``d`` up."""
        if self.size is not None and not self.is_atomic:
            return self.size.registers if "ud" not in self.operands else 0
        return 0 if "d" not in self.operands else 2 if "d" in self.pairs else 1

    @property
    def is_guarded(self) -> bool:
        """Whether it has a guard predicate."""
        return "guard" in FIELDS[self.format] and not self.all_lanes

    @property
    def is_atomic(self) -> bool:
        """Whether it reads, changes and writes memory in one step."""
        return self.format is Format.A


def _with_immediate(semantics: str) -> str:
    return re.sub(r"\bb\b", "imm", semantics)


def _alu_opcodes():
    for op, name, register, immediate, semantics in ALU_ROWS:
        if register:
            yield Opcode(name, int(op), Format.R, Unit.ALU,
                         tuple(register.split()), semantics, alu=op)
        if immediate:
            suffix = "" if op is AluOp.S2R else ".i"
            yield Opcode(name + suffix, 0x80 | op, Format.I, Unit.ALU, tuple(immediate.split()),
                         _with_immediate(semantics) if suffix else semantics, alu=op)


_F64_TYPES = {"D": ("f64", 2), "F": ("f32", 1),
              "I": ("32-bit integer", 1), "L": ("64-bit integer", 2)}


def _f64_opcodes():
    def opcode(op: F64Op, operands: str, pairs: str, semantics: str):
        name = op.name.lower()
        for mode in ("rn", "rz", "rm", "rp", "s", "u"):
            name = name.replace(f"_{mode}", f".{mode}")
        return Opcode(name.replace("_", "."), 0x200 | op, Format.R,
                      Unit.F64, tuple(operands.split()), semantics,
                      function=op, pairs=pairs)

    sums = {"DADD": "a + b", "DSUB": "a - b", "DMUL": "a * b", "DFMA": "a * b + c, rounded once",
            "DMIN": "minimum of a and b, as fmin", "DMAX": "maximum of a and b, as fmax"}
    for op in F64Op:
        stem = op.name.split("_")[0]
        if stem in sums:
            yield opcode(op, "d a b c" if stem == "DFMA" else "d a b",
                         "dabc" if stem == "DFMA" else "dab", f"d = {sums[stem]}")
        elif stem == "DSETP":
            yield opcode(op, "pd a b", "ab", f"as f{op.name[1:].lower().replace('_', '.')} of f64")
        elif stem == "DRND":
            yield opcode(op, "d b", "db", "d = b rounded to an integral value")
        else:
            (source, from_words), (target, to_words) = _F64_TYPES[stem[0]], _F64_TYPES[stem[2]]
            clamped = ", clamped, a NaN as 0" if stem[2] in "IL" else ""
            yield opcode(op, "d b", "d" * (to_words == 2) + "b" * (from_words == 2),
                         f"d = {source} b as {target}{clamped}")


def _side_opcodes():
    functions = {SfuOp.RCP: "1 / b", SfuOp.RSQ: "1 / sqrt(b)", SfuOp.SQRT: "sqrt(b)",
                 SfuOp.EX2: "2 ** b", SfuOp.LG2: "log2(b)",
                 SfuOp.SIN: "sin(b), b in radians", SfuOp.COS: "cos(b), b in radians",
                 SfuOp.RCP64H: "high word of an approximation of 1 / x, "
                               "b the high word of f64 x; subnormals are zero",
                 SfuOp.RSQ64H: "high word of an approximation of 1 / sqrt(x), "
                               "b the high word of f64 x; subnormals are zero"}
    for op, meaning in functions.items():
        yield Opcode(f"mufu.{op.name.lower()}", 0x280 | op, Format.R, Unit.SFU, ("d", "b"),
                     f"d = {meaning}" if op in (SfuOp.RCP64H, SfuOp.RSQ64H)
                     else f"d = {meaning}, approximately",
                     function=op)
    for op in ExchangeOp:
        if op is ExchangeOp.MATCH:
            yield Opcode("match", 0x2c0 | op, Format.R, Unit.EXCHANGE, ("d", "a"),
                         "d = a bit a lane: those that execute the instruction with the same a",
                         function=op)
        elif op.name.endswith("_I"):
            yield Opcode("shfl." + op.name[5:-2].lower() + ".i", 0x2c0 | op, Format.I,
                         Unit.EXCHANGE, ("d", "a", "imm"),
                         "as the register form, with b = imm[7:0] and c = imm[31:8]", function=op)
        else:
            yield Opcode("shfl." + op.name[5:].lower(), 0x2c0 | op, Format.R, Unit.EXCHANGE,
                         ("d", "pd", "a", "b", "c"),
                         "d = a of the lane that PTX shfl computes from b and c, "
                         "pd = it is in range; of a lane that does not execute the instruction: "
                         "the lane's own a, pd false",
                         function=op)


def _atomic_opcodes():
    narrow_only = (AtomicOp.FADD, AtomicOp.INC, AtomicOp.DEC)
    for space in (Space.GLOBAL, Space.SHARED):
        unit = Unit.GLOBAL if space is Space.GLOBAL else Unit.SHARED
        for size in (Size.B32, Size.B64):
            for op in AtomicOp:
                if size is Size.B64 and op in narrow_only:
                    continue
                name = f"{space.name.lower()}.{op.name.lower().replace('_', '.')}.b{8 * size.bytes}"
                operands = ("mem", "b", "c") if op is AtomicOp.CAS else ("mem", "b")
                code = space << 5 | (size is Size.B64) << 4 | op
                wide = "dbc" if size is Size.B64 else ""
                what = {AtomicOp.EXCH: "to b",
                        AtomicOp.CAS: "to c if it equals b"}.get(op, f"by {op.name} with b")
                text = f"change {size.bytes} bytes of {space.name.lower()} memory at a + imm {what}"
                yield Opcode("atom." + name, 0x300 | code, Format.A, unit, ("d", *operands),
                             f"d = what was there; {text}; lanes in ascending order",
                             function=op, pairs=wide,
                             space=space, size=size)
                if op not in (AtomicOp.EXCH, AtomicOp.CAS):
                    yield Opcode("red." + name, 0x3c0 | code, Format.A,
                                 unit, operands, text, function=op,
                                 pairs=wide.replace("d", ""), space=space, size=size)


_UNIFORM_OPS = (
    AluOp.MOV, AluOp.IADD, AluOp.ISUB, AluOp.IRSUB, AluOp.IMUL_LO, AluOp.IMUL_HI_S, AluOp.IMUL_HI_U,
    AluOp.IMAD_LO, AluOp.AND, AluOp.OR, AluOp.XOR, AluOp.NOT, AluOp.SHL, AluOp.SHR_U, AluOp.SHR_S,
    AluOp.IMIN_S, AluOp.IMIN_U, AluOp.IMAX_S, AluOp.IMAX_U, AluOp.SETP_EQ, AluOp.SETP_NE,
    AluOp.SETP_LT_S, AluOp.SETP_LE_S, AluOp.SETP_GT_S, AluOp.SETP_GE_S, AluOp.SETP_LT_U,
    AluOp.SETP_LE_U, AluOp.SETP_GT_U, AluOp.SETP_GE_U, AluOp.S2R)


_PARAMETER_WORD = "d = parameter word at byte offset imm (a multiple of 4)"


def _uniform_opcodes():
    rows = {row[0]: row for row in ALU_ROWS}
    for number, op in enumerate(_UNIFORM_OPS):
        _, name, register, immediate, semantics = rows[op]
        for form, operands in ((Format.R, register), (Format.I, immediate)):
            if operands:
                names = tuple("u" + x if x in ("d", "a", "b", "c") else x for x in operands.split())
                suffix = ".i" if form is Format.I and register else ""
                yield Opcode(
                    "u" + name + suffix, 0x340 | (form is Format.I) << 5 | number,
                    form, Unit.UNIFORM, names,
                    "once a warp: " + (_with_immediate(semantics) if suffix else semantics), alu=op)
    yield Opcode("uld.const.b32", 0x340 | 0x3f, Format.M, Unit.CONSTANT, ("ud", "mem"),
                 "once a warp: d = 4-byte constant load at a + imm; the base is a uniform register",
                 space=Space.CONSTANT, size=Size.B32)
    yield Opcode("uldp", 0x340 | 0x3e, Format.M, Unit.CONSTANT, ("ud", "param"),
                 f"once a warp: {_PARAMETER_WORD}", space=Space.PARAMETER, size=Size.B32)


def _memory_opcodes():
    units = {Space.SHARED: Unit.SHARED, Space.CONSTANT: Unit.CONSTANT}
    yield Opcode("ldp", 0x100 | Space.PARAMETER << 4 | Size.B32, Format.M, Unit.CONSTANT,
                 ("d", "param"), _PARAMETER_WORD, space=Space.PARAMETER, size=Size.B32)
    for space in (Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.CONSTANT):
        unit = units.get(space, Unit.GLOBAL)
        where = space.name.lower() if space is not Space.CONSTANT else "const"
        for size in Size:
            if space is Space.LOCAL and size.registers > 1:
                continue
            code = 0x100 | space << 4 | size
            yield Opcode(f"ld.{where}.{size.name.lower()}", code, Format.M, unit, ("d", "mem"),
                         f"d = {size.bytes}-byte {where} load at a + imm", space=space, size=size)
            if size not in (Size.S8, Size.S16) and space is not Space.CONSTANT:
                name = f"b{8 * size.bytes}"
                yield Opcode(f"st.{where}.{name}", code | 8, Format.M, unit, ("mem", "data"),
                             f"{size.bytes}-byte {where} store of d at a + imm; "
                             "of lanes that write one byte the highest wins",
                             space=space, size=size, store=True)
    code = 0x100 | Space.LOCAL << 4 | Size.B64
    yield Opcode("ld.local.all.b32", code, Format.M, Unit.GLOBAL, ("d", "mem"),
                 "d = 4-byte local load at a + imm, of all lanes that have not exited",
                 space=Space.LOCAL, size=Size.B32, all_lanes=True)
    yield Opcode("st.local.all.b32", code | 8, Format.M, Unit.GLOBAL, ("mem", "data"),
                 "4-byte local store of d at a + imm, by all lanes that have not exited",
                 space=Space.LOCAL, size=Size.B32, store=True, all_lanes=True)
    yield Opcode("ld.watch.b32", 0x100 | Space.GLOBAL << 4 | WATCH_SIZE, Format.M, Unit.GLOBAL,
                 ("d", "mem"), "d = 4-byte global load at a + imm; from before it reads on, the TB "
                 "watches the 128 bytes around the lowest lane's address",
                 space=Space.GLOBAL, size=Size.B32, yields=True)


def _control_opcodes():
    control = Unit.CONTROL
    yield Opcode("bra", 0x180, Format.B, control, ("target", "reconv"),
                 "lanes whose guard holds go to target; on divergence all meet again at reconv")
    yield Opcode("exit", 0x181, Format.G, control, (), "lanes whose guard holds end")
    yield Opcode("nop", 0x182, Format.G, control, (), "nothing")
    yield Opcode("membar", 0x183, Format.G, control, (),
                 "wait until the warp's stores are acknowledged")
    yield Opcode("trap", 0x184, Format.G, control, (), "fault if any lane's guard holds")
    yield Opcode("call", 0x185, Format.C, Unit.UNIFORM, ("ud", "target"),
                 "d = address of the next word, relative to the kernel's first; "
                 "all active lanes go to target")
    yield Opcode("bru", 0x186, Format.C, control, ("ua",),
                 "all active lanes go to address a, relative to the kernel's first word")
    yield Opcode("rejoin", 0x187, Format.C, control, (),
                 "all active lanes go to where their entry of the SIMT stack ends; "
                 "a preemption routine goes back with it")
    yield Opcode("pp", 0x380, Format.L, control, ("live",),
                 "preemption point: if a preempt is pending, stop; live says what to save; "
                 "a pp.div follows")
    yield Opcode("pp.div", 0x381, Format.L, control, ("live",),
                 "second word of pp: what to save if the SIMT stack is deeper than one entry")
    for barrier in range(16):
        yield Opcode(
            f"bar.pp.{barrier}", 0x390 | barrier, Format.L, control, ("live",),
            f"wait at barrier {barrier} for every warp of the TB; a preemption point while waiting",
            barrier=barrier)
    yield Opcode("unwatch", UNWATCH_CODE, Format.G, control, (),
                 "if any lane's guard holds, the next bar.yield of the TB is a barrier",
                 yields=True)
    yield Opcode("bar.yield", 0x3a0, Format.L, control, ("live",),
                 "as bar.pp.0; and when all warps of the TB wait here, and what it watches was not "
                 "written since, it leaves the SM until that is written, if others want its place",
                 barrier=0, yields=True)


OPCODES: tuple[Opcode, ...] = (*_alu_opcodes(), *_memory_opcodes(),
                               *_atomic_opcodes(), *_f64_opcodes(),
                               *_side_opcodes(), *_uniform_opcodes(), *_control_opcodes())
"""Every instruction, in opcode groups."""
BY_NAME: dict[str, Opcode] = {op.name: op for op in OPCODES}
BY_CODE: dict[int, Opcode] = {op.code: op for op in OPCODES}
assert len(BY_NAME) == len(BY_CODE) == len(OPCODES)
