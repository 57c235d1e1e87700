"""Tenants: owners of memory on one device, whose kernels reach nothing of each other."""

from __future__ import annotations

from caesura.hw.arch.geometry import SEGMENT_BYTES

from .address_space import AddressSpace
from .core import DeviceCore
from .launch.arguments import whole_number
from .launch.launch import Launch
from .machine.errors import Closed, DriverError
from .machine.lock import whole
from .machine.transport import Transport
from .machine.wanted import a, checked
from .memory.memory import HEAP_ALIGN, heap_region
from .memory.partition import Partition
from .memory.regions import Region
from .time.simulated_time import DEFAULT_CYCLES

__all__ = ["Tenant"]


class Tenant(AddressSpace):
    """One of several owners of memory on a device; see `Device.tenant`.

    The window of its kernels is a range of memory of its own, with its arrays and global variables. Its code,
    constants, contexts and local memory lie in another range, which no kernel reaches. Both ranges are cleared at the
    beginning and the end. It shares the SMs, the kernel slots and the time with all others.

    It is used like a device: `array`, `zeros`, `load`, kernels that are called, `stream`, `queue`. Only the device
    preempts (`Device.preempt` takes launches of tenants).

    Parameters
    ----------
    core : DeviceCore
    device : AddressSpace
        Device that gives it memory.
    partition : Partition
        Partition of the device's heap.
    memory_bytes : int
    system_bytes : int or None
    launches : int or None
    name : str

    Attributes
    ----------
    name : str
    """

    def __init__(self, core: DeviceCore, device: AddressSpace, partition: Partition, memory_bytes: int,
                 system_bytes: int | None, launches: int | None, name: str):
        device.require_open()
        with device.lock:
            self._take(core, device, partition, memory_bytes, system_bytes)
        self.name = name or f"tenant {len(core.launcher.owners) - 1}"
        self.system.what, self.heap.what = f"system memory of {self.name}", f"memory of {self.name}"
        self.launch_limit = launches
        self._clear()

    def _take(self, core: DeviceCore, device: AddressSpace, partition: Partition, memory_bytes: int,
              system_bytes: int | None) -> None:
        """Take memory from the device."""
        self._device, self._partition, self._closing, self._closed = device, partition, False, False
        size = max(1, -(-memory_bytes // HEAP_ALIGN)) * HEAP_ALIGN
        more = size if system_bytes is None else max(1, -(-system_bytes // SEGMENT_BYTES)) * SEGMENT_BYTES
        _check_windows(core, device, partition.end_after(size))
        system = device.system.allocate(more)
        try:
            start, end = partition.take(size)
        except BaseException:
            device.system.free(system)
            raise
        for queue in core.queues.of(device):
            queue.fit_window()
        self._given = system, start
        super().__init__(core, Region(system, system + more, SEGMENT_BYTES, "system memory"),
                         heap_region(device.transport, start, end))

    def __repr__(self):
        if self._closed:
            return f"Tenant({self.name}, closed)"
        return f"Tenant({self.name}, {self.heap.end - self.heap.base:,} bytes)"

    def __enter__(self) -> Tenant:
        self.require_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether `close` has been completed, or the device is closed."""
        return self._closed or self.host.closed

    @property
    def transport(self) -> Transport:
        """The machine, while the tenant has memory there."""
        if self._closed:
            raise Closed(f"{self.name} has been closed, and its memory is others'")
        return self.host.transport

    def require_open(self) -> None:
        """Raise `Closed` if the tenant or the device has been closed, or the tenant is being closed."""
        super().require_open()
        _ = self.transport
        if self._closing:
            raise Closed(f"{self.name} is being closed, and begins nothing more; if its close was cut short, close it "
                         "again")

    @checked(launch=a(Launch))
    def wait(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> int:
        """Let time pass until a launch of its own has finished; see `Device.wait`."""
        limit = whole_number(max_cycles, "max_cycles")
        self._check_own(launch)
        return self._core.time.wait(launch, limit)

    @checked(launch=a(Launch))
    def kill(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> None:
        """End a launch of its own, whatever it does; see `Device.kill`."""
        limit = whole_number(max_cycles, "max_cycles")
        self._check_own(launch)
        self._core.preemption.kill(launch, limit)

    def _check_own(self, launch: Launch) -> None:
        self.require_open()
        if launch.device.host is not self.host:
            raise DriverError(f"the launch of kernel {launch.kernel.image.name!r} was launched on another device than "
                              f"{self.name}")
        if launch.device is not self:
            raise DriverError(f"the launch of kernel {launch.kernel.image.name!r} is of {launch.device.name}, not of "
                              f"{self.name}")

    def close(self, max_cycles: int = DEFAULT_CYCLES) -> None:
        """End all its work in any state, clear its memory, and give it back. It begins nothing more from the call on.
        Safe to repeat, also from several threads, and after a close that was cut short.

        Raises
        ------
        CycleLimit
            If memory has not answered a kernel's requests after `max_cycles`. Nothing is given back then, and another
            call goes on.
        """
        limit = whole_number(max_cycles, "max_cycles")
        with self.lock:  # who has looked whether it is open has begun what it was to begin
            if self.closed:
                return
            self._closing = True
        try:
            self._end_all(limit)
        except DriverError:
            if not self.closed:
                raise  # else another thread has closed it meanwhile

    def _end_all(self, max_cycles: int) -> None:
        """End all its work until nothing is left, and give the memory back."""
        core = self._core
        for stream in core.streams.of(self):
            stream.close()
        for queue in core.queues.of(self):
            queue.end(max_cycles)
        while True:
            for launch in core.launcher.slots.of(self):
                try:
                    core.preemption.kill(launch, max_cycles)
                except DriverError:
                    if not launch.ended:
                        raise  # else it has ended while others were killed, and another thread's launch has its slot
            if self._give_back():
                return

    @whole
    def _give_back(self) -> bool:
        """Clear the memory, and give it back to the device, once; return False if a launch has not ended."""
        if self._closed:
            return True
        launches = self._core.launcher.slots.of(self)
        if not all(launch.ended for launch in launches):
            return False
        for launch in launches:
            self._core.launcher.slots.drop(launch)
        self._clear()
        system, heap = self._given
        self._device.system.free(system)
        self._partition.give_back(heap)
        self._core.launcher.owners.remove(self)
        self._closed = True
        return True

    def _clear(self) -> None:
        for region in (self.system, self.heap):
            self.clear(region.base, region.end - region.base)


def _check_windows(core: DeviceCore, device: AddressSpace, end: int) -> None:
    """Refuse to take memory, from `end` on, that is in the window of a kernel of the device itself."""
    running = [launch for launch in core.launcher.slots.of(device) if launch.window_end > end and not launch.ended]
    if running or any(queue.window_end > end and queue.unfinished() for queue in core.queues.of(device)):
        what = f"kernel {running[0].kernel.image.name!r}" if running else "a hardware queue"
        raise DriverError(f"{what} of the device itself was given the memory that the tenant would have; make tenants "
                          "first, or wait for the launches")
