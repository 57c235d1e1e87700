"""Preemption routines as machine code, which a preempt of the kernel traps into (CTXBack IV-A).

Behind the code of a kernel stand as many *trap vectors*: a warp that is trapped before word ``pc`` goes on at vector
``pc``, in a new entry of its SIMT stack that ends when it comes to ``pc`` (`hw.core.front_end.issue`). There begins the
routine of its instruction::

    reverts                  under the mask of the interrupted warp
    pp {...}, pp.div {...}   where the warp stops: what the hardware saves, compresses and brings back
    executed again           from the flashback point on
    bra pc                   the entry ends

A vector has room for one revert, the point, and a branch to what is executed again, or to ``pc``: the way to the point
is one line of the instruction cache. With more reverts it is a branch to a routine of its own.

If the preempt is withdrawn meanwhile, the warp runs through its routine, and all is as it was. Where a warp had better
run on (CS-Defer), the vector is a branch to its own instruction, which retires, and the next one is trapped. Nothing is
trapped that stops a warp itself, or ends it: preemption points, barriers, ``exit``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

from caesura.hw.arch.encoding import Instruction, decode, encode
from caesura.hw.arch.geometry import INSTRUCTION_BYTES, PC_NONE, SEGMENT_BYTES, Geometry
from caesura.hw.arch.isa import VECTOR_WORDS, liveness_vector
from caesura.hw.arch.operations import Space

from ..codegen.emit import encoded
from ..image.kernel_image import KernelImage
from ..image.lift import lift, operation
from ..ir.kernel import Op
from ..ir.spec import BY_NAME, is_memory
from ..preemption.extended_liveness import body_liveness
from ..preemption.stopped_blocks import Lost, StoppedBlock, stopped_blocks
from .blocks import Instruction as BlockInstruction
from .blocks import Register, RegisterClass
from .costs import Objective
from .defer import Deferrals
from .handover import Handover
from .kinds import RoutineKind
from .machine_code import program
from .program import CodeBlock
from .reversing import reverting
from .routines import Action
from .search import WINDOW, Plan, Search, Technique, rank

__all__ = ["Routine", "TrapTable", "trap_table", "with_routines"]

_REVERTS = VECTOR_WORDS - 3
"""Reverts that a vector has room for, beside the point and a branch."""
_REFILL = 12
"""Cycles from a branch to its target's issue, about, if the line is in the instruction cache."""
_LINE_WORDS = SEGMENT_BYTES // INSTRUCTION_BYTES
_NOP = encode(Instruction.make("nop"))


class Routine(NamedTuple):
    """The routine of an instruction.

    Attributes
    ----------
    pc : int
        Of the instruction.
    plan : Plan
    handover : Handover
    reverts, point, again : tuple of int
        Words of its code; the branch back is not among them.
    """

    pc: int
    plan: Plan
    handover: Handover
    reverts: tuple[int, ...]
    point: tuple[int, ...]
    again: tuple[int, ...]

    def operations(self) -> list[Op]:
        """Return its instructions, but for the branch back."""
        return [operation(decode(word)) for word in (*self.reverts, *self.point, *self.again)]


class TrapTable(NamedTuple):
    """The preemption routines of a kernel.

    Attributes
    ----------
    routines : dict of int to Routine
        By the address of the instruction; those that are not in it run on.
    """

    routines: dict[int, Routine]

    def code(self, words: int) -> tuple[int, ...]:
        """Return vectors, and what of the routines does not stand there, behind a code of so many words."""
        vectors: list[int] = []
        bodies: list[int] = []
        for pc in range(words):
            routine = self.routines.get(pc)
            vector: list[int] = []
            rest: list[int] = []
            if routine is not None and len(routine.reverts) <= _REVERTS:
                vector, rest = [*routine.reverts, *routine.point], [*routine.again]
            elif routine is not None:
                rest = [*routine.reverts, *routine.point, *routine.again]
            vector.append(_branch((1 + VECTOR_WORDS) * words + len(bodies) if rest else pc))
            vectors += vector + [_NOP] * (VECTOR_WORDS - len(vector))
            bodies += [*rest, _branch(pc)] if rest else []
        return (*vectors, *bodies)


def _branch(target: int) -> int:
    return encode(Instruction.make("bra", target=target, reconv=PC_NONE))


def with_routines(image: KernelImage, geometry: Geometry, kind: RoutineKind = RoutineKind.CTXBACK,
                  objective: Objective = Objective.LATENCY, window: int = WINDOW) -> KernelImage:
    """Return an image with preemption routines; see `trap_table`."""
    table = trap_table(image, geometry, kind, objective, window)
    return dataclasses.replace(image, traps=table.code(len(image.code)))


def trap_table(image: KernelImage, geometry: Geometry, kind: RoutineKind = RoutineKind.CTXBACK,
               objective: Objective = Objective.LATENCY, window: int = WINDOW) -> TrapTable:
    """Make the preemption routines of a kernel.

    Parameters
    ----------
    image : KernelImage
    geometry : Geometry
        Whose costs count (`costs`); the routines are right on any.
    kind : RoutineKind
    objective : Objective
    window : int
        Instructions that a flashback point is at most before the interrupted one.
    """
    whole, converged = program(image, geometry), program(image, geometry, diverged=False)
    deferrals = Deferrals(whole, objective, window, _running_on(geometry)) if kind.defers else None
    lifted = lift(image)
    stopped = {block.start: block for block in stopped_blocks(image, lifted, body_liveness(lifted))}
    routines: dict[int, Routine] = {}
    for code, alone in zip(whole.blocks, converged.blocks, strict=True):
        search = Search(code.block, whole.costs, window if kind.flashes_back else 0)
        block = stopped[code.start]
        for at in range(code.words):
            pc = code.start + at
            if block.is_trapped(pc):
                routine = _routine(image, code, alone, search, at, kind, objective)
                if deferrals and _runs_on(code, deferrals, routine.plan, objective):
                    routine = None
                elif not _survives(block, routine):
                    plain = Search(code.block, whole.costs, 0)
                    routine = _routine(image, code, alone, plain, at, RoutineKind.LIVE, objective)
                    block.stop(pc, routine.operations())
                if routine is not None:
                    routines[pc] = routine
            block.execute(pc)
    return TrapTable(routines)


def _running_on(geometry: Geometry) -> Callable[[BlockInstruction], float]:
    """Return what a warp takes to run on by an instruction: to its vector and back, fetching each time anew, its share
    of a line of vectors that comes from memory, and what it loads."""
    there_and_back = 2 * _REFILL + geometry.memory_latency * VECTOR_WORDS / _LINE_WORDS

    def cycles(instruction: BlockInstruction) -> float:
        loads = is_memory(instruction.origin) and BY_NAME[instruction.opcode].space in (Space.GLOBAL, Space.LOCAL)
        return there_and_back + (geometry.memory_latency if loads else instruction.cycles)

    return cycles


def _survives(block: StoppedBlock, routine: Routine) -> bool:
    """Whether a warp goes on with what it had, wherever it was stopped before in the block.

    It may not, if it was stopped at a point where all its lanes were active: what only other lanes would have needed,
    if any had waited, is then not saved, but the plan takes it to be there.
    """
    try:
        block.stop(routine.pc, routine.operations())
    except Lost:
        return False
    return True


def _runs_on(code: CodeBlock, deferrals: Deferrals, plan: Plan, objective: Objective) -> bool:
    """Whether a warp had better run on than follow a plan."""
    later = deferrals.at(code.start, plan.at)
    return later.stop != code.start + plan.at and later.rank(objective) < rank(plan, objective)


def _routine(image: KernelImage, code: CodeBlock, alone: CodeBlock, search: Search, at: int, kind: RoutineKind,
             objective: Objective) -> Routine:
    block, pc = code.block, code.start + at
    technique = Technique.REVERTING if kind.reverts else Technique.RELAXED
    plan, handover = search.handed_over(at, objective, alone.block.live[at], technique)
    reverts = tuple(_reverting(block.instructions[index].origin) for index in handover.reverted)
    point = tuple(encode(Instruction.make(name, live=_vector(saved, image.registers)))
                  for name, saved in (("pp", handover.converged), ("pp.div", handover.saved)))
    again = tuple(image.code[code.start + step.number] if step.action is Action.EXECUTE
                  else _reverting(block.instructions[step.number].origin) for step in handover.resume)
    return Routine(pc, plan, handover, reverts, point, again)


def _reverting(op: Op) -> int:
    inverse = reverting(op)
    assert inverse is not None
    return encoded(inverse)


def _vector(saved: frozenset[Register], allocated: int) -> int:
    """Return the live vector that saves registers."""
    numbers = {kind: [reg.index for reg in saved if reg.kind is kind] for kind in RegisterClass}
    return liveness_vector(numbers[RegisterClass.VECTOR], numbers[RegisterClass.PREDICATE],
                           numbers[RegisterClass.SCALAR], allocated)
