"""Outside judges of the search: CTXBack's Algorithm 1 as it stands in the paper, and a minimum vertex cut."""

from __future__ import annotations

import networkx

from caesura.software.compiler.flashback.blocks import ENTRY, Block, Value
from caesura.software.compiler.flashback.costs import Costs


def relaxed_size(block: Block, at: int, candidates: range, costs: Costs) -> int:
    """Return the least bytes of all candidates by the relaxed condition, each judged on its own: one pass back that
    marks what is available, one forward that marks what is re-executable (Algorithm 1), then what is needed."""
    available = set(block.live_values(at))
    best = sum(costs.size(block.register_of[value]) for value in available)
    for head in candidates:
        valid, again = set(available), set()
        for index in range(head, at):
            if at <= block.hazard[index] and all(value in valid for value in block.operands[index]):
                again.update(block.results[index])
                valid.update(block.results[index])
        needed, pending = set(), list(block.live_values(at))
        while pending:
            value = pending.pop()
            if value not in needed:
                needed.add(value)
                pending += block.operands[block.defined[value]] if value in again else ()
        best = min(best, sum(costs.size(block.register_of[value]) for value in needed - again))
    return best


def least_size(block: Block, at: int, costs: Costs) -> int:
    """Return the least bytes from which all that is live before `at` can be computed forwards: a minimum vertex cut
    between the values that cannot be computed again and those that are live."""
    graph = networkx.DiGraph()
    seen: set[Value] = set()
    pending = list(block.live_values(at))
    graph.add_nodes_from(("roots", "live"))
    for value in pending:
        graph.add_edge((value, "out"), "live")
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        graph.add_edge((value, "in"), (value, "out"), capacity=costs.size(block.register_of[value]))
        index = block.defined[value]
        if index == ENTRY or index < block.floor[at] or at > block.hazard[index]:
            graph.add_edge("roots", (value, "in"))
            continue
        for source in block.operands[index]:
            graph.add_edge((source, "out"), (value, "in"))
            pending.append(source)
    return networkx.minimum_cut_value(graph, "roots", "live")
