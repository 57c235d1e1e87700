"""The SIMT stack: where lanes wait while others of their warp run, and the entries that this takes.

A divergent branch with reconvergence point R leaves the top entry at R. If that entry reconverges at R as well, the
branch replaces it. It pushes an entry for each side that does not start at R.

**Linearised control flow.** The sides of a divergent branch run one after the other. Lanes wait

1. at the one successor of a divergent branch while others run from the other successor towards the branch's
reconvergence point; if the first successor is that point, no entry is pushed for it; and
2. at the reconvergence point, while others run towards it from either successor.

The layout of the code decides which side runs first; nothing here depends on it.

**Stack depth.** Each divergence splits off at least one lane, so at most ``warp_size - 1`` of them can be nested. The
branches of a routine push onto the stack of its caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from caesura.hw.arch.geometry import PRESETS

from ..ir.digraph import DiGraph
from ..ir.kernel import Call, Kernel

__all__ = ["divergent_blocks", "divergent_paths", "stack_depth"]

_MOST_SPLITS = max(g.warp_size for g in PRESETS.values()) - 1


def divergent_blocks(graph: DiGraph, starts: Iterable[str], end: str | None) -> set[str]:
    """Return the blocks on paths from `starts` that have not reached `end`: lanes are apart there."""
    found: set[str] = set()
    pending = list(starts)
    while pending:
        label = pending.pop()
        if label != end and label not in found:
            found.add(label)
            pending += graph.succ[label]
    return found


def divergent_paths(flow: DiGraph, label: str, meet: str | None) -> Iterator[tuple[set[str], set[str]]]:
    """Yield, for each side of a divergent branch, the blocks that its lanes run through, and where others wait then.

    Parameters
    ----------
    flow : DiGraph
        Control-flow graph.
    label : str
        Block that ends with the branch.
    meet : str or None
        Reconvergence point of the branch.
    """
    targets = list(flow.succ[label])
    end = set() if meet is None else {meet}
    for target in targets:
        if target != meet:
            yield divergent_blocks(flow, [target], meet), end.union(targets) - {target}


def stack_depth(kernel: Kernel, graph: DiGraph, meet: dict[str, str | None]) -> int:
    """Return a bound of the SIMT stack entries a warp needs, exact for a warp that diverges wherever it can.

    A state is a block and the reconvergence point of the top entry; it is reached with a depth. States are followed in
    rounds, one for each nested divergence.
    """
    entry = kernel.blocks[0].label
    ends = {block.label: block.end for block in kernel.blocks}
    called = {block.label: max(op.summary.depth for op in block.ops if isinstance(op, Call)) - 1
              for block in kernel.blocks if any(isinstance(op, Call) for op in block.ops)}
    deepest = 1
    best: dict[tuple[str, str | None], int] = {}
    pending: dict[tuple[str, str | None], int] = {(entry, None): 1}
    for _ in range(_MOST_SPLITS + 1):
        following: dict[tuple[str, str | None], int] = {}
        work = list(pending)
        while work:
            label, top = state = work.pop()
            depth = pending[state]
            if best.get(state, 0) >= depth:
                continue
            best[state] = depth
            deepest = max(deepest, depth + called.get(label, 0))
            for target in ends[label].targets:
                _reach(pending, work, target, top, depth)
            if ends[label].condition is not None:
                taken, other = ends[label].targets
                end = meet[label]
                below = depth - 1 if end == top else depth
                if end != top:
                    _reach(pending, work, end, top, depth)
                if other != end:
                    below += 1
                    _reach(following, None, other, end, below)
                if taken != end:
                    _reach(following, None, taken, end, below + 1)
        if not following:
            break
        pending = following
    return deepest


def _reach(states: dict, work: list | None, label: str | None, top: str | None, depth: int) -> None:
    """Note that a block is reached with a depth, unless the top entry is popped there."""
    if label is None or label == top or states.get((label, top), 0) >= depth:
        return
    states[label, top] = depth
    if work is not None:
        work.append((label, top))
