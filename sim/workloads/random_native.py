"""Seeded random programs in machine code: every operation, structured divergence, routines, barriers, points.

Structured statements generate branches, reconvergence addresses and barriers, so every program is legal. Threads of
different warps share memory only across barriers or by commutative atomics. So results do not depend on the order of
warps, unless this is asked for. Registers::

    r0  address of the thread's slot in the output     r4..r6  loop counters, outermost first
    r1  byte address of its slot in shared memory      r7      address of a load or store
    r2  address of the input                           r8..    data
    r3  address of its warp's slots in the output

    u0  address of the output                          u3      as r3
    u1  address of the input                           u4      byte address of the warp's slots in shared memory
    u2  address of words that all warps change         u5      address of an access
                                                       u8..    data
    u28..u30  return addresses                         u31     address of a jump
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.isa.liveness import ALL_LIVE
from caesura.hw.arch.isa.opcodes import Special
from caesura.software.compiler import KernelImage, Parameter

from . import random_float
from .native import doubles
from .native.assembly import Assembly, Label
from .native.computation import STABLE
from .native.memory import Accesses
from .native.operands import (
    COMMON,
    COMMON_BYTES,
    CONSTANT_BYTES,
    COUNTERS,
    DATA_PREDICATES,
    FIRST_DATA,
    INPUT,
    INPUT_BYTES,
    JUMP,
    LOCAL_BYTES,
    LOOP_PREDICATE,
    OUTPUT,
    RETURNS,
    ROUTINE_LEVEL,
    ROUTINE_ROOM,
    SHARED_SLOT,
    UNIFORM_DATA,
    WARP_OUTPUT,
    WARP_SHARED,
    Settings,
)

__all__ = ["NativeProgram", "Assembly", "Label", "random_program", "UNITS"]

UNITS = ("f64", "sfu", "exchange", "uniform", "local", "constant", "atomic")
"""Parts of the machine that a program may leave out."""


@dataclass(frozen=True)
class NativeProgram:
    """A program with its launch.

    Attributes
    ----------
    image : KernelImage
        Kernel with two parameters, the addresses of the output and of the input.
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
                   ragged: bool = True, racing: bool = False, without: Collection[str] = ()) -> NativeProgram:
    """Return a random program for `g`.

    Parameters
    ----------
    g : Geometry
    seed : int
    statements : int
        Number of statements at the outermost level, without nested ones.
    registers : int
        Vector registers per thread, 12 or more.
    warps, tbs : int
        Warps per TB, and TBs of the grid.
    depth : int
        Deepest nesting of divergent statements; loops are at most three deep.
    barriers, exits : bool
        Use shared memory across barriers; let lanes end early.
    ragged : bool
        The last warp may be partly empty.
    racing : bool
        Warps change common words by any atomic and use their values, so the result depends on the order.
    without : collection of str
        Parts of `UNITS` to leave out.
    """
    if not 12 <= registers <= g.regs_per_thread:
        raise ValueError(f"registers must be 12 to {g.regs_per_thread}, not {registers}")
    if not set(without) <= set(UNITS):
        raise ValueError(f"without must be some of {', '.join(UNITS)}, not {', '.join(without)}")
    rng = random.Random(seed)
    threads = warps * g.warp_size - (rng.randrange(g.warp_size) if ragged else 0)
    block = _block(rng, threads, warps, g.warp_size)
    grid = (tbs, 1, 1) if rng.random() < 0.5 else (1, tbs, 1)
    slot = 1 << (64 + 4 * registers - 1).bit_length()
    settings = Settings(registers, warps, slot, depth, barriers, exits, racing, frozenset(without))
    slots = tbs * warps * g.warp_size * slot
    code = _Generator(g, rng, settings).program(statements, slots)
    image = KernelImage(
        name=f"random_{seed}", code=code, registers=registers, predicates=7,
        shared_bytes=warps * g.warp_size * SHARED_SLOT + COMMON_BYTES, stack_depth=g.stack_depth,
        local_bytes=0 if "local" in without else LOCAL_BYTES,
        constants=b"" if "constant" in without else doubles.constants(seed),
        parameters=(Parameter("output", "u32", 0, 4, True), Parameter("input", "u32", 4, 4, True)))
    inputs = random_float.words(seed, INPUT_BYTES // 4)
    return NativeProgram(image, grid, block, slots + COMMON_BYTES, inputs.tobytes())


def _block(rng: random.Random, threads: int, warps: int, warp_size: int) -> tuple[int, int, int]:
    """Return a block shape of about `threads` threads and exactly `warps` warps."""
    for _ in range(8):
        x, y = rng.randint(1, threads), rng.randint(1, 4)
        z = threads // (x * y)
        if (warps - 1) * warp_size < x * y * z:
            return x, y, z
    return threads, 1, 1


class _Generator(Accesses):
    """Builds a whole program: addresses and data, structured random statements, results."""

    def program(self, statements: int, slots: int) -> tuple[int, ...]:
        """Return the code; the words that all warps change begin `slots` bytes behind the start of the output."""
        self._entries = [Label() for _ in RETURNS]
        self._callable = 0  # routines that a statement may call
        self._addresses()
        if "uniform" not in self.s.without:
            self._uniform_addresses(slots)
            self._callable = len(RETURNS)
        for register in range(FIRST_DATA, self.s.registers):
            self._seed_data(register)
        for predicate in range(DATA_PREDICATES):
            self._compare(predicate)
        if "local" not in self.s.without:
            for offset in range(0, LOCAL_BYTES, 4):
                self.emit("st.local.b32", no_base=1, imm=offset, d=self._data())
        for _ in range(statements):
            self._outermost()
        self._results()
        self._routines()
        return self.asm.words()

    def _addresses(self) -> None:
        emit, size = self.emit, self.g.warp_size
        emit("s2r", d=4, imm=Special.CTAID_Y)
        emit("s2r", d=5, imm=Special.NCTAID_X)
        emit("s2r", d=6, imm=Special.CTAID_X)
        emit("imad.lo", d=4, a=4, b=5, c=6)
        emit("imul.lo.i", d=4, a=4, imm=self.s.warps)
        emit("s2r", d=5, imm=Special.WARPID)
        emit("iadd", d=4, a=4, b=5)
        emit("imul.lo.i", d=4, a=4, imm=size * self.s.slot)
        emit("ldp", d=3, imm=0)
        emit("iadd", d=3, a=3, b=4)
        emit("s2r", d=6, imm=Special.LANEID)
        emit("imul.lo.i", d=0, a=6, imm=self.s.slot)
        emit("iadd", d=0, a=0, b=3)
        emit("imul.lo.i", d=5, a=5, imm=size)
        emit("iadd", d=5, a=5, b=6)
        emit("imul.lo.i", d=1, a=5, imm=SHARED_SLOT)
        emit("ldp", d=2, imm=4)
        emit("mov.i", d=7, imm=0)

    def _uniform_addresses(self, slots: int) -> None:
        """Emit the addresses once per warp, and uniform data."""
        emit, size, rng = self.emit, self.g.warp_size, self.rng
        emit("uldp", d=OUTPUT, imm=0)
        emit("uldp", d=INPUT, imm=4)
        emit("uiadd.i", d=COMMON, a=OUTPUT, imm=slots)
        emit("us2r", d=5, imm=Special.CTAID_Y)
        emit("us2r", d=6, imm=Special.NCTAID_X)
        emit("us2r", d=7, imm=Special.CTAID_X)
        emit("uimad.lo", d=5, a=5, b=6, c=7)
        emit("uimul.lo.i", d=5, a=5, imm=self.s.warps)
        emit("us2r", d=6, imm=Special.WARPID)
        emit("uiadd", d=5, a=5, b=6)
        emit("uimul.lo.i", d=5, a=5, imm=size * self.s.slot)
        emit("uiadd", d=WARP_OUTPUT, a=5, b=OUTPUT)
        emit("uimul.lo.i", d=WARP_SHARED, a=6, imm=size * SHARED_SLOT)
        for register in UNIFORM_DATA:
            if "constant" not in self.s.without and rng.random() < 0.6:
                emit("uld.const.b32", d=register, no_base=1, imm=rng.randrange(0, CONSTANT_BYTES, 4))
            else:
                emit("uxor.i", d=register, a=rng.choice((WARP_OUTPUT, WARP_SHARED, INPUT)), imm=rng.getrandbits(32))

    def _seed_data(self, register: int) -> None:
        rng = self.rng
        special = rng.choice(STABLE)
        self.emit("s2r", d=register, imm=special)
        if rng.random() < 0.5:
            self.emit("ld.global.b32", d=7, a=2, imm=4 * rng.randrange(INPUT_BYTES // 4))
            self.emit("xor", d=register, a=register, b=7)
        if rng.random() < 0.7:
            self.emit("imad.lo", d=register, a=register, b=1, c=0)
            self.emit("xor.i", d=register, a=register, imm=rng.getrandbits(32))

    def _results(self) -> None:
        """Store data, predicates, uniform data and local memory to the thread's slot."""
        for register in range(FIRST_DATA, self.s.registers):
            self.emit("st.global.b32", a=0, imm=64 + 4 * register, d=register)
        for predicate in range(DATA_PREDICATES):
            self.emit("sel.i", d=7, a=2, imm=0x5A, pa=predicate)
            self.emit("st.global.b32", a=0, imm=64 + 4 * predicate, d=7)
        for number, register in enumerate(UNIFORM_DATA if "uniform" not in self.s.without else ()):
            self.emit("mov", d=7, b=register, b_uniform=1)
            self.emit("st.global.b32", a=0, imm=4 * number, d=7)
        for offset in range(0, LOCAL_BYTES if "local" not in self.s.without else 0, 4):
            self.emit("ld.local.b32", d=7, no_base=1, imm=offset)
            self.emit("st.global.b32", a=0, imm=32 + offset, d=7)
        self.emit("exit")

    # Statements

    def _outermost(self) -> None:
        choice = self.rng.random()
        if self.s.barriers and choice < 0.08:
            self._exchange()
        elif self.s.barriers and choice < 0.12:
            self._uniform_loop()
        else:
            self._statement(0, self.g.stack_depth - 1)

    def _statement(self, level: int, room: int) -> None:
        """Emit a statement at depth `level` of divergence, with room for `room` more stack entries."""
        choice = self.rng.random()
        nested = self.rng.random() < (0.25 if level == 0 else 0.45) and level < self.s.depth
        if nested and room >= 2 and choice < 0.65:
            self._conditional(level, room - 2)
        elif nested and level < len(COUNTERS) and room >= 1:
            self._divergent_loop(level, room - 1)
        elif choice < 0.01 and self.s.exits:
            self.emit("exit", **self._narrow_guard())
        elif choice < 0.06 and self._callable and level <= ROUTINE_LEVEL and room >= ROUTINE_ROOM:
            self._call()
        elif choice < 0.07 and self._callable:
            self._jump()
        else:
            self._straight()

    def _straight(self) -> None:
        """Emit a statement without divergence."""
        choices: dict[str, tuple[int, Callable[[], None]]] = {
            "integer": (20, self._alu), "f32": (10, self._float), "f64": (9, self._double),
            "sfu": (4, self._special_function), "exchange": (7, self._shuffle),
            "uniform": (10, self._uniform_statement),
            "compare": (9, lambda: self._compare(self.rng.randrange(DATA_PREDICATES))),
            "logic": (5, self._predicate_logic), "global": (14, self._global), "local": (6, self._local),
            "constant": (5, self._constant), "atomic": (8, self._atomic), "point": (4, self._point),
            "nothing": (3, lambda: self.emit(self.rng.choice(("nop", "membar")), **self._guard())),
        }
        weights, statements = zip(*(x for name, x in choices.items() if name not in self.s.without), strict=True)
        self.rng.choices(statements, weights)[0]()

    def _body(self, level: int, room: int) -> None:
        for _ in range(self.rng.randint(1, 4)):
            self._statement(level, room)

    def _call(self) -> None:
        routine = self.rng.randrange(self._callable)
        self.emit("call", d=RETURNS[routine], target=self._entries[routine])

    def _routines(self) -> None:
        """Emit the routines; each may call earlier ones."""
        for routine in range(self._callable):
            self._callable = routine
            self.asm.place(self._entries[routine])
            self._body(ROUTINE_LEVEL, ROUTINE_ROOM)
            self.emit("bru", a=RETURNS[routine])

    def _jump(self) -> None:
        """Skip a statement by a jump whose target is in a register."""
        over = Label()
        self.emit("umov.i", d=JUMP, imm=over)
        self.emit("bru", a=JUMP)
        self._straight()
        self.asm.place(over)

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
        """Put a number from 0 to `mask` into r7 that differs between threads for any data."""
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

    def _point(self) -> None:
        self.emit("pp", live=ALL_LIVE)
        self.emit("pp.div", live=ALL_LIVE)
