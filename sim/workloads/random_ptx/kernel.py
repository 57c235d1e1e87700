"""Seeded random PTX kernels in the style of nvcc, with results by an interpreter.

Divergence is nested, and loops have per-thread trip counts. Barriers stand at uniform points, also in uniform loops and
conditionals. Threads may end early, and every instruction of the compiler occurs. Each thread writes only its own slot
of the output and, between barriers, of shared memory. So the result does not depend on the schedule.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from .accesses import INPUT_BYTES, RESULTS, SHARED_SLOT, SLOT_BYTES, Accesses
from .arithmetic import Arithmetic
from .builder import NAME, Settings
from .divisions import Divisions
from .floating import Floating
from .operations import signed
from .tree import If, Leave, Loop, Node, Return, Thread, run_block
from .unstructured import JumpBlock, Region

__all__ = ["RandomKernel"]


def _three(sizes: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


class RandomKernel:
    """A random kernel ``random_kernel(u64 output, u64 input, u32 n)``.

    Parameters
    ----------
    seed : int
    grid, block : tuple of int
        Launch shape; any block size is possible.
    statements : int
        Number of statements at the outermost level.
    depth : int
        Deepest nesting of divergence.
    variables, wide : int
        Number of 32-bit and 64-bit values that are live throughout. With 2 and 1, and without `heavy`, 16 registers are
        enough.
    barriers : bool
        Exchange data through shared memory.
    exits : bool
        Let threads end early.
    heavy : bool
        Use operations that need many registers at once: vectors, high halves of 64-bit products.
    nested_leaves : bool
        Let conditionals hold ``break`` and ``continue``. Their lanes then reconverge only at the end of the loop, so
        that the SIMT stack may need an entry for every lane.
    floats : bool
        Use f32 instructions.
    unstructured : bool
        Include regions of unstructured control flow.
    divisions : bool
        Use divisions and roots, of integers and of f32 and f64, as the most frequent instructions.
    portable : bool
        Avoid behaviour that PTX leaves to the machine: initial shared memory, and the bits of a NaN after ``neg`` and
        ``abs`` of f32 and after f64 arithmetic. Also take f32 values from registers of that type (`ptx.typed`).

    Attributes
    ----------
    ptx : str
        The module.
    n : int
        Value of the third parameter; threads from this number on end early.
    output_bytes, input_bytes : int
    """

    name = NAME
    input_bytes = INPUT_BYTES

    def __init__(self, seed: int, grid: Sequence[int] = (2,), block: Sequence[int] = (40,), *, statements: int = 14,
                 depth: int = 3, variables: int = 6, wide: int = 2, barriers: bool = True, exits: bool = True,
                 heavy: bool = True, nested_leaves: bool = False, floats: bool = True,
                 unstructured: bool = False, divisions: bool = False, portable: bool = False):
        if variables < 2 or wide < 1 or 4 * variables + 8 * wide + 4 > SLOT_BYTES - RESULTS:
            raise ValueError(f"{variables} variables and {wide} wide ones are too few or do not fit a slot")
        rng = random.Random(seed)
        self.seed = seed
        self.grid, self.block = _three(grid), _three(block)
        self.block_threads = self.block[0] * self.block[1] * self.block[2]
        self.threads = self.block_threads * self.grid[0] * self.grid[1] * self.grid[2]
        self.n = self.threads - (rng.randrange(self.block_threads // 2 + 1) if exits else 0)
        self.output_bytes = self.threads * SLOT_BYTES
        settings = Settings(variables, wide, statements, depth, barriers, exits, heavy, nested_leaves, floats,
                            unstructured, divisions, portable)
        self._builder = _Generator(rng, settings, self.block_threads)
        self._nodes = self._builder.kernel()
        self.shared_bytes = self.block_threads * SHARED_SLOT if barriers else 0
        self.ptx = self._builder.module(self._nodes, self.shared_bytes)

    def inputs(self) -> bytes:
        """Return the input array."""
        return np.random.default_rng(self.seed).integers(0, 256, INPUT_BYTES, np.uint8).tobytes()

    def expected(self) -> bytes:
        """Return the interpreter's final output array, which begins with zeros."""
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


class _Generator(Arithmetic, Divisions, Floating, Accesses):
    """Builds a whole kernel from set-up, structured random statements and results."""

    def kernel(self) -> list[Node]:
        """Return all statements: set-up, random ones, results."""
        self._set_up()
        bound = 2 * self.s.statements // 3 if self.s.barriers else 0
        for k in range(self.s.statements):
            if self.s.exits and k == bound:
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
        if self.s.portable and self.s.barriers:
            self._clear_shared()

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
        """End the threads from number n on."""
        limit, flag = self.fresh("%r"), self.fresh("%p")
        self._parameter_n(limit)
        self._set_flag("setp.ge.u32", flag, 32, self.gid, limit, "ge", False)
        self.nodes.append(Return((flag, False)))
        self.ended = True

    def _outermost(self) -> None:
        kind = self.rng.random()
        if self.s.barriers and not self.ended and kind < 0.3:
            build = self.rng.choice((self._exchange, self._exchange, self._uniform_loop, self._uniform_if))
            build()
        else:
            self._statement(0)

    def _statement(self, level: int, leaves: str = "") -> None:
        """Emit a statement at depth `level` of divergence; `leaves` are the ways to leave the innermost loop."""
        rng = self.rng
        kind = rng.random()
        if level < self.s.depth and kind < (0.3 if level == 0 else 0.45):
            structured = (self._if, self._if, self._loop)
            rng.choice((*structured, *[self._region] * 3) if self.s.unstructured else structured)(level, leaves)
        elif leaves and kind < 0.52:
            flag = self.fresh("%p")
            self._compare(flag, sparse=True)
            self.nodes.append(Leave((flag, False), leaves if leaves != "any" else rng.choice(("break", "continue"))))
        elif kind < 0.72:
            integer = (self._narrow, self._narrow, self._wide, self._half, self._convert)
            floats = [self._float] * 2 if self.s.floats else []
            divisions = [self._divide] * 8 if self.s.divisions else []
            rng.choice((*integer, *floats, *divisions))()
        elif kind < 0.80:
            rng.choice((self._compare, self._logic))(rng.choice(self.flags))
        elif kind < 0.97 or not self.ended or level == 0:
            rng.choice((self._load, self._store, self._own_slot))()
        else:
            self._return()

    def _return(self) -> None:
        """End few threads."""
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

    def _region(self, level: int, leaves: str) -> None:
        fuel, count = self._hash(3), self.rng.randint(3, 7)
        blocks = [self._jump_block(k, count, level) for k in range(count)]
        self.nodes.append(Region(fuel, self.fresh("%p"), blocks))

    def _jump_block(self, k: int, count: int, level: int) -> JumpBlock:
        rng, flag = self.rng, self.fresh("%p")

        def build() -> None:
            for _ in range(rng.randint(0, 2)):
                self._statement(level + 1 if rng.random() < 0.2 else self.s.depth)
            if self.ended and rng.random() < 0.1:
                self._return()
            self._bit(flag)

        body = self.nested(build)
        taken = rng.randint(0, k) if rng.random() < 0.4 else rng.randint(k + 1, count)
        other = min(k + rng.choice((1, 1, 1, 2, 3)), count)
        return JumpBlock(body, (flag, rng.random() < 0.5), taken, other)

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
