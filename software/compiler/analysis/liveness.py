"""Liveness of vector registers, uniform registers and predicates, per thread.

A register is live at a point if

1. some path from the point reads it, and
2. no operation on that path before the read writes it in every lane: a guarded definition kills nothing,
   since lanes that do not execute it keep the value, and
3. the path does not run through ``exit`` without a guard, after which the thread has no state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from ..ir.cfg import graph as flow_graph
from ..ir.cfg import kept
from ..ir.digraph import DiGraph
from ..ir.kernel import Block, Kernel, Op, Reg
from .dataflow import Analysis, solve

__all__ = ["Liveness", "liveness", "partial_liveness"]

@dataclass(frozen=True)
class Liveness:
    """Result of `liveness`.

    Attributes
    ----------
    live_in, live_out : dict of str to frozenset of Reg
        Registers live at the start and the end of each block (the terminator's condition counts as read inside it).
    """

    live_in: dict[str, frozenset[Reg]]
    live_out: dict[str, frozenset[Reg]]

    def backward(self, block: Block) -> Iterator[tuple[int, Op, set[Reg]]]:
        """Yield ``(index, op, live after op)`` from the last operation to the first.

        The caller may only read the set, and only until the next step.
        """
        live = set(self.live_out[block.label])
        _read_condition(block, live)
        for index in range(len(block.ops) - 1, -1, -1):
            op = block.ops[index]
            yield index, op, live
            live.difference_update(op.killed())
            live.update(op.read())

    def gaps(self, block: Block) -> list[frozenset[Reg]]:
        """Return the registers live before each operation and, last, before the terminator."""
        sets = [frozenset(live) for _, _, live in self.backward(block)]
        return [self.live_in[block.label], *sets[::-1]] if sets else [self.live_in[block.label]]


def _read_condition(block: Block, live: set[Reg]) -> None:
    if block.end.condition is not None and block.end.condition.reg is not None:
        live.add(block.end.condition.reg)


def liveness(kernel: Kernel, graph: DiGraph | None = None) -> Liveness:
    """Return the liveness of every register in `kernel`, over its control-flow graph, or another one."""
    own = flow_graph(kernel)
    return _own(kernel) if graph is None or graph is own else _over(kernel.blocks, graph)


def partial_liveness(kernel: Kernel, registers: Collection[Reg]) -> tuple[list[Block], Liveness]:
    """Return the blocks of `kernel` reduced to operations on `registers`, and their liveness.

    An operation stays if it reads or writes one of `registers`. The liveness of other registers means nothing.
    """
    wanted = frozenset(registers)
    blocks = [Block(block.label, [op for op in block.ops
                                  if not (wanted.isdisjoint(op.read()) and wanted.isdisjoint(op.defs))], block.end)
              for block in kernel.blocks]
    return blocks, _over(blocks, flow_graph(kernel))


@kept
def _own(kernel: Kernel) -> Liveness:
    return _over(kernel.blocks, flow_graph(kernel))


def _over(blocks: Iterable[Block], graph: DiGraph) -> Liveness:
    gen: dict[str, frozenset[Reg]] = {}
    kill: dict[str, frozenset[Reg]] = {}
    for block in blocks:
        read: set[Reg] = set()
        killed: set[Reg] = set()
        for op in block.ops:
            for reg in op.read():
                if reg not in killed:
                    read.add(reg)
            killed.update(op.killed())
        if block.end.condition is not None and block.end.condition.reg not in killed:
            _read_condition(block, read)
        gen[block.label], kill[block.label] = frozenset(read), frozenset(killed)
    analysis = Analysis(forward=False, start=frozenset(), merge=frozenset.union,
                        transfer=lambda node, after: gen[node] | (after - kill[node]))
    return Liveness(*solve(analysis, graph, gen))
