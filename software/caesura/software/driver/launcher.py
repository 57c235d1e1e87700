"""Starts kernels: gives a launch its kernel slot and its memory, and tells the device of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from caesura.hw.arch.commands import Command
from caesura.hw.arch.context import ENTRY_BYTES, area_bound, ccb_bytes, record_address
from caesura.hw.arch.faults import CommandError
from caesura.software.compiler import KernelImage
from caesura.software.compiler.judge import judge

from .arguments import whole_number
from .bounds import monitor_of
from .descriptor_block import DescriptorBlock, block_bytes
from .errors import CommandRefused, DriverError, LaunchError
from .events import Events
from .fit import check_fit
from .host_interface import HostInterface
from .launch import Launch
from .loaded import AdoptedKernel, LoadedKernel, code_bytes
from .memory import DeviceMemory
from .pointers import declare
from .time_slices import uninterrupted

__all__ = ["Launcher", "LaunchingDevice"]


class Launcher:
    """The kernel slots of a device and the launches in them.

    Parameters
    ----------
    device : DeviceMemory

    Attributes
    ----------
    launches : dict of int to Launch
        The last launch of each kernel slot that had one.
    queue_slots : frozenset of int
        Kernel slots that hardware queues use.
    host : HostInterface
    events : Events
    """

    def __init__(self, device: DeviceMemory):
        self.device, self.host = device, device.host
        self.launches: dict[int, Launch] = {}
        self.queue_slots: frozenset[int] = frozenset()
        self.events = Events(self.host, self.launches)
        device.users = self.launches

    @uninterrupted()
    def start(self, kernel: LoadedKernel, grid, block, arguments: Sequence, shared_bytes: int = 0) -> Launch:
        """Start a kernel; see `Kernel.__call__`."""
        g, device = self.device.geometry, self.device
        words = kernel.parameter_words(arguments)
        shared = kernel.image.shared_bytes + whole_number(shared_bytes, "shared_bytes")
        threads = check_fit(g, kernel.image, grid, block, shared)
        slot = self._take_slot()
        warps = -(-threads // g.warp_size)
        area = area_bound(g, warps, kernel.image.registers, shared)
        held = kernel.holdings(arguments)
        front = block_bytes(g, len(held))
        handle = device.system.allocate(front + g.sms * ccb_bytes(g, area))
        launch = Launch(device, kernel, slot, grid, block, shared, handle, handle + front, area, self.launches)
        launch.held, launch.apart = held, kernel.apart(arguments)
        try:
            self.forget(launch)
            self._take_local(launch)
            registers = self._registers(launch, threads, warps, words)
            left = DescriptorBlock(registers, [(memory.address, memory.size) for memory in held])
            device.transport.write_memory(handle, left.pack(g))
            self._describe(launch, registers)
            if monitor := monitor_of(device.transport):
                declare(monitor, slot, kernel, arguments)
            self.command(Command.START, launch)
        except BaseException:
            self.forget(launch)
            self._give_back(launch)
            raise
        self.launches[slot] = launch
        return launch

    def _take_slot(self) -> int:
        """Return a kernel slot for another launch; what its last one had is free."""
        slots = [k for k in range(self.device.geometry.kernel_slots) if k not in self.queue_slots]
        slot = next((k for k in slots if k not in self.launches or self.launches[k].ended), None)
        if slot is None:
            raise LaunchError(f"all {len(slots)} kernel slots are in use; wait for a launch to finish, or kill one")
        self.events.take()
        self.free_local()
        if old := self.launches.get(slot):
            old.leave_slot()
            del self.launches[slot]
            self.forget(old)
            self.device.system.free(old.handle)
        return slot

    def _give_back(self, launch: Launch) -> None:
        """Free the context of a launch that has come to nothing, and its local memory."""
        self.device.system.free(launch.handle)
        if launch.local_base:
            self.device.system.free(launch.local_base)
            launch.local_base = 0

    def forget(self, launch: Launch) -> None:
        """Clear what stands in memory of a launch but for its save areas: nobody can adopt it any more."""
        starts = [launch.handle, *(launch.ccb_of(sm) for sm in range(1, self.device.geometry.sms))]
        for sm, start in enumerate(starts):
            end = record_address(self.device.geometry, launch.ccb_of(sm)) + ENTRY_BYTES
            self.device.clear(start, end - start)

    # Taken over from memory

    @uninterrupted()
    def adopt(self, handle: int, image: KernelImage) -> Launch:
        """Begin to take a launch over from memory; see `Device.adopt`."""
        device = self.device
        device.require_open()
        judge(image, check=False)  # its code was, when it was loaded: it is compared with what lies in memory
        if monitor_of(device.transport):
            raise DriverError("a launch cannot be adopted where bounds are checked: which arrays its addresses come "
                              "from is not in memory; open the device without check_bounds")
        block = DescriptorBlock.read(device.transport, whole_number(handle, "handle"))
        self._check_image(block, handle, image)
        slot = self._take_slot()
        launch = self._reserve(block, slot, handle, image)
        try:
            self._describe(launch, block.registers)
            self.command(Command.ADOPT, launch)
        except BaseException:
            launch.held = []
            self._give_back(launch)
            raise
        self.launches[slot] = launch
        return launch

    def refused(self, launch: Launch) -> None:
        """An adoption has ended badly: the launch is none, and memory stays as it is."""
        del self.launches[launch.slot]
        launch.held = []
        self._give_back(launch)

    def _check_image(self, block: DescriptorBlock, handle: int, image: KernelImage) -> None:
        """Check that a descriptor block is of a kernel, and of a device with this memory."""
        value, device = block.field, self.device
        code = code_bytes(image)
        sizes = {"code_words": len(image.words), "local_bytes": image.all_local_bytes,
                 "const_bytes": len(image.constants)}
        right = value("sizes", "registers") == image.registers and value("shared_bytes") >= image.shared_bytes
        right &= all(value(name) == size for name, size in sizes.items())
        right = right and value("code_base") + len(code) <= device.transport.memory_bytes
        if not right or device.transport.read_memory(value("code_base"), len(code)) != code:
            raise DriverError(f"the launch at {handle:#x} is not of kernel {image.name!r}, or something has written "
                              "over its code; give the image that was launched")
        if (value("window_base[0]"), value("window_end[0]")) != (device.heap.base, device.heap.end):
            raise DriverError(f"the arrays of the launch at {handle:#x} lay from {value('window_base[0]'):#x} to "
                              f"{value('window_end[0]'):#x}, those of this device from {device.heap.base:#x} to "
                              f"{device.heap.end:#x}; open it with the memory_bytes and system_fraction of the other")

    def _reserve(self, block: DescriptorBlock, slot: int, handle: int, image: KernelImage) -> Launch:
        """Return a launch that holds the memory that a descriptor block names."""
        g, device, value = self.device.geometry, self.device, block.field
        held = [device.claim(address, size) for address, size in block.ranges]
        code = next((memory for memory in held if memory.address == value("code_base")), None)
        ccb, area = value("ccb_base"), value("area_bytes")
        if code is None or ccb != handle + block_bytes(g, len(held)):
            raise DriverError(f"the descriptor block at {handle:#x} does not name its own code and context")
        grid = value("grid_x"), value("grid_y"), value("grid_z")
        size = value("block", "x"), value("block", "y"), value("block", "z")
        launch = Launch(device, AdoptedKernel(device, image, code), slot, grid, size, value("shared_bytes"), handle,
                        ccb, area, self.launches)
        launch.held = held
        device.system.take(handle, ccb - handle + g.sms * ccb_bytes(g, area))
        if local := g.sms * g.tb_slots * launch.local_region_bytes:
            try:
                device.system.take(value("local_base"), local)
            except DriverError:
                device.system.free(handle)
                raise
            launch.local_base = value("local_base")
        return launch

    def _take_local(self, launch: Launch) -> None:
        """Allocate a region of local memory for each TB slot of each SM; zeros, so that no former owner shows."""
        g, device = self.device.geometry, self.device
        if size := g.sms * g.tb_slots * launch.local_region_bytes:
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

    def _registers(self, launch: Launch, threads: int, warps: int, words: list[int]) -> dict[str, int]:
        """Return the words of a launch's registers by name, in the order in which they are written."""
        code = launch.kernel.image
        plain = {
            "code_base": launch.kernel.address, "code_words": len(code.words),
            "grid_x": launch.grid[0], "grid_y": launch.grid[1], "grid_z": launch.grid[2],
            "reciprocal_x": -(-(1 << 20) // launch.block[0]), "reciprocal_y": -(-(1 << 20) // launch.block[1]),
            "shared_bytes": -(-launch.shared_bytes // 4) * 4, "ccb_base": launch.ccb_base,
            "area_bytes": launch.area_bytes,
            "local_base": launch.local_base, "local_bytes": code.all_local_bytes,
            "const_base": launch.kernel.bank.address, "const_bytes": launch.kernel.bank.size,
            "window_base[0]": self.device.heap.base, "window_end[0]": self.device.heap.end,
        }
        for window in range(1, self.device.geometry.windows):
            plain |= {f"window_base[{window}]": 0, f"window_end[{window}]": 0}
        if self.device.geometry.traps:
            plain["trap_base"] = code.trap_base
        plain["block"] = self.host.pack("kernel[0].block", x=launch.block[0], y=launch.block[1], z=launch.block[2])
        plain["sizes"] = self.host.pack("kernel[0].sizes", threads=threads, registers=code.registers, warps=warps)
        params = range(self.device.geometry.param_words)  # all of them: a former kernel's must not be readable
        return plain | {f"param[{k}]": words[k] if k < len(words) else 0 for k in params}

    def _describe(self, launch: Launch, registers: Mapping[str, int]) -> None:
        """Write the registers of a kernel slot: all the same on each SM, but for where it saves TBs."""
        slot = f"kernel[{launch.slot}]"
        for name, value in registers.items():
            (self.host.hold if name == "trap_base" else self.host.write)(f"{slot}.{name}", value)
        for sm in range(1, self.device.geometry.sms):
            with self.host.of_sm(sm):
                self.host.write(f"{slot}.ccb_base", launch.ccb_of(sm))
                if launch.local_base:
                    self.host.write(f"{slot}.local_base", launch.local_of(sm))

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
        return launches, self.device.system.state(), self.device.heap.state(), self.host.held()

    def set_host_state(self, state: tuple) -> None:
        """Put back what `host_state` returned."""
        launches, system, heap, held = state
        self.host.set_held(held)
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
