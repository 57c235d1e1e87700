"""One warp of the golden model: vector registers, predicates and the SIMT stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PC_NONE, PREDICATES, UNIFORMS, Geometry

if TYPE_CHECKING:
    from .atomics import Pending
    from .bounds.tags import WarpTags
    from .tb import ThreadBlock

__all__ = ["StackEntry", "Warp", "WarpFault"]


class WarpFault(Exception):
    """The instruction faults; it has no effect (stores of earlier segments excepted)."""

    def __init__(self, kind: Fault, address: int = 0):
        super().__init__(kind.name)
        self.kind = kind
        self.address = address


class StackEntry:
    """Next PC, active mask and reconvergence PC of a SIMT stack entry (Lin et al. III)."""

    __slots__ = ("pc", "mask", "reconv")

    def __init__(self, pc: int, mask: int, reconv: int):
        self.pc = pc
        self.mask = mask
        self.reconv = reconv


class Warp:
    """State of one warp.

    Parameters
    ----------
    g : Geometry
    tb : ThreadBlock
        The thread block it belongs to.
    index : int
        Warp of the TB.
    launched : int
        Lanes that hold a thread.

    Attributes
    ----------
    live : int
        Launched lanes that have not exited.
    stack : list of StackEntry
        Bottom first; the effective mask of an entry is ``mask & live``.
    registers : ndarray of uint32, shape (registers, warp_size)
        Registers never written are zero.
    valid : int
        Bit r: register r was written.
    predicates, written : list of int, int
        Value of each predicate, and which of them were written.
    uniforms, uniforms_written : ndarray of uint32, int
        Value of each uniform register, and which of them were written; the others are zero.
    pending : Pending or None
        The atomic it stands at while the order of a trace is followed.
    waiting, barrier
        At which barrier it waits, if it does.
    parked : bool
        Stopped at a preemption point, or at any instruction when told to stop at once.
    live_vector : int
        What the preemption point it stopped at says to save.
    after_pp : bool
        The last instruction was a `pp` that stops the warp: its `pp.div` comes next.
    slot : int
        Warp slot of the SM.
    tags : bounds.tags.WarpTags or None
        Of its registers, where bounds are checked.
    """

    def __init__(self, g: Geometry, tb: ThreadBlock, index: int, launched: int):
        self.g = g
        self.tb = tb
        self.index = index
        self.slot = 0
        self.launched = launched
        self.live = launched
        self.stack = [StackEntry(0, launched, PC_NONE)]
        self.registers = np.zeros((tb.kernel.registers, g.warp_size), np.uint32)
        self.valid = 0
        self.predicates = [0] * PREDICATES
        self.written = 0
        self.uniforms = np.zeros(UNIFORMS, np.uint32)
        self.uniforms_written = 0
        self.pending: Pending | None = None
        self.waiting = False
        self.barrier = 0
        self.parked = False
        self.live_vector = 0
        self.after_pp = False
        self.tags: WarpTags | None = None

    @property
    def exited(self) -> bool:
        """No lane is live."""
        return self.live == 0

    @property
    def runs(self) -> bool:
        """It can execute its next instruction."""
        return bool(self.live) and not self.waiting and not self.parked and self.pending is None

    def jump(self, pc: int) -> None:
        """Continue all active lanes at `pc`, popping entries that have reconverged.

        Raises
        ------
        WarpFault
            `FETCH_BOUND` if live lanes run off the bottom of the stack.
        """
        self.stack[-1].pc = pc
        self.settle()

    def settle(self) -> None:
        """Pop finished entries: those without live lanes, and those whose PC is their reconvergence PC."""
        stack = self.stack
        while stack:
            top = stack[-1]
            if top.mask & self.live and (top.pc != top.reconv or top.pc == PC_NONE):
                return
            stack.pop()
        if self.live:
            raise WarpFault(Fault.FETCH_BOUND)

    def branch(self, taken: int, target: int, reconv: int) -> None:
        """Send the lanes `taken` (a subset of the active ones) to `target`, the rest to the next word.

        Raises
        ------
        WarpFault
            `STACK_OVERFLOW` if both sides are taken and the stack has no room; the stack is unchanged.
        """
        top = self.stack[-1]
        fall = top.pc + 1
        rest = top.mask & self.live & ~taken
        if not taken:
            return self.jump(fall)
        if not rest:
            return self.jump(target)
        sides = [StackEntry(pc, mask, reconv) for pc, mask in ((fall, rest), (target, taken)) if pc != reconv]
        reuse = top.reconv == reconv
        if len(self.stack) - reuse + len(sides) > self.g.stack_depth:
            raise WarpFault(Fault.STACK_OVERFLOW)
        if reuse:
            self.stack.pop()
        else:
            top.pc = reconv
        self.stack += sides
        self.settle()

    def exit(self, lanes: int) -> None:
        """End `lanes`; the others continue at the next word."""
        self.live &= ~lanes
        self.jump(self.stack[-1].pc + 1)
