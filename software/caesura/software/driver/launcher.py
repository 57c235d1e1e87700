"""Starts kernels: gives a launch its kernel slot and its memory, and tells the device of it."""

from __future__ import annotations

from collections.abc import Sequence

from caesura.hw.arch.commands import Command
from caesura.hw.arch.context import ENTRY_BYTES, area_bound, ccb_bytes
from caesura.hw.arch.faults import CommandError

from .arguments import whole_number
from .bounds import monitor_of
from .errors import CommandRefused, DriverError, LaunchError
from .events import Events
from .fit import check_fit
from .host_interface import HostInterface
from .launch import Launch
from .loaded import LoadedKernel
from .memory import DeviceMemory
from .pointers import declare
from .time_slices import uninterrupted

__all__ = ["Launcher", "LaunchingDevice"]


class Launcher:
    """The kernel slots of an SM and the launches in them.

    Parameters
    ----------
    device : DeviceMemory

    Attributes
    ----------
    launches : dict of int to Launch
        The last launch of each kernel slot that had one.
    host : HostInterface
    events : Events
    """

    def __init__(self, device: DeviceMemory):
        self.device, self.host = device, device.host
        self.launches: dict[int, Launch] = {}
        self.events = Events(self.host, self.launches)
        device.users = self.launches

    @uninterrupted()
    def start(self, kernel: LoadedKernel, grid, block, arguments: Sequence, shared_bytes: int = 0) -> Launch:
        """Start a kernel; see `Kernel.__call__`."""
        g, device = self.device.geometry, self.device
        words = kernel.parameter_words(arguments)
        shared = kernel.image.shared_bytes + whole_number(shared_bytes, "shared_bytes")
        threads = check_fit(g, kernel.image, grid, block, shared)
        slot = next((k for k in range(g.kernel_slots) if k not in self.launches or self.launches[k].ended), None)
        if slot is None:
            raise LaunchError(f"all {g.kernel_slots} kernel slots are in use; wait for a launch to finish, or kill one")
        self.events.take()
        self.free_local()
        if old := self.launches.get(slot):
            old.leave_slot()
            del self.launches[slot]
            device.system.free(old.ccb_base)
        warps = -(-threads // g.warp_size)
        area = area_bound(g, warps, kernel.image.registers, shared)
        ccb = device.system.allocate(ccb_bytes(g, area))
        launch = Launch(device, kernel, slot, grid, block, shared, ccb, area, self.launches)
        launch.held = kernel.holdings(arguments)
        try:
            device.transport.write_memory(ccb, bytes(ENTRY_BYTES * g.tb_slots))
            self._take_local(launch)
            self._describe(launch, threads, warps, words)
            if monitor := monitor_of(device.transport):
                declare(monitor, slot, kernel, arguments)
            self.command(Command.START, launch)
        except BaseException:
            device.system.free(ccb)
            if launch.local_base:
                device.system.free(launch.local_base)
            raise
        self.launches[slot] = launch
        return launch

    def _take_local(self, launch: Launch) -> None:
        """Allocate a region of local memory for each TB slot; zeros, so that nothing of a former owner shows."""
        g, device = self.device.geometry, self.device
        if size := g.tb_slots * launch.local_region_bytes:
            launch.local_base = device.system.allocate(size)
            device.clear(launch.local_base, size)

    def free_local(self) -> None:
        """Give back the local memory of launches that have ended."""
        for launch in self.launches.values():
            if launch.local_base and launch.ended:
                self.device.system.free(launch.local_base)
                launch.local_base = 0

    def check_device(self, launch: Launch) -> None:
        """Refuse a launch of another device."""
        if launch.device is not self.device:
            raise DriverError(f"kernel {launch.kernel.image.name!r} was launched on another device; use that one")

    def check_own(self, launch: Launch) -> None:
        """Refuse a launch of another device, or one that has given its slot to another launch."""
        self.check_device(launch)
        if self.launches.get(launch.slot) is not launch:
            raise DriverError(f"this launch of kernel {launch.kernel.image.name!r} has finished, and its slot holds "
                              "another launch; launch the kernel again")

    def _describe(self, launch: Launch, threads: int, warps: int, words: list[int]) -> None:
        at = f"kernel[{launch.slot}]."
        code = launch.kernel.image
        plain = {
            "code_base": launch.kernel.address, "code_words": len(code.code),
            "grid_x": launch.grid[0], "grid_y": launch.grid[1], "grid_z": launch.grid[2],
            "reciprocal_x": -(-(1 << 20) // launch.block[0]), "reciprocal_y": -(-(1 << 20) // launch.block[1]),
            "shared_bytes": -(-launch.shared_bytes // 4) * 4, "ccb_base": launch.ccb_base,
            "area_bytes": launch.area_bytes,
            "local_base": launch.local_base, "local_bytes": code.local_bytes,
            "const_base": launch.kernel.bank.address, "const_bytes": launch.kernel.bank.size,
            "window_base[0]": self.device.heap.base, "window_end[0]": self.device.heap.end,
        }
        for window in range(1, self.device.geometry.windows):
            plain |= {f"window_base[{window}]": 0, f"window_end[{window}]": 0}
        for name, value in plain.items():
            self.host.write(at + name, value)
        self.host.write(at + "block", x=launch.block[0], y=launch.block[1], z=launch.block[2])
        self.host.write(at + "sizes", threads=threads, registers=code.registers, warps=warps)
        for k in range(self.device.geometry.param_words):  # all of them: a former kernel's must not be readable
            self.host.write(f"{at}param[{k}]", words[k] if k < len(words) else 0)

    @uninterrupted()
    def command(self, command: Command, launch: Launch, **fields: int) -> None:
        """Give a command for the slot of a launch; `CommandRefused` if the device does not take it."""
        self.host.write("event", refused=1)
        self.host.write("command", op=command, kernel=launch.slot, **fields)
        if self.host.fields("event")["refused"]:
            error = CommandError(self.host.fields("status")["error"])
            raise CommandRefused(f"{command.name.lower()} of kernel {launch.kernel.image.name!r}", error)

    # Forks

    def host_state(self) -> tuple:
        """Return launches and allocations, to go with a snapshot of the machine."""
        launches = {slot: (launch, launch.fault, launch.local_base, launch.held)
                    for slot, launch in self.launches.items()}
        return launches, self.device.system.state(), self.device.heap.state()

    def set_host_state(self, state: tuple) -> None:
        """Put back what `host_state` returned."""
        launches, system, heap = state
        self.launches.clear()
        self.launches |= {slot: launch for slot, (launch, *_) in launches.items()}
        for launch, fault, local_base, held in launches.values():
            launch.fault, launch.local_base, launch.held = fault, local_base, held
        self.device.system.set_state(system)
        self.device.heap.set_state(heap)


class LaunchingDevice(DeviceMemory):
    """Memory of an SM, and the launcher of the kernels that are loaded there.

    Parameters
    ----------
    host : HostInterface
    system_fraction : float
        As of `DeviceMemory`.

    Attributes
    ----------
    launcher : Launcher
    """

    def __init__(self, host: HostInterface, system_fraction: float):
        super().__init__(host, system_fraction)
        self.launcher = Launcher(self)
