"""Unstructured control flow in a random PTX kernel: blocks that branch to one another across loops and conditionals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .operations import signed
from .tree import Guard, Node, Thread, Writer

__all__ = ["JumpBlock", "Region"]


@dataclass(frozen=True)
class JumpBlock:
    """A basic block of a `Region`.

    Attributes
    ----------
    body : sequence of Node
        Statements without a barrier.
    guard : tuple of (str, bool)
        Guard of the branch. Threads for which it holds go to block `taken`, the others to block `other`.
    taken, other : int
        Numbers of blocks in the region; the region's size stands for the end. Only `taken` may lie at or before the
        block itself, and a thread goes back only while it has fuel.
    """

    body: Sequence[Node]
    guard: Guard
    taken: int
    other: int


@dataclass
class Region(Node):
    """Blocks with an entry at the first and an exit behind the last. Loops may have any entry (irreducible flow
    graphs).

    Attributes
    ----------
    fuel : str
        Register with the number of backward branches that a thread may try; the bodies do not change it.
    predicate : str
        Scratch predicate register.
    blocks : sequence of JumpBlock
    """

    fuel: str
    predicate: str
    blocks: Sequence[JumpBlock]

    def write(self, out: Writer) -> None:
        """Write the blocks in order."""
        labels = [out.label() for _ in range(len(self.blocks) + 1)]
        for k, block in enumerate(self.blocks):
            out.place(labels[k])
            for node in block.body:
                node.write(out)
            flag, negated = block.guard
            if block.taken > k:
                out.line(f"bra {labels[block.taken]}", block.guard)
            else:
                out.line(f"add.s32 {self.fuel}, {self.fuel}, -1")
                out.line(f"setp.gt.s32 {self.predicate}, {self.fuel}, 0")
                out.line(f"bra {labels[block.other]}", (flag, not negated))
                out.line(f"bra {labels[block.taken]}", (self.predicate, False))
            if block.other != k + 1:
                out.line(f"bra.uni {labels[block.other]}")
        out.place(labels[-1])

    def run(self, thread: Thread) -> Iterator[None]:
        """Follow one thread to the end of the region."""
        k = 0
        while k < len(self.blocks):
            block = self.blocks[k]
            for node in block.body:
                yield from node.run(thread)
            taken = thread.holds(block.guard)
            if block.taken <= k:
                thread.values[self.fuel] -= 1
                taken = taken and signed(thread.get(self.fuel), 32) > 0
            k = block.taken if taken else block.other
