"""Calls of routines: registers for arguments and results, and the routines' own code in the registers of the kernel.

A routine is compiled once, by itself (`routines`), so that it has registers ``R0``, ``R1``, ... and predicates ``P0``,
... of its own. In a kernel these are *slots*: virtual registers, in aligned pairs, the same ones for every routine and
every call. Before allocation each ``routine`` operation becomes

1. moves of its arguments to the slots where the routine expects them,
2. ``call``, which reads these slots and writes all that the routine writes, so that no value that lives across the call
   is in them, and
3. moves of the results out of their slots.

Slots are coloured with everything else, and most of the moves are coalesced. After allocation the routine's code gets
the registers of its slots. The return address has a uniform register to itself. No other value may be in it, not even
one of lanes that wait elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from caesura.hw.arch.geometry import UNIFORMS

from ..analysis.calls import calls_of, summarise
from ..analysis.liveness import liveness
from ..ir.cfg import words
from ..ir.kernel import Block, Kernel, Op, Pred, Reg, Routine, Terminator

__all__ = ["Slots", "bind_calls", "finish_calls", "physical"]


@dataclasses.dataclass(frozen=True)
class Slots:
    """Virtual registers that stand for those of routines.

    Attributes
    ----------
    vectors, predicates : tuple of Reg
    """

    vectors: tuple[Reg, ...] = ()
    predicates: tuple[Reg, ...] = ()


def bind_calls(kernel: Kernel) -> Slots:
    """Give the calls of `kernel` (stage ``narrow``, immediates selected) slots."""
    if not kernel.routines:
        return Slots()
    used = {routine.name: _used(routine) for routine in kernel.routines}
    slots = Slots(tuple(kernel.fresh("r") for _ in range(max(vectors for vectors, _ in used.values()))),
                  tuple(kernel.fresh("p") for _ in range(max(predicates for _, predicates in used.values()))))
    live = liveness(kernel)
    for block in kernel.blocks:
        if any(op.name == "routine" for op in block.ops):
            made: list[list[Op]] = []
            for _, op, after in live.backward(block):
                made.append(_bound(op, kernel.routines[op.imm], slots, after) if op.name == "routine" else [op])
            block.ops = [op for ops in reversed(made) for op in ops]
    return slots


def _used(routine: Routine) -> tuple[int, int]:
    """Return the vector registers, as whole pairs, and predicates of a routine."""
    registers = {reg for op in routine.body.ops() for reg in (*op.written(), *op.read())}
    counts = [max((reg.index + 1 for reg in registers if reg.kind == kind), default=0) for kind in "RP"]
    return counts[0] + counts[0] % 2, counts[1]


def _bound(op: Op, routine: Routine, slots: Slots, live: set[Reg]) -> list[Op]:
    vectors, predicates = _used(routine)
    arguments = [slots.vectors[reg.index] for reg in routine.arguments]
    results = [slots.vectors[reg.index] for reg in routine.results]
    moves = [Op("mov", (slot,), (use,), line=op.line) for slot, use in zip(arguments, op.uses, strict=True)]
    written = (*slots.vectors[:vectors], *slots.predicates[:predicates])
    call = Op("call", written, tuple(arguments), None, op.imm, op.line)
    return [*moves, call, *(Op("mov", (d,), (slot,), line=op.line) for d, slot in zip(op.defs, results, strict=True)
                            if d in live)]


def finish_calls(kernel: Kernel) -> None:
    """Put the routines' code into the registers of `kernel`, which is allocated, and their summaries at the calls."""
    if not kernel.routines:
        return
    named = {reg.index for op in kernel.ops() for reg in (*op.written(), *op.read()) if reg.kind == "U"}
    address = Reg("U", max(named, default=-1) + 1)
    assert address.index < UNIFORMS, "no uniform register is left for the return address"
    bodies: dict[int, Routine] = {}
    summaries = {}
    for block in kernel.blocks:
        for index, op in enumerate(block.ops):
            if op.name != "call":
                continue
            if op.imm not in bodies:
                bodies[op.imm] = _placed(kernel.routines[op.imm], op, address)
                summaries[op.imm] = summarise(bodies[op.imm].body, words(bodies[op.imm].body.blocks))
            summary = summaries[op.imm]
            assert summary.reads <= set(op.uses), f"{kernel.routines[op.imm].name} reads more than its arguments"
            block.ops[index] = summary.call(op.imm, op.line)
    numbers = {old: new for new, old in enumerate(sorted(bodies))}
    for _, _, call in calls_of(kernel):
        call.imm = numbers[call.imm]
    kernel.routines = [bodies[number] for number in sorted(bodies)]


def _placed(routine: Routine, call: Op, address: Reg) -> Routine:
    """Return a routine in the registers that its slots have got at a call; they are the same at all calls."""
    places: dict[str, list[Reg]] = {kind: [d for d in call.defs if d is not None and d.kind == kind] for kind in "RP"}
    registers = {Reg(kind, number): reg for kind, regs in places.items() for number, reg in enumerate(regs)}
    blocks = []
    for block in routine.body.blocks:
        ops = [_renamed(op, registers) for op in block.ops if op.name != "enter"]
        if not block.end.targets:
            ops[-1] = Op("bru", (), (address,))
        end = block.end
        blocks.append(Block(f"{routine.name}.{block.label}", ops, Terminator(
            tuple(f"{routine.name}.{target}" for target in end.targets), physical(end.condition, registers))))
    return Routine(routine.name, Kernel(routine.name, blocks))


def _renamed(op: Op, registers: Mapping[Reg, Reg]) -> Op:
    return Op(op.name, tuple(d if d is None else registers.get(d, d) for d in op.defs),
              tuple(physical(use, registers) for use in op.uses), physical(op.guard, registers), op.imm)


def physical(use: Any, registers: Mapping[Reg, Reg]) -> Any:
    """Return an operand with its register replaced."""
    if isinstance(use, Reg):
        return registers.get(use, use)
    if isinstance(use, Pred) and use.reg is not None:
        return Pred(registers.get(use.reg, use.reg), use.negated)
    return use
