"""Seeded random kernels, as compiler IR, in which values of the warp and of the lane meet on every kind of branch.

Some values start as the same in all lanes (parameters, the TB's number, constants) and are mostly computed from each
other; which of them stay uniform depends on the control flow. That has no structure: a block ends in a jump, or in a
branch to any later or earlier block, on conditions of either kind. A branch back counts down fuel, which may be of
either kind too, so every thread ends. Each thread stores values to its own words as it passes. An interpreter that
knows nothing of warps says what they must be.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from caesura.hw.arch.isa.opcodes import Special
from caesura.software.compiler import KernelImage
from caesura.software.compiler.codegen.block_layout import lay_out
from caesura.software.compiler.codegen.emit import emit
from caesura.software.compiler.ir.cfg import by_label
from caesura.software.compiler.ir.kernel import Imm, Kernel, Op, Pred
from caesura.software.compiler.ir.text import parse
from caesura.software.compiler.optimize.select_immediates import select_immediates
from caesura.software.compiler.optimize.simplify_cfg import simplify_cfg
from caesura.software.compiler.optimize.sink import sink
from caesura.software.compiler.optimize.unify_loop_exits import unify_loop_exits
from caesura.software.compiler.preemption.placement import place_points
from caesura.software.compiler.registers.allocate import allocate
from caesura.software.compiler.uniform.scalarize import use_uniform_registers

__all__ = ["RandomUniform"]

_WORD = 1 << 32


def _signed(x: int) -> int:
    return x - (x >> 31 << 32)


_VALUES: dict[str, Callable[..., int]] = {
    "mov": lambda a: a, "iadd": lambda a, b: a + b, "isub": lambda a, b: a - b, "irsub": lambda a, b: b - a,
    "imul.lo": lambda a, b: a * b, "imad.lo": lambda a, b, c: a * b + c, "and": lambda a, b: a & b,
    "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "not": lambda a: ~a, "popc": lambda a: a.bit_count(),
    "shl": lambda a, b: a << b if b < 32 else 0, "shr.u": lambda a, b: a >> b if b < 32 else 0,
    "imin.s": lambda a, b: min(a, b, key=_signed), "imax.u": max, "sel": lambda a, b, p: a if p else b,
}
_TESTS: dict[str, Callable[[int, int], bool]] = {
    "setp.eq": lambda a, b: a == b, "setp.ne": lambda a, b: a != b, "setp.lt.u": lambda a, b: a < b,
    "setp.ge.u": lambda a, b: a >= b, "setp.gt.s": lambda a, b: _signed(a) > _signed(b),
    "setp.le.s": lambda a, b: _signed(a) <= _signed(b),
}


class RandomUniform:
    """A random kernel; parameter word 0 is the address of the output, the others are values.

    Parameters
    ----------
    seed : int
    blocks : int
        Basic blocks.
    values : int
        Values of the warp that never change; there are twice as many that do, and half as many of the lane.
    threads : int
        Threads of each of two TBs.

    Attributes
    ----------
    text : str
        The kernel as `ir.text`.
    parameters : list of int
        Values from parameter word 1 on.
    words : int
        A thread's words of output.
    """

    grid = (2,)

    def __init__(self, seed: int, blocks: int = 9, values: int = 6, threads: int = 45):
        self._rng = rng = random.Random(seed)
        self.threads = threads
        self.parameters = [rng.choice((rng.randrange(6), rng.getrandbits(32))) for _ in range(values)]
        self._base = [f"%r{k}" for k in range(10, 10 + values)]
        self._warp = [f"%r{k}" for k in range(100, 100 + 2 * values)]
        self._lane = [f"%r{k}" for k in range(200, 200 + values // 2)]
        self._predicates = 0
        self.words = 0
        body = "".join(f"b{k}:\n" + self._ops() + self._end(k, blocks) for k in range(blocks))
        last = f"b{blocks}:\n" + "".join(map(self._store, (*self._warp[::4], *self._lane))) + "  end\n"
        self.text = "kernel random_uniform\n" + self._entry(blocks) + body + last

    def _entry(self, blocks: int) -> str:
        rng = self._rng
        lines = [f"%r0 = s2r #{int(Special.TID_X)}", f"%r1 = s2r #{int(Special.CTAID_X)}",
                 f"%r2 = imad.lo %r1, {self.threads}, %r0", f"%r3 = imul.lo %r2, {4 * self.words}",
                 "%r4 = ldp", "%r5 = iadd %r4, %r3"]
        lines += [f"{reg} = {self._same()}" for reg in self._base + self._warp]
        lines += [rng.choice((f"{reg} = imul.lo %r0, {rng.getrandbits(31)}", f"{reg} = and %r0, {rng.randrange(8)}",
                              f"{reg} = iadd %r0, {self._base[0]}")) for reg in self._lane]
        for k in range(blocks):
            fuel = rng.choice((f"mov {rng.randint(1, 3)}", "ldp #4", "and %r0, 3"))
            lines += [f"%r{300 + k} = {fuel}"] + ([f"%r{300 + k} = and %r{300 + k}, 3"] if fuel == "ldp #4" else [])
        return "entry:\n" + "".join(f"  {line}\n" for line in lines) + "  jump b0\n"

    def _same(self) -> str:
        """Return what gives all lanes the same value."""
        rng = self._rng
        return rng.choice((f"ldp #{4 * rng.randint(1, len(self.parameters))}", f"mov {rng.randrange(9)}",
                           f"s2r #{int(Special.CTAID_X)}"))

    def _ops(self) -> str:
        rng, text = self._rng, ""
        for _ in range(rng.randint(1, 4)):
            if rng.random() < 0.2:
                text += self._store(rng.choice(self._warp + self._lane))
                continue
            warp = rng.random() < 0.6
            dest = rng.choice(self._warp if warp else self._lane)
            if warp and rng.random() < 0.4:
                text += f"  {dest} = {self._same()}\n"
                continue
            pool = self._base + self._warp if warp and rng.random() < 0.98 else self._base + self._lane
            guard = f"@{rng.choice(('', '!'))}%p{self._predicates} " if rng.random() < 0.15 else ""
            text += self._test() if guard else ""
            name = rng.choice(list(_VALUES))
            count = _VALUES[name].__code__.co_argcount if name != "imax.u" else 2
            operands = [rng.choice(pool) for _ in range(count)]
            if name == "sel":
                operands[2] = f"{rng.choice(('', '!'))}%p{self._predicates}"
                text += self._test()
            elif count > 1 and rng.random() < 0.4:
                operands[1] = str(rng.choice((0, 1, 3, 5, rng.getrandbits(32))))
            text += f"  {guard}{dest} = {name} {', '.join(operands)}\n"
        return text

    def _test(self) -> str:
        """Return a comparison that sets the next predicate."""
        rng = self._rng
        pool = self._base + self._warp if rng.random() < 0.6 else self._lane
        b = rng.choice((rng.choice(pool), str(rng.randrange(9))))
        self._predicates += 1
        return f"  %p{self._predicates - 1} = {rng.choice(list(_TESTS))} {rng.choice(pool)}, {b}\n"

    def _store(self, value: str) -> str:
        self.words += 1
        return f"  st.global.b32 %r5, {value} #{4 * self.words - 4}\n"

    def _end(self, k: int, blocks: int) -> str:
        rng = self._rng
        kind = rng.random()
        if kind < 0.3:
            return f"  jump b{rng.randint(k + 1, min(k + 4, blocks))}\n"
        condition = f"%p{self._predicates}"
        test = self._test()
        if kind < 0.75:
            return f"{test}  branch {condition} b{rng.randint(k + 1, blocks)} b{k + 1}\n"
        fuel, again = f"%r{300 + k}", f"%p{self._predicates}"
        self._predicates += 1
        test += f"  {fuel} = iadd {fuel}, 4294967295\n  {again} = setp.gt.s {fuel}, 0\n"
        if rng.random() < 0.6:
            again = f"%p{self._predicates}"
            self._predicates += 1
            test += f"  {again} = pand %p{self._predicates - 2}, {condition}\n"
        return f"{test}  branch {again} b{rng.randint(0, k)} b{k + 1}\n"

    def kernel(self, uniform: bool = True, join: bool = True) -> Kernel:
        """Return the kernel at stage ``narrow``.

        Parameters
        ----------
        uniform : bool
            Use uniform registers.
        join : bool
            Give loops one place where all lanes meet.
        """
        kernel = parse(self.text)
        simplify_cfg(kernel)
        if join and unify_loop_exits(kernel):
            simplify_cfg(kernel)
        select_immediates(kernel)
        sink(kernel)
        if uniform:
            use_uniform_registers(kernel)
        return kernel

    def image(self, uniform: bool = True, join: bool = True) -> KernelImage:
        """Return the compiled kernel; parameters as of `kernel`."""
        kernel = self.kernel(uniform, join)
        allocate(kernel, 64)
        lay_out(kernel)
        return emit(kernel, place_points(kernel, 50))

    def expected(self) -> list[int]:
        """Return the output, words that are not stored to 0."""
        kernel = parse(self.text)
        return [word for tb in range(self.grid[0]) for tid in range(self.threads)
                for word in self._run(kernel, {Special.TID_X: tid, Special.CTAID_X: tb})]

    def _run(self, kernel: Kernel, specials: dict[int, int]) -> list[int]:
        blocks, values = by_label(kernel), {}
        output = [0] * self.words
        block = kernel.blocks[0]

        def value(use) -> int:
            if isinstance(use, Pred):
                return bool(values[use.reg]) != use.negated
            return use.value if isinstance(use, Imm) else values[use]

        def execute(op: Op) -> None:
            if op.guard is not None and not value(op.guard):
                return
            if op.name.startswith("st."):
                output[op.imm // 4] = value(op.uses[1])
            elif op.name == "s2r":
                values[op.dest] = specials[op.imm]
            elif op.name == "ldp":
                values[op.dest] = self.parameters[op.imm // 4 - 1] if op.imm else 0
            elif op.name == "pand":
                values[op.dest] = value(op.uses[0]) and value(op.uses[1])
            elif op.name in _TESTS:
                values[op.dest] = _TESTS[op.name](*map(value, op.uses))
            else:
                values[op.dest] = _VALUES[op.name](*map(value, op.uses)) % _WORD

        while True:
            for op in block.ops:
                execute(op)
            if not block.end.targets:
                return output
            taken = block.end.condition is None or value(block.end.condition)
            block = blocks[block.end.targets[not taken]]
