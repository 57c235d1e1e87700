"""A launch of a kernel: its arguments, and its progress."""

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
"""States of a kernel slot whose launch has ended."""


class Away(NamedTuple):
    """The state that a kernel slot had of a launch that has left it."""

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
        Shared memory of a TB in bytes, static and dynamic.
    ccb_base, area_bytes : int
        Context control block; with several SMs the block of the first SM (`ccb_of`).
    entries : int
        Entries of the context control block that the launch may use on an SM, also for TBs that are away.
    handle : int
        Address in device memory by which another device over the same memory can adopt the launch while it is preempted
        (`Device.adopt`). An adoption keeps it.
    local_base : int
        Local memory of all TBs; 0 if they have none, or no longer any. With several SMs the local memory of the first
        SM's TBs comes first (`local_of`).
    window_end : int
        First byte beyond the global memory that the kernel reaches.
    parts : list of int
        The part of the launch's memory (context control block, local memory) that each SM has.
    scramble : bool
        Whether the last preempt was in test mode; the resume then is too.
    scrambled : set of bool
        The values of `scramble` in its preempts and checkpoints.
    apart : bool
        Whether no two of its arguments can lead to the same memory; False where that is not known.
    away : Away or None
        State of its slot while it is preempted and has no slot (`Device.release_slot`).
    registers : mapping of str to int
        Values written to the registers of its kernel slot, by name. The launch comes back to a slot from this record.
    held : list of Allocation
        Memory that it uses: arguments, code, variables. The launch releases it when it is seen to have finished.
    fault : FaultRecord or None
        Record of its first fault, if the device recorded one.
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
        """Bytes of the context control block of an SM with its save areas."""
        return ccb_bytes(self.device.geometry, self.area_bytes, self.entries)

    @property
    def local_bytes(self) -> int:
        """Bytes of the local memory of all TBs on an SM."""
        return self.entries * self.local_region_bytes

    def local_of(self, sm: int) -> int:
        """Return the address of the local memory of the TBs on an SM, 0 if they have none."""
        return self.local_base and (self.local_base + self.parts[sm] * self.local_bytes)

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self.device.host.lock

    @property
    def _in_slot(self) -> bool:
        return self.away is None and self._launches.get(self.slot) is self

    @property
    def state(self) -> KernelState:
        """State of the kernel slot, `IDLE` after a kill. Once another launch has the slot, it is the state that this
        launch had at its end."""
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
        """Return `state` without simulated time passing; None if the machine cannot read it so (`Device.peek`)."""
        return self._state(self.device.host.peek_fields)

    def known_state(self) -> KernelState:
        """Return `state` for a message, if possible without simulated time passing."""
        state = self.peek_state()
        return self.state if state is None else state

    @property
    @whole
    def outcome(self) -> CommandError:
        """Result of its last preempt, resume or adoption; `NONE` while one is under way."""
        if not self._in_slot:
            return CommandError.NONE
        return CommandError(self.device.host.fields(f"kernel[{self.slot}].state")["error"])

    @functools.cached_property
    def not_restartable(self) -> str:
        """The reason why its TBs cannot be dropped and run again; empty if they can."""
        try:
            found = self.kernel.spoilers
        except ImageError as error:  # machine code of the user's own
            return f"what it may overwrite is not known: {error}"
        spoiler = found.apart if self.apart else found.always
        return "" if spoiler is None else reason(spoiler)

    @property
    def finished(self) -> bool:
        """Whether all TBs have ended by themselves."""
        return self.state is KernelState.FINISHED

    @property
    def ended(self) -> bool:
        """Whether it has finished, or was killed."""
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
        """Number of its TBs on the SMs while it is not preempted; TBs that have yielded do not count."""
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
        """Return `progress` without simulated time passing; None if the machine cannot read it so (`Device.peek`)."""
        total = math.prod(self.grid)
        if not self._in_slot:
            return self._former.completed, total
        completed = self.device.host.peek(f"kernel[{self.slot}].completed")
        return None if completed is None else (completed, total)

    @property
    @whole
    def faulted_tbs(self) -> int:
        """Number of TBs that a fault has ended."""
        before = self._former.faulted
        return before + self.device.host.read(f"kernel[{self.slot}].faults") if self._in_slot else before

    @property
    @whole
    def switches(self) -> Switches | None:
        """Number of times that it was taken off the SM and brought back; None on a machine that does not count them
        (``profile = false``)."""
        before = self._former.switches
        if not self._in_slot:
            return before
        now = Switches.read(self.device.host, self.slot)
        return now if now is None or before is None else now + before

    def leave_slot(self) -> None:
        """Keep the state that the device forgets once another launch has the slot."""
        self._last_state = self.state
        completed = math.prod(self.grid) if self._last_state is KernelState.FINISHED else self.progress[0]
        self._former = Away(completed, completed, self.faulted_tbs, self.switches)
        self.held = []

    def go_away(self) -> None:
        """Leave the slot while it is preempted, and keep the state of the slot."""
        launched = self.device.host.read(f"kernel[{self.slot}].launched")
        self._former = self.away = Away(launched, self.progress[0], self.faulted_tbs, self.switches)

    def come_back(self, slot: int) -> None:
        """Take a slot again."""
        self.slot, self.away = slot, None

    def end_away(self) -> None:
        """Note that it has been killed while it had no slot."""
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
        """Local memory per TB in bytes, whole segments."""
        return local_region_bytes(self.device.geometry, self.warps_per_tb, self.kernel.image.all_local_bytes)

    @property
    def occupied_tb_bytes(self) -> int:
        """Registers and shared memory that a TB has allocated, in bytes."""
        g = self.device.geometry
        lines = -(-self.shared_bytes // SEGMENT_BYTES)
        return self.warps_per_tb * self.kernel.image.registers * g.vector_bytes + lines * SEGMENT_BYTES
