"""A launch of a kernel: what it was given, and how far it is."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import SEGMENT_BYTES
from caesura.hw.arch.image.context import ccb_bytes
from caesura.hw.arch.tb_footprint import local_region_bytes
from caesura.software.compiler.errors import ImageError
from caesura.software.compiler.preemption.restartable import reason

from ..machine.errors import FaultRecord
from ..machine.lock import FairLock, whole
from ..memory.memory import DeviceMemory
from ..memory.regions import Allocation
from .loaded import LoadedKernel
from .switches import Switches

__all__ = ["ENDED", "Launch"]

ENDED = KernelState.FINISHED, KernelState.IDLE
"""States in which nothing more comes of a launch."""


class Away(NamedTuple):
    """What a kernel slot knew of a launch that has left it."""

    launched: int
    completed: int
    faulted: int
    switches: Switches | None


class Launch:
    """One launch of a kernel: started, possibly preempted and resumed, finished or killed.

    Attributes
    ----------
    device : Device
    kernel : Kernel
    slot : int
        Kernel slot of the SM.
    grid, block : tuple of int
    shared_bytes : int
        Static and dynamic.
    ccb_base, area_bytes : int
        Context control block, of several SMs the first one's (`ccb_of`).
    entries : int
        Entries of the context control block that it may use on an SM: its TBs there, those that are away included.
    handle : int
        Address in device memory by which another device over the same memory can adopt the launch (`Device.adopt`)
        while it is preempted; the same after an adoption.
    local_base : int
        Local memory of all TBs, 0 if they have none, or no longer any; of several SMs that of the first one's TBs
        comes first (`local_of`).
    window_end : int
        First byte beyond the global memory that it reaches.
    parts : list of int
        Of several SMs: which of its parts in memory (context control block, local memory) each has.
    scramble : bool
        The last preempt was in test mode; so will the resume be.
    scrambled : set of bool
        What `scramble` was in its preempts and checkpoints.
    apart : bool
        No two of its arguments can lead to the same memory; False where that is not known.
    away : Away or None
        What its slot knew of it, while it is preempted and has none (`Device.release_slot`).
    registers : mapping of str to int
        What its kernel slot was told, by name: the driver's own record, from which it comes back to a slot.
    held : list of Allocation
        Memory that it uses: arguments, code, variables. It lets go when it is seen to have finished.
    fault : FaultRecord or None
        Of its first fault, as far as the device recorded it.
    """

    def __init__(self, device: DeviceMemory, kernel: LoadedKernel, slot: int, grid, block, shared_bytes: int,
                 handle: int, ccb_base: int, area_bytes: int, launches: Mapping[int, Launch],
                 entries: int = 0):
        self.device, self.kernel, self.slot = device, kernel, slot
        self.grid, self.block, self.shared_bytes = grid, block, shared_bytes
        self.handle, self.ccb_base, self.area_bytes = handle, ccb_base, area_bytes
        self.entries = entries or device.geometry.tb_slots
        self.local_base = 0
        self.window_end = device.heap.end
        self.parts = [*range(device.geometry.sms)]
        self.scramble = False
        self.scrambled: set[bool] = set()
        self.fault: FaultRecord | None = None
        self.apart = False
        self.registers: Mapping[str, int] = {}
        self.held: list[Allocation] = []
        self.away: Away | None = None
        self._former = Away(0, 0, 0, None)
        self._last_state = KernelState.FINISHED
        self._launches = launches

    def __repr__(self):
        name = f"{self.kernel.name!r}, grid {self.grid}, block {self.block}"
        if self.device.host.closed:
            return f"Launch({name}, device closed)"
        state, progress = self.peek_state(), self.peek_progress()
        if state is None or progress is None:
            return f"Launch({name})"
        return f"Launch({name}, {state.name.lower()}, {progress[0]:,} of {progress[1]:,} TBs)"

    def ccb_of(self, sm: int) -> int:
        """Return the address of the context control block of an SM."""
        return self.ccb_base + self.parts[sm] * self.ccb_bytes

    @property
    def ccb_bytes(self) -> int:
        """Bytes of the context control block of an SM, with its save areas."""
        return ccb_bytes(self.device.geometry, self.area_bytes, self.entries)

    @property
    def local_bytes(self) -> int:
        """Bytes of the local memory of all TBs of an SM."""
        return self.entries * self.local_region_bytes

    def local_of(self, sm: int) -> int:
        """Return the address of the local memory of the TBs of an SM, 0 if they have none."""
        return self.local_base and (self.local_base + self.parts[sm] * self.local_bytes)

    @property
    def lock(self) -> FairLock:
        """Of the device."""
        return self.device.host.lock

    @property
    def _in_slot(self) -> bool:
        return self.away is None and self._launches.get(self.slot) is self

    @property
    def state(self) -> KernelState:
        """State of the kernel slot, `IDLE` once it was killed; what it was at its end once another launch has the
        slot."""
        state = self._state(self.device.host.fields)
        assert state is not None
        if state in ENDED:
            self.held = []
        return state

    @whole
    def _state(self, read: Callable[[str], dict[str, int] | None]) -> KernelState | None:
        if not self._in_slot:
            return self._last_state if self.away is None else KernelState.PREEMPTED
        fields = read(f"kernel[{self.slot}].state")
        return None if fields is None else KernelState(fields["state"])

    def peek_state(self) -> KernelState | None:
        """Return `state` without simulated time passing, None where a machine cannot (`Device.peek`)."""
        return self._state(self.device.host.peek_fields)

    def known_state(self) -> KernelState:
        """Return `state` for a message, without simulated time passing where a machine can."""
        state = self.peek_state()
        return self.state if state is None else state

    @property
    @whole
    def outcome(self) -> CommandError:
        """How its last preempt, resume or adoption ended; `NONE` while one is under way."""
        if not self._in_slot:
            return CommandError.NONE
        return CommandError(self.device.host.fields(f"kernel[{self.slot}].state")["error"])

    @functools.cached_property
    def not_restartable(self) -> str:
        """Why its TBs cannot be dropped and run again; empty if they can."""
        try:
            found = self.kernel.spoilers
        except ImageError as error:  # machine code of the user's own
            return f"what it may overwrite is not known: {error}"
        spoiler = found.apart if self.apart else found.always
        return "" if spoiler is None else reason(spoiler)

    @property
    def finished(self) -> bool:
        """All TBs have ended by themselves."""
        return self.state is KernelState.FINISHED

    @property
    def ended(self) -> bool:
        """It has finished, or was killed."""
        return self.state in ENDED

    @property
    @whole
    def progress(self) -> tuple[int, int]:
        """TBs completed and TBs of the grid."""
        total = math.prod(self.grid)
        if not self._in_slot:
            return self._former.completed, total
        return self.device.host.read(f"kernel[{self.slot}].completed"), total

    @property
    @whole
    def resident_tbs(self) -> int:
        """TBs on the SMs, while it has not been preempted; those that have yielded are not there."""
        if not self._in_slot:
            return 0
        host, slot, away = self.device.host, f"kernel[{self.slot}]", 0
        if self.device.geometry.watches:
            for sm in range(self.device.geometry.sms):
                with host.of_sm(sm):
                    away += host.read(f"{slot}.away").bit_count()
        return max(0, host.read(f"{slot}.launched") - host.read(f"{slot}.completed") - away)

    @whole
    def peek_progress(self) -> tuple[int, int] | None:
        """Return `progress` without simulated time passing, None where a machine cannot (`Device.peek`)."""
        total = math.prod(self.grid)
        if not self._in_slot:
            return self._former.completed, total
        completed = self.device.host.peek(f"kernel[{self.slot}].completed")
        return None if completed is None else (completed, total)

    @property
    @whole
    def faulted_tbs(self) -> int:
        """TBs ended by a fault."""
        before = self._former.faulted
        return before + self.device.host.read(f"kernel[{self.slot}].faults") if self._in_slot else before

    @property
    @whole
    def switches(self) -> Switches | None:
        """How often it was taken off the SM and brought back; None on a machine that does not count
        (``profile = false``)."""
        before = self._former.switches
        if not self._in_slot:
            return before
        now = Switches.read(self.device.host, self.slot)
        return now if now is None or before is None else now + before

    def leave_slot(self) -> None:
        """Remember what the device will not know any more once another launch has the slot."""
        self._last_state = self.state
        completed = math.prod(self.grid) if self._last_state is KernelState.FINISHED else self.progress[0]
        self._former = Away(completed, completed, self.faulted_tbs, self.switches)
        self.held = []

    def go_away(self) -> None:
        """Leave the slot while it is preempted, and remember what the slot knows."""
        launched = self.device.host.read(f"kernel[{self.slot}].launched")
        self._former = self.away = Away(launched, self.progress[0], self.faulted_tbs, self.switches)

    def come_back(self, slot: int) -> None:
        """Be in a slot again."""
        self.slot, self.away = slot, None

    def end_away(self) -> None:
        """It has been killed while it had no slot."""
        self.away, self._last_state, self.held = None, KernelState.IDLE, []

    def reads_constants(self, bank: object) -> bool:
        """Return whether its kernel reads a constant bank."""
        return self.kernel.bank is bank

    @property
    def warps_per_tb(self) -> int:
        """Warps of a TB."""
        return -(-math.prod(self.block) // self.device.geometry.warp_size)

    @property
    def local_region_bytes(self) -> int:
        """Local memory of a TB, whole segments."""
        return local_region_bytes(self.device.geometry, self.warps_per_tb, self.kernel.image.all_local_bytes)

    @property
    def occupied_tb_bytes(self) -> int:
        """Registers and shared memory a TB has allocated."""
        g = self.device.geometry
        lines = -(-self.shared_bytes // SEGMENT_BYTES)
        return self.warps_per_tb * self.kernel.image.registers * g.vector_bytes + lines * SEGMENT_BYTES
