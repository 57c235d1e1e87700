"""The registers known, before anything runs, to be uniform or strided over the lanes of a warp.

A register has a shape at a point (`analysis.shapes`) if the values of its *active* lanes have it whenever a warp is
there. A point's shapes follow from those before it:

1. At the start every register is 0, as the hardware leaves it.
2. Parameters, votes, uniform registers and the special registers of a TB are uniform; the lane number is strided by 1.
   In each pattern analysing group, ``tid.x`` is strided by 1, and ``tid.y`` and ``tid.z`` are uniform. This holds if
   block.x is a multiple of 8 or the TB has one dimension (`assumed_rows`); a known block decides it.
3. Sums, differences, products with a uniform value, left shifts and choices keep strides (`analysis.shapes`). A load
   from one address gives a uniform value, but for local memory, which is a thread's own. The result of an atomic is
   random. Any other function of uniform operands is uniform. Registers that a routine writes are random.
4. A guarded operation gives its new value to the lanes whose guard holds. The result has the old shape or the new one
   if the guard is uniform over the warp, and is random if not.
5. Lanes that are together took the same way since they last met. So where paths join, a register has the shape of one
   of them. Lanes with different ways come together only at the reconvergence point of a branch whose condition may
   differ between the lanes. There every register that is written between the branch and the point becomes random.

Lanes that wait elsewhere or have exited may hold something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from caesura.hw.arch.image.patterns import SMALLEST_PAG
from caesura.hw.arch.isa.opcodes import BY_NAME, Opcode
from caesura.hw.arch.isa.operations import UNIFORM_SPECIALS, AluOp, Space, Special

from ..ir.cfg import graph as flow_graph
from ..ir.digraph import DiGraph
from ..ir.kernel import Block, Call, Imm, Kernel, Op, Pred, Reg, Use
from ..ir.spec import is_atomic, is_memory
from .dataflow import Analysis, solve
from .dominance import reconvergence
from .shapes import RANDOM, UNIFORM, Shape, constant, joined, result_shape, strided
from .simt_stack import divergent_blocks

__all__ = ["Patterns", "patterns", "assumed_rows"]

Fact = dict[Reg | str, Shape]
"""Shape of each register; empty: not reached yet. A label stands for a block whose branch may diverge."""


def assumed_rows(block: tuple[int, int, int] | None) -> bool:
    """Return whether a group of lanes is in one row of the TB, where ``tid.x`` is strided; assumed if unknown."""
    return block is None or block[0] % SMALLEST_PAG == 0 or block[1] * block[2] == 1


def _thread_index(special: Special, block: tuple[int, int, int] | None, warp_size: int) -> Shape:
    if not assumed_rows(block):
        return RANDOM
    flat = block is not None and block[1] * block[2] == 1
    if special is Special.TID_X:
        return strided(1, block is not None and (flat or block[0] % warp_size == 0))
    if flat:
        return constant(0)
    return strided(0, block is not None and block[0] % warp_size == 0)


@dataclass(frozen=True)
class Patterns:
    """Result of `patterns`.

    Attributes
    ----------
    before : dict of str to dict
        Shapes at the start of each block.
    """

    before: dict[str, Fact]
    _transfer: _Transfer

    def walk(self, block: Block) -> Iterator[tuple[int, Fact]]:
        """Yield each operation's index and the shapes before it; last, one past them, the shapes before the terminator.

        The caller may read the dictionary only until the next step; registers that it lacks are random.
        """
        fact = self._transfer.entered(block.label, self.before[block.label])
        for index, op in enumerate(block.ops):
            yield index, fact
            self._transfer.step(op, fact)
        yield len(block.ops), fact


class _Transfer:
    """The effect of blocks and operations on shapes."""

    def __init__(self, kernel: Kernel, graph: DiGraph, meet: dict[str, str | None],
                 block: tuple[int, int, int] | None, warp_size: int):
        self._blocks = {b.label: b for b in kernel.blocks}
        self._entry = kernel.blocks[0].label
        self._launch, self._warp_size = block, warp_size
        written = {b.label: {reg for op in b.ops for reg in op.written() if reg.kind != "U"} for b in kernel.blocks}
        self._start: Fact = dict.fromkeys((reg for op in kernel.ops() for reg in (*op.read(), *op.written())
                                     if reg.kind != "U"), constant(0))
        self._meeting: dict[str, list[tuple[str, frozenset[Reg]]]] = {}
        for b in kernel.blocks:
            end = meet.get(b.label)
            if b.end.condition is not None and end is not None:
                apart = divergent_blocks(graph, b.end.targets, end)
                self._meeting.setdefault(end, []).append((b.label, frozenset().union(*(written[x] for x in apart))))

    def __call__(self, label: str, fact: Fact) -> Fact:
        fact = self.entered(label, fact)
        block = self._blocks[label]
        for op in block.ops:
            self.step(op, fact)
        condition = None if block.end.condition is None else self._read(block.end.condition, fact)
        if condition is not None and not (condition.uniform and condition.whole):
            fact[label] = RANDOM
        return fact

    def entered(self, label: str, fact: Fact) -> Fact:
        """Return the shapes after lanes have met at the start of a block (cases 1 and 5)."""
        fact = _merge(fact, self._start) if label == self._entry else dict(fact)
        for branch, registers in self._meeting.get(label, ()):
            if branch in fact:
                fact.update(dict.fromkeys(registers, RANDOM))
        return fact

    def step(self, op: Op, fact: Fact) -> None:
        """Change `fact` to the shapes after `op`."""
        guard = None if op.guard is None else self._read(op.guard, fact)
        results = self._results(op, fact)
        if isinstance(op, Call):
            fact.update(dict.fromkeys((reg for reg in op.written() if reg.kind != "U"), RANDOM))
            return
        for reg in op.written():
            if reg.kind == "U":
                continue
            shape = results.get(reg)
            if op.guard is not None:
                old = fact.get(reg)
                shape = None if None in (guard, shape, old) else _guarded(guard, shape, old)  # pyright: ignore
            if shape is None:
                fact.pop(reg, None)
            else:
                fact[reg] = shape

    def _read(self, use: Use, fact: Fact) -> Shape | None:
        if isinstance(use, Imm):
            return constant(use.value)
        if isinstance(use, Pred):
            if use.reg is None:
                return constant(not use.negated)
            shape = fact.get(use.reg)
            if shape is None or shape.value is None:
                return shape
            return constant(shape.value ^ use.negated)
        return UNIFORM if use.kind == "U" else fact.get(use)

    def _results(self, op: Op, fact: Fact) -> dict[Reg, Shape]:
        """Return the shapes of the results of `op`; none as long as an operand is not known (cases 2 and 3)."""
        operands = [self._read(use, fact) for use in op.uses]
        row = _row(op)
        known = [shape for shape in operands if shape is not None]
        if len(known) < len(operands):
            return {}
        if row.alu is AluOp.S2R:
            first = self._special(Special(op.imm))
        elif row.alu is AluOp.BALLOT or row.space is Space.PARAMETER:
            first = UNIFORM
        elif is_atomic(op) or is_memory(op) and row.space is Space.LOCAL:
            first = RANDOM
        else:
            first = result_shape(row.alu, known)
        generic = result_shape(None, known)
        alone = row.data_registers <= 1
        return {reg: first if k == 0 and alone and reg.kind == "R" or is_memory(op) else generic
                for k, reg in enumerate(op.defs) if reg is not None}

    def _special(self, special: Special) -> Shape:
        if special in UNIFORM_SPECIALS:
            return UNIFORM
        if special is Special.LANEID:
            return strided(1, True)
        return _thread_index(special, self._launch, self._warp_size)


def _row(op: Op) -> Opcode:
    row = BY_NAME.get(op.name) or BY_NAME.get(op.name + ".i")
    assert row is not None, f"no instruction {op.name}"
    return row


def _guarded(guard: Shape, new: Shape, old: Shape) -> Shape:
    if guard.value is not None:
        return new if guard.value else old
    return joined(new, old) if guard.uniform and guard.whole or new == old and new.value is not None else RANDOM


def _merge(a: Fact, b: Fact) -> Fact:
    """Return the fact where paths join; a register that only one path has reached has the shape of that path."""
    result = dict(a)
    for key, shape in b.items():
        old = result.get(key)
        result[key] = shape if old is None else joined(old, shape)
    return result


def patterns(kernel: Kernel, graph: DiGraph | None = None, meet: dict[str, str | None] | None = None,
             block: tuple[int, int, int] | None = None, warp_size: int = 32) -> Patterns:
    """Find the registers known to be uniform or strided in `kernel` (stage ``machine``).

    Parameters
    ----------
    kernel : Kernel
    graph : DiGraph, optional
        Its control-flow graph, if at hand.
    meet : dict, optional
        Reconvergence point of each branch, if at hand.
    block : tuple of int, optional
        Shape of a TB, if it is known.
    warp_size : int
        Threads of a warp.
    """
    graph = flow_graph(kernel) if graph is None else graph
    transfer = _Transfer(kernel, graph, reconvergence(graph) if meet is None else meet, block, warp_size)
    before, _ = solve(Analysis(True, {}, _merge, transfer), graph)
    return Patterns(before, transfer)
