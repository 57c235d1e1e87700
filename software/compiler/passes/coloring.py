"""Graph colouring with aligned groups: smallest-last order (Matula and Beck), lowest free place first."""

from __future__ import annotations

import heapq

from caesura.hw.arch.geometry import REGISTER_BANKS

from ..ir.kernel import Reg
from .interference import Group, Interference

__all__ = ["color"]


def color(graph: Interference, partners: dict[Reg, set[Reg]] | None = None) -> dict[Reg, int]:
    """Give every representative a number so that neighbours differ and groups are consecutive and aligned.

    Parameters
    ----------
    graph : Interference
    partners : dict, optional
        Registers read by the same operations; among places that cost nothing, one in another bank of the register
        file is taken.

    Returns
    -------
    dict of Reg to int
        As few different numbers as the heuristic finds; the caller judges whether they are too many.
    """
    chosen: dict[Reg, int] = {}
    top = 0
    for group in reversed(_smallest_last(graph)):
        taken = {place: {chosen[n] for n in graph.neighbours[reg] if n in chosen}
                 for place, reg in group.members.items()}
        best = None
        base = 0
        while best is None or base + group.width <= top:
            if all(base + place not in used for place, used in taken.items()):
                cost = (max(base + group.width - top, 0), _conflicts(group, base, chosen, partners), base)
                best = cost if best is None else min(best, cost)
            base += group.width
        base = best[-1]
        top = max(top, base + group.width)
        for place, reg in group.members.items():
            chosen[reg] = base + place
    return chosen


def _conflicts(group: Group, base: int, chosen: dict[Reg, int], partners: dict[Reg, set[Reg]] | None) -> int:
    if not partners:
        return 0
    return sum(1 for place, reg in group.members.items() for other in partners.get(reg, ())
               if other in chosen and (chosen[other] - base - place) % REGISTER_BANKS == 0)


def _smallest_last(graph: Interference) -> list[Group]:
    groups = sorted({group for group, _ in graph.groups.values()}, key=lambda group: min(group.members.values()))
    number = {id(group): k for k, group in enumerate(groups)}
    near: list[set[int]] = [set() for _ in groups]
    for reg, others in graph.neighbours.items():
        mine = number[id(graph.groups[reg][0])]
        near[mine].update(number[id(graph.groups[other][0])] for other in others)
    for k, others in enumerate(near):
        others.discard(k)
    degree = [sum(groups[o].width for o in others) for others in near]
    heap = [(degree[k] - 4 * groups[k].width, k) for k in range(len(groups))]
    heapq.heapify(heap)
    order: list[Group] = []
    done = [False] * len(groups)
    while heap:
        weight, k = heapq.heappop(heap)
        if done[k] or weight != degree[k] - 4 * groups[k].width:
            continue
        done[k] = True
        order.append(groups[k])
        for other in near[k]:
            if not done[other]:
                degree[other] -= groups[k].width
                heapq.heappush(heap, (degree[other] - 4 * groups[other].width, other))
    return order
