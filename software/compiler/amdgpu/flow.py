"""The control flow of a kernel: basic blocks, their successors, and their depth in loops."""

from __future__ import annotations

from dataclasses import dataclass

from ..flashback.program import loop_depths
from .accesses import Access
from .module import Kernel
from .opcodes import Kind
from .text import AssemblyError

__all__ = ["BasicBlock", "basic_blocks"]


@dataclass(frozen=True)
class BasicBlock:
    """Instructions that execute one after the other.

    Attributes
    ----------
    start, end : int
        Index of the first instruction, and of the one behind the last.
    successors : tuple of int
        Numbers of the blocks that may follow; a conditional branch has its target first.
    depth : int
        Number of loops around it.
    """

    start: int
    end: int
    successors: tuple[int, ...]
    depth: int


def basic_blocks(kernel: Kernel, accesses: list[Access]) -> list[BasicBlock]:
    """Return the blocks of a kernel in the order of its code.

    Raises
    ------
    AssemblyError
        If the kernel branches to a label that it lacks, or has no instructions.
    """
    if not accesses:
        raise AssemblyError(kernel.file, kernel.code.line, f"kernel {kernel.name} has no instructions")
    count = len(accesses)
    leaders = {0, *kernel.code.labels.values(), *(k + 1 for k, one in enumerate(accesses)
                                                  if one.row.kind in (Kind.BRANCH, Kind.END))}
    starts = sorted(leader for leader in leaders if leader < count)
    block_at = {start: number for number, start in enumerate(starts)}
    ends = [*starts[1:], count]
    following = [_successors(kernel, accesses[end - 1], end, block_at) for end in ends]
    depths = loop_depths(dict(enumerate(following)))
    return [BasicBlock(start, end, follows, depths[number])
            for number, (start, end, follows) in enumerate(zip(starts, ends, following, strict=True))]


def _successors(kernel: Kernel, last: Access, end: int, block_at: dict[int, int]) -> tuple[int, ...]:
    kind, found = last.row.kind, []
    if kind is Kind.BRANCH:
        target = last.statement.operands[0]
        place = kernel.code.labels.get(target)
        if place is None or place not in block_at:
            raise AssemblyError(kernel.file, last.statement.line, f"branch to {target}, which is no place in kernel "
                                                                  f"{kernel.name}; give what clang prints unchanged")
        found.append(block_at[place])
    falls = kind is not Kind.END and last.row.opcode != "s_branch"
    if falls and end in block_at and block_at[end] not in found:
        found.append(block_at[end])
    return tuple(found)
