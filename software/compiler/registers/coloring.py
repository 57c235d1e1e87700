"""Graph colouring with aligned groups: smallest-last order (Matula and Beck), lowest free place first.

Wide groups are coloured first: a single register always finds a place between them, but not the reverse.
"""

from __future__ import annotations

from collections.abc import Mapping

from caesura.hw.arch.geometry import REGISTER_BANKS

from .interference import Group, Interference

__all__ = ["color"]

_WIDE = 8
"""Neighbours that each register of a group counts for when groups are ordered."""
_NO_PARTNERS: Mapping[int, set[int]] = {}


def color(graph: Interference, partners: Mapping[int, set[int]] = _NO_PARTNERS) -> dict[int, int]:
    """Give every representative a number so that neighbours differ and groups are consecutive and aligned.

    Parameters
    ----------
    graph : Interference
    partners : mapping, optional
        Nodes read by the same operations. Among places without cost, one in another bank of the register file is
        preferred.

    Returns
    -------
    dict of int to int
        Numbers of the nodes, as few different ones as the heuristic finds; the caller judges whether they are too many.
    """
    chosen: dict[int, int] = {}
    top = 0
    for group in reversed(_smallest_last(graph)):
        taken = 0
        for place, node in group.members.items():
            used = 0
            for number in set(map(chosen.get, graph.neighbours[node])):
                if number is not None:
                    used |= 1 << number
            taken |= used >> place
        base = _base(taken, group.width, top, _conflicts(group, chosen, partners))
        top = max(top, base + group.width)
        for place, node in group.members.items():
            chosen[node] = base + place
    return chosen


def _base(taken: int, width: int, top: int, conflicts: list[int]) -> int:
    """Return where a group begins: below `top` at the place of fewest conflicts, the first of these; else the first.

    Parameters
    ----------
    taken : int
        One bit for each place where it cannot begin.
    width, top : int
    conflicts : list of int
        Conflicts by bank.
    """
    best, least = -1, 0
    whole = (top // width + 2) * width
    free = ((1 << whole) - 1) // ((1 << width) - 1) & ~taken  # a bit for each place where it can begin
    while True:
        bit = free & -free
        free ^= bit
        base = bit.bit_length() - 1
        if base + width > top:
            return base if best < 0 else best
        count = conflicts[base % REGISTER_BANKS]
        if not count:
            return base
        if best < 0 or count < least:
            best, least = base, count


def _conflicts(group: Group, chosen: dict[int, int], partners: Mapping[int, set[int]]) -> list[int]:
    """Return, for the bank that a group may begin in, how many partners its members would share banks with."""
    found = [0] * REGISTER_BANKS
    for place, node in group.members.items():
        for other in partners.get(node, ()):
            if other in chosen:
                found[(chosen[other] - place) % REGISTER_BANKS] += 1
    return found


def _smallest_last(graph: Interference) -> list[Group]:
    """Return the groups, always the one with the fewest conflicts among those left; wide ones stay to the last."""
    nodes = graph.representatives()
    known: dict[int, int] = {}  # a group's first node stands for it
    for node in nodes:
        known.setdefault(id(graph.groups[node][0]), node)
    groups = {node: graph.groups[node][0] for node in known.values()}
    near = graph.neighbours if len(groups) == len(nodes) else _neighbours(graph, known)
    widths = [group.width for group, _ in graph.groups]
    width_of = widths.__getitem__
    weight = [0] * len(widths)
    for k in groups:
        weight[k] = sum(map(width_of, near[k])) + _WIDE * widths[k]
    bits = [1 << k for k in range(len(widths))]
    waiting = [0] * (max(weight, default=0) + 1)  # the groups of each weight, as bits
    for k in groups:
        waiting[weight[k]] |= bits[k]
    order: list[Group] = []
    done: set[int] = set()
    least = 0
    for _ in groups:
        while not waiting[least]:
            least += 1
        bit = waiting[least] & -waiting[least]
        waiting[least] ^= bit
        k = bit.bit_length() - 1
        done.add(k)
        order.append(groups[k])
        width = widths[k]
        for other in near[k] - done:
            w, bit = weight[other], bits[other]
            waiting[w] ^= bit
            waiting[w - width] |= bit
            weight[other] = w - width
        least = max(least - width, 0)
    return order


def _neighbours(graph: Interference, known: Mapping[int, int]) -> list[set[int]]:
    """Return the neighbours of each group among the groups, both named by the nodes that `known` has for them."""
    group_of = {node: known[id(graph.groups[node][0])] for node in graph.representatives()}
    found: list[set[int]] = [set() for _ in graph.groups]
    for node in known.values():
        members = graph.groups[node][0].members.values()
        found[node].update(*(map(group_of.__getitem__, graph.neighbours[member]) for member in members))
        found[node].discard(node)
    return found
