"""Atomics that check their accesses and move tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.encoding import Instruction
from caesura.hw.arch.isa import AtomicOp, Space

from ..alu import lanes_of
from ..atomics import Atomic, Pending
from ..warp import Warp
from .rules import MIXED, TAG, added
from .tags import Shadow, WarpTags

if TYPE_CHECKING:
    from ..kernel import Kernel
    from ..machine import Machine
    from .checker import BoundsChecker

__all__ = ["CheckedAtomic"]


class CheckedAtomic(Atomic):
    """An atomic whose addresses are checked; its result has the tag of the word before."""

    def __init__(self, checker: BoundsChecker, instruction: Instruction, machine: Machine, kernel: Kernel):
        super().__init__(instruction, machine, kernel)
        self.checker = checker
        self._base = None if instruction.get("no_base") else instruction.get("a")
        self._uniform = bool(instruction.get("base_uniform"))

    def begin(self, warp: Warp, pc: int, mask: int) -> Pending:
        """Return the atomic with its operands read and memory unchanged; a fault as well if it is out of bounds."""
        tags = WarpTags.of(warp)
        if not self.shared:
            own = 0 if self._base is None else tags.uniform(self._base) if self._uniform else tags.vector(self._base)
            self.checker.check(warp, mask, self.address(warp), own, self.access.bytes, "atomic")
        pending = super().begin(warp, pc, mask)
        pending.shadow = self.checker.shadow(warp, Space.SHARED if self.shared else Space.GLOBAL)
        pending.tags = np.zeros((3, self.size), TAG)
        pending.tags[1], pending.tags[2] = tags.vector(self.b), tags.vector(self.c)
        return pending

    def perform(self, pending: Pending, lanes: np.ndarray) -> None:
        """Change memory, and its tags, for `lanes`, all at different addresses."""
        shadow: Shadow = pending.shadow
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

    def finish(self, warp: Warp, pending: Pending) -> None:
        """Write the result and its tags."""
        super().finish(warp, pending)
        if self.returns:
            tags = WarpTags.of(warp)
            tags.set(self.d, pending.mask, np.where(lanes_of(pending.mask, self.size), pending.tags[0], TAG(0)))
            if self.wide:
                tags.clear(self.d + 1, pending.mask)
