"""The state of one SM with its memory: what it holds, and how instructions read and write it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from caesura.errors import InputError
from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry
from caesura.hw.arch.isa.opcodes import PT
from caesura.hw.arch.registers import register_map
from caesura.hw.arch.room import Range, first_fit

from .faults import FaultRecord, WarpFault
from .kernel import Kernel
from .lanes import lanes_of
from .recorder import Recorder
from .resource import Resource
from .staying import Staying
from .thread_block import ThreadBlock, Warp
from .watches import Watches

__all__ = ["Sm"]


class Sm:
    """One SM.

    Parameters
    ----------
    g : Geometry
    memory_bytes : int
        Global memory, a multiple of 128.
    trace : bool
        Record the retire trace.

    Attributes
    ----------
    memory : ndarray of uint8
    views : tuple of ndarray
        The same memory in units of 8, 16, 32 and 64 bits.
    kernels : list of Kernel
    tbs, slots : list
        Contents of each TB slot and warp slot, or None.
    staying : list
        State of preempted TBs that stays (`Staying`) by row of a table with as many rows as TB slots, or None.
    ready : deque of Warp
        Warps that can execute, next first.
    recorder : Recorder or None
    cycle, retired : int
        Cycles and instructions so far.
    events : int
        Bits of the event register.
    fault : FaultRecord
        The first since the event was cleared.
    fault_count : int
    number : int
        Number of this SM in the device.
    watches : Watches
        Watches of the TBs on all SMs of the device.
    attention : bool
        A TB may have to be launched, restored or saved before the next instruction.
    """

    def __init__(self, g: Geometry, memory_bytes: int, trace: bool = False):
        if memory_bytes <= 0 or memory_bytes % SEGMENT_BYTES:
            raise InputError(f"memory_bytes must be a positive multiple of {SEGMENT_BYTES}, not {memory_bytes}")
        self.g = g
        self.memory = np.zeros(memory_bytes, np.uint8)
        self._view()
        self.kernels = [Kernel(g, k) for k in range(g.kernel_slots)]
        self.tbs: list[ThreadBlock | None] = [None] * g.tb_slots
        self.slots: list[Warp | None] = [None] * g.warps
        self.staying: list[Staying | None] = [None] * g.tb_slots
        self.ready: deque[Warp] = deque()
        self.recorder = Recorder() if trace else None
        self.cycle = self.retired = self.events = self.fault_count = 0
        self.fault = FaultRecord()
        self.number, self.watches = 0, Watches(g)
        self.attention = False

    def join(self, first: Sm, number: int) -> None:
        """Be SM `number` of a device: share memory, and what is watched there, with its first one."""
        self.memory, self.watches, self.number = first.memory, first.watches, number
        self._view()

    def _view(self) -> None:
        self.views = (self.memory, *(self.memory.view(unit) for unit in (np.uint16, np.uint32, np.uint64)))

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "views"}

    def __setstate__(self, state):
        vars(self).update(state)
        self._view()

    # Events

    def raise_event(self, name: str, index: int = 0) -> None:
        """Set bit `index` of a field of the event register."""
        self.events |= 1 << register_map()["event"].fields[name].low + index

    def event(self, name: str) -> int:
        """Return a field of the event register."""
        return register_map()["event"].fields[name].extract(self.events)

    # Residency

    def resident(self, kernel: Kernel | None = None) -> list[ThreadBlock]:
        """Return the resident TBs, in slot order; of one kernel if given."""
        return [tb for tb in self.tbs if tb is not None and (kernel is None or tb.kernel is kernel)]

    def has_slots(self, kernel: Kernel) -> bool:
        """A TB slot and the warp slots of a TB of `kernel` are free."""
        return None in self.tbs and self.slots.count(None) >= kernel.warps

    def lacking(self, kernel: Kernel, back: Staying | None = None) -> list[Resource]:
        """Return the resources in which a TB of `kernel` has no room; `back` is what stays of it."""
        return [each for each in Resource if not (back and back.stay.holds(each)) and self._fit(each, kernel) is None]

    def _fit(self, resource: Resource, kernel: Kernel) -> int | None:
        """Return where the range of a TB would begin, None if there is no room."""
        taken = [(each.start, each.size) for each in self.ranges(resource)]
        return first_fit(resource.capacity(self.g), taken, resource.size(kernel))

    def ranges(self, resource: Resource, movable: Sequence[ThreadBlock] = ()) -> list[Range]:
        """Return the allocated ranges; the owner of each is the place of its TB among the `movable` ones."""
        there = [*self.resident(), *(row.tb for row in self.stays() if row.stay.holds(resource))]
        return [Range(resource.start(tb), size, movable.index(tb) if tb in movable else None)
                for tb in there if (size := resource.size(tb.kernel))]

    def stays(self, kernel: Kernel | None = None) -> list[Staying]:
        """Return what stays of preempted TBs, in the order of its rows; of one kernel if given."""
        return [row for row in self.staying if row is not None and (kernel is None or row.tb.kernel is kernel)]

    def staying_of(self, kernel: Kernel, entry: int) -> Staying | None:
        """Return what stays of the TB of an entry."""
        return next((row for row in self.stays(kernel) if row.tb.entry == entry), None)

    def stay(self, row: Staying) -> None:
        """Something stays of a TB: it takes the first row that is free."""
        self.staying[self.staying.index(None)] = row

    def leave(self, row: Staying) -> None:
        """Free the ranges of a TB whose state no longer stays."""
        self.staying[self.staying.index(row)] = None

    def take_slots(self, tb: ThreadBlock, back: Staying | None = None) -> None:
        """Give a TB its slots, registers and shared memory; `has_slots` holds, and it is `lacking` nothing. What stayed
        of it, `back`, is its own from now on."""
        if back:
            self.leave(back)
        for resource in Resource:
            if not (back and back.stay.holds(resource)):
                start = self._fit(resource, tb.kernel)
                assert start is not None
                resource.place(tb, start)
        tb.slot = self.tbs.index(None)
        self.tbs[tb.slot] = tb
        for warp in tb.warps:
            warp.slot = self.slots.index(None)
            self.slots[warp.slot] = warp

    def remove(self, tb: ThreadBlock) -> None:
        """Free everything a TB holds."""
        self.tbs[tb.slot] = None
        if self.g.watches:
            self.watches.clear(self.watch_of(tb))
        for warp in tb.warps:
            self.slots[warp.slot] = None
        if any(warp.tb is tb for warp in self.ready):
            self.ready = deque(warp for warp in self.ready if warp.tb is not tb)
        self.attention = True

    # Watches

    def watch_of(self, tb: ThreadBlock) -> int:
        """Return the row of what a resident TB watches."""
        return self.number * self.watches.each + tb.slot

    def watch(self, tb: ThreadBlock, address: int) -> None:
        """A TB watches the segment of an address."""
        self.watches.watch(self.watch_of(tb), address // SEGMENT_BYTES)

    def unwatch(self, tb: ThreadBlock) -> None:
        """A TB has seen what it waits for: it does not leave at the next ``bar.yield``."""
        self.watches.fire(self.watch_of(tb))

    def wrote(self, addresses: np.ndarray) -> None:
        """Memory was written by an instruction, not by a save."""
        fired = self.watches.written(addresses)
        table = self.watches.table(self.number)
        if len(fired) and ((fired >= table.start) & (fired < table.stop)).any():
            self.attention = True

    # Registers and global memory

    def write_register(self, warp: Warp, mask: int, register: int, value: np.ndarray) -> None:
        """Write a vector register in the lanes `mask` (not zero)."""
        row = warp.registers[register]
        warp.valid |= 1 << register
        warp.dirty |= 1 << register
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

    def access_fault(self, kernel: Kernel, address: np.ndarray) -> WarpFault | None:
        """Return the fault of the lowest lane whose global access is not allowed, if there is one."""
        allowed = np.zeros(len(address), bool)
        for base, end in kernel.windows:
            allowed |= (address >= base) & (address < end)
        present = address < len(self.memory)
        if (allowed & present).all():
            return None
        lane = int((allowed & present).argmin())
        return WarpFault(Fault.BUS_ERROR if allowed[lane] else Fault.GLOBAL_WINDOW, int(address[lane]))
