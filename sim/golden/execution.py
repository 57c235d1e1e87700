"""Execution: the next instruction of a warp, what becomes of its thread block, and what a fault does."""

from __future__ import annotations

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PC_NONE, Geometry
from caesura.hw.arch.isa.opcodes import PT, VECTOR_WORDS

from .bounds.checker import BoundsChecker, BoundsFault
from .decoder import Decoder
from .semantics.atomic_order import AtomicOrder
from .semantics.atomics import Atomic
from .semantics.operation import Kind, Operation
from .state.faults import FaultRecord, WarpFault
from .state.kernel import Kernel
from .state.sm import Sm
from .state.staying import Staying
from .state.thread_block import ThreadBlock, Warp

__all__ = ["Execution"]


class Execution(Sm):
    """An SM whose warps execute, one instruction a step.

    Parameters
    ----------
    g : Geometry
    memory_bytes : int
    trace : bool
        See `Sm`.
    check_bounds : bool
        Check each access to global memory against the arrays that the driver names; one out of bounds ends the kernel.

    Attributes
    ----------
    checker : BoundsChecker or None
    decoder : Decoder
    order : AtomicOrder or None
        The order of atomics to follow; without it each is done when its warp gets there.
    """

    def __init__(self, g: Geometry, memory_bytes: int, trace: bool = False, check_bounds: bool = False):
        super().__init__(g, memory_bytes, trace)
        self.checker = BoundsChecker(g, memory_bytes) if check_bounds else None
        self.decoder = Decoder(self, self.checker)
        self.order: AtomicOrder | None = None

    def __getstate__(self):
        state = super().__getstate__()
        del state["decoder"]  # decoded instructions hold on to the machine they were made for
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        self.decoder = Decoder(self, self.checker)

    # Thread blocks

    def place(self, tb: ThreadBlock, back: Staying | None = None) -> None:
        """Make a TB resident, as `take_slots` says, and let its warps run."""
        self.take_slots(tb, back)
        tb.begun = self.cycle
        self.ready.extend(warp for warp in tb.warps if warp.runs)
        self.settle(tb)

    def settle(self, tb: ThreadBlock) -> None:
        """Complete a TB whose warps have all exited, or release its barrier if that is full."""
        if not self._settled(tb):
            self.release_barrier(tb, tb.warps[0], 0)

    def _settled(self, tb: ThreadBlock) -> bool:
        """Complete a TB whose warps have all exited; return whether it was so."""
        if not tb.exited:
            return False
        self.complete(tb)
        return True

    def complete(self, tb: ThreadBlock, *, killed: bool = False) -> None:
        """Free everything a TB that has ended, or is `killed`, holds, its entry and local memory included."""
        self.remove(tb)
        if not killed:
            self.tb_ended(tb)
        if tb.whole and not killed and self.g.profile:
            tb.kernel.profile.add(self.cycle - tb.begun, tb.instructions)
        tb.kernel.free_entry(tb.entry)
        tb.kernel.completed += 1

    def tb_ended(self, tb: ThreadBlock) -> None:
        """Note that a TB has ended by itself; nothing here."""

    # Instructions

    def step(self, warp: Warp) -> None:
        """Execute the next instruction of a warp, which is no longer among the ready ones."""
        pc = warp.stack[-1].pc
        try:
            self._execute(warp, pc)
        except WarpFault as fault:
            return self.end(warp, pc, fault)
        if warp.runs:
            self.ready.append(warp)
            return
        self.synchronize(warp.tb)
        if warp.pending and self.order:
            self._follow(self.order)
        elif not self._settled(warp.tb):
            self.release_barrier(warp.tb, warp, pc)

    def synchronize(self, tb: ThreadBlock) -> None:
        """Bring the state of all warps of a TB up to date, before others than the one that executed are looked at.

        Here it always is; a machine whose warps another engine holds fetches it.
        """

    def _execute(self, warp: Warp, pc: int) -> None:
        kernel = warp.tb.kernel
        op = self.decoder.operation(kernel, pc)
        kind = op.kind
        routine = 0 < kernel.descriptor.trap_base <= pc
        if kernel.trapping and not routine and self._is_trapped(warp, op):
            return warp.trap(kernel.descriptor.trap_base + VECTOR_WORDS * pc)
        if kind is Kind.FAULT:
            raise WarpFault(op.fault)
        if kind is not Kind.PP_DIV and warp.after_pp:
            raise WarpFault(Fault.ILLEGAL_OPCODE)
        active = warp.stack[-1].mask & warp.live
        mask = active
        if op.guard != PT:
            mask &= warp.predicates[op.guard] ^ op.invert
        elif op.invert:
            mask = 0
        if op.all_lanes:
            mask = warp.live
        if kind is Kind.TRAP and mask:
            raise WarpFault(Fault.TRAP)
        if kind is Kind.BARRIER and active != warp.live:
            raise WarpFault(Fault.BARRIER_DIVERGENT)
        if (kind is Kind.BRU and warp.uniforms[op.uniform] >= PC_NONE
                or kind is Kind.REJOIN and warp.stack[-1].reconv == PC_NONE):
            raise WarpFault(Fault.FETCH_BOUND)
        if kind is Kind.BRANCH:
            warp.branch(mask, op.target, op.reconv)
        warp.returned = routine
        if op.recorded:
            self.retired += 1
            warp.tb.instructions += 1
            if self.recorder:
                self.recorder.cycle, self.recorder.pc = self.cycle, pc
                self.recorder.retire(warp, mask)
        if kind is Kind.RUN:
            if mask:
                op.run(warp, mask)
            warp.jump(pc + 1)
        elif op.atomic is not None:
            self._atomic(warp, op.atomic, pc, mask)
        elif kind is Kind.EXIT:
            warp.exit(mask)
        elif kind is Kind.UNWATCH:
            if mask:
                self.unwatch(warp.tb)
            warp.jump(pc + 1)
        elif kind is Kind.CALL:
            op.run(warp, mask)
            warp.jump(op.target)
        elif kind is Kind.BRU:
            warp.jump(int(warp.uniforms[op.uniform]))
        elif kind is Kind.REJOIN:
            warp.jump(warp.stack[-1].reconv)
        elif kind is not Kind.BRANCH:
            self._pause(warp, op, kind, len(warp.stack) > 1 + routine)
            warp.jump(pc + 1)

    def _is_trapped(self, warp: Warp, op: Operation) -> bool:
        """Whether a warp of a kernel that stops in its routines goes there rather than executing `op`."""
        return (self.pending(warp.tb) and not warp.returned and not warp.after_pp
                and op.kind not in (Kind.PP, Kind.PP_DIV, Kind.BARRIER, Kind.EXIT)
                and op.fault not in (Fault.FETCH_BOUND, Fault.BUS_ERROR) and len(warp.stack) < self.g.stack_depth)

    def _atomic(self, warp: Warp, atomic: Atomic, pc: int, mask: int) -> None:
        """Do an atomic now, or stand at it until the order to follow lets its lanes go."""
        if mask and self.order is None:
            atomic.run(warp, pc, mask)
        elif mask and self.order is not None:
            self.order.wait(warp, atomic, atomic.begin(warp, pc, mask))
        warp.jump(pc + 1)

    def _follow(self, order: AtomicOrder) -> None:
        """Let the atomics that are next happen, and the warps that have completed one go on."""
        for warp in order.released():
            if warp.runs:
                self.ready.append(warp)
            self.attention = True

    def _pause(self, warp: Warp, op: Operation, kind: Kind, diverged: bool) -> None:
        """Barriers and preemption points."""
        if kind is Kind.BARRIER:
            warp.waiting, warp.barrier, warp.live_vector, warp.yielding = True, op.barrier, op.live, op.yields
        elif kind is Kind.PP and self.pending(warp.tb):
            warp.after_pp, warp.live_vector = True, op.live
        elif kind is Kind.PP_DIV and warp.after_pp:
            if diverged:
                warp.live_vector = op.live
            warp.after_pp, warp.parked = False, True

    def pending(self, tb: ThreadBlock) -> bool:
        """Warps of `tb` are to stop."""
        return tb.stopping

    def release_barrier(self, tb: ThreadBlock, warp: Warp, pc: int) -> None:
        """Release a full barrier, unless a preempt is pending; `warp` at `pc` is what may have filled it."""
        if self.pending(tb):
            self.attention = True
            return
        try:
            released = tb.full_barrier()
        except WarpFault as fault:
            return self.end(warp, pc, fault)
        if any(other.yielding for other in released):
            if all(other.yielding for other in released) and self.leaves(tb):
                return
            self.watches.clear(self.watch_of(tb))
        for other in released:
            other.waiting = other.yielding = False
        self.ready.extend(released)

    def leaves(self, tb: ThreadBlock) -> bool:
        """Whether a TB, all of whose warps wait at a ``bar.yield``, leaves the SM now; then it is gone."""
        return False

    def end(self, warp: Warp, pc: int, fault: WarpFault) -> None:
        """Record a fault and end the TB; it counts as completed."""
        tb = warp.tb
        self.fault_count += 1
        if not self.event("fault"):
            self.fault = FaultRecord(fault.kind, tb.kernel.index, warp.index, tb.launch_id, pc, fault.address)
            self.raise_event("fault")
            if self.checker is not None:
                self.checker.record(fault)
        if self.order:
            for other in tb.warps:
                self.order.forget(other)
        self.complete(tb, killed=True)
        tb.kernel.faults += 1
        if isinstance(fault, BoundsFault):
            self._abandon(tb.kernel)

    def forget_away(self, kernel: Kernel) -> None:
        """No TB of a kernel is away any more. Here none is."""

    def _abandon(self, kernel: Kernel) -> None:
        """End all of a kernel: what waits for a TB that is gone would wait for ever."""
        for tb in self.resident(kernel):
            if self.order:
                for warp in tb.warps:
                    self.order.forget(warp)
            self.complete(tb, killed=True)
        for row in self.stays(kernel):
            self.leave(row)
        for entry in kernel.left:
            kernel.saved.pop(entry, None)
        self.forget_away(kernel)
        kernel.launched = kernel.completed = kernel.tbs
        kernel.progress.place = 0, 0, kernel.grid[2]
        kernel.abandoned = True
        self.attention = True
