"""One worklist for every dataflow analysis; an analysis is data (direction, start, merge, transfer)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..ir.cfg import neighbours
from ..ir.digraph import DiGraph

__all__ = ["Analysis", "solve"]

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Analysis(Generic[Fact]):
    """A dataflow problem.

    Attributes
    ----------
    forward : bool
        Facts flow along the edges; else against them.
    start : Fact
        At the entry (forward) or at blocks without successors (backward), and before anything is known.
    merge : callable
        ``merge(a, b)``: the fact where paths meet; must only grow.
    transfer : callable
        ``transfer(node, fact)``: the fact on the far side of a node.
    """

    forward: bool
    start: Fact
    merge: Callable[[Fact, Fact], Fact]
    transfer: Callable[[str, Fact], Fact]


def solve(analysis: Analysis[Fact], graph: DiGraph) -> tuple[dict[str, Fact], dict[str, Fact]]:
    """Solve to the least fixed point.

    Returns
    -------
    before, after : dict
        Fact of each node at its start and at its end, in program order.
    """
    predecessors, successors = neighbours(graph)
    inputs, outputs = (predecessors, successors) if analysis.forward else (successors, predecessors)
    merge, transfer = analysis.merge, analysis.transfer
    near = dict.fromkeys(graph, analysis.start)
    far = {node: transfer(node, analysis.start) for node in graph}
    pending = dict.fromkeys(graph if analysis.forward else reversed(list(graph)))
    while pending:
        node = next(iter(pending))
        del pending[node]
        fact = analysis.start
        for other in inputs[node]:
            fact = merge(fact, far[other])
        near[node] = fact
        result = transfer(node, fact)
        if result != far[node]:
            far[node] = result
            for other in outputs[node]:
                pending[other] = None
    return (near, far) if analysis.forward else (far, near)
