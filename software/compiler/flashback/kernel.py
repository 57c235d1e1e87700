"""Flashback for every instruction of a kernel."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass

from .backup import add_backups
from .costs import Objective
from .defer import Deferrals
from .program import CodeBlock, Program
from .routines import Action, Routines
from .search import WINDOW, Plan, Search, Technique, rank
from .sharing import Sharing, share, steps_of

__all__ = ["LOOP_TURNS", "FlashbackFacts", "KernelFlashback", "flashback"]

LOOP_TURNS = 10
"""Assumed iterations of a loop, for weighted means."""


@dataclass(frozen=True)
class FlashbackFacts:
    """The plan for a warp stopped before an instruction.

    Bytes and cycles are those of one warp. They include the share of shared memory that it saves in any case
    (`Program.shared_bytes`).

    Attributes
    ----------
    pc : int
        Address of the instruction.
    flashback : int
        Address of the earliest instruction that is executed again; the instruction's own if none is.
    saved : tuple of str
        Registers saved, in this order; the first ones before anything is reverted.
    reverted, resumed : tuple of int
        Addresses of the instructions reverted before the save, and at resume.
    again : tuple of int
        Addresses of the instructions that are executed again, in this order.
    backups : tuple of (str, str)
        Uniform registers whose older values backups keep there, and the registers of the backups.
    live_bytes : int
        Size of the context without flashback: all live registers, predicates and uniform registers included.
    strict_bytes, relaxed_bytes, reverting_bytes : int
        Least sizes with the strict condition, with the relaxed one, and with reverting as well.
    bytes : int
        Size with all techniques, chosen by the objective.
    latency, resume_latency : float
        Estimated cycles of preemption and resume (`Costs`).
    deferred : int
        Address of the instruction that CS-Defer runs on to (`defer`); the instruction's own if it does not run on.
    deferred_bytes : int
    deferred_latency : float
        Size and estimated cycles with CS-Defer alone.
    combined_bytes : int
    combined_latency : float
        Size and estimated cycles of the better of the plan and CS-Defer.
    checkpoint_bytes : int
        Size of a checkpoint in the same block, where the fewest bytes are live (CKPT, CTXBack V, adapted from iGPU).
    depth : int
        Number of loops around the instruction.
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
    deferred: int
    deferred_bytes: int
    deferred_latency: float
    combined_bytes: int
    combined_latency: float
    checkpoint_bytes: int
    depth: int


@dataclass(frozen=True)
class KernelFlashback:
    """Flashback for a kernel.

    Attributes
    ----------
    program : Program
    objective : Objective
    window : int
    instructions : tuple of FlashbackFacts
    copies : tuple of (int, str, str)
        Backups that the program makes, each with the address before it, its uniform register, and the register it goes
        to.
    sharing : Sharing
        The preemption routines, shared, with one entry for each instruction.
    """

    program: Program
    objective: Objective
    window: int
    instructions: tuple[FlashbackFacts, ...]
    copies: tuple[tuple[int, str, str], ...]
    sharing: Sharing

    def mean(self, name: str, weighted: bool = False) -> float:
        """Return the mean of an attribute of `FlashbackFacts` over all instructions.

        Each counts once or, `weighted`, `LOOP_TURNS` times for each loop around it.
        """
        weights = [LOOP_TURNS ** fact.depth if weighted else 1 for fact in self.instructions]
        values = [getattr(fact, name) for fact in self.instructions]
        return sum(map(operator.mul, weights, values)) / sum(weights)


def flashback(program: Program, objective: Objective = Objective.LATENCY, window: int = WINDOW) -> KernelFlashback:
    """Find the flashback point of each instruction of a kernel.

    Parameters
    ----------
    program : Program
    objective : Objective
    window : int
        Most instructions between a flashback point and the interrupted instruction.
    """
    facts, copies, steps, named = [], [], [], program.register_name
    deferrals = Deferrals(program, objective, window)
    for code in program.blocks:
        search = Search(code.block, program.costs, window)
        plans = [search.plan(at, objective) for at in range(len(code.block.instructions) + 1)]
        made = add_backups(search, plans, objective, program.places)
        copies += [(code.start + copy.before, named(code.block.register_of[copy.value]), named(copy.place))
                   for copy in made]
        planned = [(plan, search.routines(plan)) for plan in plans[:code.words]]
        facts += _facts(program, code, search, planned, deferrals, objective)
        steps += [steps_of(program, code.start, routines) for _, routines in planned]
    return KernelFlashback(program, objective, window, tuple(facts), tuple(copies), share(steps))


def _facts(program: Program, code: CodeBlock, search: Search, planned: list[tuple[Plan, Routines]],
           deferrals: Deferrals, objective: Objective) -> Iterator[FlashbackFacts]:
    block, start, named = code.block, code.start, program.register_name
    least = min(map(search.live_size, range(len(block.instructions) + 1)))
    shared, moved = program.shared_bytes, program.shared_bytes / program.costs.bytes_per_cycle
    for at, (plan, routines) in enumerate(planned):
        again = tuple(start + step.number for step in routines.resume if step.action is Action.EXECUTE)
        resumed = tuple(start + step.number for step in routines.resume if step.action is Action.REVERT)
        reverted = tuple(start + step.number for step in routines.preemption if step.action is Action.REVERT)
        cycles = sum(block.instructions[pc - start].cycles for pc in (*again, *resumed))
        loaded = sum(search.costs.size(step.register) for step in routines.resume if step.register is not None)
        later = deferrals.at(start, at)
        combined = later if later.rank(objective) < rank(plan, objective) else plan
        relatives = [search.plan(at, Objective.SIZE, technique).size for technique in Technique]
        yield FlashbackFacts(
            start + at, min((*again, *resumed, start + at)),
            tuple(named(step.register) for step in routines.preemption if step.register is not None), reverted, resumed,
            again, tuple((named(block.register_of[value]), named(place)) for value, place in plan.backups),
            shared + search.live_size(at), shared + search.strict_size(at), shared + relatives[0],
            shared + relatives[1], shared + plan.size,
            moved + plan.latency, moved + search.costs.resume_cycles(loaded, cycles), later.stop, shared + later.size,
            moved + later.latency, shared + combined.size, moved + combined.latency, shared + least, code.depth)
