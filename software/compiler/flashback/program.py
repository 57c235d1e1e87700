"""A whole kernel as context flashback sees it, whatever the instruction set: its blocks and the flow between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..ir.digraph import DiGraph, cycles
from .blocks import Block, FlashbackError, Register
from .costs import Costs

__all__ = ["CodeBlock", "Program", "loop_depths"]


@dataclass(frozen=True)
class CodeBlock:
    """A basic block where it stands in the code.

    Attributes
    ----------
    start : int
        Address of its first instruction. Addresses count instructions.
    words : int
        Its instructions; the last may be a branch or the end of the kernel that is not among those of `block`.
    block : Block
    successors : tuple of int
        Addresses of the blocks that control may flow to; none at the end of the kernel, and of a routine.
    depth : int
        Loops around it.
    """

    start: int
    words: int
    block: Block
    successors: tuple[int, ...] = ()
    depth: int = 0


@dataclass(frozen=True)
class Program:
    """A kernel.

    Attributes
    ----------
    name, source : str
        Of the kernel, and of the file it comes from.
    blocks : tuple of CodeBlock
        By address, routines included.
    occupied_bytes : int
        What a warp has allocated: the context without any analysis.
    costs : Costs
    places : tuple of Register
        Scalar registers that a warp has, those that are to hold backups first in front.
    text : callable
        Address to the text of an instruction.
    register_name : callable
        How a register is written.
    shared_bytes : int
        A warp's share of shared memory, if that counts: part of `occupied_bytes`, and saved whatever is done with
        registers.

    Raises
    ------
    FlashbackError
        If a successor is no block, or two blocks have one address.
    """

    name: str
    source: str
    blocks: tuple[CodeBlock, ...]
    occupied_bytes: int
    costs: Costs
    places: tuple[Register, ...]
    text: Callable[[int], str]
    register_name: Callable[[Register], str] = str
    shared_bytes: int = 0

    def __post_init__(self):
        starts = {block.start for block in self.blocks}
        if len(starts) != len(self.blocks):
            raise FlashbackError(f"{self.name} has two blocks at one address")
        for block in self.blocks:
            if not starts.issuperset(block.successors):
                raise FlashbackError(f"{self.name}: the block at {block.start} goes on where no block is: "
                                     f"{sorted(set(block.successors) - starts)}")

    def at(self, start: int) -> CodeBlock:
        """Return the block at an address; KeyError if none starts there."""
        return {block.start: block for block in self.blocks}[start]


def loop_depths(successors: Mapping[int, Iterable[int]]) -> dict[int, int]:
    """Return how many loops are around each node of a flow graph.

    A loop is a strongly connected part with an edge in it; loops within it are those that are left without its entries
    (of a part that several edges enter, all of them). So it is defined for graphs that are not reducible, too.
    """
    graph = DiGraph((node, after) for node, afters in successors.items() for after in afters)
    depths = dict.fromkeys(successors, 0)
    pending = list(cycles(graph))
    while pending:
        nodes = pending.pop()
        for node in nodes:
            depths[node] += 1
        entries = {node for node in nodes if any(before not in nodes for before in graph.pred[node])}
        pending += cycles(graph, nodes - (entries or {min(nodes)}))
    return depths
