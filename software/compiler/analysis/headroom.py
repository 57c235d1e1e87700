"""Finds where a value can stay in its register longer without raising the most registers live at once.

Suppose that register ``h`` already holds the value that operation ``y`` computes, and ``h`` replaces it. Then ``h`` is
also live up to ``y``. This adds

1. nothing, if ``h`` is live after ``y`` anyway; or
2. the place of a register that ``y`` is the last to read, and that was live already when ``h`` was made; or else
3. the stretch from its last use up to ``y``, and every whole loop around ``y`` that ``h`` was made outside of. There
   must be room in all of this stretch, which is judged in layout order.
"""

from __future__ import annotations

from ..ir.kernel import Block, Kernel, Op, Reg
from .definitions import Definitions
from .liveness import liveness
from .loops import loops_of

__all__ = ["Headroom"]


class Headroom:
    """Live vector registers of a kernel (stage ``narrow``), and the room for more.

    Parameters
    ----------
    kernel : Kernel
    known : Definitions
        Definitions of the kernel.
    """

    def __init__(self, kernel: Kernel, known: Definitions):
        self._known = known
        self._live = liveness(kernel)
        self._loops = loops_of(kernel)
        self._start: dict[str, int] = {}
        self._counts: list[int] = []
        self._last_reads: dict[Op, tuple[Reg, ...]] = {}
        self._names: dict[Reg, list[Reg]] = {}
        for block in kernel.blocks:
            self._start[block.label] = len(self._counts)
            self._counts += self._counted(block)
        self._most = max(self._counts)
        self._ends: dict[int, int] = {}
        for block in kernel.blocks:
            for loop in self._loops[block.label]:
                self._ends[loop] = self._start[block.label] + len(block.ops)

    def _counted(self, block: Block) -> list[int]:
        """Return the vector registers at each operation, live after it or written, and those live out."""
        out = {reg for reg in self._live.live_out[block.label] if reg.kind == "r"}
        counts, live = [len(out)], out
        condition = block.end.condition
        assert condition is None or condition.reg is None or condition.reg.kind != "r"
        for op in reversed(block.ops):
            made = [reg for reg in op.written() if reg.kind == "r"]
            counts.append(len(live) + len({reg for reg in made if reg not in live}))
            read = [reg for reg in op.read() if reg.kind == "r"]
            self._last_reads[op] = tuple([reg for reg in read if reg not in live])
            live.difference_update(op.killed())
            live.update(read)
        return counts[::-1]

    def take(self, held: Reg, op: Op, result: Reg) -> bool:
        """Return whether `held`, which has one definition, can stand for a result of `op`; if so, note it."""
        names = self._names.setdefault(held, [held])
        if not (any(self._live_after(name, op) for name in names) or self._replaces(held, op)):
            first, last = self._stretch(held, names, op)
            if max(self._counts[first:last], default=0) >= self._most:
                return False
            self._counts[first:last] = [count + 1 for count in self._counts[first:last]]
        names.append(result)
        return True

    def _replaces(self, held: Reg, op: Op) -> bool:
        made = self._known.single(held)
        freed = [self._known.single(reg) for reg in self._last_reads[op] if reg != held]
        return made is not None and any(
            x is not None and self._position(x) < self._position(made) for x in freed)

    def _live_after(self, reg: Reg, op: Op) -> bool:
        place = self._known.places[op]
        return reg in self._live.live_out[place.label] or any(
            at.label == place.label and at.index > place.index
            for at in (self._known.places[user] for user in self._known.readers(reg)))

    def _stretch(self, held: Reg, names: list[Reg], op: Op) -> tuple[int, int]:
        """Return where `held` becomes live in addition: first and last place, in layout order."""
        definition = self._known.single(held)
        assert definition is not None
        last = self._position(op)
        reads = [at for name in names for user in self._known.readers(name) if (at := self._position(user)) < last]
        outside = self._loops[self._known.places[op].label] - self._loops[self._known.places[definition].label]
        return max([self._position(definition), *reads]), max([last, *(self._ends[loop] for loop in outside)])

    def _position(self, op: Op) -> int:
        place = self._known.places[op]
        return self._start[place.label] + place.index
