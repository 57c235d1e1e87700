"""Loops as brackets beside a listing."""

from __future__ import annotations

from caesura.software.compiler.explain import KernelFacts

__all__ = ["MOST_SHOWN", "width", "gutters"]

MOST_SHOWN = 5
"""Number of nested loops with their own column of brackets; deeper loops share the last column."""


def width(facts: KernelFacts) -> int:
    """Return the number of columns of brackets beside a kernel's listing."""
    return min(MOST_SHOWN, 1 + max((loop.depth for loop in facts.loops), default=-1))


def gutters(facts: KernelFacts) -> list[str]:
    """Return a string of brackets for each instruction. All have the same length, with the outermost loop first."""
    columns = [[" "] * width(facts) for _ in facts.instructions]
    for loop in facts.loops:
        column = min(loop.depth, MOST_SHOWN - 1)
        first, last = loop.spans[0][0], loop.spans[-1][1] - 1
        for a, z in loop.spans:
            for pc in range(a, z):
                columns[pc][column] = "│" if columns[pc][column] == " " else columns[pc][column]
        if first < last:
            columns[first][column], columns[last][column] = "╭", "╰"
    return ["".join(column) for column in columns]
