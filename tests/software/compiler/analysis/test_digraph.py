"""The compiler's graphs do as networkx's, on random graphs, orders included."""

import random

import networkx
import pytest

from caesura.software.compiler.ir.digraph import (
    DiGraph,
    find_cycle,
    immediate_dominators,
    induced,
    is_acyclic,
    lexicographical_order,
    postorder,
    reachable,
    topological_order,
)

SEEDS = range(60)


def both(seed, acyclic=False):
    """Return a random graph twice, of one order."""
    choose = random.Random(seed)
    nodes = [f"n{k}" for k in range(choose.randrange(1, 14))]
    choose.shuffle(nodes)
    edges = [(choose.choice(nodes), choose.choice(nodes)) for _ in range(choose.randrange(3 * len(nodes)))]
    if acyclic:
        edges = [(a, b) for a, b in edges if int(a[1:]) < int(b[1:])]
    judge, graph = networkx.DiGraph(), DiGraph()
    judge.add_nodes_from(nodes[:3])
    graph.add_nodes(nodes[:3])
    judge.add_edges_from(edges)
    graph.add_edges(edges)
    return graph, judge, next(iter(judge))


@pytest.mark.parametrize("seed", SEEDS)
def test_any_graph(seed):
    graph, judge, start = both(seed)
    assert list(graph) == list(judge) and len(graph) == len(judge) and start in graph and "other" not in graph
    assert list(graph.edges()) == list(judge.edges)
    assert {node: list(graph.pred[node]) for node in graph} == {node: list(judge.predecessors(node)) for node in judge}
    assert postorder(graph, start) == list(networkx.dfs_postorder_nodes(judge, start))
    dominators = {**networkx.immediate_dominators(judge, start), start: start}
    assert immediate_dominators(graph, start) == dominators
    assert set(reachable(graph, start)) == {start, *networkx.descendants(judge, start)}
    assert set(reachable(graph, start, backward=True)) == {start, *networkx.ancestors(judge, start)}
    some = random.Random(seed).sample(list(judge), len(judge) // 2)
    part = induced(graph, some)
    assert list(part) == [node for node in judge if node in some]
    assert set(part.edges()) == set(judge.subgraph(some).edges)


@pytest.mark.parametrize("seed", SEEDS)
def test_cycles_and_orders(seed):
    for graph, judge, _ in (both(seed), both(seed, acyclic=True)):
        cycle = find_cycle(graph)
        assert is_acyclic(graph) == networkx.is_directed_acyclic_graph(judge) == (not cycle)
        for order in (topological_order, lexicographical_order):
            if cycle:
                assert all(b in graph.succ[a] for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
                with pytest.raises(ValueError, match="cycle"):
                    order(graph)
        if not cycle:
            assert topological_order(graph) == list(networkx.topological_sort(judge))
            assert lexicographical_order(graph) == list(networkx.lexicographical_topological_sort(judge))
