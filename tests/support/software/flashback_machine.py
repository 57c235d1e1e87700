"""A small warp that runs a block, the routines of its plans, and the random programs it is tried with.

What an instruction does stands in `OPERATIONS`, apart from what the analysis is told about it (`Program.block`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from caesura.software.compiler.flashback.blocks import (
    Block,
    Effect,
    Instruction,
    Register,
    RegisterClass,
    liveness_of,
)
from caesura.software.compiler.flashback.routines import Action, Routines, Step

LANES = 8
WORDS = 16
"""Words of each memory."""
VECTOR, PREDICATE, SCALAR = RegisterClass.VECTOR, RegisterClass.PREDICATE, RegisterClass.SCALAR
U32 = np.uint32


@dataclass(frozen=True)
class Operation:
    """An executed instruction: results, sources (registers or constants), guard."""

    name: str
    defs: tuple[Register, ...] = ()
    sources: tuple[Register | int, ...] = ()
    guard: Register | None = None
    negated: bool = False


def _rotate(x, n):
    n = n & U32(31)
    return x << n | x >> (U32(32) - n & U32(31)) if np.any(n) else x


OPERATIONS: dict[str, Callable] = {
    "mov": lambda a: a, "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "rsub": lambda a, b: b - a,
    "xor": lambda a, b: a ^ b, "not": lambda a: ~a, "neg": lambda a: U32(0) - a, "and": lambda a, b: a & b,
    "mul": lambda a, b: a * b, "mulodd": lambda a, b: a * b, "rot": _rotate, "shl": lambda a, b: a << (b & U32(31)),
    "mad": lambda a, b, c: a * b + c, "less": lambda a, b: a < b, "pxor": lambda a, b: a ^ b,
    "low": lambda a, b: (a & U32(0xFFFF)) | (b & U32(0xFFFF0000)),
}
"""Instructions that only compute."""
REVERSED: dict[tuple[str, int], Callable] = {
    ("add", 0): lambda d, b: d - b, ("add", 1): lambda d, a: d - a, ("sub", 0): lambda d, b: d + b,
    ("sub", 1): lambda d, a: a - d, ("rsub", 0): lambda d, b: b - d, ("rsub", 1): lambda d, a: d + a,
    ("xor", 0): lambda d, b: d ^ b, ("xor", 1): lambda d, a: d ^ a, ("not", 0): lambda d: ~d,
    ("neg", 0): lambda d: U32(0) - d, ("mulodd", 0): lambda d, b: d * U32(pow(int(np.ravel(b)[0]), -1, 1 << 32)),
    ("rot", 0): lambda d, n: _rotate(d, U32(32) - (n & U32(31))),
    ("pxor", 0): lambda d, b: d ^ b, ("pxor", 1): lambda d, a: d ^ a}
"""Operation and index of the source to be recovered, to the function of the result and the other source."""


def recovered(op: Operation) -> Register | None:
    """Return the register that reverting an operation recovers."""
    places = [k for k, source in enumerate(op.sources) if op.defs == (source,)]
    reversible = len(places) == 1 and (op.name, places[0]) in REVERSED and op.guard not in op.defs
    return op.defs[0] if reversible else None


def described(op: Operation) -> Instruction:
    """Return what the analysis is told of an operation."""
    sources = op.sources[:1] if op.name == "low" else op.sources  # the other one is what `partial` stands for
    uses = tuple(dict.fromkeys(s for s in sources if isinstance(s, Register)))
    effect, region = {"constant": (Effect.COMPUTE, ""), "load": (Effect.READ, "data"), "store": (Effect.WRITE, "data"),
                      "atomic": (Effect.WRITE, ""), "clock": (Effect.FIXED, ""), "barrier": (Effect.LIMIT, "")
                      }.get(op.name, (Effect.COMPUTE, ""))
    return Instruction(op.name, op.defs, uses, op.guard, op.name == "low", effect, region,
                       recovered(op), origin=op)


@dataclass
class Program:
    """A block that is run `rounds` times under a mask; `out` is read afterwards, `elsewhere` by lanes outside."""

    operations: list[Operation]
    out: frozenset[Register]
    elsewhere: frozenset[Register] = frozenset()
    rounds: int = 1
    block: Block = field(init=False)

    def __post_init__(self):
        self.block = self.analysed([described(op) for op in self.operations], self.elsewhere)

    def analysed(self, instructions: list[Instruction], elsewhere: frozenset[Register]) -> Block:
        """Return the block as the analysis sees it, its liveness closed over the loop."""
        after = self.out
        while True:
            live = liveness_of(instructions, after, elsewhere)
            closed = after | live[0] if self.rounds > 1 else after
            if closed == after:
                return Block(tuple(instructions), live, elsewhere)
            after = closed


class Warp:
    """Registers, memory and mask of a warp."""

    def __init__(self, registers, rng: np.random.Generator, mask):
        self.mask, self.time = mask, 0
        self.values = {reg: _random_value(reg, rng) for reg in registers}
        self.data = rng.integers(0, 1 << 32, WORDS, U32)
        self.constants = rng.integers(0, 1 << 32, WORDS, U32)

    def copy(self) -> Warp:
        """Return one that runs on its own."""
        other = object.__new__(Warp)
        other.mask, other.time, other.constants = self.mask, self.time, self.constants
        other.values = {reg: np.copy(value) for reg, value in self.values.items()}
        other.data = self.data.copy()
        return other

    def scramble(self, rng: np.random.Generator) -> None:
        """Fill every register with something else."""
        self.values = {reg: _random_value(reg, rng) for reg in self.values}

    def write(self, reg: Register, value, lanes) -> None:
        """Write a register in some lanes."""
        if reg.kind is SCALAR:
            self.values[reg] = U32(np.ravel(value)[0])
        else:
            self.values[reg] = np.where(lanes, value, self.values[reg])

    def lanes(self, op: Operation):
        """Return the lanes that execute an operation."""
        return self.mask if op.guard is None else self.mask & (self.values[op.guard] ^ op.negated)

    @np.errstate(over="ignore")
    def execute(self, op: Operation) -> None:
        """Execute an operation."""
        lanes = self.lanes(op)
        sources: list[Any] = [self.values[s] if isinstance(s, Register) else U32(s) for s in op.sources]
        self.time += 1
        if op.name == "barrier":
            return
        if op.name == "clock":
            self.write(op.defs[0], np.full(LANES, self.time, U32), lanes)
        elif op.name == "constant":
            self.write(op.defs[0], self.constants[sources[0] % WORDS], lanes)
        elif op.name == "load":
            self.write(op.defs[0], self.data[sources[0] % WORDS], lanes)
        elif op.name == "store":
            for lane in np.flatnonzero(lanes):
                self.data[sources[0][lane] % WORDS] = sources[1][lane]
        elif op.name == "atomic":
            old: Any = self.values[op.defs[0]].copy()
            for lane in np.flatnonzero(lanes):
                old[lane] = self.data[sources[0][lane] % WORDS]
                self.data[sources[0][lane] % WORDS] = old[lane] + sources[1][lane]
            self.write(op.defs[0], old, lanes)
        elif op.name == "addc":
            total = sources[0] + sources[1]
            self.write(op.defs[0], total, lanes)
            self.write(op.defs[1], total < sources[0], lanes)
        else:
            self.write(op.defs[0], OPERATIONS[op.name](*sources), lanes)

    @np.errstate(over="ignore")
    def revert(self, op: Operation) -> None:
        """Undo an operation."""
        (reg,) = op.defs
        place = op.sources.index(reg)
        others = [self.values[s] if isinstance(s, Register) else U32(s) for k, s in enumerate(op.sources) if k != place]
        self.write(reg, REVERSED[op.name, place](self.values[reg], *others), self.lanes(op))

    def routine(self, steps: tuple[Step, ...], block: Block, slots: dict) -> None:
        """Run a routine; `slots` is the save area."""
        for action, number, reg in steps:
            if action is Action.STORE:
                slots[number] = np.copy(self.values[reg])
            elif action is Action.LOAD:
                self.values[reg] = slots[number]
            elif action is Action.EXECUTE:
                self.execute(block.instructions[number].origin)
            else:
                self.revert(block.instructions[number].origin)


def _random_value(reg: Register, rng: np.random.Generator):
    if reg.kind is SCALAR:
        return U32(rng.integers(0, 1 << 32))
    return rng.integers(0, 2, LANES).astype(bool) if reg.kind is PREDICATE else rng.integers(0, 1 << 32, LANES, U32)


@dataclass
class Runner:
    """Runs a program with the routines of its plans.

    Attributes
    ----------
    program : Program
    block : Block
        Block for which the plans were made.
    routines : list of Routines
        For each instruction, and for the end of the block.
    copies : dict of int to list of (Register, Register)
        Backups made before an instruction: from, to.
    """

    program: Program
    block: Block
    routines: list[Routines]
    copies: dict[int, list[tuple[Register, Register]]] = field(default_factory=dict)

    def run(self, warp: Warp, rng: np.random.Generator | None = None, stop: int = -1, share: float = 0.0) -> str:
        """Run to the end; stop, scramble and resume at place `stop` (instructions and ends of rounds count), and at
        others with probability `share`. Return what a resume left wrong, if anything."""
        for step, at in enumerate([*range(len(self.routines))] * self.program.rounds):
            if step == stop or share and rng is not None and rng.random() < share:
                wrong = self.interrupt(warp, at, rng)
                if wrong:
                    return wrong
            if at < len(self.program.operations):
                for source, place in self.copies.get(at, ()):
                    warp.values[place] = np.copy(warp.values[source])
                warp.execute(self.program.operations[at])
        return ""

    def interrupt(self, warp: Warp, at: int, rng: np.random.Generator | None) -> str:
        """Stop a warp before instruction `at` and bring it back."""
        assert rng is not None
        before = warp.copy()
        slots: dict = {}
        warp.routine(self.routines[at].preemption, self.block, slots)
        warp.scramble(rng)
        warp.routine(self.routines[at].resume, self.block, slots)
        warp.time = before.time
        for reg in sorted(self.program.block.live[at], key=str):
            lanes = ... if reg.kind is SCALAR else slice(None) if reg in self.program.elsewhere else warp.mask
            if not np.array_equal(np.asarray(warp.values[reg])[lanes], np.asarray(before.values[reg])[lanes]):
                return f"{reg} before {at}"
        return "" if np.array_equal(warp.data, before.data) else f"memory before {at}"


def same_end(program: Program, a: Warp, b: Warp) -> bool:
    """Return whether two warps end alike in all that is observed."""
    return np.array_equal(a.data, b.data) and all(
        np.array_equal(np.asarray(a.values[reg])[lanes], np.asarray(b.values[reg])[lanes])
        for reg in program.out | program.elsewhere
        for lanes in [... if reg.kind is SCALAR else slice(None) if reg in program.elsewhere else a.mask])


def registers(kind: RegisterClass, count: int) -> list[Register]:
    """Return the first registers of a class."""
    return [Register(kind, k) for k in range(count)]


def random_program(rng: random.Random, length: int = 12) -> Program:
    """Return a program of up to `length` operations over few registers, so that values are overwritten and reused."""
    vectors, predicates, scalars = registers(VECTOR, 5), registers(PREDICATE, 2), registers(SCALAR, 3)
    operations = [_random_operation(rng, vectors, predicates, scalars) for _ in range(rng.randint(1, length))]
    everything = [*vectors, *predicates, *scalars]
    out = frozenset(rng.sample(everything, rng.randint(1, 6)))
    elsewhere = frozenset(rng.sample([*vectors, *predicates], rng.randint(0, 2)))
    return Program(operations, out, elsewhere, rng.choice((1, 1, 2, 3)))


def _random_operation(rng: random.Random, vectors, predicates, scalars) -> Operation:
    def source():
        return rng.choice((*vectors, *vectors, *scalars, rng.getrandbits(32)))

    d, (p, q) = rng.choice(vectors), predicates
    a = d if rng.random() < 0.6 else rng.choice(vectors)
    kind = rng.random()
    if kind < 0.45:
        name = rng.choice(("add", "sub", "rsub", "xor", "xor", "add", "mul", "and"))
        sources = (a, source())
        kept = rng.random() < 0.8 or not isinstance(sources[1], Register)
        op = Operation(name, (d,), sources if kept else sources[::-1])
        if isinstance(op.sources[0], int) or op.sources[0].kind is SCALAR:
            op = replace(op, sources=op.sources[::-1])
    elif kind < 0.6:
        op = rng.choice((Operation("not", (d,), (a,)), Operation("neg", (d,), (a,)),
                         Operation("mov", (d,), (source(),)),
                         Operation("rot", (d,), (a, rng.randrange(32))), Operation("shl", (d,), (a, rng.randrange(32))),
                         Operation("mulodd", (d,), (a, rng.getrandbits(32) | 1)),
                         Operation("mad", (d,), (a, source(), rng.choice(vectors))),
                         Operation("low", (d,), (a, d))))
    elif kind < 0.7:
        op = rng.choice((Operation("less", (p,), (a, source())), Operation("pxor", (p,), (p, q)),
                         Operation("addc", (d, q), (a, rng.choice(vectors)))))
    elif kind < 0.82:
        s = rng.choice(scalars)
        other = rng.choice((*scalars, rng.getrandbits(32)))
        return Operation(rng.choice(("add", "sub", "xor", "mul", "and")), (s,), (rng.choice((s, *scalars)), other))
    elif kind < 0.97:
        op = rng.choice((Operation("load", (d,), (a,)), Operation("constant", (d,), (a,)),
                         Operation("store", (), (a, rng.choice(vectors))), Operation("clock", (d,)),
                         Operation("atomic", (d,), (a, rng.choice(vectors)))))
    else:
        return Operation("barrier")
    return replace(op, guard=rng.choice(predicates), negated=rng.random() < 0.5) if rng.random() < 0.25 else op
