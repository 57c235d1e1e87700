"""A launch, and what the device says of its preemptions and warps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from caesura.hw.arch import context as image
from caesura.hw.arch.geometry import SEGMENT_BYTES
from caesura.hw.arch.registers import KernelState

from .context import StackEntry
from .errors import FaultRecord
from .module import Kernel

if TYPE_CHECKING:
    from .device import Device
    from .memory import Allocation

__all__ = ["Launch", "PreemptReport", "ResumeReport", "WarpState"]


@dataclass(frozen=True)
class PreemptReport:
    """What the counters say of a preempt; cycles are of the core clock.

    Attributes
    ----------
    mechanism : hw.arch.context.Mechanism
    save_cycles : int
        Preemption latency: from the request until the SM's resources are free.
    drain_cycles : int
        Part of it in which no save traffic flows because warps still run.
    data_bytes, metadata_bytes : int
        Written.
    registers, lines, tbs, warps : int
        Saved.
    occupied_bytes : int
        Registers and shared memory the saved TBs had allocated.
    """

    mechanism: image.Mechanism
    save_cycles: int
    drain_cycles: int
    data_bytes: int
    metadata_bytes: int
    registers: int
    lines: int
    tbs: int
    warps: int
    occupied_bytes: int


@dataclass(frozen=True)
class ResumeReport:
    """What the counters say of a resume.

    Attributes
    ----------
    restore_cycles : int
        From the request until all TBs run.
    resume_cycles : int
        From the request until the first instruction issued.
    bytes : int
        Read.
    """

    restore_cycles: int
    resume_cycles: int
    bytes: int


@dataclass(frozen=True)
class WarpState:
    """Where a warp on the SM stands.

    Attributes
    ----------
    slot, kernel, launch_id, warp : int
        Warp slot, kernel slot, TB, warp of the TB.
    state : str
        ``"running"``, ``"waiting"`` (at a barrier), ``"parked"`` or ``"exited"``.
    barrier : int or None
    live_lanes : int
    stack : tuple of StackEntry
        From the bottom up.
    """

    slot: int
    kernel: int
    launch_id: int
    warp: int
    state: str
    barrier: int | None
    live_lanes: int
    stack: tuple[StackEntry, ...]


class Launch:
    """One launch of a kernel: started, possibly preempted and resumed, finished.

    Attributes
    ----------
    kernel : Kernel
    slot : int
        Kernel slot of the SM.
    grid, block : tuple of int
    shared_bytes : int
        Static and dynamic.
    ccb_base, area_bytes : int
        Context control block.
    local_base : int
        Local memory of all TBs, 0 if they have none, or no longer any.
    scramble : bool
        The last preempt was in test mode; so will the resume be.
    held : list of Allocation
        Memory that it uses: arguments, code, variables. It lets go when it is seen to have finished.
    fault : FaultRecord or None
        Of its first fault, as far as the device recorded it.
    """

    def __init__(self, device: Device, kernel: Kernel, slot: int, grid, block, shared_bytes: int, ccb_base: int,
                 area_bytes: int):
        self.device, self.kernel, self.slot = device, kernel, slot
        self.grid, self.block, self.shared_bytes = grid, block, shared_bytes
        self.ccb_base, self.area_bytes = ccb_base, area_bytes
        self.local_base = 0
        self.scramble = False
        self.fault: FaultRecord | None = None
        self.held: list[Allocation] = []
        self._faulted_before = 0

    def __repr__(self):
        name = f"{self.kernel.name!r}, grid {self.grid}, block {self.block}"
        if self.device.closed:
            return f"Launch({name}, device closed)"
        state, progress = self._state(self.device.peek), self.peek_progress()
        if state is None or progress is None:
            return f"Launch({name})"
        return f"Launch({name}, {state.name.lower()}, {progress[0]:,} of {progress[1]:,} TBs)"

    @property
    def state(self) -> KernelState:
        """State of the kernel slot; finished for good once another launch has the slot."""
        state = self._state(self.device.read)
        assert state is not None
        if state is KernelState.FINISHED:
            self.held = []
        return state

    def _state(self, read: Callable[[str], int | None]) -> KernelState | None:
        if self.device.launches.get(self.slot) is not self:
            return KernelState.FINISHED
        state = read(f"kernel[{self.slot}].state")
        return None if state is None else KernelState(state)

    @property
    def finished(self) -> bool:
        """All TBs have ended."""
        return self.state is KernelState.FINISHED

    @property
    def progress(self) -> tuple[int, int]:
        """TBs completed and TBs of the grid."""
        total = math.prod(self.grid)
        if self.device.launches.get(self.slot) is not self:
            return total, total
        return self.device.read(f"kernel[{self.slot}].completed"), total

    def peek_progress(self) -> tuple[int, int] | None:
        """Return `progress` without simulated time passing, None where a machine cannot (`Device.peek`)."""
        total = math.prod(self.grid)
        if self.device.launches.get(self.slot) is not self:
            return total, total
        completed = self.device.peek(f"kernel[{self.slot}].completed")
        return None if completed is None else (completed, total)

    @property
    def faulted_tbs(self) -> int:
        """TBs ended by a fault."""
        if self.device.launches.get(self.slot) is not self:
            return self._faulted_before
        return self.device.read(f"kernel[{self.slot}].faults")

    def leave_slot(self) -> None:
        """Remember what the device will not know any more once another launch has the slot."""
        self._faulted_before = self.faulted_tbs
        self.held = []

    @property
    def warps_per_tb(self) -> int:
        """Warps of a TB."""
        return -(-math.prod(self.block) // self.device.geometry.warp_size)

    @property
    def local_region_bytes(self) -> int:
        """Local memory of a TB, whole segments."""
        size = self.warps_per_tb * self.device.geometry.warp_size * self.kernel.image.local_bytes
        return -(-size // SEGMENT_BYTES) * SEGMENT_BYTES

    @property
    def occupied_tb_bytes(self) -> int:
        """Registers and shared memory a TB has allocated."""
        g = self.device.geometry
        lines = -(-self.shared_bytes // SEGMENT_BYTES)
        return self.warps_per_tb * self.kernel.image.registers * g.vector_bytes + lines * SEGMENT_BYTES
