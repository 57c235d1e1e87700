"""Blocks as executed on terms (`terms`) by warps that a preempt stops wherever it can.

Such a warp is stopped before each instruction, in its preemption routine (`flashback.traps`), and at each point. Values
that are not saved there are lost. A value needed at an instruction has to be the same as in a warp that is never
stopped. Then it is the same in a warp that is stopped now and then. Two warps execute a block: one with all lanes
active, and one with lanes that wait elsewhere.

An instruction executed again gives the same result if it only computes, or reads memory that nothing can have written
since: local memory without a store between, and spaces that the kernel never writes.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from caesura.hw.arch.isa.liveness import ALL_LIVE
from caesura.hw.arch.isa.operations import VOLATILE_SPECIALS, Space
from caesura.hw.arch.isa.words import decode

from ..image.kernel_image import KernelImage
from ..image.lift import Lifted
from ..ir.kernel import FALSE, TRUE, Block, Call, Imm, Op, Pred, Reg
from ..ir.spec import BY_NAME, is_convergent, is_memory, is_pure, writes_memory, written_spaces
from .extended_liveness import BodyLiveness
from .placement import saving
from .terms import Terms

__all__ = ["POINTS", "Lost", "StoppedBlock", "stopped_blocks"]

POINTS = "pp", "pp.div"
_NOTHING = "nop", "trap"
_LANES = "which lanes there are"


def stopped_blocks(image: KernelImage, lifted: Lifted, bodies: list[BodyLiveness]) -> Iterator[StoppedBlock]:
    """Yield the blocks of an image, before their first instruction."""
    written = written_spaces(lifted.kernel)
    for body in bodies:
        for block in body.kernel.blocks:
            yield StoppedBlock(image, lifted, body, block, _State(Terms(), written, image.registers))


class Lost(Exception):
    """A warp does not go on with the values it had."""


class StoppedBlock:
    """A block that is executed by warps which are stopped wherever they can be.

    Parameters
    ----------
    image : KernelImage
    lifted : Lifted
    body : BodyLiveness
        Kernel or routine to which the block belongs.
    block : Block
    state : _State
        State at the start of the block.

    Attributes
    ----------
    start, words : int
        Address of the first instruction, and number of instructions.
    """

    def __init__(self, image: KernelImage, lifted: Lifted, body: BodyLiveness, block: Block, state: _State):
        self.start, self.words = lifted.start[block.label], lifted.words[block.label]
        self._image, self._ops, self._live = image, block.ops, body.live.gaps(block)
        self._undisturbed = state
        self._warps = [_Warp("pp", state.copy()), _Warp("pp.div", state.copy(), body.waiting[block.label])]

    def is_trapped(self, pc: int) -> bool:
        """Whether a warp that is to stop goes to its routine there: not where it stops by itself, or ends."""
        op = decode(self._image.code[pc]).op
        return op.name not in (*POINTS, "exit") and op.barrier is None

    def stop(self, pc: int, routine: Sequence[Op]) -> None:
        """Stop all warps in the routine of the next instruction.

        Raises
        ------
        Lost
            If a warp would go on with another value; then none is stopped.
        """
        stopped = [warp.in_routine(routine) for warp in self._warps]
        for warp in stopped:
            needed = self._live[pc - self.start] | {reg for reg in warp.waiting if reg.kind == "U"}
            lost = {reg for reg in needed if warp.state[reg] != self._undisturbed[reg]}
            if lost:
                raise Lost(f"does not give {', '.join(map(str, sorted(lost)))} back to {warp}")
        self._warps = stopped

    def execute(self, pc: int) -> None:
        """Execute the next instruction; warps stop at a point or a barrier, and in a routine that it calls."""
        index, row = pc - self.start, decode(self._image.code[pc]).op
        if index == len(self._ops):
            return  # the end of the block
        op = self._ops[index]
        if row.barrier is not None:
            del self._warps[1:]  # it has no lanes that wait elsewhere
        self._undisturbed.execute(op, pc)
        for warp in self._warps:
            warp.state.execute(op, pc)
            if row.barrier is not None or row.name == warp.point:
                warp.state.forget(op.imm)
            elif isinstance(op, Call):
                warp.state.forget(saving(self._live[index + 1] | warp.waiting, self._image.registers))


@dataclass
class _State:
    """The values that the active lanes of a warp hold.

    Attributes
    ----------
    terms : Terms
    written : set of Space
        Spaces that the kernel writes.
    allocated : int
        Vector registers of the kernel.
    registers : dict of Reg to int
        Terms of registers. A missing register holds its value from the start of the block, or anything if it was lost.
    saved : int
        Liveness vector of the registers that were never lost.
    versions : dict
        Number of changes of local memory, and of the set of lanes.
    """

    terms: Terms
    written: set[Space]
    allocated: int
    registers: dict[Reg, int] = field(default_factory=dict)
    saved: int = ALL_LIVE
    versions: dict[object, int] = field(default_factory=dict)

    def copy(self) -> _State:
        """Return an independent copy of the state."""
        return dataclasses.replace(self, registers=dict(self.registers), versions=dict(self.versions))

    def forget(self, vector: int) -> None:
        """Forget the registers that a liveness vector does not save; they hold anything from now on."""
        self.saved &= vector
        self.registers = {reg: term for reg, term in self.registers.items() if _is_saved(reg, vector, self.allocated)}

    def __getitem__(self, reg: Reg) -> int:
        if reg not in self.registers:
            kept = _is_saved(reg, self.saved, self.allocated)
            self.registers[reg] = self.terms.of("entry", reg) if kept else self.terms.unknown()
        return self.registers[reg]

    def execute(self, op: Op, pc: int | None = None) -> None:
        """Execute an instruction under the mask of the block; `pc` is its address if it is the kernel's own."""
        guard = op.guard or TRUE
        if guard == FALSE:
            return  # never executes
        condition = None if guard.reg is None else self[guard.reg]
        sources = [self._operand(use) for use in op.uses]
        if condition is not None:
            sources = [self.terms.given(each, condition, not guard.negated) for each in sources]
        results = self._results(op, sources, pc)
        for reg, result in zip(op.defs, results, strict=True):
            if reg is None:
                continue
            if isinstance(op, Call) and reg not in op.killed():  # lanes that it does not write keep their values
                result = self.terms.of("partly", result, self[reg])
            if condition is not None:
                either = (result, self[reg])
                result = self.terms.choice(condition, *(either[::-1] if guard.negated else either))
            self.registers[reg] = result

    def _operand(self, use: Reg | Imm | Pred) -> int:
        if isinstance(use, Imm):
            return self.terms.constant(use.value)
        if isinstance(use, Reg):
            return self[use]
        term = self.terms.constant(1) if use.reg is None else self[use.reg]
        return self.terms.exclusive_or(term, self.terms.constant(1)) if use.negated else term

    def _results(self, op: Op, sources: list[int], pc: int | None) -> list[int]:
        """Return a term for each result."""
        plain = self._normal(op.name.removeprefix("u"), op, sources)
        if plain is not None:
            return [plain]
        context = self._context(op)
        if context is None and pc is None:
            return [self.terms.unknown() for _ in op.defs]
        context = ("once", pc) if context is None else context
        whole = self.terms.of(op.name, op.imm, *sources, *context)
        return [self.terms.of("result", whole, place) for place in range(len(op.defs))]

    def _normal(self, name: str, op: Op, sources: list[int]) -> int | None:
        """Return the normal form of an operation that has one, the same for vector and uniform registers."""
        terms = self.terms
        if len(op.defs) != 1:
            return None
        match name, sources:
            case "mov", [a]:
                return a
            case "iadd", [a, b]:
                return terms.sum((a, 1), (b, 1))
            case "isub", [a, b]:
                return terms.sum((a, 1), (b, -1))
            case "irsub", [a, b]:
                return terms.sum((b, 1), (a, -1))
            case "not", [a]:
                return terms.sum((a, -1), constant=-1)
            case "imul.lo", [a, b] if (factor := terms.value(b)) is not None:
                return terms.sum((a, factor))
            case ("xor" | "pxor"), [a, b]:
                return terms.exclusive_or(a, b)
            case ("shf.l" | "shf.r"), [a, b, amount] if a == b:
                return terms.rotation(a, amount if name == "shf.l" else terms.sum((amount, -1)))
        return None

    def _context(self, op: Op) -> tuple | None:
        """Note the effects of an instruction besides registers; return what its results depend on besides its sources.

        None stands for an unknown dependence.
        """
        if is_memory(op) and not BY_NAME[op.name].yields:
            return self._access(op)
        if op.name == "exit":
            return self._change(_LANES)
        if op.name in ("s2r", "us2r") and op.imm in VOLATILE_SPECIALS:
            return None
        if is_convergent(op):
            return self.versions.get(_LANES, 0),
        if not is_pure(op) and op.name not in (*_NOTHING, *POINTS):
            for each in (Space.LOCAL, _LANES):
                self._change(each)
            return None
        return ()

    def _access(self, op: Op) -> tuple | None:
        space = BY_NAME[op.name].space
        if writes_memory(op):
            return self._change(space)
        if space not in self.written:
            return ()
        return (self.versions.get(space, 0),) if space is Space.LOCAL else None

    def _change(self, what: object) -> None:
        self.versions[what] = self.versions.get(what, 0) + 1


@dataclass
class _Warp:
    """A warp that is stopped wherever it can be.

    Attributes
    ----------
    point : str
        Operation at which it stops in a routine: ``pp`` if all its lanes are active, else ``pp.div``.
    state : _State
    waiting : frozenset of Reg
        Registers that lanes waiting elsewhere need.
    """

    point: str
    state: _State
    waiting: frozenset[Reg] = frozenset()

    def __str__(self) -> str:
        lanes = "with lanes that wait elsewhere" if self.point == "pp.div" else "all of whose lanes are active"
        return f"a warp {lanes}"

    def in_routine(self, routine: Sequence[Op]) -> _Warp:
        """Return the warp after it has been stopped in a routine."""
        state, registers = self.state.copy(), self.state.allocated
        kept = {reg: reg for reg in self.waiting if reg.kind != "U"}  # whose value waiting lanes have in each
        active: dict[int, int] = {}  # local memory of routines, by offset
        others: dict[int, Reg | None] = {}
        for op in routine:
            if op.name == self.point:
                state.forget(op.imm)
                kept = {reg: value for reg, value in kept.items() if _is_saved(reg, op.imm, registers)}
            elif BY_NAME[op.name].all_lanes:
                place = op.uses[0]
                assert isinstance(place, Imm)
                if writes_memory(op):
                    (_, stored) = op.uses
                    assert isinstance(stored, Reg)
                    active[place.value], others[place.value] = state[stored], kept.get(stored)
                    continue
                (loaded,) = op.written()
                state.registers[loaded] = active.get(place.value, state.terms.unknown())
                value = others.get(place.value)
                kept = {reg: held for reg, held in kept.items() if reg != loaded} | ({loaded: value} if value else {})
            elif op.name not in POINTS:
                state.execute(op)
        lost = {reg for reg in self.waiting if reg.kind != "U" and kept.get(reg) != reg}
        if lost:
            raise Lost(f"does not save {', '.join(map(str, sorted(lost)))} for the lanes that wait elsewhere")
        return dataclasses.replace(self, state=state)


@functools.cache
def _is_saved(reg: Reg, vector: int, allocated: int) -> bool:
    return not saving([reg], allocated) & ~vector
