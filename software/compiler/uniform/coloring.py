"""Colouring of uniform registers.

Vector registers have one word per lane, so a write on one side of a divergent branch does not reach lanes that wait on
the other. A uniform register has one word per warp, and both sides execute. It interferes with the registers live after
its definition, and with those that lanes waiting elsewhere need meanwhile (`analysis.simt_stack`). The order is
smallest-last (Matula and Beck). Where more than all registers interfere, the least executed goes last, and may be left
over. A kernel with calls keeps one register for return addresses (`registers.calling_convention`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from caesura.hw.arch.geometry import UNIFORMS

from ..analysis.liveness import partial_liveness
from ..analysis.loops import loop_depth
from ..analysis.simt_stack import divergent_paths
from ..ir.digraph import DiGraph
from ..ir.kernel import Kernel, Reg

__all__ = ["color_uniform"]


def color_uniform(kernel: Kernel, flow: DiGraph, meet: Mapping[str, str | None],
                  divergent: Collection[str]) -> tuple[dict[Reg, Reg], list[Reg]]:
    """Give the uniform registers of `kernel` (kind ``u``) places.

    Parameters
    ----------
    kernel : Kernel
    flow, meet, divergent
        Its control-flow graph, reconvergence points and divergent branches (`analysis.uniformity`).

    Returns
    -------
    dict of Reg to Reg
        Registers of kind ``U``, for those that have one.
    list of Reg
        Registers without a place.
    """
    near = _interference(kernel, flow, meet, divergent)
    count = UNIFORMS - bool(kernel.routines)
    chosen: dict[Reg, Reg] = {}
    over: list[Reg] = []
    for reg in reversed(_smallest_last(near, _executed(kernel), count)):
        taken = {chosen[other].index for other in near[reg] if other in chosen}
        place = next((k for k in range(count) if k not in taken), None)
        if place is None:
            over.append(reg)
        else:
            chosen[reg] = Reg("U", place)
    return chosen, over


def _interference(kernel: Kernel, flow, meet, divergent) -> dict[Reg, set[Reg]]:
    uniform = {d for op in kernel.ops() for d in op.defs if d is not None and d.kind == "u"}
    near: dict[Reg, set[Reg]] = {}
    if not uniform:
        return near
    blocks, result = partial_liveness(kernel, uniform)
    waiting = _waiting(kernel, flow, meet, result.live_in, divergent)
    for block in blocks:
        for _, op, live in result.backward(block):
            for reg in op.written():
                if reg.kind == "u":
                    own = near.setdefault(reg, set())
                    found = ((live & uniform) | waiting[block.label]).difference(own, (reg,))
                    own |= found
                    for other in found:
                        near.setdefault(other, set()).add(reg)
    return near


def _waiting(kernel: Kernel, flow: DiGraph, meet: Mapping[str, str | None],
             live_in: Mapping[str, Collection[Reg]], divergent: Collection[str]) -> dict[str, set[Reg]]:
    """Return, for each block, the uniform registers that waiting lanes need while a warp is in it."""
    live = {label: {reg for reg in registers if reg.kind == "u"} for label, registers in live_in.items()}
    needed: dict[str, set[Reg]] = {block.label: set() for block in kernel.blocks}
    for label in flow:
        if label in divergent:
            for blocks, places in divergent_paths(flow, label, meet[label]):
                registers = set().union(*(live[place] for place in places))
                for inside in blocks if registers else ():
                    needed[inside] |= registers
    return needed


def _executed(kernel: Kernel) -> dict[Reg, int]:
    """Return how often a register is named; an operation in a loop counts ten times."""
    depth = loop_depth(kernel)
    count: dict[Reg, int] = {}
    for block in kernel.blocks:
        for op in block.ops:
            for reg in (*op.written(), *op.read()):
                if reg.kind == "u":
                    count[reg] = count.get(reg, 0) + 10 ** depth[block.label]
    return count


def _smallest_last(near: dict[Reg, set[Reg]], executed: dict[Reg, int], count: int) -> list[Reg]:
    degree = {reg: len(others) for reg, others in near.items()}
    left = dict.fromkeys(sorted(near))
    order: list[Reg] = []
    while left:
        easy = [reg for reg in left if degree[reg] < count]
        batch = easy or [min(left, key=lambda reg: (executed[reg] / degree[reg], reg))]
        for reg in batch:
            del left[reg]
            order.append(reg)
            for other in near[reg]:
                degree[other] -= 1
    return order
