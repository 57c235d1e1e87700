"""Kernels of gfx906 run by the model of a wave, with the routines of flashback plans; and small kernels from text."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from caesura.software.compiler.amdgpu import Kernel, parse
from caesura.software.compiler.amdgpu.front_end import Analysed, analysed, places
from caesura.software.compiler.amdgpu.operands import is_vector
from caesura.software.compiler.amdgpu.reversing import steps
from caesura.software.compiler.flashback.backup import add_backups
from caesura.software.compiler.flashback.blocks import Block, Register
from caesura.software.compiler.flashback.costs import Costs, Objective
from caesura.software.compiler.flashback.routines import Action, Routines, Step
from caesura.software.compiler.flashback.search import Search

from .amdgpu_wave import Wave

__all__ = ["COSTS", "Planned", "planned", "run", "same_memory", "small"]

COSTS = Costs(64, 9.5, 500)
_FRAME = """
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.type	small,@function
small:
{}
	.section	.rodata
	.amdhsa_kernel small
		.amdhsa_user_sgpr_private_segment_buffer 1
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_sgpr 16
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .group_segment_fixed_size: {shared}
    .max_flat_workgroup_size: 256
    .name:           small
    .sgpr_count:     20
    .vgpr_count:     30
    .wavefront_size: 64
...
	.end_amdgpu_metadata
"""


def small(*lines: str, shared: int = 0) -> Kernel:
    """Return a kernel of these lines."""
    return parse(_FRAME.format("\n".join(lines), shared=shared), "small.s").kernel()


@dataclass
class Planned:
    """A kernel with its plans: blocks and routines by instruction, and the backups made before each."""

    facts: Analysed
    table: dict[int, tuple[Block, Routines]] = field(default_factory=dict)
    copies: dict[int, list[tuple[Register, Register]]] = field(default_factory=dict)


def planned(kernel: Kernel, objective: Objective = Objective.SIZE, facts: Analysed | None = None) -> Planned:
    """Return a kernel with a plan for each instruction."""
    found = Planned(facts or analysed(kernel))
    for code in found.facts.code:
        search = Search(code.block, COSTS)
        plans = list(search.plans(objective))
        for copy in add_backups(search, plans, objective, places(kernel)):
            source = code.block.register_of[copy.value]
            found.copies.setdefault(code.start + copy.before, []).append((source, copy.place))
        for at in range(code.words):
            found.table[code.start + at] = code.block, search.routines(plans[at])
    return found


def run(plans: Planned, seed: int, stops: frozenset[int] = frozenset(), limit: int = 800) -> tuple[list[int], Wave]:
    """Run a kernel, stopped, scrambled and brought back before some of the instructions it executes.

    Returns
    -------
    list of int
        The instructions that were executed.
    Wave
    """
    lanes = (1 << 64) - 1 if seed % 2 else 0x0000FFFFFFFFFF37
    wave, chance = Wave(np.random.default_rng(seed), lanes), np.random.default_rng(seed + 1)
    accesses, labels = plans.facts.accesses, plans.facts.kernel.code.labels
    at, trace = 0, []
    for step in range(limit):
        if step in stops:
            _interrupt(wave, plans, at, chance)
        if stops:
            for source, place in plans.copies.get(at, ()):
                _put(wave, place, _get(wave, source))
        trace.append(at)
        statement = accesses[at].statement
        if statement.mnemonic == "s_endpgm":
            break
        taken = wave.execute(statement.mnemonic, statement.operands, statement.modifiers)
        at = labels[statement.operands[0]] if taken else at + 1
    return trace, wave


def same_memory(one: Wave, other: Wave) -> bool:
    """Return whether two waves have left the same memories."""
    return all(np.array_equal(one.memory[space], other.memory[space]) for space in one.memory)


def _interrupt(wave: Wave, plans: Planned, at: int, chance: np.random.Generator) -> None:
    block, routines = plans.table[at]
    slots: dict = {}
    for routine in (routines.preemption, routines.resume):
        for step in routine:
            _perform(wave, block, step, slots)
        if routine is routines.preemption:
            wave.scramble(chance)


def _perform(wave: Wave, block: Block, step: Step, slots: dict) -> None:
    if step.register is not None:
        if step.action is Action.STORE:
            slots[step.number] = _get(wave, step.register)
        else:
            _put(wave, step.register, slots[step.number])
        return
    one = block.instructions[step.number].origin
    if step.action is Action.EXECUTE:
        wave.execute(one.statement.mnemonic, one.statement.operands, one.statement.modifiers)
    else:
        for opcode, operands in steps(one):
            wave.execute(opcode, operands)


def _get(wave: Wave, reg: Register):
    return np.copy(wave.v[reg.index]) if is_vector(reg) else wave.s[reg.index]


def _put(wave: Wave, reg: Register, value) -> None:
    if is_vector(reg):
        wave.v[reg.index] = value
    else:
        wave.s[reg.index] = value
