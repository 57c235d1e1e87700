"""Predicates and uniform registers as the preemption port has them (the latter by pairs, an even one and the next), and
as they are saved."""

from collections.abc import Collection, Iterable
from typing import Any

__all__ = ["pair_sizes", "pair_values", "scrambled", "written_uniforms"]


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


def scrambled(written: dict[int, int], live: Collection[int], ones: int, scramble: bool) -> dict[int, int]:
    """Return what is saved of predicates or uniform registers: the live ones, or all with the others inverted."""
    return {number: value if number in live else value ^ ones for number, value in written.items()
            if scramble or number in live}
