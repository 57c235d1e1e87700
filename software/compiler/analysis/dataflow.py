"""One worklist for every dataflow analysis; an analysis is data (direction, start, merge, transfer)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
        Whether facts flow along the edges; else against them.
    start : Fact
        Fact at the entry (forward) or at blocks without successors (backward), and before anything is known. Merging it
        with a fact does not change that fact.
    merge : callable
        ``merge(a, b)`` returns the fact where paths meet; facts may only grow.
    transfer : callable
        ``transfer(node, fact)`` returns the fact on the far side of a node.
    """

    forward: bool
    start: Fact
    merge: Callable[[Fact, Fact], Fact]
    transfer: Callable[[str, Fact], Fact]


def solve(analysis: Analysis[Fact], graph: DiGraph, first: Mapping[str, Fact] | None = None
          ) -> tuple[dict[str, Fact], dict[str, Fact]]:
    """Solve to the least fixed point.

    Parameters
    ----------
    analysis : Analysis
    graph : DiGraph
    first : mapping of str to Fact, optional
        The result of `Analysis.transfer` for `Analysis.start` at each node, if the caller knows it.

    Returns
    -------
    before, after : dict
        Facts of each node at its start and at its end, in program order.
    """
    predecessors, successors = neighbours(graph)
    inputs, outputs = (predecessors, successors) if analysis.forward else (successors, predecessors)
    merge, transfer, start = analysis.merge, analysis.transfer, analysis.start
    near = dict.fromkeys(graph, start)
    far = {node: transfer(node, start) for node in graph} if first is None else {node: first[node] for node in graph}
    pending = dict.fromkeys(graph if analysis.forward else reversed(list(graph)))
    while pending:
        node = next(iter(pending))
        del pending[node]
        fact = start
        for other in inputs[node]:
            fact = far[other] if fact is start else merge(fact, far[other])
        near[node] = fact
        result = transfer(node, fact)
        if result != far[node]:
            far[node] = result
            for other in outputs[node]:
                pending[other] = None
    return (near, far) if analysis.forward else (far, near)
