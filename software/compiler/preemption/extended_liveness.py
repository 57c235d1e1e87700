"""Extended liveness: the registers that a stopped warp needs, those of its waiting lanes included.

(Lin et al. III-B; under nested divergence: docs/architecture.md, Extended liveness.) While a warp stands at a point,
other lanes of it can wait

1. at either successor of a branch from which the point is reachable before the branch's reconvergence point, and
2. at the reconvergence point of such a branch.

So the registers live there are needed as well. (Lanes that have exited need nothing.) A register is live in a routine,
or needed by lanes that wait, if this holds at any of the calls (`analysis.calls`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..analysis.calls import with_callers
from ..analysis.liveness import Liveness, liveness
from ..analysis.simt_stack import divergent_blocks
from ..image.lift import Lifted
from ..ir.cfg import graph as flow_graph
from ..ir.digraph import DiGraph
from ..ir.kernel import Block, Kernel, Op, Reg

__all__ = ["BodyLiveness", "body_liveness", "waiting_registers"]


@dataclass(frozen=True)
class BodyLiveness:
    """A kernel or one of its routines, with the liveness of each of its blocks.

    Attributes
    ----------
    kernel : Kernel
        Its blocks; the return of a routine reads the registers live behind any of the calls.
    flow : DiGraph
    live : Liveness
    waiting : dict of str to frozenset of Reg
        Registers that lanes waiting elsewhere may need; in a routine, also those of lanes that wait for a call.
    """

    kernel: Kernel
    flow: DiGraph
    live: Liveness
    waiting: dict[str, frozenset[Reg]]


def waiting_registers(kernel: Kernel, graph: DiGraph, live_in: dict[str, frozenset[Reg]],
                      meet: dict[str, str | None]) -> dict[str, frozenset[Reg]]:
    """Return, for each block, the registers that waiting lanes may still need while a warp is in it.

    Parameters
    ----------
    kernel : Kernel
    graph : DiGraph
        Its control-flow graph.
    live_in : dict
        Liveness at the start of each block.
    meet : dict
        Reconvergence point of each branch.
    """
    extra: dict[str, set[Reg]] = {label: set() for label in graph}
    for block in kernel.blocks:
        if block.end.condition is None:
            continue
        end = meet[block.label]
        needed = set().union(*(live_in[target] for target in block.end.targets))
        if end is not None:
            needed |= live_in[end]
        for label in divergent_blocks(graph, block.end.targets, end):
            extra[label] |= needed
    return {label: frozenset(registers) for label, registers in extra.items()}


def body_liveness(lifted: Lifted) -> list[BodyLiveness]:
    """Return the kernel of an image and its routines, in this order, with their liveness."""
    kernel = lifted.kernel
    flow = flow_graph(kernel)
    live = liveness(kernel, flow)
    waiting = waiting_registers(kernel, flow, live.live_in, lifted.meet)
    found = [BodyLiveness(kernel, flow, live, waiting)]
    for number, (behind, others) in sorted(with_callers(kernel, live, waiting).items()):
        found.append(_routine(kernel.routines[number].body, lifted.meet, behind, others))
    return found


def _routine(body: Kernel, meet: dict[str, str | None], behind: frozenset[Reg], others: frozenset[Reg]) -> BodyLiveness:
    """Return a routine with the registers live behind its calls, and those that lanes waiting for a call need."""
    blocks = [block if block.end.targets else Block(block.label, [
        *block.ops[:-1], Op("bru", (), (*block.ops[-1].uses, *sorted(behind)), line=block.ops[-1].line)], block.end)
        for block in body.blocks]
    own = replace(body, blocks=blocks)
    flow = flow_graph(own)
    live = liveness(own, flow)
    waiting = waiting_registers(own, flow, live.live_in, meet)
    return BodyLiveness(own, flow, live, {label: found | others for label, found in waiting.items()})
