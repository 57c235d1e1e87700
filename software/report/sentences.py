"""Facts about a kernel in words. The page, the terminal and JSON share each sentence."""

from __future__ import annotations

from caesura.software.compiler.explain import InstructionFacts, KernelFacts, PointFacts, RegionFacts
from caesura.software.compiler.preemption.restartable import reason

__all__ = ["why", "restart", "verdict", "assumption", "drain", "block_text"]


def why(point: PointFacts) -> str:
    """Return the reason for the place of a preemption point (Lin et al. IV-A)."""
    if point.kind == "barrier":
        return "Every barrier is a preemption point: a warp that waits at it can be saved as it stands."
    chosen = point.chosen
    if chosen is None:
        return "It is in the code as it was given; the image does not record why."
    if chosen.rule == "loop":
        reason = f"The loop at {chosen.loop} had no preemption point. Of the {chosen.candidates} places that every " \
                 "round of it passes"
    else:
        reason = "Too many instructions would run without a preemption point. Of the " \
                 f"{chosen.candidates} places in the second half of that stretch"
    if chosen.live == chosen.most:
        return f"{reason} all have {chosen.live} registers live."
    return f"{reason} this is the cheapest: {chosen.live} registers are live, elsewhere up to {chosen.most}."


def restart(region: RegionFacts) -> str:
    """Return the reason for the start of an idempotent region."""
    if region.reason == "overwrite":
        return f"the store may overwrite what the load at {region.load} reads"
    return {"start": "the kernel begins", "barrier": "after a barrier other threads may have gone on",
            "fence": "after a fence other threads may have gone on",
            "atomic": "an atomic must not be done twice"}[region.reason]


def verdict(facts: KernelFacts) -> str:
    """Return whether the kernel as a whole is idempotent, so that a thread block can be dropped and run again."""
    if facts.spoiler is None:
        return "yes"
    if facts.spoiler_restrict is None:
        return f"if pointer parameters do not overlap; else {reason(facts.spoiler)}"
    return f"no: {reason(facts.spoiler_restrict)}"


def block_text(facts: KernelFacts) -> str:
    """Return the shape of a thread block if it is known."""
    return "any" if facts.block is None else " x ".join(map(str, facts.block))


def assumption(facts: KernelFacts) -> str:
    """Return the assumptions of the patterns."""
    if facts.block is not None:
        return f"Patterns hold for thread blocks of {block_text(facts)}."
    return ("Patterns hold for thread blocks whose x is a multiple of 8, or that have one dimension; compressed sizes "
            f"for groups of {facts.warp_size} lanes.")


def drain(facts: KernelFacts, row: InstructionFacts) -> str:
    """Return the behaviour of a warp that mechanism ``live`` preempts at an instruction."""
    if row.point is not None:
        return "stops here"
    if row.least_drain is None:
        return "never stops"
    if row.most_drain is None:
        way = f"at least {row.least_drain}"
    else:
        way = str(row.most_drain) if row.least_drain == row.most_drain else f"{row.least_drain} to {row.most_drain}"
    places = [f"at {facts.points[k].pc} ({facts.points[k].live_bytes:,} B)" for k in row.stops]
    return f"stops after {way} instructions " + ", or ".join([*places, *["at the end"] * row.may_end])
