"""Where lanes wait while others of their warp run: the linearised control flow of the SIMT stack.

Vector registers have a word a lane, so what one side of a divergent branch writes does not reach lanes that wait on the
other. A uniform register has one word a warp. Lanes wait

1. at the one successor of a divergent branch while others run from the other successor towards the branch's
   reconvergence point, unless the first successor is that point: no entry is pushed for it; and
2. at the reconvergence point, while others run towards it from either successor.

Which side runs first depends on the layout of the code; nothing here does. Both sides execute: a uniform register that
is live where lanes wait interferes with what is defined while they do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import networkx

from ..ir.kernel import Kernel, Reg
from .divergence import between

__all__ = ["sides", "waiting_uniforms"]


def sides(flow: networkx.DiGraph, label: str, meet: str | None) -> Iterator[tuple[set[str], set[str]]]:
    """Yield, for each side of a divergent branch, the blocks that its lanes run through, and where others wait then.

    Parameters
    ----------
    flow : networkx.DiGraph
        Control-flow graph.
    label : str
        The block that ends with the branch.
    meet : str or None
        Its reconvergence point.
    """
    targets = list(flow.successors(label))
    end = set() if meet is None else {meet}
    for target in targets:
        if target != meet:
            yield between(flow, [target], meet), end.union(targets) - {target}


def waiting_uniforms(kernel: Kernel, flow: networkx.DiGraph, meet: Mapping[str, str | None],
                     live_in: Mapping[str, Collection[Reg]], divergent: Collection[str]) -> dict[str, set[Reg]]:
    """Return, for each block, the uniform registers that waiting lanes need while a warp is in it.

    Parameters
    ----------
    kernel : Kernel
    flow : networkx.DiGraph
        Its control-flow graph.
    meet : dict
        Reconvergence point of each branch.
    live_in : dict
        Liveness at the start of each block.
    divergent : collection of str
        Blocks whose branch can diverge.
    """
    live = {label: {reg for reg in registers if reg.kind in "uU"} for label, registers in live_in.items()}
    needed: dict[str, set[Reg]] = {block.label: set() for block in kernel.blocks}
    for label in flow:
        if label in divergent:
            for blocks, places in sides(flow, label, meet[label]):
                registers = set().union(*(live[place] for place in places))
                for inside in blocks if registers else ():
                    needed[inside] |= registers
    return needed
