"""A whole kernel for context flashback, whatever the instruction set: its blocks and the flow between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..ir.digraph import DiGraph, cycles
from .blocks import Block, FlashbackError, Register
from .costs import Costs

__all__ = ["CodeBlock", "Program", "loop_depths"]


@dataclass(frozen=True)
class CodeBlock:
    """A basic block with its place in the code.

    Attributes
    ----------
    start : int
        Address of its first instruction. Addresses count instructions.
    words : int
        Number of its instructions; the last may be a branch or the end of the kernel, which `block` does not have.
    block : Block
    successors : tuple of int
        Addresses of the blocks that may follow; none at the end of the kernel or of a routine.
    depth : int
        Number of loops around it.
    """

    start: int
    words: int
    block: Block
    successors: tuple[int, ...] = ()
    depth: int = 0


@dataclass(frozen=True)
class Program:
    """A kernel with its blocks, its costs, and the names for messages.

    Attributes
    ----------
    name, source : str
        Names of the kernel, and of the file it comes from.
    blocks : tuple of CodeBlock
        Blocks by address, routines included.
    occupied_bytes : int
        Bytes allocated to a warp: the context without any analysis.
    costs : Costs
    places : tuple of Register
        Scalar registers that a warp has, the preferred places of backups first.
    text : callable
        Returns the text of the instruction at an address.
    register_name : callable
        Returns the printed name of a register.
    shared_bytes : int
        Share of a warp of the shared memory, if that counts. It is part of `occupied_bytes`, and every plan saves it.

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

    A loop is a strongly connected part with an edge in it. Loops within it are those that are left without its entries
    (all blocks at which edges enter the part). So loops are defined for irreducible graphs, too.
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
