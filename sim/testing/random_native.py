"""Seeded random programs in machine code: every operation, structured divergence, barriers, preemption points.

Branches, reconvergence addresses and barriers are generated from structured statements, so that every program
is legal; threads of different warps share memory only across barriers, so that the result does not depend on
the order in which warps run. Registers::

    r0  address of the thread's slot in the output     r4..r6  loop counters, outermost first
    r1  byte address of its slot in shared memory      r7      address of a load or store
    r2  address of the input                           r8..    data
    r3  address of its warp's slots in the output
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from caesura.hw.arch.encoding import Instruction, encode
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.isa import LIVE_BITS, OPCODES, PT, AluOp, Format, Size, Special, Unit
from caesura.software.compiler.codegen.image import KernelImage, Parameter

from . import random_float

__all__ = ["NativeProgram", "Assembly", "random_program"]

INPUT_BYTES = 1024
SHARED_SLOT = 16
FIRST_DATA = 8
COUNTERS = (4, 5, 6)
DATA_PREDICATES = 6
LOOP_PREDICATE = 6
ALL_LIVE = (1 << LIVE_BITS) - 1
IMMEDIATES = (0, 1, 2, 3, 31, 32, 33, 255, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0xFFFF_8000, 0x80)


class Label:
    """A place in the code, known once it is reached."""

    def __init__(self):
        self.pc = -1


class Assembly:
    """Instructions with labels, in order."""

    def __init__(self):
        self.lines: list[tuple[str, dict]] = []

    def emit(self, name: str, **fields) -> None:
        """Append an instruction; `target` and `reconv` may be labels."""
        self.lines.append((name, fields))

    def place(self, label: Label) -> None:
        """Put a label before the next instruction."""
        label.pc = len(self.lines)

    def words(self) -> tuple[int, ...]:
        """Return the encoded program."""
        resolved = ((name, {k: v.pc if isinstance(v, Label) else v for k, v in fields.items()})
                    for name, fields in self.lines)
        return tuple(encode(Instruction.make(name, **fields)) for name, fields in resolved)


@dataclass(frozen=True)
class NativeProgram:
    """A program with its launch.

    Attributes
    ----------
    image : KernelImage
        Two parameters: addresses of the output and of the input.
    grid, block : tuple of int
    output_bytes : int
    inputs : bytes
    """

    image: KernelImage
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    output_bytes: int
    inputs: bytes


def random_program(g: Geometry, seed: int, *, statements: int = 40, registers: int = 16, warps: int = 2,
                   tbs: int = 3, depth: int = 3, barriers: bool = True, exits: bool = True,
                   ragged: bool = True) -> NativeProgram:
    """Return a random program for `g`.

    Parameters
    ----------
    g : Geometry
    seed : int
    statements : int
        Statements at the outermost level, not counting what is nested in them.
    registers : int
        Vector registers of a thread, 12 or more.
    warps, tbs : int
        Warps of a TB and TBs of the grid.
    depth : int
        Deepest nesting of divergent statements (loops at most three deep).
    barriers, exits : bool
        Use shared memory across barriers; let lanes end early.
    ragged : bool
        The last warp may be partly empty.
    """
    if not 12 <= registers <= g.regs_per_thread:
        raise ValueError(f"registers must be 12 to {g.regs_per_thread}, not {registers}")
    rng = random.Random(seed)
    threads = warps * g.warp_size - (rng.randrange(g.warp_size) if ragged else 0)
    block = _block(rng, threads, warps, g.warp_size)
    grid = (tbs, 1, 1) if rng.random() < 0.5 else (1, tbs, 1)
    slot = 1 << (64 + 4 * registers - 1).bit_length()
    generator = _Generator(g, rng, registers, warps, slot, depth, barriers, exits)
    code = generator.program(statements)
    image = KernelImage(
        name=f"random_{seed}", code=code, registers=registers, predicates=7,
        shared_bytes=warps * g.warp_size * SHARED_SLOT, stack_depth=g.stack_depth,
        parameters=(Parameter("output", "u32", 0, 4, True), Parameter("input", "u32", 4, 4, True)))
    inputs = random_float.words(seed, INPUT_BYTES // 4)
    return NativeProgram(image, grid, block, tbs * warps * g.warp_size * slot, inputs.tobytes())


def _block(rng: random.Random, threads: int, warps: int, warp_size: int) -> tuple[int, int, int]:
    """Return a block shape of about `threads` threads, still `warps` warps."""
    for _ in range(8):
        x, y = rng.randint(1, threads), rng.randint(1, 4)
        z = threads // (x * y)
        if (warps - 1) * warp_size < x * y * z:
            return x, y, z
    return threads, 1, 1


class _Generator:
    def __init__(self, g: Geometry, rng: random.Random, registers: int, warps: int, slot: int, depth: int,
                 barriers: bool, exits: bool):
        self.g, self.rng, self.warps, self.slot = g, rng, warps, slot
        self.registers, self.depth, self.barriers, self.exits = registers, depth, barriers, exits
        self.shared_bytes = warps * g.warp_size * SHARED_SLOT
        self.asm = Assembly()
        self.emit = self.asm.emit

    # Program

    def program(self, statements: int) -> tuple[int, ...]:
        """Return the code: addresses and data set up, random statements, results stored."""
        self._addresses()
        for register in range(FIRST_DATA, self.registers):
            self._seed_data(register)
        for predicate in range(DATA_PREDICATES):
            self._compare(predicate)
        for _ in range(statements):
            self._outermost()
        for register in range(FIRST_DATA, self.registers):
            self.emit("st.global.b32", a=0, imm=64 + 4 * register, d=register)
        for predicate in range(DATA_PREDICATES):
            self.emit("sel.i", d=7, a=2, imm=0x5A, pa=predicate)
            self.emit("st.global.b32", a=0, imm=64 + 4 * predicate, d=7)
        self.emit("exit")
        return self.asm.words()

    def _addresses(self) -> None:
        emit, size = self.emit, self.g.warp_size
        emit("s2r", d=4, imm=Special.CTAID_Y)
        emit("s2r", d=5, imm=Special.NCTAID_X)
        emit("s2r", d=6, imm=Special.CTAID_X)
        emit("imad.lo", d=4, a=4, b=5, c=6)
        emit("imul.lo.i", d=4, a=4, imm=self.warps)
        emit("s2r", d=5, imm=Special.WARPID)
        emit("iadd", d=4, a=4, b=5)
        emit("imul.lo.i", d=4, a=4, imm=size * self.slot)
        emit("ldp", d=3, imm=0)
        emit("iadd", d=3, a=3, b=4)
        emit("s2r", d=6, imm=Special.LANEID)
        emit("imul.lo.i", d=0, a=6, imm=self.slot)
        emit("iadd", d=0, a=0, b=3)
        emit("imul.lo.i", d=5, a=5, imm=size)
        emit("iadd", d=5, a=5, b=6)
        emit("imul.lo.i", d=1, a=5, imm=SHARED_SLOT)
        emit("ldp", d=2, imm=4)
        emit("mov.i", d=7, imm=0)

    def _seed_data(self, register: int) -> None:
        rng = self.rng
        special = rng.choice([s for s in Special if s not in (Special.SMID, Special.CLOCK)])
        self.emit("s2r", d=register, imm=special)
        if rng.random() < 0.5:
            self.emit("ld.global.b32", d=7, a=2, imm=4 * rng.randrange(INPUT_BYTES // 4))
            self.emit("xor", d=register, a=register, b=7)
        if rng.random() < 0.7:
            self.emit("imad.lo", d=register, a=register, b=1, c=0)
            self.emit("xor.i", d=register, a=register, imm=rng.getrandbits(32))

    # Statements

    def _outermost(self) -> None:
        choice = self.rng.random()
        if self.barriers and choice < 0.08:
            self._exchange()
        elif self.barriers and choice < 0.12:
            self._uniform_loop()
        else:
            self._statement(0, self.g.stack_depth - 1)

    def _statement(self, level: int, room: int) -> None:
        """Emit a statement `level` deep in divergence, with room for `room` more stack entries."""
        choice = self.rng.random()
        nested = self.rng.random() < (0.25 if level == 0 else 0.45) and level < self.depth
        if nested and room >= 2 and choice < 0.65:
            self._conditional(level, room - 2)
        elif nested and level < len(COUNTERS) and room >= 1:
            self._divergent_loop(level, room - 1)
        elif choice < 0.28:
            self._alu()
        elif choice < 0.40:
            random_float.statement(self.rng, self.emit, self._data, self._guard)
        elif choice < 0.52:
            self._compare(self.rng.randrange(DATA_PREDICATES))
        elif choice < 0.60:
            self._predicate_logic()
        elif choice < 0.90:
            self._memory()
        elif choice < 0.95:
            self._point()
        elif choice < 0.96 and self.exits:
            self.emit("exit", **self._narrow_guard())
        else:
            self.emit(self.rng.choice(("nop", "membar")), **self._guard())

    def _body(self, level: int, room: int) -> None:
        for _ in range(self.rng.randint(1, 4)):
            self._statement(level, room)

    def _conditional(self, level: int, room: int) -> None:
        if self.rng.random() < 0.7:
            self._scatter_bits(1)
            self.emit("setp.ne.i", pd=LOOP_PREDICATE, a=7, imm=0)
            guard = {"guard": LOOP_PREDICATE}
        else:
            guard = self._data_guard()
        other, end = Label(), Label()
        both = self.rng.random() < 0.6
        self.emit("bra", target=other if both else end, reconv=end, **guard)
        self._body(level + 1, room)
        if both:
            self.emit("bra", target=end, reconv=end)
            self.asm.place(other)
            self._body(level + 1, room)
        self.asm.place(end)

    def _divergent_loop(self, level: int, room: int) -> None:
        counter = COUNTERS[level]
        self._scatter_bits(self.rng.choice((1, 3)))
        self.emit("mov", d=counter, b=7)
        with self._loop(counter):
            self._body(level + 1, room)

    def _scatter_bits(self, mask: int) -> None:
        """Put a number from 0 to `mask` into r7 that differs from thread to thread, whatever the data are."""
        self.emit("imul.lo.i", d=7, a=0, imm=self.rng.getrandbits(32) | 1)
        self.emit("xor", d=7, a=7, b=self._data())
        self.emit("shr.u.i", d=7, a=7, imm=self.rng.randrange(12, 28))
        self.emit("and.i", d=7, a=7, imm=mask)

    def _uniform_loop(self) -> None:
        self.emit("mov.i", d=COUNTERS[0], imm=self.rng.randrange(3))
        with self._loop(COUNTERS[0]):
            for _ in range(self.rng.randint(1, 3)):
                self._exchange() if self.rng.random() < 0.4 else self._statement(1, self.g.stack_depth - 2)

    @contextmanager
    def _loop(self, counter: int) -> Iterator[None]:
        """Run the body ``counter + 1`` times; a preemption point stands at its head."""
        head, end = Label(), Label()
        self.asm.place(head)
        self._point()
        yield
        self.emit("isub.i", d=counter, a=counter, imm=1)
        self.emit("setp.ge.s.i", pd=LOOP_PREDICATE, a=counter, imm=0)
        self.emit("bra", target=head, reconv=end, guard=LOOP_PREDICATE)
        self.asm.place(end)

    def _exchange(self) -> None:
        """Threads write their own shared slots, read anybody's, and may write again."""
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            size = rng.choice([s for s in Size if s not in (Size.S8, Size.S16)])
            self.emit(f"st.shared.b{8 * size.bytes}", a=1, imm=rng.randrange(0, SHARED_SLOT, size.bytes),
                      d=self._data(size.registers), **self._guard())
        self._warp_scatter()
        self.emit(f"bar.pp.{rng.randrange(16)}", live=ALL_LIVE)
        for _ in range(rng.randint(1, 3)):
            size = rng.choice(list(Size))
            d = self._data(size.registers)
            reach = (1 << self.shared_bytes.bit_length() - 1) - size.bytes & -size.bytes
            self.emit("and.i", d=7, a=self._data(), imm=reach)
            self.emit(f"ld.shared.{size.name.lower()}", d=d, a=7, **self._guard())
        self.emit(f"bar.pp.{rng.randrange(16)}", live=ALL_LIVE)

    def _warp_scatter(self) -> None:
        """Store to data-dependent places of the warp's own shared memory, where lanes may collide."""
        size = self.rng.choice([s for s in Size if s not in (Size.S8, Size.S16)])
        span = self.g.warp_size * SHARED_SLOT
        self.emit("and.i", d=7, a=self._data(), imm=span - size.bytes)
        self.emit("s2r", d=COUNTERS[2], imm=Special.WARPID)
        self.emit("imul.lo.i", d=COUNTERS[2], a=COUNTERS[2], imm=span)
        self.emit("iadd", d=7, a=7, b=COUNTERS[2])
        self.emit(f"st.shared.b{8 * size.bytes}", a=7, d=self._data(size.registers), **self._guard())

    def _alu(self) -> None:
        rng = self.rng
        rows = [op for op in OPCODES if op.unit is Unit.ALU and "d" in op.operands
                and op.alu is not None and not op.alu.is_float and op.alu not in (AluOp.S2R, AluOp.LDP)]
        op = rng.choice(rows)
        fields = {name: self._data() for name in op.operands if name in ("d", "a", "b", "c")}
        if op.format is Format.I:
            fields["imm"] = rng.choice(IMMEDIATES) if rng.random() < 0.5 else rng.getrandbits(32)
        if "pd" in op.operands:
            fields["pd"] = rng.choice((*range(DATA_PREDICATES), PT))
        fields |= self._predicates(op.operands)
        self.emit(op.name, **fields, **self._guard())

    def _compare(self, predicate: int) -> None:
        rng = self.rng
        prefix = rng.choice(("setp", "setp", "fsetp"))
        op = rng.choice([op for op in OPCODES if op.name.startswith(prefix)])
        fields = {name: self._data() for name in op.operands if name in ("a", "b")}
        if op.format is Format.I:
            values = random_float.IMMEDIATES if prefix == "fsetp" else IMMEDIATES
            fields["imm"] = rng.choice(values) if rng.random() < 0.5 else rng.getrandbits(32)
        self.emit(op.name, pd=predicate, **fields, **self._guard())

    def _predicate_logic(self) -> None:
        name = self.rng.choice(("pand", "por", "pxor"))
        self.emit(name, pd=self.rng.randrange(DATA_PREDICATES), **self._predicates(("pa", "pb")), **self._guard())

    def _memory(self) -> None:
        """Load from the input, or load or store anywhere in the warp's own output slots."""
        rng = self.rng
        size = rng.choice(list(Size))
        d, name = self._data(size.registers), size.name.lower()
        kind = rng.random()
        if kind < 0.35:
            self.emit("and.i", d=7, a=self._data(), imm=INPUT_BYTES - size.bytes)
            self.emit("iadd", d=7, a=7, b=2)
            self.emit(f"ld.global.{name}", d=d, a=7, **self._guard())
            return
        store = rng.random() < 0.5
        if kind < 0.7:
            self.emit("and.i", d=7, a=self._data(), imm=self.g.warp_size * self.slot - size.bytes)
            self.emit("iadd", d=7, a=7, b=3)
            base, imm = 7, 0
        else:
            base, imm = 0, rng.randrange(0, self.slot, size.bytes)
        if store:
            self.emit(f"st.global.b{8 * size.bytes}", a=base, imm=imm, d=d, **self._guard())
        else:
            self.emit(f"ld.global.{name}", d=d, a=base, imm=imm, **self._guard())

    def _point(self) -> None:
        self.emit("pp", live=ALL_LIVE)
        self.emit("pp.div", live=ALL_LIVE)

    # Operands

    def _data(self, group: int = 1) -> int:
        """Return a random data register, the first of an aligned group."""
        first = self.rng.randrange(FIRST_DATA, self.registers - group + 1)
        return first // group * group

    def _predicates(self, operands) -> dict[str, int]:
        fields = {}
        for name in ("pa", "pb"):
            if name in operands:
                fields[name] = self.rng.choice((*range(DATA_PREDICATES), PT))
                fields[f"{name}_not"] = self.rng.randrange(2)
        return fields

    def _guard(self) -> dict[str, int]:
        return self._data_guard() if self.rng.random() < 0.25 else {}

    def _data_guard(self) -> dict[str, int]:
        predicate = PT if self.rng.random() < 0.04 else self.rng.randrange(DATA_PREDICATES)
        return {"guard": predicate, "guard_not": self.rng.randrange(2)}

    def _narrow_guard(self) -> dict[str, int]:
        """Set a predicate in few lanes, and guard by it."""
        self.emit("and.i", d=7, a=self._data(), imm=15)
        self.emit("setp.eq.i", pd=LOOP_PREDICATE, a=7, imm=self.rng.randrange(16))
        return {"guard": LOOP_PREDICATE}
