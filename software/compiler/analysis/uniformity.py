"""Uniformity analysis: it finds warp-uniform registers, and branches that can diverge.

A register is *warp-uniform* if, whenever lanes of a warp read it together, all of them read the same value. It is
uniform if, for each of its definitions,

1. the operation gives the same result in all lanes that execute it: all its operands are uniform (a ballot may read
   anything), and it is none of

   a. a special register that tells lanes apart (all but those of `UNIFORM_SPECIALS`),
   b. an exchange between lanes, whose result depends on the place of the lane,
   c. an atomic, which serves lane after lane,
   d. a load from local memory, whose addresses are each lane's own,
   e. a volatile load, whose value may change while lanes are served (a change under any other load is a race, which PTX
      leaves undefined);

2. its guard, if it has one, is uniform: either all active lanes execute the definition or none;
3. no lane waits where the register is live while other lanes run through the definition (`analysis.simt_stack`):
   waiting lanes would keep an older value. So a value that is merged after a divergent branch is uniform only if
   neither side changes it. A value that a divergent loop changes is not uniform if it is live behind the loop. Inside
   such a loop it is uniform: the lanes still there are all in the same iteration.

A register that may be read before it is written is not uniform.

A branch can diverge if its condition is not uniform. Cases 2 and 3 depend on branches and predicates in turn; the
result is the largest solution. Induction over the time of the warp proves it. Take the first read in which lanes
disagree. It needs a definition in which they disagreed, or a definition that one of them missed because of an earlier
disagreement.

The lanes' last definition of a uniform register is also the warp's last. So one word per warp can hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from caesura.hw.arch.isa.opcodes import UNIFORM_SPECIALS

from ..ir.cfg import by_label
from ..ir.cfg import graph as flow_graph
from ..ir.digraph import DiGraph
from ..ir.kernel import Kernel, Op, Reg
from ..ir.spec import is_atomic, is_convergent
from .dominance import reconvergence
from .liveness import Liveness, liveness
from .simt_stack import divergent_paths

__all__ = ["Uniformity", "uniformity"]


@dataclass(frozen=True)
class Uniformity:
    """Result of `uniformity`.

    Attributes
    ----------
    registers : frozenset of Reg
        Warp-uniform vector registers and predicates.
    divergent : frozenset of str
        Blocks whose branch can diverge.
    flow : DiGraph
    meet : dict of str to str or None
    live : Liveness
        Control-flow graph, reconvergence points and liveness that the analysis used.
    """

    registers: frozenset[Reg]
    divergent: frozenset[str]
    flow: DiGraph
    meet: Mapping[str, str | None]
    live: Liveness


class _Solver:
    """Starts with every register uniform and removes registers until all cases hold."""

    def __init__(self, kernel: Kernel):
        self.flow = flow_graph(kernel)
        self.meet = reconvergence(self.flow)
        self.live = liveness(kernel, self.flow)
        self.divergent: set[str] = set()
        self.uniform: set[Reg] = set()
        self._kernel = kernel
        self._blocks = by_label(kernel)
        self._readers: dict[Reg, list[Op]] = {}
        self._branches: dict[Reg, list[str]] = {}
        self._homes: dict[str, set[Reg]] = {}
        self._pending: list[Reg] = []
        for block in kernel.blocks:
            self._homes[block.label] = {reg for op in block.ops for reg in op.written()}
            self.uniform |= self._homes[block.label]
            condition = block.end.condition
            if condition is not None and condition.reg is not None:
                self._branches.setdefault(condition.reg, []).append(block.label)
                self.uniform.add(condition.reg)
            for op in block.ops:
                for reg in _decisive(op):
                    self._readers.setdefault(reg, []).append(op)
                self.uniform.update(op.read())

    def run(self) -> None:
        self._remove(self.live.live_in[self._kernel.blocks[0].label])
        for op in self._kernel.ops():
            if _tells_lanes_apart(op):
                self._remove(op.written())
        while self._pending:
            reg = self._pending.pop()
            for op in self._readers.get(reg, ()):
                self._remove(op.written())
            for label in self._branches.get(reg, ()):
                self._diverge(label)

    def _remove(self, registers) -> None:
        for reg in registers:
            if reg in self.uniform and reg.kind not in "uU":
                self.uniform.discard(reg)
                self._pending.append(reg)

    def _diverge(self, label: str) -> None:
        """Apply case 3 to a branch."""
        if label in self.divergent:
            return
        self.divergent.add(label)
        for blocks, places in divergent_paths(self.flow, label, self.meet[label]):
            needed = set().union(*(self.live.live_in[place] for place in places)) & self.uniform
            for inside in blocks if needed else ():
                self._remove(needed & self._homes[inside])


def _decisive(op: Op) -> set[Reg]:
    """Return the registers that decide whether a result is uniform (cases 1 and 2)."""
    if op.name == "ballot":
        return {op.guard.reg} if op.guard is not None and op.guard.reg is not None else set()
    return set(op.read())


def _tells_lanes_apart(op: Op) -> bool:
    """Return whether an operation is one of cases 1a to 1e."""
    if op.name == "s2r":
        return op.imm not in UNIFORM_SPECIALS
    return is_convergent(op) and op.name != "ballot" or is_atomic(op) or op.volatile or op.name.startswith("ld.local.")


def uniformity(kernel: Kernel) -> Uniformity:
    """Find the warp-uniform registers of `kernel` (stage ``narrow``)."""
    solver = _Solver(kernel)
    solver.run()
    return Uniformity(frozenset(solver.uniform), frozenset(solver.divergent), solver.flow, solver.meet, solver.live)
