"""Predicates and uniform registers as the preemption port has them (the latter by pairs, an even one and the next), and
as they are saved."""

from collections.abc import Collection, Iterable
from typing import Any

from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.liveness import ALL_LIVE, Saved, saved_by

__all__ = ["live_at", "pair_sizes", "pair_values", "saved_scalars", "written_uniforms"]


def pair_values(uniforms: dict[int, int], pair: int) -> list[int]:
    """Return the two values of a pair, 0 for a register that was not written."""
    return [uniforms.get(2 * pair + half, 0) for half in range(2)]


def pair_sizes(registers: Iterable[int]) -> list[int]:
    """Return how many of some registers each pair has that has one."""
    numbers = [register // 2 for register in registers]
    return [numbers.count(pair) for pair in sorted(set(numbers))]


def written_uniforms(restore: Any) -> dict[int, int]:
    """Return what a `payloads.uniform_restore` writes: value by register, in ascending order."""
    return {2 * restore.pair + half: restore["values"][half] for half in range(2) if restore.valid >> half & 1}


def live_at(mechanism: Mechanism, between: bool, vector: int, registers: int) -> Saved:
    """Return what counts as live in a warp that stands at a point with a vector, or between points."""
    return saved_by(ALL_LIVE if between or mechanism == Mechanism.OCCUPIED else vector, registers)


def saved_scalars(predicates: dict[int, int], uniforms: dict[int, int], live: Saved, lanes: int, scramble: bool
                  ) -> tuple[dict[int, int], dict[int, int]]:
    """Return what is saved of a warp's predicates and uniform registers: the live ones, or all with the others
    inverted. `lanes` has a bit for each lane."""
    def kept(written: dict[int, int], alive: Collection[int], ones: int) -> dict[int, int]:
        return {number: value if number in alive else value ^ ones for number, value in written.items()
                if scramble or number in alive}

    return kept(predicates, live.predicates, lanes), kept(uniforms, live.uniforms, 0xFFFF_FFFF)
