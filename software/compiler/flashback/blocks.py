"""A basic block as context flashback sees it, whatever the instruction set.

Registers are of three classes: *vector* ones have a word for each lane, *predicates* a bit, *scalar* ones are one word
a warp. A block runs from its first instruction to its last under one mask of active lanes, which the hardware keeps; a
guard is an operand like any other.

What an instruction reads (its *operands*) is

1. its sources and its guard,
2. the old value of what it writes, if lanes (or bytes) that it does not write keep it: with a guard, and by its nature
   (``partial``), and
3. the old value of a vector register or predicate that lanes wait for outside the mask (`Block.elsewhere`): a write in
   the block leaves those lanes what they had.

An instruction can be executed again after the warp was stopped before instruction ``c`` if

1. it only computes (``Effect.COMPUTE``), or reads memory, or which lanes there are (``Effect.READ``), and
2. no instruction between it and ``c`` may have changed what it read: none that writes its region (``Effect.WRITE``;
   the empty region is any), and no limit.

An ``Effect.LIMIT`` (barrier, fence, call) ends the part of a block that is looked at: nothing before it is done again
after it. ``Effect.FIXED`` cannot be repeated and changes nothing that others read (a clock). (CTXBack III-E.)
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
    """A block that is none: an operand of the wrong kind, a set of live registers that does not fit."""


class RegisterClass(enum.Enum):
    """What a register holds for a warp."""

    VECTOR = "vector"
    PREDICATE = "predicate"
    SCALAR = "scalar"


class Register(NamedTuple):
    """A register: its class and its number."""

    kind: RegisterClass
    index: int

    def order(self) -> tuple[str, int]:
        """Return what registers are sorted by: their class, then their number."""
        return self.kind.value, self.index

    def __str__(self) -> str:
        return {"vector": "R", "predicate": "P", "scalar": "U"}[self.kind.value] + str(self.index)


class Effect(enum.Enum):
    """What an instruction has to do with anything but registers; the cases are in the module's text."""

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
        What it writes, each once.
    uses : tuple of Register
        Its sources.
    guard : Register or None
        Only lanes in which it holds (or does not) write.
    partial : bool
        It leaves part of what it writes as it was, besides.
    effect : Effect
    region : str
        What `effect` reads or writes; empty: anything.
    recovers : Register or None
        If it is reversible: the register that is source and result, whose old value follows from the new one and the
        other operands (CTXBack III-C). The only result.
    cycles : int
        From its issue to its result, at least 1.
    origin : object
        The front end's own instruction.
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
        """Return its sources and its guard."""
        return self.uses if self.guard is None else (*self.uses, self.guard)


Value = int
"""A value in a block: its number in `Block.register_of`; each write of a register makes one."""
ENTRY = -1
"""Where the values that registers have at the start of a block are defined."""


@dataclass(frozen=True)
class Block:
    """A basic block with its values: what each register holds between two writes.

    Attributes
    ----------
    instructions : tuple of Instruction
    live : tuple of frozenset of Register
        What is needed before each instruction and, last, after all, the lanes that wait elsewhere included; a guarded
        write kills nothing.
    elsewhere : frozenset of Register
        Registers that lanes outside the mask may need.
    register_of : list of Register
        Of each value.
    defined, overwritten : list of int
        Of each value, the instruction that writes it (`ENTRY`: none in the block), and the one that writes its register
        next (the number of instructions: none).
    operands, results, replaced : list of tuple of Value
        Of each instruction: values it reads, values it makes, values that those take the place of.
    others : list of tuple of Value
        Of a reversible instruction, its operands but for the value to be recovered.
    hazard : list of int
        Of each instruction, the last instruction before which it can be executed again (module, second list); itself
        if never.
    floor : list of int
        Before each instruction and after all, the first instruction that is looked at from there.
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
        """Return what an instruction reads (module, first list), each register once."""
        keeps = instruction.guard is not None or instruction.partial
        old = [reg for reg in instruction.defs if keeps or reg in self.elsewhere]
        return tuple(dict.fromkeys((*instruction.sources(), *old)))

    def _value(self, now: dict[Register, Value], reg: Register) -> Value:
        """Return what a register holds; if nothing in the block has written it, what it held at the start."""
        if reg not in now:
            now[reg] = self._new(reg, ENTRY)
        return now[reg]

    def _new(self, reg: Register, index: int) -> Value:
        self.register_of.append(reg)
        self.defined.append(index)
        self.overwritten.append(len(self.instructions))
        return len(self.register_of) - 1

    def _number_live(self, index: int, now: dict[Register, Value]) -> None:
        """Give numbers to what is live, in the order of the registers: a set has another in each process."""
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
    """Return what is live before each instruction of a block and after all, by lane: a write that is guarded or
    partial, or of a register that lanes need elsewhere, kills nothing."""
    live = after | elsewhere
    found = [live]
    for instruction in reversed(instructions):
        killed = () if instruction.guard is not None or instruction.partial else instruction.defs
        live = (live - frozenset(killed)) | frozenset(instruction.sources()) | elsewhere
        found.append(live)
    return tuple(reversed(found))
