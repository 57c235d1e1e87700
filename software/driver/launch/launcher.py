"""Starts kernels: gives a launch its kernel slot and its memory, and writes its registers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from caesura.hw.arch.commands import Command
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import WORD_BYTES
from caesura.hw.arch.image.context import area_bound, ccb_bytes
from caesura.software.compiler import KernelImage
from caesura.software.compiler.judge import judge

from ..machine.bounds import monitor_of
from ..machine.errors import CommandRefused, DriverError, LaunchError, LaunchLimit
from ..machine.host_interface import HostInterface
from ..machine.lock import FairLock, whole
from ..memory.memory import DeviceMemory, MemoryUser
from ..memory.regions import Region
from .adopted import check_registers, prepared_again
from .arguments import whole_number
from .descriptor_block import DescriptorBlock, block_bytes, parameter_offset
from .kernel_slots import KernelSlots
from .launch import Launch
from .loaded import AdoptedKernel, LoadedKernel, code_bytes
from .pointers import declare
from .prepared import PreparedLaunch

__all__ = ["Launcher", "LaunchingDevice"]


class Launcher:
    """Starts the kernels of all owners on a device.

    Parameters
    ----------
    host : HostInterface

    Attributes
    ----------
    host : HostInterface
    slots : KernelSlots
    owners : list of DeviceMemory
        Owners of memory on the device.
    come_back : callable
        Called to give a kernel slot to a preempted launch that has none.
    more_users : list of callable
        Functions that return the users of memory besides launches.
    """

    def __init__(self, host: HostInterface):
        self.host, self.slots = host, KernelSlots(host)
        self.owners: list[DeviceMemory] = []
        self.come_back: Callable[[Launch], None] = lambda launch: None
        self.more_users: list[Callable[[], Sequence[MemoryUser]]] = []

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self.host.lock

    @property
    def launches(self) -> dict[int, Launch]:
        """The last launch of each kernel slot that had a launch."""
        return self.slots.launches

    @whole
    def users(self) -> list[MemoryUser]:
        """Return the current and pending users of device memory: launches, preempted ones without a kernel slot,
        packets of queues, kernels that wait in streams."""
        others = [user for more in self.more_users for user in more()]
        return [*self.launches.values(), *self.slots.away, *others]

    @whole
    def prepare(self, kernel: LoadedKernel, grid, block, arguments: Sequence, shared_bytes: int = 0,
                entries: int = 0) -> PreparedLaunch:
        """Return a launch that is possible, with its arguments in their present state.

        Raises
        ------
        LaunchError
            If the launch is not possible.
        """
        kernel.device.require_open()
        if kernel.device.host is not self.host:
            raise LaunchError(f"kernel {kernel.image.name!r} was loaded on another device; load it on this one")
        return PreparedLaunch.of(kernel, grid, block, arguments, shared_bytes, entries)

    @whole
    def start(self, kernel: LoadedKernel, grid, block, arguments: Sequence, shared_bytes: int = 0,
              entries: int = 0) -> Launch:
        """Start a kernel; see `Kernel.__call__`."""
        return self.start_prepared(self.prepare(kernel, grid, block, arguments, shared_bytes, entries))

    @whole
    def start_prepared(self, prepared: PreparedLaunch) -> Launch:
        """Start a kernel that was prepared."""
        g, kernel, device = self.host.geometry, prepared.kernel, prepared.kernel.device
        device.require_open()
        self._check_limit(device)
        slot = self.slots.take()
        area = area_bound(g, prepared.warps(g), kernel.image.registers, prepared.shared_bytes)
        parameters = np.array(prepared.words, "<u4").tobytes()
        front = block_bytes(g, len(prepared.held), len(parameters))
        handle = device.system.allocate(front + g.sms * ccb_bytes(g, area, prepared.entries))
        launch = Launch(device, kernel, slot, prepared.grid, prepared.block, prepared.shared_bytes, handle,
                        handle + front, area, self.launches, prepared.entries)
        launch.held, launch.apart = prepared.held, prepared.apart
        try:
            self.slots.forget(launch)
            self._take_local(launch)
            launch.registers = registers = self._registers(launch, prepared, kernel.bank.size)
            held = [(memory.address, memory.size) for memory in prepared.held]
            left = DescriptorBlock(registers, held, parameters)
            device.transport.write_memory(handle, left.pack(g))
            self.describe(launch, registers)
            if (monitor := monitor_of(device.transport)) and prepared.pointers:
                declare(monitor, slot, device, prepared.pointers)
            self.command(Command.START, launch)
        except BaseException:
            self.slots.forget(launch)
            self.slots.give_back(launch)
            raise
        self.launches[slot] = launch
        return launch

    def _check_limit(self, device: DeviceMemory) -> None:
        """Refuse a launch if its owner already has as many as allowed."""
        limit = device.launch_limit
        if limit is not None and sum(not launch.ended for launch in self.slots.of(device)) >= limit:
            raise LaunchLimit(f"{device.name} may have {limit} launches at a time; wait for one to finish, kill one, "
                              "or put the launch into a stream")

    # Taken over from memory

    @whole
    def adopt(self, device: DeviceMemory, handle: int, image: KernelImage) -> Launch:
        """Begin to adopt a launch from memory of an owner; see `Device.adopt`."""
        device.require_open()
        judge(image, check=False)  # its code was, when it was loaded: it is compared with what lies in memory
        if monitor_of(device.transport):
            raise DriverError("a launch cannot be adopted where bounds are checked: which arrays its addresses come "
                              "from is not in memory; open the device without check_bounds")
        block = DescriptorBlock.read(device.transport, whole_number(handle, "handle"))
        self._check_image(device, block, handle, image)
        self._check_limit(device)
        launch = self._reserve(device, block, self.slots.take(), handle, image)
        try:
            prepared = prepared_again(device, launch, block, image)
            launch.registers = self._registers(launch, prepared, len(image.constants))
            check_registers(block, launch.registers, handle)
            self.describe(launch, launch.registers)
            self.command(Command.ADOPT, launch)
        except BaseException:
            launch.held = []
            self.slots.give_back(launch)
            raise
        slot = launch.slot
        self.launches[slot] = launch
        return launch

    def refused(self, launch: Launch) -> None:
        """Drop a launch after a failed adoption; memory stays as it is."""
        self.vacate(launch)
        launch.held = []
        self.slots.give_back(launch)

    def vacate(self, launch: Launch) -> None:
        """Undo an adoption that some SMs may have carried out, or may be about to. Memory stays as it is."""
        del self.launches[launch.slot]
        self.slots.closing.add(launch.slot)
        with contextlib.suppress(CommandRefused):  # all SMs refuse if none has the launch
            self.command(Command.KILL, launch)

    @staticmethod
    def _check_image(device: DeviceMemory, block: DescriptorBlock, handle: int, image: KernelImage) -> None:
        """Check that a descriptor block belongs to a kernel, and to a device with this memory."""
        value = block.field
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

    def _reserve(self, device: DeviceMemory, block: DescriptorBlock, slot: int, handle: int, image: KernelImage
                 ) -> Launch:
        """Return a launch that holds the memory that a descriptor block names."""
        g, value = device.geometry, block.field
        held = [device.claim(address, size) for address, size in block.ranges]
        code = next((memory for memory in held if memory.address == value("code_base")), None)
        ccb, area = value("ccb_base"), value("area_bytes")
        own = handle + block_bytes(g, len(held), len(block.parameters)), handle + parameter_offset(g, len(held))
        if (code is None or (ccb, value("param_base")) != own or value("param_bytes") != len(block.parameters)):
            raise DriverError(f"the descriptor block at {handle:#x} does not name its own code, parameters and context")
        grid = value("grid_x"), value("grid_y"), value("grid_z")
        size = value("block", "x"), value("block", "y"), value("block", "z")
        launch = Launch(device, AdoptedKernel(device, image, code), slot, grid, size, value("shared_bytes"), handle,
                        ccb, area, self.launches, value("entries"))
        launch.held = held
        device.system.take(handle, ccb - handle + g.sms * launch.ccb_bytes)
        if local := g.sms * launch.local_bytes:
            try:
                device.system.take(value("local_base"), local)
            except DriverError:
                device.system.free(handle)
                raise
            launch.local_base = value("local_base")
        return launch

    def _take_local(self, launch: Launch) -> None:
        """Allocate a region of local memory for each entry on each SM. It is cleared, so that no data of a former owner
        shows."""
        g, device = self.host.geometry, launch.device
        if size := g.sms * launch.local_bytes:
            launch.local_base = device.system.allocate(size)
            device.clear(launch.local_base, size)

    def check_device(self, launch: Launch) -> None:
        """Refuse a launch of another device."""
        if launch.device.host is not self.host:
            raise DriverError(f"kernel {launch.kernel.image.name!r} was launched on another device; use that one")

    def check_own(self, launch: Launch) -> None:
        """Refuse a launch of another device, or one that has ended and lost its slot to another launch. Give a
        preempted launch without a slot a new one."""
        self.check_device(launch)
        if launch.away is not None:
            self.come_back(launch)
        if self.launches.get(launch.slot) is not launch:
            raise DriverError(f"this launch of kernel {launch.kernel.image.name!r} has finished, and its slot holds "
                              "another launch; launch the kernel again")

    def _registers(self, launch: Launch, prepared: PreparedLaunch, const_bytes: int) -> dict[str, int]:
        """Return the words of a launch's registers by name, in the order of writing."""
        code, heap, g = launch.kernel.image, launch.device.heap, self.host.geometry
        plain = {
            "code_base": prepared.code_base, "code_words": len(code.words),
            "grid_x": launch.grid[0], "grid_y": launch.grid[1], "grid_z": launch.grid[2],
            "reciprocal_x": -(-(1 << 20) // launch.block[0]), "reciprocal_y": -(-(1 << 20) // launch.block[1]),
            "shared_bytes": -(-launch.shared_bytes // 4) * 4, "ccb_base": launch.ccb_base,
            "area_bytes": launch.area_bytes,
            "local_base": launch.local_base, "local_bytes": code.all_local_bytes,
            "const_base": prepared.const_base, "const_bytes": const_bytes,
            "param_base": launch.handle + parameter_offset(g, len(prepared.held)),
            "param_bytes": WORD_BYTES * len(prepared.words),
            "window_base[0]": heap.base, "window_end[0]": heap.end,
        }
        for window in range(1, g.windows):
            plain |= {f"window_base[{window}]": 0, f"window_end[{window}]": 0}
        if g.spare_entries:
            plain["entries"] = launch.entries
        if g.traps:
            plain["trap_base"] = code.trap_base
        plain["block"] = self.host.pack("kernel[0].block", x=launch.block[0], y=launch.block[1], z=launch.block[2])
        plain["sizes"] = self.host.pack("kernel[0].sizes", threads=prepared.threads, registers=code.registers,
                                        warps=prepared.warps(g))
        return plain

    def describe(self, launch: Launch, registers: Mapping[str, int]) -> None:
        """Write the registers of a kernel slot. Each SM gets the same values, except the addresses of its save
        areas."""
        slot = f"kernel[{launch.slot}]"
        for name, value in registers.items():
            (self.host.hold if name == "trap_base" else self.host.write)(f"{slot}.{name}", value)
        if self.host.geometry.proactive:
            self.host.write(f"{slot}.usual_cycles", round(launch.kernel.tb_cycles.get(launch.block, 0)))
        for sm in range(self.host.geometry.sms):
            if launch.ccb_of(sm) == launch.ccb_base:
                continue
            with self.host.of_sm(sm):
                self.host.write(f"{slot}.ccb_base", launch.ccb_of(sm))
                if launch.local_base:
                    self.host.write(f"{slot}.local_base", launch.local_of(sm))

    @whole
    def command(self, command: Command, launch: Launch, **fields: int) -> None:
        """Give a command for the slot of a launch; raise `CommandRefused` if the device does not take it."""
        self.host.write("event", refused=1)
        self.host.write("command", op=command, kernel=launch.slot, **fields)
        if self.host.fields("event")["refused"]:
            error = CommandError(self.host.fields("status")["error"])
            raise CommandRefused(f"{command.name.lower()} of kernel {launch.kernel.image.name!r}", error,
                                 state=launch.known_state())

    # Forks

    def host_state(self) -> tuple:
        """Return launches and allocations, to go with a snapshot of the machine."""
        launches = {slot: (launch, launch.fault, launch.local_base, launch.held)
                    for slot, launch in self.launches.items()}
        regions = [(owner, owner.system.state(), owner.heap.state()) for owner in self.owners]
        away = [(launch, launch.away) for launch in self.slots.away]
        return launches, regions, self.host.held(), away

    def set_host_state(self, state: tuple) -> None:
        """Put back what `host_state` returned."""
        launches, regions, held, away = state
        self.slots.away[:] = [launch for launch, _ in away]
        for launch, left in away:
            launch.away = left
            self.slots.restored(launch)
        self.host.set_held(held)
        self.launches.clear()
        self.launches.update({slot: launch for slot, (launch, *_) in launches.items()})
        for slot, (launch, fault, local_base, held) in launches.items():
            launch.slot, launch.away = slot, None
            self.slots.restored(launch)
            launch.fault, launch.local_base, launch.held = fault, local_base, held
        for owner, system, heap in regions:
            owner.system.set_state(system)
            owner.heap.set_state(heap)


class LaunchingDevice(DeviceMemory):
    """Memory of an owner, and the launcher of the kernels loaded in it.

    Parameters
    ----------
    launcher : Launcher
    system, heap : Region

    Attributes
    ----------
    launcher : Launcher
    """

    def __init__(self, launcher: Launcher, system: Region, heap: Region):
        super().__init__(launcher.host, system, heap)
        self.launcher = launcher
        self.users = launcher.users
        launcher.owners.append(self)
