"""A kernel of gfx906 for context flashback: its basic blocks, liveness by lane, and what can be repeated.

* ``exec`` is a pair of scalar registers like others. It is an operand of every vector instruction: to execute or revert
  one, the mask under which it ran must be there.
* The old value of a vector result is an operand if lanes that were off need it (`liveness`), or if the instruction
  keeps part of it (`accesses`).
* The mode register counts as a register only if the kernel writes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..flashback.blocks import Block, Effect, Instruction, Register, RegisterClass
from ..flashback.costs import WORD_BYTES, Costs
from ..flashback.program import CodeBlock, Program
from .accesses import Access, accesses_of
from .flow import BasicBlock, basic_blocks
from .liveness import Liveness, liveness
from .masks import masks
from .memory import Memory
from .module import WAVE, Kernel
from .opcodes import Kind
from .operands import MODE, SCALARS, is_vector, name
from .reversing import recovered, steps

__all__ = ["COSTS", "Analysed", "analysed", "program", "allocated", "shared_bytes", "occupied_bytes", "places"]

_VECTOR_GRANULE, _SCALAR_GRANULE = 4, 16
"""Granularity in which a wave is given registers (CTXBack V)."""
COSTS = Costs(WAVE, 9.5, 500)
"""Costs of a wave: a Radeon VII gives each compute unit 1 TB/s / 60 / 1.8 GHz and answers after some 500 cycles."""
_VECTOR_CYCLES, _SCALAR_CYCLES, _MEMORY_CYCLES, _SHARED_CYCLES = 4, 4, 500, 64


@dataclass(frozen=True)
class Analysed:
    """A kernel with the results of the analyses.

    Attributes
    ----------
    kernel : Kernel
    accesses : list of Access
    blocks : list of BasicBlock
    liveness : Liveness
    code : list of CodeBlock
        Blocks in the order of `blocks`; addresses are numbers of instructions.
    """

    kernel: Kernel
    accesses: list[Access]
    blocks: list[BasicBlock]
    liveness: Liveness
    code: list[CodeBlock]


def analysed(kernel: Kernel, racing: bool = False) -> Analysed:
    """Read a kernel.

    Parameters
    ----------
    kernel : Kernel
    racing : bool
        Whether its waves may race (`memory`).

    Raises
    ------
    AssemblyError
        If the table does not know one of its instructions, or not in this form.
    """
    accesses = accesses_of(kernel.code.statements, allocated(kernel)[0], kernel.file)
    if not any(MODE in one.defs for one in accesses):
        accesses = [replace(one, uses=tuple(reg for reg in one.uses if reg != MODE)) for one in accesses]
    blocks = basic_blocks(kernel, accesses)
    known = masks(blocks, accesses)
    live = liveness(blocks, accesses, known)
    memory = Memory(kernel, blocks, accesses, racing)
    code = []
    for number, block in enumerate(blocks):
        places = range(block.start, block.end)
        instructions = tuple(_instruction(accesses[index], live.kept[index], *memory.effect(index)) for index in places)
        gaps = (*(live.before[index] for index in places), live.at_end[number])
        code.append(CodeBlock(block.start, len(instructions), Block(instructions, gaps),
                              tuple(blocks[after].start for after in block.successors), block.depth))
    return Analysed(kernel, accesses, blocks, live, code)


def program(kernel: Kernel, racing: bool = False) -> Program:
    """Return a kernel for context flashback; parameters and errors are the same as in `analysed`.
    """
    facts = analysed(kernel, racing)
    return Program(kernel.name, kernel.file, tuple(facts.code), occupied_bytes(kernel), COSTS, tuple(places(kernel)),
                   lambda pc: kernel.code.statements[pc].text, name, shared_bytes(kernel))


def _instruction(one: Access, kept: frozenset[Register], effect: Effect, region: str) -> Instruction:
    old = tuple(reg for reg in one.defs if reg in kept and one.masked)
    uses = tuple(dict.fromkeys((*one.uses, *old)))
    reverse = recovered(one) if effect is Effect.COMPUTE else None
    return Instruction(one.row.opcode, one.defs, uses, None, False, effect, region, reverse, _cycles(one), one)


def _cycles(one: Access) -> int:
    if one.row.kind in (Kind.LOAD, Kind.ATOMIC):
        return _SHARED_CYCLES if one.row.space == "lds" else _MEMORY_CYCLES
    if recovered(one) is not None:
        return _VECTOR_CYCLES * len(steps(one))
    return _VECTOR_CYCLES if any(is_vector(reg) for reg in one.defs) else _SCALAR_CYCLES


def allocated(kernel: Kernel) -> tuple[int, int]:
    """Return the vector and scalar registers that a wave is given."""
    vectors, scalars = kernel.number(".vgpr_count"), kernel.number(".sgpr_count")
    return (-(-max(vectors, 1) // _VECTOR_GRANULE) * _VECTOR_GRANULE,
            -(-max(scalars, 1) // _SCALAR_GRANULE) * _SCALAR_GRANULE)


def shared_bytes(kernel: Kernel) -> int:
    """Return a wave's share of its work-group's shared memory, in bytes."""
    threads = kernel.number(".max_flat_workgroup_size")
    return -(-kernel.number(".group_segment_fixed_size") // max(1, -(-threads // WAVE)))


def occupied_bytes(kernel: Kernel) -> int:
    """Return the bytes a wave occupies: registers as allocated, and its share of shared memory (CTXBack Table I)."""
    vectors, scalars = allocated(kernel)
    return vectors * WAVE * WORD_BYTES + scalars * WORD_BYTES + shared_bytes(kernel)


def places(kernel: Kernel) -> list[Register]:
    """Return the scalar registers that a wave has and can name, unused ones first; ``vcc`` and the like come last."""
    used = kernel.described("next_free_sgpr")
    given = min(SCALARS, allocated(kernel)[1] - (kernel.number(".sgpr_count") - used))
    return [Register(RegisterClass.SCALAR, number) for number in (*range(used, given), *range(min(used, given)))]
