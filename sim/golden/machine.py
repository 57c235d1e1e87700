"""The SM of the golden model: residency, round-robin execution, faults, preempt and resume."""

from __future__ import annotations

from collections import deque

import numpy as np

from caesura.hw.arch.errors import InputError
from caesura.hw.arch.faults import CommandError, Fault
from caesura.hw.arch.geometry import PC_NONE, SEGMENT_BYTES, Geometry
from caesura.hw.arch.isa import PT
from caesura.hw.arch.registers import KernelState

from .alu import lanes_of
from .atomics import Atomic, AtomicOrder, OrderMismatch
from .bounds import BoundsChecker
from .bounds.checker import BoundsFault
from .execute import Kind
from .kernel import Descriptor, Kernel
from .native.compiled import Compiled
from .native.engine import Engine
from .preempt import Preemption
from .record import Recorder
from .tb import ThreadBlock
from .warp import Warp, WarpFault

__all__ = ["Machine", "FaultRecord"]

_FAULT_EVENT = 1 << 10
LAP = 256
"""Instructions that numpy executes until the engine is asked again."""


class FaultRecord:
    """Where and why a TB was ended."""

    def __init__(self, kind: Fault = Fault.NONE, kernel: int = 0, warp: int = 0, launch: int = 0, pc: int = 0,
                 address: int = 0):
        self.kind, self.kernel, self.warp, self.launch = kind, kernel, warp, launch
        self.pc, self.address = pc, address


class Machine:
    """One SM; a cycle executes one warp instruction, warps taking turns.

    Parameters
    ----------
    g : Geometry
    memory_bytes : int
        Global memory, a multiple of 128.
    trace : bool
        Record the retire trace.
    check_bounds : bool
        Check each access to global memory against the arrays that the driver names; one out of bounds ends the kernel.
    engine : Engine, optional
        Says when the compiled engine executes; without it numpy always does.

    Attributes
    ----------
    memory : ndarray of uint8
    views : tuple of ndarray
        The same memory in units of 8, 16, 32 and 64 bits.
    order : AtomicOrder or None
        The order of atomics to follow; without it each is done when its warp gets there.
    kernels : list of Kernel
    tbs, slots : list
        What each TB slot and warp slot holds, or None.
    ready : deque of Warp
        Warps that can execute, next first.
    events : int
        Bits of the event register.
    checker : BoundsChecker or None
    attention : bool
        A TB may have to be launched, restored or saved before the next instruction.
    """

    def __init__(self, g: Geometry, memory_bytes: int, trace: bool = False, check_bounds: bool = False,
                 engine: Engine | None = None):
        if memory_bytes <= 0 or memory_bytes % SEGMENT_BYTES:
            raise InputError(f"memory_bytes must be a positive multiple of {SEGMENT_BYTES}, not {memory_bytes}")
        self.g = g
        self.memory = np.zeros(memory_bytes, np.uint8)
        self._view()
        self.kernels = [Kernel(self, k) for k in range(g.kernel_slots)]
        self.tbs: list[ThreadBlock | None] = [None] * g.tb_slots
        self.slots: list[Warp | None] = [None] * g.warps
        self.ready: deque[Warp] = deque()
        self.recorder = Recorder() if trace else None
        self.cycle = self.retired = self.events = self.fault_count = 0
        self.fault = FaultRecord()
        self.preemption = Preemption(self)
        self.attention = False
        self.order: AtomicOrder | None = None
        self.checker = BoundsChecker(g, memory_bytes) if check_bounds else None
        self.engine = engine
        self._compiled: Compiled | None = None

    def _view(self) -> None:
        self.views = (self.memory, *(self.memory.view(unit) for unit in (np.uint16, np.uint32, np.uint64)))

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in ("views", "engine", "_compiled")}

    def __setstate__(self, state):
        vars(self).update(state)
        self.engine = self._compiled = None
        self._view()

    # Time

    def advance(self, cycles: int, until_event: bool = False) -> int:
        """Let `cycles` pass, fewer if `until_event` and an event bit is set; return the cycles passed.

        Raises
        ------
        OrderMismatch
            If the atomics do not happen in the order to follow.
        """
        engine, passed = self.engine, 0
        compiled = self._in_engine(engine, cycles)
        try:
            while passed < cycles:
                if until_event and self.events:
                    return passed
                self.cycle += 1
                if self.attention:
                    self.attention = False
                    if compiled and self.preemption.busy:
                        compiled.pull()
                    self.manage()
                if self.ready and compiled:
                    passed += compiled.run(1 if until_event and self.events else cycles - passed)
                elif self.ready:
                    self.step(self.ready.popleft())
                    passed += 1
                    if engine and passed % LAP == 0:
                        engine.lap()
                        compiled = self._in_engine(engine, cycles - passed)
                elif self.order and self.order.waits:
                    raise OrderMismatch(self.order.stuck())
                elif self.attention or until_event and self.events:
                    passed += 1
                else:
                    self.cycle += cycles - passed - 1
                    break
        finally:
            if compiled:
                compiled.pull()
            elif engine:
                engine.lap()
        return cycles

    def _in_engine(self, engine: Engine | None, cycles: int) -> Compiled | None:
        """Return what executes the next `cycles` cycles, None for numpy."""
        if engine is None or not engine.pays(cycles) or engine.library is None:
            return None
        if self._compiled is None:
            self._compiled = Compiled(self, engine.library)
        return self._compiled

    def manage(self) -> None:
        """Save and restore, launch the TBs that have room, and finish kernels."""
        self.preemption.progress()
        for kernel in self.kernels:
            if kernel.state is not KernelState.RUNNING:
                continue
            while kernel.launched < kernel.tbs and self.has_room(kernel):
                tb = ThreadBlock(self.g, kernel, kernel.launched)
                kernel.take_region(tb)
                self.place(tb)
                kernel.launched += 1
            if kernel.completed == kernel.tbs:
                kernel.state = KernelState.FINISHED
                self.events |= 1 << kernel.index

    def start(self, kernel: Kernel, descriptor: Descriptor) -> CommandError:
        """Start a kernel from its descriptor, or return why not; then nothing has changed."""
        if kernel.state in (KernelState.RUNNING, KernelState.PREEMPTING, KernelState.RESUMING):
            return CommandError.BUSY
        if kernel.state is KernelState.PREEMPTED:
            return CommandError.NOT_RUNNING
        if not descriptor.fits(self.g):
            return CommandError.TOO_LARGE
        kernel.load(descriptor)
        kernel.state = KernelState.RUNNING
        self.attention = True
        return CommandError.NONE

    # Residency

    def resident(self, kernel: Kernel | None = None) -> list[ThreadBlock]:
        """Return the resident TBs, in slot order; of one kernel if given."""
        return [tb for tb in self.tbs if tb is not None and (kernel is None or tb.kernel is kernel)]

    def has_room(self, kernel: Kernel) -> bool:
        """A TB of `kernel` can be placed now."""
        return (None in self.tbs and self.slots.count(None) >= kernel.warps
                and self._first_fit(kernel.tb_registers, self.g.registers, "base") is not None
                and self._first_fit(kernel.lines, self.g.shared_lines, "first_line") is not None)

    def _first_fit(self, size: int, capacity: int, start_name: str) -> int | None:
        """Return the lowest start of a free range of physical registers or shared-memory lines."""
        start = 0
        used = [(getattr(tb, start_name), tb.kernel.tb_registers if start_name == "base" else tb.kernel.lines)
                for tb in self.resident()]
        for low, length in sorted(used):
            if low - start >= size:
                break
            start = max(start, low + length)
        return start if start + size <= capacity else None

    def place(self, tb: ThreadBlock) -> None:
        """Make a TB resident (`has_room` holds) and let its warps run."""
        base = self._first_fit(tb.kernel.tb_registers, self.g.registers, "base")
        line = self._first_fit(tb.kernel.lines, self.g.shared_lines, "first_line")
        assert base is not None and line is not None
        tb.base, tb.first_line = base, line
        tb.slot = self.tbs.index(None)
        self.tbs[tb.slot] = tb
        for warp in tb.warps:
            warp.slot = self.slots.index(None)
            self.slots[warp.slot] = warp
        self.ready.extend(warp for warp in tb.warps if warp.runs)
        if not self._settled(tb):
            self.release_barrier(tb, tb.warps[0], 0)

    def remove(self, tb: ThreadBlock) -> None:
        """Free everything a TB holds."""
        self.tbs[tb.slot] = None
        for warp in tb.warps:
            self.slots[warp.slot] = None
        if any(warp.tb is tb for warp in self.ready):
            self.ready = deque(warp for warp in self.ready if warp.tb is not tb)
        self.attention = True

    def _settled(self, tb: ThreadBlock) -> bool:
        """Complete a TB whose warps have all exited; return whether it was so."""
        if not tb.exited:
            return False
        self.complete(tb)
        return True

    def complete(self, tb: ThreadBlock) -> None:
        """Free everything a TB that has ended holds, its local memory included."""
        self.remove(tb)
        tb.kernel.free_region(tb)
        tb.kernel.completed += 1

    # Execution

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
        if self._compiled:
            self._compiled.pull_block(warp.tb)
        if warp.pending and self.order:
            self._follow(self.order)
        elif not self._settled(warp.tb):
            self.release_barrier(warp.tb, warp, pc)

    def _execute(self, warp: Warp, pc: int) -> None:
        kernel = warp.tb.kernel
        op = kernel.operation(pc)
        kind = op.kind
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
        if kind is Kind.TRAP and mask:
            raise WarpFault(Fault.TRAP)
        if kind is Kind.BARRIER and active != warp.live:
            raise WarpFault(Fault.BARRIER_DIVERGENT)
        if kind is Kind.BRU and warp.uniforms[op.uniform] >= PC_NONE:
            raise WarpFault(Fault.FETCH_BOUND)
        if kind is Kind.BRANCH:
            warp.branch(mask, op.target, op.reconv)
        if op.recorded:
            self.retired += 1
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
        elif kind is Kind.CALL:
            op.run(warp, mask)
            warp.jump(op.target)
        elif kind is Kind.BRU:
            warp.jump(int(warp.uniforms[op.uniform]))
        elif kind is not Kind.BRANCH:
            self._pause(warp, op, kind)
            warp.jump(pc + 1)

    def _atomic(self, warp: Warp, atomic: Atomic, pc: int, mask: int) -> None:
        """Do an atomic now, or stand at it until the order to follow lets its lanes go."""
        if mask and self.order is None:
            atomic.run(warp, pc, mask)
        elif mask and self.order is not None:
            self.order.wait(warp, atomic.begin(warp, pc, mask))
        warp.jump(pc + 1)

    def _follow(self, order: AtomicOrder) -> None:
        """Let the atomics that are next happen, and the warps that have completed one go on."""
        for warp in order.released():
            if warp.runs:
                self.ready.append(warp)
            self.attention = True

    def _pause(self, warp: Warp, op, kind: Kind) -> None:
        """Barriers and preemption points."""
        if kind is Kind.BARRIER:
            warp.waiting, warp.barrier, warp.live_vector = True, op.barrier, op.live
        elif kind is Kind.PP and self.pending(warp.tb.kernel):
            warp.after_pp, warp.live_vector = True, op.live
        elif kind is Kind.PP_DIV and warp.after_pp:
            if len(warp.stack) > 1:
                warp.live_vector = op.live
            warp.after_pp, warp.parked = False, True

    def pending(self, kernel: Kernel) -> bool:
        """Warps of `kernel` are to stop."""
        return kernel.state is KernelState.PREEMPTING

    def release_barrier(self, tb: ThreadBlock, warp: Warp, pc: int) -> None:
        """Release a full barrier, unless a preempt is pending; `warp` at `pc` is what may have filled it."""
        if self.pending(tb.kernel):
            self.attention = True
            return
        try:
            released = tb.full_barrier()
        except WarpFault as fault:
            return self.end(warp, pc, fault)
        for other in released:
            other.waiting = False
        self.ready.extend(released)

    def end(self, warp: Warp, pc: int, fault: WarpFault) -> None:
        """Record a fault and end the TB; it counts as completed."""
        tb = warp.tb
        self.fault_count += 1
        if not self.events & _FAULT_EVENT:
            self.fault = FaultRecord(fault.kind, tb.kernel.index, warp.index, tb.launch_id, pc, fault.address)
            self.events |= _FAULT_EVENT
            if self.checker is not None:
                self.checker.record(fault)
        if self.order:
            for other in tb.warps:
                self.order.forget(other)
        self.complete(tb)
        tb.kernel.faults += 1
        if isinstance(fault, BoundsFault):
            self._abandon(tb.kernel)

    def _abandon(self, kernel: Kernel) -> None:
        """End all of a kernel: what waits for a TB that is gone would wait for ever."""
        for tb in self.resident(kernel):
            if self.order:
                for warp in tb.warps:
                    self.order.forget(warp)
            self.complete(tb)
        self.preemption.abandon(kernel)
        kernel.launched = kernel.completed = kernel.tbs
        self.attention = True

    # What instructions need

    def write_register(self, warp: Warp, mask: int, register: int, value: np.ndarray) -> None:
        """Write a vector register in the lanes `mask` (not zero)."""
        row = warp.registers[register]
        warp.valid |= 1 << register
        if mask == (1 << self.g.warp_size) - 1:
            row[:] = value
        else:
            np.copyto(row, value, where=lanes_of(mask, self.g.warp_size))
        if self.recorder:
            self.recorder.write(warp, register, mask, row)

    def write_uniform(self, warp: Warp, register: int, value: int) -> None:
        """Write a uniform register."""
        warp.uniforms[register] = value
        warp.uniforms_written |= 1 << register
        if self.recorder:
            self.recorder.uniform(warp, register, value)

    def write_predicate(self, warp: Warp, mask: int, number: int, value: int) -> None:
        """Write a predicate in the lanes `mask`; `PT` ignores it."""
        if number == PT:
            return
        warp.predicates[number] = warp.predicates[number] & ~mask | value & mask
        warp.written |= 1 << number
        if self.recorder:
            self.recorder.predicate(warp, number, mask, value)

    def check(self, kernel: Kernel, address: np.ndarray) -> WarpFault | None:
        """Return the fault of the lowest lane whose global access is not allowed, if there is one."""
        allowed = np.zeros(len(address), bool)
        for base, end in kernel.windows:
            allowed |= (address >= base) & (address < end)
        present = address < len(self.memory)
        if (allowed & present).all():
            return None
        lane = int((allowed & present).argmin())
        return WarpFault(Fault.BUS_ERROR if allowed[lane] else Fault.GLOBAL_WINDOW, int(address[lane]))
