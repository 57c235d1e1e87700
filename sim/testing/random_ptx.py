"""Seeded random PTX kernels, as nvcc would write them, with an interpreter's verdict on what they compute.

Divergence is nested, loops have per-thread trip counts, barriers stand at uniform points (also in uniform loops
and conditionals), threads end early, and every integer instruction of the compiler occurs. Each thread writes
only its own slot of the output and, between barriers, of shared memory: the result depends on no schedule.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .ptx_operations import BINARY, COMPARISONS, SHIFTS, TERNARY, UNARY, compare, signed
from .ptx_tree import Barrier, Guard, If, Leave, Line, Loop, Node, Return, Thread, Writer, run_block

__all__ = ["RandomKernel"]

INPUT_BYTES = 1024
SLOT_BYTES = 128
RESULTS = 48
SHARED_SLOT = 16
NAME = "random_kernel"
IMMEDIATES = (0, 1, 2, 7, 31, 32, 33, 63, 64, 255, -1, -2, -32768, 65535, 0x7FFF_FFFF, -0x8000_0000, 0x5555_5555)


@dataclass(frozen=True)
class Settings:
    """What a `RandomKernel` is made of; see there."""

    variables: int
    wide: int
    statements: int
    depth: int
    barriers: bool
    exits: bool
    vectors: bool
    nested_leaves: bool


class RandomKernel:
    """A random integer kernel ``random_kernel(u64 output, u64 input, u32 n)``.

    Parameters
    ----------
    seed : int
    grid, block : tuple of int
        Launch shape; any block size will do.
    statements : int
        Statements at the outermost level.
    depth : int
        Deepest nesting of divergence.
    variables, wide : int
        32-bit and 64-bit values live throughout; with 3 and 1 the compiler stays below 16 registers.
    barriers : bool
        Exchange data through shared memory.
    exits : bool
        Let threads end early.
    vectors : bool
        Use 128-bit accesses (they need four consecutive registers).
    nested_leaves : bool
        Let conditionals hold ``break`` and ``continue``. Their lanes then meet again only at the end of the loop, so
        that the SIMT stack may need an entry for every lane.

    Attributes
    ----------
    ptx : str
        The module.
    n : int
        Value of the third parameter: threads from this number on end early.
    output_bytes, input_bytes : int
    """

    name = NAME
    input_bytes = INPUT_BYTES

    def __init__(self, seed: int, grid: Sequence[int] = (2,), block: Sequence[int] = (40,), *, statements: int = 14,
                 depth: int = 3, variables: int = 6, wide: int = 2, barriers: bool = True, exits: bool = True,
                 vectors: bool = True, nested_leaves: bool = False):
        if variables < 2 or wide < 1 or 4 * variables + 8 * wide + 4 > SLOT_BYTES - RESULTS:
            raise ValueError(f"{variables} variables and {wide} wide ones are too few or do not fit a slot")
        rng = random.Random(seed)
        self.seed = seed
        self.grid: tuple[int, int, int] = (*grid, 1, 1)[:3]
        self.block: tuple[int, int, int] = (*block, 1, 1)[:3]
        self.block_threads = self.block[0] * self.block[1] * self.block[2]
        self.threads = self.block_threads * self.grid[0] * self.grid[1] * self.grid[2]
        self.n = self.threads - (rng.randrange(self.block_threads // 2 + 1) if exits else 0)
        self.output_bytes = self.threads * SLOT_BYTES
        settings = Settings(variables, wide, statements, depth, barriers, exits, vectors, nested_leaves)
        self._builder = _Builder(rng, settings, self.block_threads)
        self._nodes = self._builder.kernel()
        self.shared_bytes = self.block_threads * SHARED_SLOT if barriers else 0
        self.ptx = self._builder.module(self._nodes, self.shared_bytes)

    def inputs(self) -> bytes:
        """Return the input array."""
        return np.random.default_rng(self.seed).integers(0, 256, INPUT_BYTES, np.uint8).tobytes()

    def expected(self) -> bytes:
        """Return the output array, all zeros at first, as the interpreter leaves it."""
        output, inputs = bytearray(self.output_bytes), self.inputs()
        for cta in range(self.threads // self.block_threads):
            shared = bytearray(self.shared_bytes)
            threads = []
            for tid in range(self.block_threads):
                gid = cta * self.block_threads + tid
                view = memoryview(output)[gid * SLOT_BYTES:(gid + 1) * SLOT_BYTES]
                threads.append(Thread(self._specials(cta, tid), shared, view, inputs))
            run_block(self._nodes, threads)
        return bytes(output)

    def _specials(self, cta: int, tid: int) -> dict[str, int]:
        values = {"n": self.n, "tid": tid, "gid": cta * self.block_threads + tid}
        for name, index, sizes in (("tid", tid, self.block), ("ctaid", cta, self.grid)):
            x, y, _ = sizes
            values |= {f"%{name}.x": index % x, f"%{name}.y": index // x % y, f"%{name}.z": index // (x * y)}
            values |= {f"%n{name}.{axis}": size for axis, size in zip("xyz", sizes, strict=True)}
        return values


class _Builder:
    """Builds the statements of one kernel and names its registers."""

    def __init__(self, rng: random.Random, settings: Settings, block_threads: int):
        self.rng, self.s, self.block_threads = rng, settings, block_threads
        self.counts = {"%r": 0, "%rd": 0, "%rs": 0, "%p": 0}
        self.narrow = [self.fresh("%r") for _ in range(settings.variables)]
        self.wide = [self.fresh("%rd") for _ in range(settings.wide)]
        self.flags = [self.fresh("%p") for _ in range(3)]
        self.slot = self.fresh("%rd")
        self.tid = self.fresh("%r")
        self.gid = self.fresh("%r")
        self.nodes: list[Node] = []
        self._set_before: set[str] = set()
        self.ended = False  # threads may have ended: no barrier from here on

    def fresh(self, prefix: str) -> str:
        """Return a register that was not used yet."""
        self.counts[prefix] += 1
        return f"{prefix}{self.counts[prefix]}"

    # Text

    def module(self, nodes: Sequence[Node], shared_bytes: int) -> str:
        """Return the module's text."""
        out = Writer()
        for node in nodes:
            node.write(out)
        types = {"%p": ".pred", "%rs": ".b16", "%r": ".b32", "%rd": ".b64"}
        declarations = [f"\t.reg {types[p]} \t{p}<{n + 1}>;" for p, n in self.counts.items() if n]
        if shared_bytes:
            declarations.append(f"\t.shared .align 16 .b8 exchange[{shared_bytes}];")
        return "\n".join([
            ".version 8.0", ".target sm_75", ".address_size 64", "", f".visible .entry {NAME}(",
            f"\t.param .u64 {NAME}_param_0,", f"\t.param .u64 {NAME}_param_1,", f"\t.param .u32 {NAME}_param_2",
            ")", "{", *declarations, "", *out.lines, "\tret;", "", "}", ""])

    # Statements

    def emit(self, text: str, effect: Callable[[Thread], None] | None = None, guard: Guard | None = None) -> None:
        """Append an instruction."""
        self.nodes.append(Line(text, effect, guard))

    def compute(self, opcode: str, dest: str, bits: int, sources: Sequence[tuple[str | int, int]],
                meaning: Callable[..., int], guard: Guard | None = None) -> None:
        """Append an instruction of which `meaning` gives the `bits`-wide result; sources are (operand, bits)."""
        def effect(thread: Thread) -> None:
            values = (thread.get(operand, width) for operand, width in sources)
            thread.values[dest] = meaning(*values) & (1 << bits) - 1

        self.emit(f"{opcode} \t{', '.join([dest, *(str(x) for x, _ in sources)])}", effect, guard)

    def nested(self, build: Callable[[], None]) -> list[Node]:
        """Return the statements that `build` appends."""
        outer, self.nodes = self.nodes, []
        build()
        inner, self.nodes = self.nodes, outer
        return inner

    def kernel(self) -> list[Node]:
        """Return all statements: set-up, random ones, results."""
        self._set_up()
        for k in range(self.s.statements):
            if self.s.exits and k == 2 * self.s.statements // 3:
                self._bound()
            self._outermost()
        self._results()
        return self.nodes

    def _set_up(self) -> None:
        rng = self.rng
        self._thread_numbers()
        pointer, base, offset = (self.fresh("%rd") for _ in range(3))
        self.emit(f"ld.param.u64 \t{pointer}, [{NAME}_param_0]")
        self.emit(f"cvta.to.global.u64 \t{base}, {pointer}")
        self.emit(f"mul.wide.u32 \t{offset}, {self.gid}, {SLOT_BYTES}")
        self.emit(f"add.s64 \t{self.slot}, {base}, {offset}")
        for register in self.narrow:
            if rng.random() < 0.5:
                self.compute("mad.lo.s32", register, 32, [(self.gid, 32), (rng.getrandbits(31), 32),
                                                          (rng.getrandbits(31), 32)], lambda a, b, c: a * b + c)
            else:
                self._load_input(register, self.gid)
        for register in self.wide:
            self.compute("mul.wide.s32", register, 64, [(rng.choice(self.narrow), 32), (rng.choice(self.narrow), 32)],
                         lambda a, b: signed(a, 32) * signed(b, 32))
        for flag in self.flags:
            self._compare(flag)

    def _thread_numbers(self) -> None:
        """Compute the thread's number in its TB and in the grid from the special registers."""
        names = {f"%{n}.{axis}": self.fresh("%r") for n in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"
                 if (n, axis) != ("nctaid", "z")}
        for name, register in names.items():
            self.compute("mov.u32", register, 32, [(name, 32)], lambda a: a)

        def mad(dest: str, a: str, b: str, c: str) -> None:
            self.compute("mad.lo.s32", dest, 32, [(a, 32), (b, 32), (c, 32)], lambda x, y, z: x * y + z)

        for number, count, dest in (("tid", "ntid", self.tid), ("ctaid", "nctaid", self.gid)):
            row = self.fresh("%r")
            mad(row, names[f"%{number}.z"], names[f"%{count}.y"], names[f"%{number}.y"])
            mad(dest, row, names[f"%{count}.x"], names[f"%{number}.x"])
        size = self.fresh("%r")
        self.compute("mul.lo.s32", size, 32, [(names["%ntid.x"], 32), (names["%ntid.y"], 32)], lambda a, b: a * b)
        self.compute("mul.lo.s32", size, 32, [(size, 32), (names["%ntid.z"], 32)], lambda a, b: a * b)
        mad(self.gid, self.gid, size, self.tid)

    def _bound(self) -> None:
        """Threads from number n on end."""
        limit, flag = self.fresh("%r"), self.fresh("%p")
        self._parameter_n(limit)
        self._set_flag("setp.ge.u32", flag, 32, self.gid, limit, "ge", False)
        self.nodes.append(Return((flag, False)))
        self.ended = True

    def _parameter_n(self, register: str) -> None:
        def effect(thread: Thread) -> None:
            thread.values[register] = thread.values["n"]

        self.emit(f"ld.param.u32 \t{register}, [{NAME}_param_2]", effect)

    def _outermost(self) -> None:
        kind = self.rng.random()
        if self.s.barriers and not self.ended and kind < 0.3:
            build = self.rng.choice((self._exchange, self._exchange, self._uniform_loop, self._uniform_if))
            build()
        else:
            self._statement(0)

    def _statement(self, level: int, leaves: str = "") -> None:
        """Emit a statement `level` deep in divergence; `leaves` is how it may leave the innermost loop."""
        rng = self.rng
        kind = rng.random()
        if level < self.s.depth and kind < (0.3 if level == 0 else 0.45):
            rng.choice((self._if, self._if, self._loop))(level, leaves)
        elif leaves and kind < 0.52:
            flag = self.fresh("%p")
            self._compare(flag, sparse=True)
            self.nodes.append(Leave((flag, False), leaves if leaves != "any" else rng.choice(("break", "continue"))))
        elif kind < 0.72:
            rng.choice((self._narrow, self._narrow, self._wide, self._half, self._convert))()
        elif kind < 0.80:
            rng.choice((self._compare, self._logic))(rng.choice(self.flags))
        elif kind < 0.97 or not self.ended or level == 0:
            rng.choice((self._load, self._store, self._own_slot))()
        else:
            flag = self.fresh("%p")
            self._compare(flag, sparse=True)
            self.nodes.append(Return((flag, False)))

    def _body(self, level: int, leaves: str) -> list[Node]:
        def build() -> None:
            for _ in range(self.rng.randint(1, 4)):
                self._statement(level, leaves)

        return self.nested(build)

    def _if(self, level: int, leaves: str) -> None:
        leaves = leaves if leaves == "any" else ""
        if self.rng.random() < 0.7:
            flag = self.fresh("%p")
            self._bit(flag)
        else:
            flag = self.rng.choice(self.flags)
        then = self._body(level + 1, leaves)
        other = self._body(level + 1, leaves) if self.rng.random() < 0.6 else []
        self.nodes.append(If((flag, self.rng.random() < 0.5), then, other))

    def _loop(self, level: int, leaves: str) -> None:
        leaves = "any" if self.s.nested_leaves else self.rng.choice(("", "break", "continue"))
        counter = self._hash(self.rng.choice((1, 3)))
        first = self.rng.random() < 0.5
        self.nodes.append(Loop(counter, self.fresh("%p"), self._body(level + 1, leaves), first))

    def _uniform_loop(self) -> None:
        counter = self.fresh("%r")
        if self.rng.random() < 0.5:
            trips = self.rng.randint(1, 3)
            self.compute("mov.u32", counter, 32, [(trips, 32)], lambda a: a)
        else:
            self._parameter_n(counter)
            self.compute("and.b32", counter, 32, [(counter, 32), (3, 32)], lambda a, b: a & b)

        def build() -> None:
            for _ in range(self.rng.randint(1, 3)):
                self._exchange() if self.rng.random() < 0.5 else self._statement(1)

        self.nodes.append(Loop(counter, self.fresh("%p"), self.nested(build), self.rng.random() < 0.5))

    def _uniform_if(self) -> None:
        limit, flag = self.fresh("%r"), self.fresh("%p")
        self._parameter_n(limit)
        self._set_flag("setp.lt.u32", flag, 32, limit, self.rng.choice((0, 1 << 20)), "lt", False)
        other = self.nested(self._exchange) if self.rng.random() < 0.5 else []
        self.nodes.append(If((flag, False), self.nested(self._exchange), other))

    # Operations

    def _operand(self, bits: int = 32) -> str | int:
        if self.rng.random() < 0.3:
            value = self.rng.choice(IMMEDIATES) if self.rng.random() < 0.7 else self.rng.getrandbits(31)
            return value if bits == 32 or self.rng.random() < 0.7 else value * 0x1_0000_0003
        return self.rng.choice(self.narrow if bits == 32 else self.wide)

    def _guard(self) -> Guard | None:
        return (self.rng.choice(self.flags), self.rng.random() < 0.5) if self.rng.random() < 0.2 else None

    def _narrow(self) -> None:
        rng, dest, guard = self.rng, self.rng.choice(self.narrow), self._guard()
        kind = rng.random()
        a = rng.choice(self.narrow)
        if kind < 0.12:
            opcode = rng.choice(list(UNARY[32]))
            self.compute(opcode, dest, 32, [(a, 32)], UNARY[32][opcode], guard)
        elif kind < 0.6:
            opcode = rng.choice(list(BINARY[32]))
            self.compute(opcode, dest, 32, [(a, 32), (self._operand(), 32)], BINARY[32][opcode], guard)
        elif kind < 0.75:
            opcode = rng.choice(list(SHIFTS[32]))
            amount = rng.choice((self._operand(), rng.randrange(36)))
            self.compute(opcode, dest, 32, [(a, 32), (amount, 32)], SHIFTS[32][opcode], guard)
        elif kind < 0.9:
            opcode = rng.choice(list(TERNARY))
            sources = [(a, 32), (rng.choice(self.narrow), 32), (self._operand(), 32)]
            self.compute(opcode, dest, 32, sources, TERNARY[opcode], guard)
        else:
            self._select(dest, 32, guard)

    def _select(self, dest: str, bits: int, guard: Guard | None) -> None:
        flag = self.rng.choice(self.flags)
        a, b = self.rng.choice(self.narrow if bits == 32 else self.wide), self._operand(bits)

        def effect(thread: Thread) -> None:
            thread.values[dest] = thread.get(a if thread.values[flag] else b, bits)

        self.emit(f"selp.b{bits} \t{dest}, {a}, {b}, {flag}", effect, guard)

    def _wide(self) -> None:
        rng, dest, guard = self.rng, self.rng.choice(self.wide), self._guard()
        kind = rng.random()
        a = rng.choice(self.wide)
        if kind < 0.12:
            opcode = rng.choice(list(UNARY[64]))
            self.compute(opcode, dest, 64, [(a, 64)], UNARY[64][opcode], guard)
        elif kind < 0.5:
            opcode = rng.choice(list(BINARY[64]))
            self.compute(opcode, dest, 64, [(a, 64), (self._operand(64), 64)], BINARY[64][opcode], guard)
        elif kind < 0.65:
            opcode = rng.choice(list(SHIFTS[64]))
            amount = rng.choice((self._operand(), rng.randrange(68)))
            self.compute(opcode, dest, 64, [(a, 64), (amount, 32)], SHIFTS[64][opcode], guard)
        elif kind < 0.8:
            letter = rng.choice("su")
            sources = [(rng.choice(self.narrow), 32), (self._operand(), 32)]

            def product(x: int, y: int, z: int = 0) -> int:
                return (signed(x, 32) * signed(y, 32) if letter == "s" else x * y) + z

            if rng.random() < 0.5:
                self.compute(f"mul.wide.{letter}32", dest, 64, sources, product, guard)
            else:
                self.compute(f"mad.wide.{letter}32", dest, 64, [*sources, (a, 64)], product, guard)
        else:
            self._select(dest, 64, guard)

    def _half(self) -> None:
        """A 16-bit operation on halves of 32-bit values, its result widened."""
        rng = self.rng
        a, b, d = (self.fresh("%rs") for _ in range(3))
        dest = rng.choice(self.narrow)
        for half in (a, b):
            self.compute("cvt.u16.u32", half, 16, [(rng.choice(self.narrow), 32)], lambda x: x)
        kind = rng.random()
        if kind < 0.2:
            letter = rng.choice("su")
            self.compute(f"mul.wide.{letter}16", dest, 32, [(a, 16), (b, 16)],
                         lambda x, y: signed(x, 16) * signed(y, 16) if letter == "s" else x * y)
            return
        if kind < 0.35:
            def join(thread: Thread) -> None:
                thread.values[dest] = thread.values[b] << 16 | thread.values[a]

            self.emit(f"mov.b32 \t{dest}, {{{a}, {b}}}", join)
            return
        if kind < 0.5:
            opcode = rng.choice(list(SHIFTS[16]))
            self.compute(opcode, d, 16, [(a, 16), (self._operand(), 32)], SHIFTS[16][opcode])
        elif kind < 0.6:
            opcode = rng.choice([name for name in UNARY[16] if not name.startswith("cnot")])
            self.compute(opcode, d, 16, [(a, 16)], UNARY[16][opcode])
        else:
            opcode = rng.choice(list(BINARY[16]))
            self.compute(opcode, d, 16, [(a, 16), (b, 16)], BINARY[16][opcode])
        letter = rng.choice("su")
        self.compute(f"cvt.{letter}32.{letter}16", dest, 32, [(d, 16)], lambda x: signed(x, 16) if letter == "s" else x)

    def _convert(self) -> None:
        rng, guard = self.rng, self._guard()
        narrow, wide, letter = rng.choice(self.narrow), rng.choice(self.wide), rng.choice("su")
        bits = rng.choice((8, 16, 32))
        kind = rng.randrange(5)

        def extend(x: int) -> int:
            x &= (1 << bits) - 1
            return signed(x, bits) if letter == "s" else x

        if kind == 0 and bits < 32:
            self.compute(f"cvt.{letter}32.{letter}{bits}", narrow, 32, [(rng.choice(self.narrow), 32)], extend, guard)
        elif kind in (0, 1):
            self.compute(f"cvt.{letter}64.{letter}{bits}", wide, 64, [(rng.choice(self.narrow), 32)], extend, guard)
        elif kind == 2:
            self.compute("cvt.u32.u64", narrow, 32, [(wide, 64)], lambda x: x, guard)
        elif kind == 3:
            low, high = rng.choice(self.narrow), rng.choice(self.narrow)

            def pack(thread: Thread) -> None:
                thread.values[wide] = thread.values[high] << 32 | thread.values[low]

            self.emit(f"mov.b64 \t{wide}, {{{low}, {high}}}", pack, guard)
        else:
            low, high = self.fresh("%r"), rng.choice(self.narrow)

            def unpack(thread: Thread) -> None:
                thread.values[low], thread.values[high] = thread.get(wide), thread.values[wide] >> 32

            self.emit(f"mov.b64 \t{{{low}, {high}}}, {wide}", unpack)
            self.compute("xor.b32", narrow, 32, [(narrow, 32), (low, 32)], lambda a, b: a ^ b, guard)

    def _set_flag(self, opcode: str, flag: str, bits: int, a: str, b: str | int, test: str, is_signed: bool,
                  guard: Guard | None = None) -> None:
        def effect(thread: Thread) -> None:
            x, y = thread.get(a, bits), thread.get(b, bits)
            if is_signed:
                x, y = signed(x, bits), signed(y, bits)
            thread.values[flag] = int(compare(test, x, y))

        self.emit(f"{opcode} \t{flag}, {a}, {b}", effect, guard)

    def _compare(self, flag: str, sparse: bool = False) -> None:
        """Set a flag from a comparison; few threads pass a `sparse` one."""
        rng = self.rng
        if sparse:
            self._set_flag("setp.eq.s32", flag, 32, self._hash(7), rng.randrange(8), "eq", True)
            return
        test, letter, bits = rng.choice(COMPARISONS), rng.choice("su"), rng.choice((32, 32, 64))
        a = rng.choice(self.narrow if bits == 32 else self.wide)
        guard = self._guard() if flag in self.flags and flag in self._set_before else None
        self._set_flag(f"setp.{test}.{letter}{bits}", flag, bits, a, self._operand(bits), test, letter == "s", guard)
        self._set_before.add(flag)

    def _bit(self, flag: str) -> None:
        self._set_flag("setp.ne.s32", flag, 32, self._hash(1), 0, "ne", True)

    def _hash(self, mask: int) -> str:
        """Return a register with a number from 0 to `mask` that differs from thread to thread."""
        rng, x, y, z, d = self.rng, *(self.fresh("%r") for _ in range(4))
        self.compute("mul.lo.s32", x, 32, [(self.gid, 32), (rng.getrandbits(31) | 1, 32)], lambda a, b: a * b)
        self.compute("xor.b32", y, 32, [(x, 32), (rng.choice(self.narrow), 32)], lambda a, b: a ^ b)
        self.compute("shr.u32", z, 32, [(y, 32), (rng.randrange(8, 28), 32)], lambda a, b: a >> b)
        self.compute("and.b32", d, 32, [(z, 32), (mask, 32)], lambda a, b: a & b)
        return d

    def _logic(self, flag: str) -> None:
        rng = self.rng
        name, a, b = rng.choice(("and", "or", "xor", "not")), rng.choice(self.flags), rng.choice(self.flags)
        if rng.random() < 0.3:
            test = rng.choice(COMPARISONS)
            combine = rng.choice(("and", "or", "xor"))
            x, y = rng.choice(self.narrow), rng.choice(self.narrow)

            def combined(thread: Thread) -> None:
                outcome = int(compare(test, signed(thread.get(x), 32), signed(thread.get(y), 32)))
                thread.values[flag] = self._combine(combine, outcome, thread.values[b])

            self.emit(f"setp.{test}.{combine}.s32 \t{flag}, {x}, {y}, {b}", combined, self._guard())
            return
        sources = [(a, 1)] if name == "not" else [(a, 1), (b, 1)]
        self.compute(f"{name}.pred", flag, 1, sources,
                     (lambda p: 1 - p) if name == "not" else (lambda p, q: self._combine(name, p, q)), self._guard())

    @staticmethod
    def _combine(name: str, p: int, q: int) -> int:
        return {"and": p & q, "or": p | q, "xor": p ^ q}[name]

    # Memory

    def _access(self, text: str, vector: int, registers: Sequence[str], address: str, store: bool,
                effect: Callable[[Thread], None], guard: Guard | None) -> None:
        data = f"{{{', '.join(registers)}}}" if vector > 1 else registers[0]
        operands = f"[{address}], {data}" if store else f"{data}, [{address}]"
        opcode = text.replace(".v", f".v{vector}") if vector > 1 else text.replace(".v", "")
        self.emit(f"{opcode} \t{operands}", effect, guard)

    def _shape(self, store: bool) -> tuple[str, int, int]:
        """Return type, bits and vector length of a random access."""
        rng = self.rng
        bits = rng.choice((8, 16, 32, 32, 64))
        letter = "b" if bits == 32 else "u" if store else rng.choice("us")
        longest = 128 if self.s.vectors else 64
        lengths = [n for n in (1, 2, 4) if bits * n <= longest and (bits >= 32 or n == 1)]
        return f"{letter}{bits}", bits, rng.choice(lengths)

    def _destinations(self, bits: int, vector: int) -> list[str]:
        """Return distinct registers for a load; 8- and 16-bit values go to 16-bit registers or 32-bit ones."""
        if bits == 64:
            pool = self.wide
        elif bits < 32 and self.rng.random() < 0.5:
            return [self.fresh("%rs")]
        else:
            pool = self.narrow
        chosen = self.rng.sample(pool, min(vector, len(pool)))
        return chosen + [self.fresh("%r" if bits < 64 else "%rd") for _ in range(vector - len(chosen))]

    def _move_in(self, type: str, bits: int, vector: int, address: str, space: str,
                 source: Callable[[Thread], bytes], guard: Guard | None) -> None:
        """Load from `source`, the accessed bytes; what went to a 16-bit register is widened afterwards."""
        registers = self._destinations(bits, vector)
        half = registers[0].startswith("%rs")

        def effect(thread: Thread) -> None:
            data = source(thread)
            for k, register in enumerate(registers):
                value = int.from_bytes(data[k * bits // 8:(k + 1) * bits // 8], "little", signed=type[0] == "s")
                width = 16 if half else 64 if bits == 64 else 32
                thread.values[register] = value & (1 << width) - 1

        guard = None if half or len(set(registers) - {*self.narrow, *self.wide}) else guard
        self._access(f"ld.{space}.v.{type}", vector, registers, address, False, effect, guard)
        if half:
            letter = self.rng.choice("su")
            self.compute(f"cvt.{letter}32.{letter}16", self.rng.choice(self.narrow), 32, [(registers[0], 16)],
                         lambda x: signed(x, 16) if letter == "s" else x)

    def _data_out(self, bits: int, vector: int) -> tuple[list[str], Callable[[Thread], bytes]]:
        registers = [self.rng.choice(self.wide if bits == 64 else self.narrow) for _ in range(vector)]

        def data(thread: Thread) -> bytes:
            return b"".join(thread.get(r, bits).to_bytes(bits // 8, "little") for r in registers)

        return registers, data

    def _input_address(self, index: str, size: int) -> str:
        """Emit the address of input element `index` of `size` bytes."""
        pointer, base, offset, address = (self.fresh("%rd") for _ in range(4))
        self.emit(f"ld.param.u64 \t{pointer}, [{NAME}_param_1]")
        self.emit(f"cvta.to.global.u64 \t{base}, {pointer}")
        self.emit(f"mul.wide.u32 \t{offset}, {index}, {size}")
        self.emit(f"add.s64 \t{address}, {base}, {offset}")
        return address

    def _masked(self, register: str, mask: int) -> str:
        index = self.fresh("%r")
        self.compute("and.b32", index, 32, [(register, 32), (mask, 32)], lambda a, b: a & b)
        return index

    def _load_input(self, register: str, by: str) -> None:
        index = self._masked(by, INPUT_BYTES // 4 - 1)
        address = self._input_address(index, 4)

        def effect(thread: Thread) -> None:
            start = 4 * thread.values[index]
            thread.values[register] = int.from_bytes(thread.inputs[start:start + 4], "little")

        self.emit(f"ld.global.nc.u32 \t{register}, [{address}]", effect)

    def _load(self) -> None:
        type, bits, vector = self._shape(False)
        size = bits * vector // 8
        index = self._masked(self.rng.choice(self.narrow), INPUT_BYTES // size - 1)
        address = self._input_address(index, size)

        def source(thread: Thread) -> bytes:
            start = size * thread.values[index]
            return thread.inputs[start:start + size]

        self._move_in(type, bits, vector, address, "global", source, self._guard())

    def _store(self) -> None:
        type, bits, vector = self._shape(True)
        size = bits * vector // 8
        offset = self.rng.randrange(0, RESULTS, size)
        registers, data = self._data_out(bits, vector)

        def effect(thread: Thread) -> None:
            thread.output[offset:offset + size] = data(thread)

        self._access(f"st.global.v.{type}", vector, registers, f"{self.slot}+{offset}", True, effect, self._guard())

    def _own_slot(self) -> None:
        """Read back what the thread stored to its own slot."""
        type, bits, vector = self._shape(False)
        size = bits * vector // 8
        offset = self.rng.randrange(0, RESULTS, size)
        self._move_in(type, bits, vector, f"{self.slot}+{offset}", "global",
                      lambda thread: bytes(thread.output[offset:offset + size]), self._guard())

    def _exchange(self) -> None:
        """Store to the thread's shared slot, meet, read another thread's slot, meet again."""
        rng = self.rng
        own = self._shared_address(self.tid)
        for _ in range(rng.randint(1, 2)):
            self._store_shared(own)
        self.nodes.append(Barrier(rng.choice((0, 0, 0, 1, 15))))
        for _ in range(rng.randint(1, 2)):
            self._load_shared()
        self.nodes.append(Barrier(0))

    def _shared_address(self, index: str) -> str:
        start, scaled, address = (self.fresh("%r") for _ in range(3))
        self.emit(f"mov.u32 \t{start}, exchange")
        self.emit(f"shl.b32 \t{scaled}, {index}, {SHARED_SLOT.bit_length() - 1}")
        self.emit(f"add.s32 \t{address}, {start}, {scaled}")
        return address

    def _store_shared(self, own: str) -> None:
        type, bits, vector = self._shape(True)
        size = bits * vector // 8
        offset = self.rng.randrange(0, SHARED_SLOT, size)
        registers, data = self._data_out(bits, vector)

        def effect(thread: Thread) -> None:
            start = SHARED_SLOT * thread.values["tid"] + offset
            thread.shared[start:start + size] = data(thread)

        self._access(f"st.shared.v.{type}", vector, registers, f"{own}+{offset}", True, effect, self._guard())

    def _load_shared(self) -> None:
        rng = self.rng
        if rng.random() < 0.5:
            other = self._masked(rng.choice(self.narrow), (1 << self.block_threads.bit_length() - 1) - 1)
        else:
            other = self._neighbour(rng.randrange(1, self.block_threads + 1))
        address = self._shared_address(other)
        type, bits, vector = self._shape(False)
        size = bits * vector // 8
        offset = rng.randrange(0, SHARED_SLOT, size)

        def source(thread: Thread) -> bytes:
            start = SHARED_SLOT * thread.values[other] + offset
            return bytes(thread.shared[start:start + size])

        self._move_in(type, bits, vector, f"{address}+{offset}", "shared", source, self._guard())

    def _neighbour(self, distance: int) -> str:
        """Return the register of the thread number `distance` further on, around the TB."""
        total, less, other, flag = *(self.fresh("%r") for _ in range(3)), self.fresh("%p")
        size = self.block_threads
        self.compute("add.s32", total, 32, [(self.tid, 32), (distance, 32)], lambda a, b: a + b)
        self.compute("sub.s32", less, 32, [(total, 32), (size, 32)], lambda a, b: a - b)
        self._set_flag("setp.lt.u32", flag, 32, total, size, "lt", False)

        def effect(thread: Thread) -> None:
            thread.values[other] = thread.values[total if thread.values[flag] else less]

        self.emit(f"selp.b32 \t{other}, {total}, {less}, {flag}", effect)
        return other

    def _results(self) -> None:
        """Store every value and flag to the thread's slot."""
        offset = RESULTS
        for bits, registers in ((64, self.wide), (32, self.narrow)):
            for register in registers:
                self._store_result(offset, bits, register)
                offset += bits // 8
        for k, flag in enumerate(self.flags):
            value = self.fresh("%r")

            def effect(thread: Thread, flag=flag, value=value) -> None:
                thread.values[value] = 1 if thread.values[flag] else 2

            self.emit(f"selp.u32 \t{value}, 1, 2, {flag}", effect)
            self._store_result(offset + k, 8, value)

    def _store_result(self, offset: int, bits: int, register: str) -> None:
        def effect(thread: Thread) -> None:
            thread.output[offset:offset + bits // 8] = thread.get(register, bits).to_bytes(bits // 8, "little")

        self.emit(f"st.global.u{bits} \t[{self.slot}+{offset}], {register}", effect)
