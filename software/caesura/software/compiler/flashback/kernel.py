"""Flashback for every instruction of a kernel image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from caesura.hw.arch.geometry import UNIFORMS, Geometry

from ..image.kernel_image import KernelImage
from .backup import Copy, add_backups
from .blocks import Register, RegisterClass
from .costs import WORD_BYTES, Costs, Objective
from .defer import best_deferral
from .machine_code import CodeBlock, code_blocks
from .routines import Action
from .search import WINDOW, Plan, Search, Technique, rank

__all__ = ["FlashbackFacts", "KernelFlashback", "flashback", "costs_of"]

_PLACES = [Register(RegisterClass.SCALAR, number) for number in range(UNIFORMS)]


@dataclass(frozen=True)
class FlashbackFacts:
    """What is done if a warp is stopped before an instruction. Bytes and cycles are those of one warp.

    Attributes
    ----------
    pc : int
        Address of the instruction.
    flashback : int
        Address of the earliest instruction that is executed again; its own if none is.
    saved : tuple of str
        Registers saved, in this order; those in front before anything is reverted.
    reverted, resumed : tuple of int
        Addresses of the instructions reverted before the save, and at resume.
    again : tuple of int
        Addresses of the instructions that are executed again, in this order.
    backups : tuple of (str, str)
        Uniform registers whose older values are kept in others there, and in which.
    live_bytes : int
        Without flashback: of all that is live, predicates and uniform registers included.
    strict_bytes, relaxed_bytes, reverting_bytes : int
        With the strict condition, the relaxed one, reverting as well, each by least bytes.
    bytes : int
        With everything, by the objective.
    latency, resume_latency : float
        Estimated cycles (`Costs`).
    deferred : int or None
        Address of the instruction that is better run to instead, if there is one (`defer`).
    combined_bytes : int
    combined_latency : float
        With the better of the plan and of running on.
    """

    pc: int
    flashback: int
    saved: tuple[str, ...]
    reverted: tuple[int, ...]
    resumed: tuple[int, ...]
    again: tuple[int, ...]
    backups: tuple[tuple[str, str], ...]
    live_bytes: int
    strict_bytes: int
    relaxed_bytes: int
    reverting_bytes: int
    bytes: int
    latency: float
    resume_latency: float
    deferred: int | None
    combined_bytes: int
    combined_latency: float


@dataclass(frozen=True)
class KernelFlashback:
    """Flashback for a kernel.

    Attributes
    ----------
    image : KernelImage
    objective : Objective
    window : int
    occupied_bytes : int
        All vector registers and predicates that the kernel has, and the uniform registers that it names.
    instructions : tuple of FlashbackFacts
    copies : tuple of (int, str, str)
        Backups that the program makes: before which address, from which uniform register, to which.
    """

    image: KernelImage
    objective: Objective
    window: int
    occupied_bytes: int
    instructions: tuple[FlashbackFacts, ...]
    copies: tuple[tuple[int, str, str], ...]

    def mean(self, name: str) -> float:
        """Return the mean of an attribute of `FlashbackFacts` over all instructions, each counted once."""
        return sum(getattr(fact, name) for fact in self.instructions) / len(self.instructions)


def costs_of(geometry: Geometry) -> Costs:
    """Return the costs on a machine."""
    return Costs(geometry.warp_size, geometry.bytes_per_cycle, geometry.memory_latency)


def flashback(image: KernelImage, geometry: Geometry, objective: Objective = Objective.LATENCY, window: int = WINDOW,
              diverged: bool = True) -> KernelFlashback:
    """Find the flashback point of each instruction of a kernel.

    Parameters
    ----------
    image : KernelImage
    geometry : Geometry
    objective : Objective
    window : int
        Instructions that a flashback point is at most before the interrupted one.
    diverged : bool
        Lanes may wait elsewhere; if not, the plans hold for warps all of whose lanes are active.
    """
    costs, facts, copies, scalars = costs_of(geometry), [], [], set()
    for code in code_blocks(image, geometry, diverged):
        search = Search(code.block, costs, window)
        plans = [search.plan(at, objective) for at in range(len(code.block.instructions) + 1)]
        made = add_backups(search, plans, objective, _PLACES)
        copies += [(code.start + copy.before, str(code.block.register_of[copy.value]), str(copy.place))
                   for copy in made]
        facts += _facts(code, search, plans, made, objective)
        scalars.update(reg for reg in code.block.register_of if reg.kind is RegisterClass.SCALAR)
    occupied = image.registers * geometry.vector_bytes + WORD_BYTES * len(scalars) + image.predicates * costs.size(
        Register(RegisterClass.PREDICATE, 0))
    return KernelFlashback(image, objective, window, occupied, tuple(facts), tuple(copies))


def _facts(code: CodeBlock, search: Search, plans: list[Plan], copies: list[Copy], objective: Objective
           ) -> Iterator[FlashbackFacts]:
    block, start = code.block, code.start
    for at, plan in enumerate(plans[:code.words]):
        routines = search.routines(plan)
        again = tuple(start + step.number for step in routines.resume if step.action is Action.EXECUTE)
        resumed = tuple(start + step.number for step in routines.resume if step.action is Action.REVERT)
        reverted = tuple(start + step.number for step in routines.preemption if step.action is Action.REVERT)
        cycles = sum(block.instructions[pc - start].cycles for pc in (*again, *resumed))
        loaded = sum(search.costs.size(step.register) for step in routines.resume if step.register is not None)
        later = best_deferral(search, at, objective)
        combined = min(plan, later, key=lambda one: rank(one, objective))
        relatives = [search.plan(at, Objective.SIZE, technique).size for technique in Technique]
        yield FlashbackFacts(
            start + at, min((*again, *resumed, start + at)),
            tuple(str(step.register) for step in routines.preemption if step.register is not None), reverted, resumed,
            again, tuple((str(block.register_of[value]), str(place)) for value, place in plan.backups),
            search.live_size(at), search.strict_size(at), relatives[0], relatives[1], plan.size, plan.latency,
            search.costs.resume_cycles(loaded, cycles), start + later.at if combined is later else None,
            combined.size, combined.latency)
