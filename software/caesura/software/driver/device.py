"""The device: memory, modules, launches, preemption; the same on every transport."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from caesura.hw.arch.context import Mechanism
from caesura.software.compiler import CompileOptions, KernelImage, read_source

from .arrays import DeviceArray
from .context import Contexts
from .host_interface import HostInterface
from .inspection import Inspection, WarpState
from .launch import Launch
from .launcher import LaunchingDevice
from .loaded import LoadedKernel
from .module import Module
from .preemption import Preemption, PreemptReport, ResumeReport
from .simulated_time import DEFAULT_CYCLES, Observer, SimulatedTime
from .transport import Transport

__all__ = ["Device"]


class Device(LaunchingDevice):
    """One SM with its memory, driven through registers; a context manager that closes itself.

    One thread uses it at a time.

    Parameters
    ----------
    transport : Transport
        The machine.
    system_fraction : float
        Share of the memory for code and contexts; the rest holds arrays, and is the kernels' global window.

    Attributes
    ----------
    transport : Transport
    geometry : Geometry
        Of the SM.
    system, heap : Region
        The two parts of the memory.
    observer : callable or None
        Called as ``observer(launch, cycle)`` ten times a second at most while time passes. Reading the device takes
        simulated time, `peek` and `Launch.peek_progress` do not: with them what is observed is what would happen
        anyway.

    Notes
    -----
    An interrupt (Ctrl-C) ends what waits within a fraction of a second, between two cycles: the device goes on where
    it stands, for example with another `wait`.

    Examples
    --------
    >>> device = caesura.sim.open_device("rtl", "gtx480")           # doctest: +SKIP
    >>> module = device.load_ptx("pathfinder.ptx")                  # doctest: +SKIP
    >>> launch = module["pathfinder"](12, 256, arguments)           # doctest: +SKIP
    >>> device.advance(4000); device.preempt(launch)                # doctest: +SKIP
    """

    def __init__(self, transport: Transport, system_fraction: float = 0.5):
        super().__init__(HostInterface(transport), system_fraction)
        self._inspection = Inspection(self.host, self.launches)
        self._time = SimulatedTime(self.launcher, self._inspection)
        self._preemption = Preemption(self.launcher, self._time, self._inspection)

    def __repr__(self):
        what = f"{self.transport.name}, {self.geometry.name}, {self.transport.memory_bytes:,} bytes"
        return f"Device({what}, {'closed' if self.closed else f'cycle {self.cycle:,}'})"

    # The end

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""
        return self.host.closed

    def close(self) -> None:
        """End the machine and give its memory back; any later use of it is a `Closed` error. Safe to repeat."""
        for launch in self.launches.values():
            launch.held = []
        self.host.close()

    def __enter__(self) -> Device:
        self.require_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Registers

    def read(self, path: str) -> int:
        """Return a register by path, for example ``"kernel[0].state"``."""
        return self.host.read(path)

    def peek(self, path: str) -> int | None:
        """Return a register without time passing, None on a machine that cannot (Amaranth's simulator)."""
        return self.host.peek(path)

    def write(self, path: str, value: int | None = None, **fields: int) -> None:
        """Write a register as a whole or by fields."""
        self.host.write(path, value, **fields)

    def fields(self, path: str) -> dict[str, int]:
        """Return a register's fields."""
        return self.host.fields(path)

    # Memory and code

    def array(self, values) -> DeviceArray:
        """Return a device array with a copy of a numpy array."""
        values = np.asarray(values)
        array = DeviceArray(self, values.shape, values.dtype, clear=False)
        array.set(values)
        return array

    def zeros(self, shape, dtype: DTypeLike = np.float64) -> DeviceArray:
        """Return a device array of zeros."""
        return DeviceArray(self, shape, dtype)

    def empty(self, shape, dtype: DTypeLike = np.float64, *, clear: bool = True) -> DeviceArray:
        """Return a device array for results: zeros unless `clear` is False, then whatever the memory holds."""
        return DeviceArray(self, shape, dtype, clear)

    def load(self, images: Iterable[KernelImage]) -> Module:
        """Put compiled kernels into device memory."""
        return Module(self, images)

    def load_ptx(self, path: str | Path, kernels: Collection[str] | None = None) -> Module:
        """Compile a PTX file for this SM, or take from the cache what has been compiled before, and load it.

        Parameters
        ----------
        path : path
        kernels : collection of str, optional
            Entry names; every kernel unless given.

        Raises
        ------
        software.compiler.CompileError
            If one of them cannot be compiled, or is not there.
        """
        from caesura.software.compiler import stored_module  # takes long to import: only where it is needed

        options = CompileOptions(max_registers=self.geometry.regs_per_thread)
        return self.load(stored_module(read_source(path), str(path), options, kernels).all_images().values())

    # Launches

    @property
    def launches(self) -> Mapping[int, Launch]:
        """The last launch of each kernel slot that had one."""
        return self.launcher.launches

    def launch(self, kernel: LoadedKernel, grid, block, arguments: Sequence, shared_bytes: int = 0) -> Launch:
        """Start a kernel; see `Kernel.__call__`."""
        return self.launcher.start(kernel, grid, block, arguments, shared_bytes)

    def host_state(self) -> tuple:
        """Return the driver's own state (launches, allocations), to go with a snapshot of the machine."""
        return self.launcher.host_state()

    def set_host_state(self, state: tuple) -> None:
        """Put back what `host_state` returned."""
        self.launcher.set_host_state(state)

    # Time

    @property
    def cycle(self) -> int:
        """Cycles since the start of the machine; asking takes none."""
        return self.transport.cycle

    @property
    def observer(self) -> Observer | None:
        """Told what goes on while time passes."""
        return self._time.observer

    @observer.setter
    def observer(self, observer: Observer | None) -> None:
        self._time.observer = observer

    def advance(self, cycles: int) -> int:
        """Let `cycles` cycles pass.

        Raises
        ------
        LaunchError
            If `cycles` is not a whole number from 0.
        """
        return self._time.advance(cycles)

    def run(self, launch: Launch, cycles: int) -> int:
        """Let `cycles` cycles pass, fewer if a launch finishes; return the cycles passed. A fault is left to `wait`.

        Raises
        ------
        LaunchError
            If `cycles` is not a whole number from 0.
        """
        return self._time.run(launch, cycles)

    def wait(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> int:
        """Let time pass until a launch has finished; return the cycles passed.

        Raises
        ------
        KernelFault
            If a TB of the launch faulted (after the launch has finished).
        CycleLimit
            If it has not finished after `max_cycles`.
        LaunchError
            If `max_cycles` is not a whole number from 0; also `preempt` and `resume`.
        DriverError
            If it is preempted.
        """
        return self._time.wait(launch, max_cycles)

    # Preemption

    def preempt(self, launch: Launch, mechanism: Mechanism | str = Mechanism.LIVE, *,
                scramble: bool = False, max_cycles: int = DEFAULT_CYCLES) -> PreemptReport | None:
        """Take a running launch off the SM and save it.

        Parameters
        ----------
        launch : Launch
        mechanism : hw.arch.context.Mechanism or str
            Or its name: ``"occupied"``, ``"live"``, ``"live+cp"``.
        scramble : bool
            Test mode: registers that are not saved come back as random bits.
        max_cycles : int

        Returns
        -------
        PreemptReport or None
            None if the launch finished before anything was saved.

        Raises
        ------
        CommandRefused
            If the launch does not run, or the memory failed.
        CycleLimit
            If it takes longer than `max_cycles`.
        """
        return self._preemption.preempt(launch, mechanism, scramble=scramble, max_cycles=max_cycles)

    def resume(self, launch: Launch, *, gang: bool = False, max_cycles: int = DEFAULT_CYCLES) -> ResumeReport:
        """Bring a preempted launch back; it runs on as time passes.

        Parameters
        ----------
        launch : Launch
        gang : bool
            TBs start together, when all for which there is room are back, rather than each when it is. The first
            instruction comes later; the restore has the bus to itself.
        max_cycles : int

        Raises
        ------
        CommandRefused
            If the launch is not preempted or its context cannot be read.
        CycleLimit
            If it takes longer than `max_cycles`.
        """
        return self._preemption.resume(launch, gang=gang, max_cycles=max_cycles)

    def context(self, launch: Launch) -> Contexts:
        """Return the saved TBs of a preempted launch, a list: PCs, masks, registers, sizes of every warp.

        Raises
        ------
        ContextError
            If what lies there is no context of this launch: something has written over it.
        """
        return self._preemption.context(launch)

    # Inspection

    def warps(self) -> list[WarpState]:
        """Return where every warp on the SM stands."""
        return self._inspection.warps()

    def describe_warps(self) -> str:
        """Return a few lines that say where every warp on the SM stands."""
        return self._inspection.describe_warps()
