"""Finds which memory operations can be repeated, and until when.

* Arguments (``s_load`` through the pointer that the wave starts with, or a copy of it) are constant. The packet of the
  dispatch is constant too.
* Global memory is constant while the kernel runs if the kernel never writes it: if it has no store or atomic operation
  to global, flat or buffer addresses.
* Any other load of global or shared memory can be repeated until the next store or atomic operation to that space or to
  any space. The next barrier or cache operation ends this as well. Between those, a program without data races loads
  the same value again. Assembly does not say which addresses overlap, so every store of a space counts. Loads of atomic
  or volatile variables (``glc``) are never repeated. LLVM prints loads that are atomic within a work-group like any
  other; so with `racing` no load of written memory is repeated.
* Nothing is repeated across a barrier, nor across the begin or end of a part that selects vector registers at run time.
* Scratch belongs to one thread: its loads can be repeated until the next store to it. Buffer and flat addresses may
  mean any space.
"""

from __future__ import annotations

from ..flashback.blocks import Effect, Register
from .accesses import Access
from .flow import BasicBlock
from .module import Kernel
from .opcodes import Kind
from .operands import scalar

__all__ = ["Memory"]

_USER_REGISTERS = (("private_segment_buffer", 4), ("dispatch_ptr", 2), ("queue_ptr", 2), ("kernarg_segment_ptr", 2),
                   ("dispatch_id", 2), ("flat_scratch_init", 2), ("private_segment_size", 1))
"""Initial values of a wave's first scalar registers, in this order, if the descriptor names them; and their sizes."""
_CONSTANT = ("kernarg_segment_ptr", "dispatch_ptr")
_EFFECTS = {Kind.COMPUTE: Effect.COMPUTE, Kind.LANES: Effect.COMPUTE, Kind.STORE: Effect.WRITE,
            Kind.ATOMIC: Effect.WRITE, Kind.CACHE: Effect.WRITE,
            Kind.LIMIT: Effect.LIMIT}
_Pairs = frozenset[tuple[Register, ...]]


class Memory:
    """The memory operations of a kernel.

    Parameters
    ----------
    kernel : Kernel
    blocks : list of BasicBlock
    accesses : list of Access
    racing : bool
        Whether waves may race; then no memory that is written is read again.
    """

    def __init__(self, kernel: Kernel, blocks: list[BasicBlock], accesses: list[Access], racing: bool = False):
        self._accesses, self._racing = accesses, racing
        written = {one.row.space for one in accesses if one.row.kind in (Kind.STORE, Kind.ATOMIC)}
        self._written = {"global": "global" in written or "" in written, "scratch": True, "": True, "lds": True}
        self._arguments = _through_arguments(kernel, blocks, accesses)

    def effect(self, index: int) -> tuple[Effect, str]:
        """Return the effect of an instruction on memory, and its region."""
        one = self._accesses[index]
        if one.row.kind is Kind.LOAD:
            return self._load(one, index in self._arguments)
        region = one.row.space if one.row.kind in (Kind.STORE, Kind.ATOMIC) else ""
        return _EFFECTS.get(one.row.kind, Effect.FIXED), region

    def _load(self, one: Access, argument: bool) -> tuple[Effect, str]:
        space = "global" if one.row.space == "constant" else one.row.space
        if argument or not self._written[space] and "glc" not in one.statement.modifiers:
            return Effect.COMPUTE, ""
        if "glc" in one.statement.modifiers or self._racing and space != "scratch":
            return Effect.FIXED, ""
        return Effect.READ, space


def _through_arguments(kernel: Kernel, blocks: list[BasicBlock], accesses: list[Access]) -> set[int]:
    """Return the scalar loads whose address is a constant pointer that the wave started with."""
    start = frozenset(_constant_pointers(kernel))
    at_start: list[_Pairs | None] = [None] * len(blocks)
    at_start[0] = start
    pending, found = [0], [False] * len(accesses)
    while pending:
        number = pending.pop()
        pointers = at_start[number]
        assert pointers is not None
        for index in range(blocks[number].start, blocks[number].end):
            one = accesses[index]
            found[index] = one.row.opcode.startswith("s_load") and one.operand(1) in pointers
            copied = one.row.opcode == "s_mov_b64" and one.operand(1) in pointers
            pointers = frozenset(pair for pair in pointers if not set(pair) & set(one.defs))
            pointers |= {one.operand(0)} if copied else frozenset()
        for after in blocks[number].successors:
            old = at_start[after]
            new = pointers if old is None else old & pointers
            if new != old:
                at_start[after] = new
                pending.append(after)
    return {index for index, through in enumerate(found) if through}


def _constant_pointers(kernel: Kernel) -> list[tuple[Register, ...]]:
    pointers, first = [], 0
    for name, count in _USER_REGISTERS:
        if kernel.described(f"user_sgpr_{name}"):
            if name in _CONSTANT:
                pointers.append((scalar(first), scalar(first + 1)))
            first += count
    return pointers
