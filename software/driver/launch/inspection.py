"""The state of the warps on the SMs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from caesura.hw.arch.geometry import PC_NONE
from caesura.software.compiler import disassemble_word

from ..machine.host_interface import HostInterface
from ..machine.lock import FairLock, whole
from .context import StackEntry
from .launch import Launch

__all__ = ["Inspection", "TbAge", "WarpState"]


Seen = TypeVar("Seen")


@dataclass(frozen=True)
class WarpState:
    """The state of a warp on the SM.

    Attributes
    ----------
    slot, kernel, launch_id, warp : int
        Warp slot, kernel slot, launch id of the TB, and number of the warp in the TB.
    entry : int
        Entry of the TB in the context control block of its kernel.
    sm : int
        Number of its SM.
    state : str
        ``"running"``, ``"waiting"`` (at a barrier), ``"parked"`` or ``"exited"``.
    barrier : int or None
    live_lanes : int
    stack : tuple of StackEntry
        SIMT stack from the bottom up.
    """

    slot: int
    kernel: int
    launch_id: int
    warp: int
    state: str
    barrier: int | None
    live_lanes: int
    stack: tuple[StackEntry, ...]
    entry: int
    sm: int = 0


@dataclass(frozen=True)
class TbAge:
    """The progress of a TB on the SM.

    Attributes
    ----------
    cycles, instructions : int
        Cycles and warp instructions since the TB began, or came back from memory.
    whole : bool
        Whether the TB began on the SM.
    at : int
        Cycle of this measurement, 32 bits.
    """

    cycles: int
    instructions: int
    whole: bool
    at: int


class Inspection:
    """Reads the state of the warps through the inspection registers of the SMs; each read takes simulated time.

    Parameters
    ----------
    host : HostInterface
    launches : mapping of int to Launch
        The launches by kernel slot.
    """

    def __init__(self, host: HostInterface, launches: Mapping[int, Launch]):
        self._host, self._launches = host, launches

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self._host.lock

    @whole
    def warps(self) -> list[WarpState]:
        """Return the state of every warp, SM by SM."""
        found = []
        for sm in range(self._host.geometry.sms):
            with self._host.of_sm(sm):
                found += self._warps(sm)
        return found

    def _warps(self, sm: int) -> list[WarpState]:
        """Return the state of the warps of an SM."""
        found = []
        for slot in range(self._host.geometry.warps):
            self._host.write("inspect", warp=slot, entry=0)
            state = self._host.fields("inspect_state")
            if not state["valid"]:
                continue
            stack = []
            for entry in range(state["depth"]):
                self._host.write("inspect", warp=slot, entry=entry)
                pc = self._host.read("inspect_pc")
                stack.append(StackEntry(pc, self._host.read("inspect_mask"), PC_NONE))
            word = next((name for name in ("exited", "waiting", "parked") if state[name]), "running")
            found.append(WarpState(slot, state["kernel"], self._host.read("inspect_tb"), state["warp"], word,
                                   state["barrier"] if state["waiting"] else None, self._host.read("inspect_live"),
                                   tuple(stack), self._host.read("inspect_ccb_entry"), sm))
        return found

    def resident(self, kernel: int) -> dict[int, tuple[int, int]]:
        """Return the SM and the entry of each TB of a kernel slot that is on an SM, by launch id, in the order of
        launch."""
        return self._each_tb(kernel, lambda sm: (sm, self._host.read("inspect_ccb_entry")))

    def ages(self, kernel: int) -> dict[int, TbAge]:
        """Return the progress of the TBs of a kernel slot, by launch id, in the order of launch."""
        def age(_: int) -> TbAge:
            at = self._host.read("cycle_low")
            cycles, instructions = (self._host.read(f"inspect_tb_{name}") for name in ("cycles", "instructions"))
            return TbAge(cycles, instructions, bool(self._host.fields("inspect_state")["whole"]), at)

        return self._each_tb(kernel, age)

    @whole
    def _each_tb(self, kernel: int, look: Callable[[int], Seen]) -> dict[int, Seen]:
        """Look at each TB of a kernel slot that is on an SM through one of its warps."""
        found: dict[int, Seen] = {}
        for sm in range(self._host.geometry.sms):
            with self._host.of_sm(sm):
                self._each_of(sm, kernel, look, found)
        return dict(sorted(found.items()))

    def _each_of(self, sm: int, kernel: int, look: Callable[[int], Seen], found: dict[int, Seen]) -> None:
        for slot in range(self._host.geometry.warps):
            self._host.write("inspect", warp=slot, entry=0)
            owner = self._owner()
            while owner is not None and owner[0] == kernel and owner[1] not in found:
                seen, before, owner = look(sm), owner, self._owner()
                if owner == before:  # the slot has not got another one meanwhile
                    found[before[1]] = seen

    def _owner(self) -> tuple[int, int] | None:
        """Return the kernel slot and the launch id of the TB in the selected warp slot."""
        state = self._host.fields("inspect_state")
        return (state["kernel"], self._host.read("inspect_tb")) if state["valid"] else None

    def describe_warps(self) -> str:
        """Return a few lines with the state of every warp on the SM."""
        lines = []
        for warp in self.warps():
            launch = self._launches.get(warp.kernel)
            code = launch.kernel.image if launch else None
            top = warp.stack[-1] if warp.stack else None
            where = f"PC {top.pc}, lanes {top.mask:#x}" if top else "no lanes"
            if code and top and top.pc < len(code.words):
                where += f": {disassemble_word(code.words[top.pc], code.registers)}"
                if source := code.where(top.pc):
                    where += f" ({source})"
            barrier = f" at barrier {warp.barrier}" if warp.barrier is not None else ""
            on = f"SM {warp.sm} " if self._host.geometry.has_uncore else ""
            lines.append(f"  {on}TB {warp.launch_id} warp {warp.warp}: {warp.state}{barrier}, {where}")
        return "\n".join(lines) or "  no warp is on the SM"
