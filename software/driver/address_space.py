"""Memory on a device with what lives there: arrays, modules, launches, streams; of the device itself or a tenant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from caesura.software.compiler import CompileOptions, KernelImage, read_source

from .core import DeviceCore
from .launch.arguments import triple, whole_number
from .launch.launch import Launch
from .launch.launcher import LaunchingDevice
from .launch.loaded import LoadedKernel
from .launch.module import Module
from .machine.errors import Closed, DriverError, OutOfMemory
from .machine.wanted import ADDRESS, FLAG, MANY_NAMES, PATH, TEXT, a, checked, many, optional, shown
from .memory.arrays import DeviceArray
from .memory.regions import Region
from .queues.options import QueueOptions
from .queues.queue import Queue
from .streams import Stream
from .time.simulated_time import DEFAULT_CYCLES

__all__ = ["AddressSpace"]


class AddressSpace(LaunchingDevice):
    """Memory of one owner on a device: its kernels reach the arrays of its heap, and nothing else.

    Parameters
    ----------
    core : DeviceCore
        The parts that all owners of memory share.
    system, heap : Region

    Attributes
    ----------
    launcher : Launcher
    system, heap : Region
    """

    def __init__(self, core: DeviceCore, system: Region, heap: Region):
        super().__init__(core.launcher, system, heap)
        self._core = core

    # Memory and code

    def array(self, values) -> DeviceArray:
        """Return a device array with a copy of a numpy array."""
        given, values = values, np.asarray(values)
        try:
            array = DeviceArray(self, values.shape, values.dtype, clear=False)
        except (Closed, OutOfMemory):
            raise
        except DriverError as error:
            raise DriverError(f"values: {error}: {shown(given)}") from None
        array.set(values)
        return array

    def zeros(self, shape, dtype: DTypeLike = np.float64) -> DeviceArray:
        """Return a device array of zeros."""
        return DeviceArray(self, shape, dtype)

    @checked(clear=FLAG)
    def empty(self, shape, dtype: DTypeLike = np.float64, *, clear: bool = True) -> DeviceArray:
        """Return a device array for results: zeros unless `clear` is False, then whatever the memory holds."""
        return DeviceArray(self, shape, dtype, clear)

    @checked(address=ADDRESS)
    def array_at(self, address: int, shape, dtype: DTypeLike = np.float64) -> DeviceArray:
        """Return a device array over memory that an adopted launch holds. The memory stays allocated while either the
        launch or an array uses it.

        Raises
        ------
        DriverError
            If no array begins there, or it is smaller.
        """
        self.require_open()
        memory = self.heap.holder(address)
        if memory is None or memory.address != address:
            raise DriverError(f"no array begins at {address:#x}; give the address of one that a launch holds")
        array = DeviceArray(self, shape, dtype, clear=False, memory=memory)
        if array.nbytes > memory.size:
            raise DriverError(f"the array at {address:#x} has {memory.size:,} bytes, {array.nbytes:,} are wanted for "
                              f"shape {shown(shape)} of {array.dtype}")
        return array

    @checked(images=many(KernelImage), check=FLAG)
    def load(self, images: Iterable[KernelImage], check: bool = True) -> Module:
        """Put compiled kernels into device memory.

        Parameters
        ----------
        images : iterable of KernelImage
        check : bool
            Check the code of the images too: instructions, registers, parameters, branches, and the end of the code.

        Raises
        ------
        software.compiler.ImageError
            If an image is wrong; none is loaded then.
        """
        return Module(self, images, check)

    @checked(path=PATH, kernels=optional(MANY_NAMES), eviction_check=FLAG)
    def load_ptx(self, path: str | Path, kernels: Collection[str] | None = None, *,
                 eviction_check: bool = False) -> Module:
        """Compile a PTX file for this SM, or take from the cache what has been compiled before, and load it.

        Parameters
        ----------
        path : path
        kernels : collection of str, optional
            Entry names; every kernel unless given.
        eviction_check : bool
            Thread blocks leave when they begin if the work that they belong to has been reset (`Device.work`).

        Raises
        ------
        software.compiler.CompileError
            If one of them cannot be compiled, or is not there.
        """
        from caesura.software.compiler import stored_module  # takes long to import: only where it is needed

        options = CompileOptions(max_registers=self.geometry.regs_per_thread, eviction_check=eviction_check)
        return self.load(stored_module(read_source(path), str(path), options, kernels).all_images().values())

    # Kernels

    @checked(kernel=a(LoadedKernel))
    def launch(self, kernel: LoadedKernel, grid, block, arguments: Sequence, shared_bytes: int = 0,
               entries: int = 0) -> Launch:
        """Start a kernel; see `Kernel.__call__`."""
        return self.launcher.start(kernel, triple(grid, "grid"), triple(block, "block"), arguments, shared_bytes,
                                   entries)

    @checked(kernels=many(LoadedKernel))
    def queue(self, kernels: Iterable[LoadedKernel], block_threads: int, *, shared_bytes: int = 0, packets: int = 16,
              priority: int = 0, capacity: int = 1) -> Queue:
        """Return a free hardware queue (docs/device.md), which stays the caller's until `Queue.end`. The first queue of
        a device reserves the upper half of the kernel slots for queues.

        Parameters
        ----------
        kernels : iterable of kernels
            The kernels that the queue can launch. The queue reserves memory to save their thread blocks.
        block_threads, shared_bytes : int
            The largest number of threads, and of bytes of shared memory, of a thread block.
        packets : int
            The number of launches that the queue holds, a power of two.
        priority : int
            0 to 15; the highest priority goes first.
        capacity : int
            The largest number of kernels in flight, up to `queue_capacity` of the geometry. It bounds the work that a
            reset has to evict (REEF 4.1). With 1 the kernels run in order. With more they begin in order, and the
            `barrier` of `Queue.launch` makes a kernel wait for those before it.

        Raises
        ------
        DriverError
            If the machine has no queue, none is left, or kernel slots that queues use are in use.
        """
        options = QueueOptions(tuple(kernels), block_threads, shared_bytes, packets, priority, capacity)
        return self._core.queues.make(self, options)

    @checked(name=TEXT)
    def stream(self, priority: int = 0, name: str = "") -> Stream:
        """Return a new stream: kernels, copies, events and calls that are carried out in order (docs/python.md).

        Parameters
        ----------
        priority : int
            A whole number from 0. The stream with the highest priority begins its work first, and kernels of streams
            with lower priorities are preempted for it (`Device.preempt_by`).
        name : str
            Name of the stream in messages.
        """
        return self._core.streams.make(self, whole_number(priority, "priority"), name)

    def synchronize(self, max_cycles: int = DEFAULT_CYCLES) -> int:
        """Let time pass until all streams of this owner are idle; return the cycles passed.

        Raises
        ------
        Exception
            The first failure that has not been reported yet; see `Stream.synchronize`.
        CycleLimit
            If it takes longer than `max_cycles`.
        """
        self.require_open()
        return self._core.streams.synchronize(self._core.streams.of(self), max_cycles)
