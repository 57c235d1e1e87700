"""A basic block for context flashback, whatever the instruction set.

Registers have three classes: *vector* registers hold one word per lane, *predicates* one bit per lane, *scalar*
registers one word per warp. A block runs from its first instruction to its last under one mask of active lanes, which
the hardware keeps. A guard is an operand like any other.

An instruction reads its *operands*. They are

1. its sources and its guard,
2. the old value of a result, if lanes (or bytes) that the instruction does not write keep it: with a guard, or by its
   nature (``partial``), and
3. the old value of a vector register or predicate that waiting lanes outside the mask need (`Block.elsewhere`): a write
   in the block leaves the values of those lanes as they were.

An instruction can be executed again after the warp was stopped before instruction ``c`` if

1. it only computes (``Effect.COMPUTE``), or reads memory or the set of lanes (``Effect.READ``), and
2. no instruction between it and ``c`` may have changed its operands: none writes its region (``Effect.WRITE``; the
   empty region is any), and none is a limit.

An ``Effect.LIMIT`` (barrier, fence, call) ends the part of a block that is searched: no instruction before it is
repeated after it. ``Effect.FIXED`` cannot be repeated and changes nothing that others read (a clock). (CTXBack III-E.)
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from caesura.errors import InputError

__all__ = ["FlashbackError", "RegisterClass", "Register", "Effect", "Instruction", "Block", "Value", "ENTRY",
           "liveness_of"]


class FlashbackError(InputError):
    """An invalid block, such as one with an operand of the wrong kind or an inconsistent set of live registers."""


class RegisterClass(enum.Enum):
    """The kinds of registers; each says how much a register holds for a warp."""

    VECTOR = "vector"
    PREDICATE = "predicate"
    SCALAR = "scalar"


class Register(NamedTuple):
    """A register: its class and its number."""

    kind: RegisterClass
    index: int

    def order(self) -> tuple[str, int]:
        """Return the sort key of registers: their class, then their number."""
        return self.kind.value, self.index

    def __str__(self) -> str:
        return {"vector": "R", "predicate": "P", "scalar": "U"}[self.kind.value] + str(self.index)


class Effect(enum.Enum):
    """The effect of an instruction on anything but registers (module)."""

    COMPUTE = "compute"
    READ = "read"
    WRITE = "write"
    FIXED = "fixed"
    LIMIT = "limit"


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    opcode : str
    defs : tuple of Register
        Registers that it writes, each once.
    uses : tuple of Register
        Source registers.
    guard : Register or None
        Predicate that enables or disables the write in each lane.
    partial : bool
        Whether it also leaves part of its result as it was.
    effect : Effect
    region : str
        Region that `effect` reads or writes; empty: any.
    recovers : Register or None
        Register that a reversible instruction has as a source and as its only result. Its old value follows from the
        new one and the other operands (CTXBack III-C).
    cycles : int
        Cycles from its issue to its result, at least 1.
    origin : object
        Front end's own instruction.
    """

    opcode: str
    defs: tuple[Register, ...] = ()
    uses: tuple[Register, ...] = ()
    guard: Register | None = None
    partial: bool = False
    effect: Effect = Effect.COMPUTE
    region: str = ""
    recovers: Register | None = None
    cycles: int = 1
    origin: Any = None

    def __post_init__(self):
        if len(set(self.defs)) != len(self.defs):
            raise FlashbackError(f"{self.opcode} writes a register twice: {', '.join(map(str, self.defs))}")
        if self.recovers is not None and (self.defs != (self.recovers,) or self.recovers not in self.uses):
            raise FlashbackError(f"{self.opcode} cannot recover {self.recovers}: it is not its one result and a source")
        if self.recovers is not None and self.recovers == self.guard:
            raise FlashbackError(f"{self.opcode} cannot recover its guard {self.guard}")
        if self.recovers is not None and self.effect is not Effect.COMPUTE:
            raise FlashbackError(f"{self.opcode} cannot be reverted: it does more than compute")
        if self.cycles < 1:
            raise FlashbackError(f"{self.opcode} takes at least one cycle, not {self.cycles}")

    def sources(self) -> tuple[Register, ...]:
        """Return the sources and the guard."""
        return self.uses if self.guard is None else (*self.uses, self.guard)


Value = int
"""A value in a block: an index of `Block.register_of`; each write of a register makes one."""
ENTRY = -1
"""Defining instruction of the values that registers have at the start of a block."""


@dataclass(frozen=True)
class Block:
    """A basic block with its values; a value is the contents of a register between two writes.

    Attributes
    ----------
    instructions : tuple of Instruction
    live : tuple of frozenset of Register
        Registers needed before each instruction and, last, after all, with those that waiting lanes need; a guarded
        write kills nothing.
    elsewhere : frozenset of Register
        Registers that lanes outside the mask may need.
    register_of : list of Register
        Register of each value.
    defined, overwritten : list of int
        Instruction that writes each value (`ENTRY` if none in the block does), and the next one that writes its
        register (the number of instructions if none does).
    operands, results, replaced : list of tuple of Value
        Values that each instruction reads, values it makes, and values that those replace.
    others : list of tuple of Value
        Operands of a reversible instruction without the value to be recovered; empty for others.
    hazard : list of int
        Last instruction before which each instruction can be executed again (module, second list); its own index if
        never.
    floor : list of int
        First instruction that a search may reach from each instruction and, last, from the end.
    """

    instructions: tuple[Instruction, ...]
    live: tuple[frozenset[Register], ...]
    elsewhere: frozenset[Register] = frozenset()
    register_of: list[Register] = field(init=False, repr=False, default_factory=list)
    defined: list[int] = field(init=False, repr=False, default_factory=list)
    overwritten: list[int] = field(init=False, repr=False, default_factory=list)
    operands: list[tuple[Value, ...]] = field(init=False, repr=False, default_factory=list)
    results: list[tuple[Value, ...]] = field(init=False, repr=False, default_factory=list)
    replaced: list[tuple[Value, ...]] = field(init=False, repr=False, default_factory=list)
    others: list[tuple[Value, ...]] = field(init=False, repr=False, default_factory=list)
    hazard: list[int] = field(init=False, repr=False, default_factory=list)
    floor: list[int] = field(init=False, repr=False, default_factory=list)
    _live_values: list[list[Value]] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self):
        if len(self.live) != len(self.instructions) + 1:
            raise FlashbackError(f"a block of {len(self.instructions)} instructions has {len(self.instructions) + 1} "
                                 f"sets of live registers, not {len(self.live)}")
        now: dict[Register, Value] = {}
        for index, instruction in enumerate(self.instructions):
            self._number(index, instruction, now)
        self._number_live(-1, now)
        self._find_hazards()
        self._find_live_values()

    def live_values(self, at: int) -> list[Value]:
        """Return the values that are needed before instruction `at`, sorted."""
        return self._live_values[at]

    def operand_registers(self, instruction: Instruction) -> tuple[Register, ...]:
        """Return the registers that an instruction reads (module, first list), each once."""
        keeps = instruction.guard is not None or instruction.partial
        old = [reg for reg in instruction.defs if keeps or reg in self.elsewhere]
        return tuple(dict.fromkeys((*instruction.sources(), *old)))

    def _value(self, now: dict[Register, Value], reg: Register) -> Value:
        """Return the value in a register: the last one written in the block, or the one from the start."""
        if reg not in now:
            now[reg] = self._new(reg, ENTRY)
        return now[reg]

    def _new(self, reg: Register, index: int) -> Value:
        self.register_of.append(reg)
        self.defined.append(index)
        self.overwritten.append(len(self.instructions))
        return len(self.register_of) - 1

    def _number_live(self, index: int, now: dict[Register, Value]) -> None:
        """Number live values in the order of their registers; the order of a set differs between processes."""
        for reg in sorted(self.live[index] - now.keys(), key=Register.order):
            self._value(now, reg)

    def _number(self, index: int, instruction: Instruction, now: dict[Register, Value]) -> None:
        self._number_live(index, now)
        read = tuple(self._value(now, reg) for reg in self.operand_registers(instruction))
        before = tuple(self._value(now, reg) for reg in instruction.defs)
        made = []
        for reg, old in zip(instruction.defs, before, strict=True):
            self.overwritten[old] = index
            now[reg] = self._new(reg, index)
            made.append(now[reg])
        self.operands.append(read)
        self.results.append(tuple(made))
        self.replaced.append(before)
        self.others.append(tuple(v for v in read if v != before[0]) if instruction.recovers is not None else ())

    def _find_hazards(self) -> None:
        count = len(self.instructions)
        writes: dict[str, int] = {}
        limit = anything = count
        for index in range(count - 1, -1, -1):
            instruction = self.instructions[index]
            effect, region = instruction.effect, instruction.region
            last = index
            if effect is Effect.COMPUTE:
                last = limit
            elif effect is Effect.READ:
                nearest = min(writes.values(), default=count) if not region else writes.get(region, count)
                last = min(limit, anything, nearest)
            elif effect is Effect.LIMIT:
                limit = index
            elif effect is Effect.WRITE and region:
                writes[region] = index
            elif effect is Effect.WRITE:
                anything = index
            self.hazard.append(last)
        self.hazard.reverse()
        first = 0
        for index, instruction in enumerate(self.instructions):
            self.floor.append(first)
            first = index + 1 if instruction.effect is Effect.LIMIT else first
        self.floor.append(first)

    def _find_live_values(self) -> None:
        now: dict[Register, Value] = {}
        for value, index in enumerate(self.defined):
            if index == ENTRY:
                now[self.register_of[value]] = value
        for index in range(len(self.instructions) + 1):
            self._live_values.append(sorted(now[reg] for reg in self.live[index]))
            if index < len(self.instructions):
                for value in self.results[index]:
                    now[self.register_of[value]] = value


def liveness_of(instructions: Sequence[Instruction], after: frozenset[Register],
                elsewhere: frozenset[Register] = frozenset()) -> tuple[frozenset[Register], ...]:
    """Return the registers live by lane before each instruction of a block and after all.

    A write kills nothing if it is guarded or partial, or if lanes need the register elsewhere.
    """
    live = after | elsewhere
    found = [live]
    for instruction in reversed(instructions):
        killed = () if instruction.guard is not None or instruction.partial else instruction.defs
        live = (live - frozenset(killed)) | frozenset(instruction.sources()) | elsewhere
        found.append(live)
    return tuple(reversed(found))
