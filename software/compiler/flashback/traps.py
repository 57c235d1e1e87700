"""Preemption routines as machine code; a preempt of the kernel traps into them (CTXBack IV-A).

*Trap vectors* stand behind the code of a kernel, one for each word. A warp that is trapped before word ``pc`` goes on
at vector ``pc``, in a new entry of its SIMT stack, which ends when the warp comes to ``pc``
(`hw.core.front_end.issue`). The vector begins the routine of its instruction::

    reverts                  under the mask of the interrupted warp
    pp {...}, pp.div {...}   the warp stops here; hardware saves, compresses and restores these registers
    executed again           from the flashback point on
    rejoin                   the entry ends

This routine hands registers over. A routine of the other form saves them itself (`RoutineForm.SOFTWARE`)::

    reverts
    st.local.all [...], R    each vector register to be saved, by all lanes
    pp {...}, pp.div {...}   the hardware saves PCs, masks, barriers, predicates and uniform registers
    ld.local.all R, [...]    the same registers
    executed again
    rejoin

Register r has its place at word r of the local memory behind the kernel's own. A point stops a warp only when its
stores have been acknowledged.

A vector has room for one word before the point, the point, and a branch to the code behind it, or ``rejoin``. So the
way to the point is one line of the instruction cache. With more words before the point, the vector is a branch to a
routine elsewhere. If one routine ends as another does, the shorter is the end of the longer (IV-A).

If the preempt is withdrawn meanwhile, the warp runs through its routine, and its state is as before. Where it is better
for a warp to run on (CS-Defer), the vector goes back to its own instruction. That retires, and the next one is trapped.
Instructions that stop or end a warp by themselves are not trapped: preemption points, barriers, ``exit``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

from caesura.hw.arch.geometry import INSTRUCTION_BYTES, PC_NONE, SEGMENT_BYTES, WORD_BYTES, Geometry
from caesura.hw.arch.isa.liveness import ALL_LIVE, liveness_vector, saved_by
from caesura.hw.arch.isa.opcodes import VECTOR_WORDS
from caesura.hw.arch.isa.operations import Space
from caesura.hw.arch.isa.words import Instruction, decode, encode

from ..codegen.emit import encoded
from ..errors import ImageError
from ..image.kernel_image import KernelImage
from ..image.lift import lift, operation
from ..ir.kernel import Op
from ..ir.spaces import MAX_LOCAL_BYTES
from ..ir.spec import BY_NAME, is_memory
from ..preemption.extended_liveness import body_liveness
from ..preemption.stopped_blocks import Lost, StoppedBlock, stopped_blocks
from .blocks import Instruction as BlockInstruction
from .blocks import Register, RegisterClass
from .costs import Objective
from .defer import Deferrals
from .handover import Handover
from .kinds import RoutineForm, RoutineKind
from .machine_code import program
from .program import CodeBlock
from .reversing import reverting
from .routines import Action
from .search import WINDOW, Plan, Search, Technique, rank

__all__ = ["Routine", "TrapTable", "trap_table", "with_routines"]

_BEFORE = VECTOR_WORDS - 3
"""Words before the point that fit a vector, with the point and a branch."""
_REFILL = 12
"""Approximate cycles from a branch to its target's issue, if the line is in the instruction cache."""
_LINE_WORDS = SEGMENT_BYTES // INSTRUCTION_BYTES
_NOP, _REJOIN = (encode(Instruction.make(name)) for name in ("nop", "rejoin"))


class Routine(NamedTuple):
    """The routine of an instruction.

    Attributes
    ----------
    pc : int
        Address of the instruction.
    plan : Plan
    handover : Handover
    before, point, behind : tuple of int
        Words of its code before the point, of the point, and behind it without the last.
    stored : tuple of int
        Vector registers that it stores itself.
    """

    pc: int
    plan: Plan
    handover: Handover
    before: tuple[int, ...]
    point: tuple[int, ...]
    behind: tuple[int, ...]
    stored: tuple[int, ...]

    def operations(self) -> list[Op]:
        """Return its instructions without the last, which leads back."""
        return [operation(decode(word)) for word in (*self.before, *self.point, *self.behind)]


class TrapTable(NamedTuple):
    """The preemption routines of a kernel.

    Attributes
    ----------
    routines : dict of int to Routine
        Routines by the address of the instruction; a warp runs on at addresses that have none.
    """

    routines: dict[int, Routine]

    def code(self, words: int) -> tuple[int, ...]:
        """Return the vectors, and the words of routines outside of them, for a code of this many words."""
        vectors: list[tuple[int, ...]] = []
        rests: list[tuple[int, ...]] = []
        for pc in range(words):
            routine = self.routines.get(pc)
            vector, rest = (), ()
            if routine is not None and len(routine.before) <= _BEFORE:
                vector, rest = (*routine.before, *routine.point), routine.behind
            elif routine is not None:
                rest = (*routine.before, *routine.point, *routine.behind)
            vectors.append(vector)
            rests.append((*rest, _REJOIN))
        bodies = _Bodies((1 + VECTOR_WORDS) * words)
        last = {rest: _branch(bodies.place(rest)) if len(rest) > 1 else _REJOIN
                for rest in sorted(dict.fromkeys(rests), key=len, reverse=True)}
        found = []
        for vector, rest in zip(vectors, rests, strict=True):
            found += [*vector, last[rest], *[_NOP] * (VECTOR_WORDS - len(vector) - 1)]
        return (*found, *bodies.words)


class _Bodies:
    """Routines one behind the other, each once; one that is the end of another is not repeated.

    Parameters
    ----------
    base : int
        Address of the first word.

    Attributes
    ----------
    words : list of int
    """

    def __init__(self, base: int):
        self.words: list[int] = []
        self._base = base
        self._ends: dict[tuple[int, int], int] = {}  # numbers from 1, by first word and number of the rest
        self._places: dict[int, int] = {}

    def place(self, routine: tuple[int, ...]) -> int:
        """Return the address of a routine."""
        numbers = [0]
        for word in reversed(routine):
            numbers.append(self._ends.setdefault((word, numbers[-1]), len(self._ends) + 1))
        if numbers[-1] not in self._places:
            first = self._base + len(self.words)
            for offset, number in enumerate(reversed(numbers[1:])):
                self._places.setdefault(number, first + offset)
            self.words += routine
        return self._places[numbers[-1]]


def _branch(target: int) -> int:
    return encode(Instruction.make("bra", target=target, reconv=PC_NONE))


def with_routines(image: KernelImage, geometry: Geometry, kind: RoutineKind = RoutineKind.CTXBACK,
                  objective: Objective = Objective.LATENCY, window: int = WINDOW,
                  form: RoutineForm = RoutineForm.HARDWARE) -> KernelImage:
    """Return an image with preemption routines; see `trap_table`.

    Raises
    ------
    ImageError
        If the local memory of a thread has no room for the registers that the routines store.
    """
    table = trap_table(image, geometry, kind, objective, window, form)
    room = WORD_BYTES * image.registers if form is RoutineForm.SOFTWARE else 0
    if image.local_bytes + room > MAX_LOCAL_BYTES:
        raise ImageError(f"kernel {image.name}: its {image.local_bytes} bytes of local memory a thread leave no room "
                         f"for the {room} that its preemption routines need; {MAX_LOCAL_BYTES} are possible, let the "
                         "hardware save what they name")
    return dataclasses.replace(image, traps=table.code(len(image.code)), routine_bytes=room)


def trap_table(image: KernelImage, geometry: Geometry, kind: RoutineKind = RoutineKind.CTXBACK,
               objective: Objective = Objective.LATENCY, window: int = WINDOW,
               form: RoutineForm = RoutineForm.HARDWARE) -> TrapTable:
    """Make the preemption routines of a kernel.

    Parameters
    ----------
    image : KernelImage
    geometry : Geometry
        Geometry whose costs count (`costs`); the routines are right on any.
    kind : RoutineKind
    objective : Objective
    window : int
        Most instructions between a flashback point and the interrupted instruction.
    form : RoutineForm
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
                routine = _routine(image, code, alone, search, at, kind, objective, form)
                if deferrals and _runs_on(code, deferrals, routine.plan, objective):
                    routine = None
                elif not _survives(block, routine):
                    plain = Search(code.block, whole.costs, 0)
                    routine = _routine(image, code, alone, plain, at, RoutineKind.LIVE, objective, form)
                    block.stop(pc, routine.operations())
                if routine is not None:
                    routines[pc] = routine
            block.execute(pc)
    return TrapTable(routines)


def _running_on(geometry: Geometry) -> Callable[[BlockInstruction], float]:
    """Return a function for the cycles that a warp takes to run on by an instruction.

    It counts the way to the vector and back, with a fetch each time, the instruction's share of a line of vectors from
    memory, and its own load.
    """
    there_and_back = 2 * _REFILL + geometry.memory_latency * VECTOR_WORDS / _LINE_WORDS

    def cycles(instruction: BlockInstruction) -> float:
        loads = is_memory(instruction.origin) and BY_NAME[instruction.opcode].space in (Space.GLOBAL, Space.LOCAL)
        return there_and_back + (geometry.memory_latency if loads else instruction.cycles)

    return cycles


def _survives(block: StoppedBlock, routine: Routine) -> bool:
    """Return whether a warp goes on with its values, wherever it was stopped before in the block.

    It may not, if it was stopped at a point where all its lanes were active. Values that only waiting lanes would need
    are then not saved, but the plan assumes them.
    """
    try:
        block.stop(routine.pc, routine.operations())
    except Lost:
        return False
    return True


def _runs_on(code: CodeBlock, deferrals: Deferrals, plan: Plan, objective: Objective) -> bool:
    """Return whether a warp should run on rather than follow a plan."""
    later = deferrals.at(code.start, plan.at)
    return later.stop != code.start + plan.at and later.rank(objective) < rank(plan, objective)


def _routine(image: KernelImage, code: CodeBlock, alone: CodeBlock, search: Search, at: int, kind: RoutineKind,
             objective: Objective, form: RoutineForm) -> Routine:
    block, pc = code.block, code.start + at
    technique = Technique.REVERTING if kind.reverts else Technique.RELAXED
    plan, handover = search.handed_over(at, objective, alone.block.live[at], technique)
    reverts = tuple(_reverting(block.instructions[index].origin) for index in handover.reverted)
    again = tuple(image.code[code.start + step.number] if step.action is Action.EXECUTE
                  else _reverting(block.instructions[step.number].origin) for step in handover.resume)
    saved, converged = (ALL_LIVE if kind is RoutineKind.ALL else _vector(registers, image.registers)
                        for registers in (handover.saved, handover.converged))
    stored: tuple[int, ...] = ()
    if form is RoutineForm.SOFTWARE:
        stored = saved_by(saved, image.registers).registers
        saved, converged = (_scalars(vector, image.registers) for vector in (saved, converged))
    stores, loads = (tuple(_access(name, image, register) for register in stored)
                     for name in ("st.local.all.b32", "ld.local.all.b32"))
    point = tuple(encode(Instruction.make(name, live=vector))
                  for name, vector in (("pp", converged), ("pp.div", saved)))
    return Routine(pc, plan, handover, reverts + stores, point, loads + again, stored)


def _access(name: str, image: KernelImage, register: int) -> int:
    """Return the store or load of a register at its place."""
    return encode(Instruction.make(name, d=register, no_base=1, imm=image.local_bytes + WORD_BYTES * register))


def _scalars(vector: int, allocated: int) -> int:
    """Return the live vector that saves the predicates and uniform registers of another vector alone."""
    saved = saved_by(vector, allocated)
    return liveness_vector((), saved.predicates, saved.uniforms, allocated)


def _reverting(op: Op) -> int:
    inverse = reverting(op)
    assert inverse is not None
    return encoded(inverse)


def _vector(saved: frozenset[Register], allocated: int) -> int:
    """Return the live vector that saves registers."""
    numbers = {kind: [reg.index for reg in saved if reg.kind is kind] for kind in RegisterClass}
    return liveness_vector(numbers[RegisterClass.VECTOR], numbers[RegisterClass.PREDICATE],
                           numbers[RegisterClass.SCALAR], allocated)
