"""Directed graphs of names, and the graph algorithms of the compiler.

Each kernel makes and queries hundreds of small graphs, so a graph is only a dictionary of dictionaries. Everything is
in the order in which nodes and edges were added, the same in each process. ``test_digraph`` compares each function with
networkx, orders included.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["DiGraph", "Node", "cycles", "immediate_dominators", "induced", "find_cycle", "is_acyclic",
           "lexicographical_order", "postorder", "reachable", "topological_order"]

Node = TypeVar("Node", bound=Hashable)


class DiGraph(Generic[Node]):
    """A directed graph without multiple edges.

    Parameters
    ----------
    edges : iterable of (Node, Node)
        Source and target of each edge; nodes are added where they are named first.

    Attributes
    ----------
    succ, pred : dict of Node to dict of Node to None
        Successors and predecessors of each node, in the order of their edges.
    facts : dict
        Facts that analyses have found about the graph and keep here.
    """

    def __init__(self, edges: Iterable[tuple[Node, Node]] = ()):
        self.succ: dict[Node, dict[Node, None]] = {}
        self.pred: dict[Node, dict[Node, None]] = {}
        self.facts: dict[str, Any] = {}
        self.add_edges(edges)

    def add_nodes(self, nodes: Iterable[Node]) -> None:
        """Add nodes that are not there yet."""
        for node in nodes:
            if node not in self.succ:
                self.succ[node], self.pred[node] = {}, {}

    def add_edges(self, edges: Iterable[tuple[Node, Node]]) -> None:
        """Add edges, and their nodes if they are not there yet."""
        succ, pred = self.succ, self.pred
        for edge in edges:
            start, end = edge
            if start not in succ or end not in succ:
                self.add_nodes(edge)
            succ[start][end] = pred[end][start] = None

    def __iter__(self) -> Iterator[Node]:
        return iter(self.succ)

    def __len__(self) -> int:
        return len(self.succ)

    def __contains__(self, node: object) -> bool:
        return node in self.succ

    def edges(self) -> Iterator[tuple[Node, Node]]:
        """Yield the edges."""
        return ((start, end) for start, ends in self.succ.items() for end in ends)


def induced(graph: DiGraph[Node], nodes: Collection[Node]) -> DiGraph[Node]:
    """Return the subgraph on `nodes` as a graph of its own, in the order of `graph` whatever the order of `nodes`."""
    kept = set(nodes)
    result: DiGraph[Node] = DiGraph()
    result.add_nodes(node for node in graph if node in kept)
    result.add_edges((a, b) for a in result for b in graph.succ[a] if b in kept)
    return result


def reachable(graph: DiGraph[Node], start: Node, backward: bool = False) -> dict[Node, None]:
    """Return the nodes on paths from `start`, or to it, with `start` itself; the order is fixed, but has no meaning."""
    edges = graph.pred if backward else graph.succ
    found = {start: None}
    pending = [start]
    while pending:
        for node in edges[pending.pop()]:
            if node not in found:
                found[node] = None
                pending.append(node)
    return found


def postorder(graph: DiGraph[Node], start: Node) -> list[Node]:
    """Return the nodes that `start` reaches in the order in which a depth-first search leaves them."""
    found: list[Node] = []
    seen = {start}
    path = [(start, iter(graph.succ[start]))]
    while path:
        node, following = path[-1]
        for other in following:
            if other not in seen:
                seen.add(other)
                path.append((other, iter(graph.succ[other])))
                break
        else:
            path.pop()
            found.append(node)
    return found


def immediate_dominators(graph: DiGraph[Node], entry: Node) -> dict[Node, Node]:
    """Return the last node before each that every path from `entry` runs through; the entry's is itself.

    Nodes that `entry` does not reach have none (Cooper, Harvey and Kennedy: A simple, fast dominance algorithm, 2001).
    """
    order = postorder(graph, entry)
    number = {node: k for k, node in enumerate(order)}
    found = {entry: entry}
    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            above: Node | None = None
            for other in graph.pred[node]:
                if other not in found:
                    continue
                if above is None:
                    above = other
                    continue
                while above != other:
                    if number[above] < number[other]:
                        above = found[above]
                    else:
                        other = found[other]
            assert above is not None  # its predecessor in the search
            if found.get(node) != above:
                found[node] = above
                changed = True
    return found


def _topological(graph: DiGraph[Node]) -> list[Node]:
    """Return the nodes, each behind its predecessors; nodes in or behind cycles are missing."""
    missing = {node: len(before) for node, before in graph.pred.items()}
    found = [node for node, count in missing.items() if not count]
    for node in found:
        for other in graph.succ[node]:
            missing[other] -= 1
            if not missing[other]:
                found.append(other)
    return found


def topological_order(graph: DiGraph[Node]) -> list[Node]:
    """Return the nodes, each behind its predecessors; ValueError if there is a cycle."""
    return _all_of(graph, _topological(graph))


def lexicographical_order(graph: DiGraph[Any]) -> list[Any]:
    """Return the nodes, each behind its predecessors, else sorted; ValueError if there is a cycle."""
    missing = {node: len(before) for node, before in graph.pred.items()}
    ready = [node for node, count in missing.items() if not count]
    heapq.heapify(ready)
    found = []
    while ready:
        node = heapq.heappop(ready)
        found.append(node)
        for other in graph.succ[node]:
            missing[other] -= 1
            if not missing[other]:
                heapq.heappush(ready, other)
    return _all_of(graph, found)


def _all_of(graph: DiGraph[Node], found: list[Node]) -> list[Node]:
    if len(found) < len(graph):
        raise ValueError(f"the graph has a cycle: {find_cycle(graph)}")
    return found


def is_acyclic(graph: DiGraph[Node]) -> bool:
    """Return whether no path leads from a node to itself."""
    return len(_topological(graph)) == len(graph)


def cycles(graph: DiGraph[Any], nodes: Collection[Any] | None = None) -> Iterator[set[Any]]:
    """Yield the strongly connected components that contain a cycle, of the subgraph on `nodes`.

    The time is that of `nodes` alone, however large the graph. Components come in reverse topological order, and in the
    same order each time (Tarjan, SIAM J. Computing 1972).
    """
    inside = set(graph) if nodes is None else set(nodes)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    on_path: set[str] = set()
    for root in graph if nodes is None else sorted(inside):
        if root in index:
            continue
        work = [(root, iter(graph.succ[root]))]
        index[root] = low[root] = len(index)
        path.append(root)
        on_path.add(root)
        while work:
            node, following = work[-1]
            for other in following:
                if other not in inside:
                    continue
                if other not in index:
                    index[other] = low[other] = len(index)
                    path.append(other)
                    on_path.add(other)
                    work.append((other, iter(graph.succ[other])))
                    break
                if other in on_path and index[other] < low[node]:
                    low[node] = index[other]
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    start = _position(path, node)
                    component = set(path[start:])
                    del path[start:]
                    on_path -= component
                    if len(component) > 1 or node in graph.succ[node]:
                        yield component


def _position(path: list[str], node: str) -> int:
    """Return the index of `node` in `path`, searching from its end."""
    position = len(path) - 1
    while path[position] != node:
        position -= 1
    return position


def find_cycle(graph: DiGraph[Node]) -> list[Node]:
    """Return the nodes of some cycle, in its order; nothing if there is none."""
    left = induced(graph, graph.succ.keys() - set(_topological(graph)))
    if not left:
        return []
    path = {next(iter(left)): None}  # a node that is left has a predecessor that is left
    while (node := next(iter(left.pred[next(reversed(path))]))) not in path:
        path[node] = None
    nodes = list(path)
    return nodes[nodes.index(node):][::-1]
