"""A thread block (TB) and its warps: vector registers, predicates, SIMT stacks, shared memory and barriers."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PC_NONE, PREDICATES, SEGMENT_BYTES, UNIFORMS, Geometry

from .faults import WarpFault
from .kernel import Kernel
from .pending import PendingAtomic
from .tags import Shadow, WarpTags

__all__ = ["StackEntry", "Warp", "ThreadBlock"]


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
    valid, dirty : int
        Bit r: register r was written; written since its TB was last saved as a base (PEP III-C).
    predicates, written : list of int, int
        Value of each predicate, and which of them were written.
    uniforms, uniforms_written : ndarray of uint32, int
        Value of each uniform register, and which of them were written; the others are zero.
    pending : PendingAtomic or None
        The atomic it stands at while the order of a trace is followed.
    waiting, barrier
        At which barrier it waits, if it does.
    yielding : bool
        The barrier it waits at, or waited at last, is a ``bar.yield``, and it was not restored since.
    parked : bool
        Stopped at a preemption point, or at any instruction when told to stop at once.
    between : bool
        Parked elsewhere than at a preemption point.
    live_vector : int
        Live registers to save, according to the preemption point or barrier at which it stopped.
    after_pp : bool
        The last instruction was a `pp` that stops the warp: its `pp.div` comes next.
    returned : bool
        The last instruction was one of a preemption routine: the next one is not trapped.
    slot : int
        Warp slot of the SM.
    tags : WarpTags or None
        Tags of its registers, if bounds are checked and it has executed.
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
        self.valid = self.dirty = 0
        self.predicates = [0] * PREDICATES
        self.written = 0
        self.uniforms = np.zeros(UNIFORMS, np.uint32)
        self.uniforms_written = 0
        self.pending: PendingAtomic | None = None
        self.waiting = self.yielding = False
        self.barrier = 0
        self.parked = self.between = False
        self.live_vector = 0
        self.after_pp = self.returned = False
        self.tags: WarpTags | None = None

    @property
    def exited(self) -> bool:
        """No lane is live."""
        return self.live == 0

    @property
    def runs(self) -> bool:
        """It can execute its next instruction."""
        return bool(self.live) and not self.waiting and not self.parked and self.pending is None

    def bounds_tags(self) -> WarpTags:
        """Return the tags of its registers, none of them set when first asked for."""
        if self.tags is None:
            self.tags = WarpTags(*self.registers.shape)
        return self.tags

    def jump(self, pc: int) -> None:
        """Continue all active lanes at `pc`, popping entries that have reconverged.

        Raises
        ------
        WarpFault
            `FETCH_BOUND` if live lanes run off the bottom of the stack.
        """
        self.stack[-1].pc = pc
        self.settle()

    def trap(self, vector: int) -> None:
        """Go on at `vector`, in an entry that ends where the next instruction stands; the stack has room."""
        top = self.stack[-1]
        self.stack.append(StackEntry(vector, top.mask & self.live, top.pc))

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


class ThreadBlock:
    """A resident TB.

    Parameters
    ----------
    g : Geometry
    kernel : Kernel
    launch_id : int
        Linear index in the grid.

    Attributes
    ----------
    ctaid : tuple of int
        Index in the grid in x, y, z.
    warps : list of Warp
    shared : ndarray of uint8
        Whole lines; lines never written are zero.
    views : tuple of ndarray
        The same memory in units of 8, 16, 32 and 64 bits.
    lines_valid, lines_dirty : int
        Bit a 128-byte line: it was written; written since the TB was last saved as a base.
    slot, base, first_line : int
        TB slot, first physical register and first shared-memory line on the SM.
    entry : int
        Its entry of the kernel's CCB, its own until it ends.
    local_base : int
        Address of the entry's region of local memory.
    begun, instructions : int
        Cycle in which its warps began to run on the SM, and instructions they have retired since.
    whole : bool
        That was its beginning.
    tags : Shadow or None
        Tags of its shared memory, if bounds are checked and it has been accessed.
    """

    def __init__(self, g: Geometry, kernel: Kernel, launch_id: int):
        self.g = g
        self.kernel = kernel
        self.launch_id = launch_id
        x, y, _ = kernel.grid
        self.ctaid = (launch_id % x, launch_id // x % y, launch_id // (x * y))
        self.slot = self.base = self.first_line = self.entry = self.local_base = 0
        self.begun = self.instructions = 0
        self.whole = True
        self.warps: list[Warp] = []
        for index in range(kernel.warps):
            threads = min(max(kernel.threads - index * g.warp_size, 0), g.warp_size)
            self.warps.append(Warp(g, self, index, (1 << threads) - 1))
        self.shared = np.zeros(kernel.lines * SEGMENT_BYTES, np.uint8)
        self.lines_valid = self.lines_dirty = 0
        self.tags: Shadow | None = None
        self._view()

    def _view(self) -> None:
        self.views = (self.shared, *(self.shared.view(unit) for unit in (np.uint16, np.uint32, np.uint64)))

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "views"}

    def __setstate__(self, state):
        vars(self).update(state)
        self._view()

    @property
    def exited(self) -> bool:
        """Every warp has exited."""
        return not any(warp.live for warp in self.warps)

    @property
    def stopping(self) -> bool:
        """Its warps are to stop."""
        return bool(self.kernel.stopping >> self.entry & 1)

    @property
    def stopped(self) -> bool:
        """No warp can go on by itself: each has exited, is parked or waits at a barrier."""
        return not any(warp.runs or warp.pending for warp in self.warps)

    def full_barrier(self) -> list[Warp]:
        """Return the warps to release: all that have not exited, if each waits at the same barrier.

        Raises
        ------
        WarpFault
            `BARRIER_MISMATCH` if all wait, but at different barriers.
        """
        alive = [warp for warp in self.warps if warp.live]
        if not all(warp.waiting for warp in alive):
            return []
        if len({warp.barrier for warp in alive}) > 1:
            raise WarpFault(Fault.BARRIER_MISMATCH)
        return alive

    def bounds_tags(self) -> Shadow:
        """Return the tags of its shared memory, none of them set when first asked for."""
        if self.tags is None:
            self.tags = Shadow(len(self.shared))
        return self.tags

    def mark_written(self, addresses: np.ndarray) -> None:
        """Set the valid and the dirty bit of the lines that hold `addresses`."""
        for line in set((addresses // SEGMENT_BYTES).tolist()):
            self.lines_valid |= 1 << line
            self.lines_dirty |= 1 << line
