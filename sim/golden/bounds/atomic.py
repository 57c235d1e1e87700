"""Atomics that check their accesses and move tags."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.isa.opcodes import AtomicOp, Space
from caesura.hw.arch.isa.words import Instruction

from ..semantics.atomics import Atomic
from ..state.kernel import Kernel
from ..state.lanes import lanes_of
from ..state.pending import PendingAtomic
from ..state.sm import Sm
from ..state.tags import MIXED, TAG
from ..state.thread_block import Warp
from .checker import BoundsChecker
from .operand_tags import address_tags, operand_tags
from .rules import added

__all__ = ["CheckedAtomic"]


class CheckedAtomic(Atomic):
    """An atomic whose addresses are checked; its result has the tag of the word before."""

    def __init__(self, checker: BoundsChecker, instruction: Instruction, sm: Sm, kernel: Kernel):
        super().__init__(instruction, sm, kernel)
        self.checker = checker
        self._instruction = instruction
        self._address_tags = address_tags(instruction)

    def begin(self, warp: Warp, pc: int, mask: int) -> PendingAtomic:
        """Return the atomic with its operands read and memory unchanged; a fault as well if it is out of bounds."""
        tags = warp.bounds_tags()
        if not self.shared:
            own = self._address_tags(tags)
            self.checker.check(warp, mask, self.address(warp), own, self.access.bytes, "atomic")
        pending = super().begin(warp, pc, mask)
        pending.shadow = self.checker.shadow(warp, Space.SHARED if self.shared else Space.GLOBAL)
        pending.tags = np.zeros((3, self.size), TAG)
        for row, name in enumerate("bc", 1):
            pending.tags[row] = operand_tags(self._instruction, tags, name, self.size)
        return pending

    def perform(self, pending: PendingAtomic, lanes: np.ndarray) -> None:
        """Change memory, and its tags, for `lanes`, all at different addresses."""
        shadow = pending.shadow
        if shadow.used or pending.tags[1:].any():
            words = pending.place[lanes].astype(np.int64) * (2 if self.wide else 1)
            before, b, c = shadow.load(words), pending.tags[1][lanes], pending.tags[2][lanes]
            pending.tags[0][lanes] = before
            if self.function is AtomicOp.EXCH:
                after = b
            elif self.function is AtomicOp.CAS:
                after = np.where(pending.view[pending.place[lanes]] == pending.b[lanes], c, before)
            elif self.function is AtomicOp.ADD:
                after = added(before, b)
            else:
                after = np.where((before == 0) & (b == 0), TAG(0), TAG(MIXED))
            shadow.store(words, after)
        super().perform(pending, lanes)

    def finish(self, warp: Warp, pending: PendingAtomic) -> None:
        """Write the result and its tags."""
        super().finish(warp, pending)
        if self.returns:
            tags = warp.bounds_tags()
            tags.set(self.d, pending.mask, np.where(lanes_of(pending.mask, self.size), pending.tags[0], TAG(0)))
            if self.wide:
                tags.clear(self.d + 1, pending.mask)
