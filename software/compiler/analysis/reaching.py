"""Use-def chains: the definitions of a register that reach each of its uses.

A definition reaches a use of the register it writes if

1. some path leads from it to the use, and
2. no operation on that path writes the register in every lane: a guarded definition adds its value to the others and
   replaces none, and
3. the value a register has at the start of the kernel, before any definition, counts as a definition too (`ENTRY`).

So a use with one reaching definition is dominated by it, and reads what its last execution wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..ir.cfg import graph as flow_graph
from ..ir.digraph import DiGraph
from ..ir.kernel import Block, Kernel, Op, Reg
from .dataflow import Analysis, solve
from .definitions import Place

__all__ = ["ENTRY", "UseDefChains", "use_def_chains"]


ENTRY = Place("", -1)
"""The start of the kernel as the definition of a register that nothing has written."""


@dataclass(frozen=True)
class UseDefChains:
    """Result of `chains`.

    Attributes
    ----------
    definitions : Mapping of (Place, Reg) to tuple of Place
        Definitions that reach each register read at a place, in program order, `ENTRY` first.
    uses : Mapping of Place to tuple of (Place, Reg)
        Places that may read the result of each definition, and the register they read.
    """

    definitions: Mapping[tuple[Place, Reg], tuple[Place, ...]]
    uses: Mapping[Place, tuple[tuple[Place, Reg], ...]]

    def only(self, site: Place, reg: Reg) -> Place | None:
        """Return the one definition of `reg` that reaches its use at `site`; None if several do, or the start does."""
        found = self.definitions[site, reg]
        return found[0] if len(found) == 1 and found[0] != ENTRY else None


class _Numbering:
    """Definitions as bits of one number; bits 0 to ``len(registers) - 1`` are those of the start."""

    def __init__(self, kernel: Kernel):
        registers = sorted({reg for op in kernel.ops() for reg in (*op.read(), *op.written())} | {
            block.end.condition.reg for block in kernel.blocks if block.end.condition and block.end.condition.reg})
        self.sites = [ENTRY] * len(registers)
        self.start = (1 << len(registers)) - 1
        self.of = {reg: 1 << k for k, reg in enumerate(registers)}
        self.bits: dict[tuple[Place, Reg], int] = {}
        for block in kernel.blocks:
            for index, op in enumerate(block.ops):
                for reg in op.written():
                    bit = self.bits[Place(block.label, index), reg] = 1 << len(self.sites)
                    self.of[reg] |= bit
                    self.sites.append(Place(block.label, index))

    def step(self, site: Place, op: Op, reaching: int) -> int:
        """Return the definitions that reach past `op`."""
        for reg in op.killed():
            reaching &= ~self.of[reg]
        for reg in op.written():
            reaching |= self.bits[site, reg]
        return reaching

    def listed(self, bits: int) -> Iterator[Place]:
        """Yield the definitions of a set, in program order."""
        while bits:
            low = bits & -bits
            yield self.sites[low.bit_length() - 1]
            bits ^= low


def use_def_chains(kernel: Kernel, graph: DiGraph | None = None) -> UseDefChains:
    """Compute the use-def and def-use chains of `kernel`, at any stage (over its control-flow graph, if at hand)."""
    graph = flow_graph(kernel) if graph is None else graph
    numbering = _Numbering(kernel)
    blocks = {block.label: block for block in kernel.blocks}
    entry = kernel.blocks[0].label
    kept, made = {}, {}
    for label, block in blocks.items():
        kept[label], made[label] = ~0, 0
        for index, op in enumerate(block.ops):
            for reg in op.killed():
                kept[label] &= ~numbering.of[reg]
            made[label] = numbering.step(Place(label, index), op, made[label])

    def transfer(label: str, reaching: int) -> int:
        return _at_start(label, reaching) & kept[label] | made[label]

    def _at_start(label: str, reaching: int) -> int:
        return reaching | numbering.start if label == entry else reaching

    before, _ = solve(Analysis(True, 0, int.__or__, transfer), graph)
    definitions: dict[tuple[Place, Reg], tuple[Place, ...]] = {}
    uses: dict[Place, list[tuple[Place, Reg]]] = {}
    for label, block in blocks.items():
        reaching = _at_start(label, before[label])
        for index, read in _reads(block):
            site = Place(label, index)
            for reg in dict.fromkeys(read):
                found = definitions[site, reg] = tuple(numbering.listed(reaching & numbering.of[reg]))
                for definition in found:
                    uses.setdefault(definition, []).append((site, reg))
            if index < len(block.ops):
                reaching = numbering.step(site, block.ops[index], reaching)
    return UseDefChains(definitions, {site: tuple(found) for site, found in uses.items()})


def _reads(block: Block) -> Iterator[tuple[int, list[Reg]]]:
    """Yield each operation's index and the registers it reads, then those of the terminator."""
    for index, op in enumerate(block.ops):
        yield index, list(op.read())
    condition = block.end.condition
    yield len(block.ops), [] if condition is None or condition.reg is None else [condition.reg]
