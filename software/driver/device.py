"""The device: memory, modules, launches, preemption; the same on every transport."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .core import DeviceCore
from .launch.arguments import whole_number
from .launch.inspection import WarpState
from .launch.launch import Launch
from .machine.transport import Transport
from .machine.wanted import TEXT, WORD, Wanted, a, checked, many, optional
from .memory.memory import split_memory
from .memory.partition import Partition
from .preempting_device import PreemptingDevice
from .reset.eviction import Work
from .streams import Task
from .tenant import Tenant
from .time.simulated_time import DEFAULT_CYCLES, Observer

__all__ = ["Device"]


class Device(PreemptingDevice):
    """One SM with its memory, driven through registers; a context manager that closes itself.

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
        Geometry of the SM.
    system, heap : Region
        The two parts of the memory.
    observer : callable or None
        Called as ``observer(launch, cycle)`` at most ten times per second while time passes. Reads of the device take
        simulated time; `peek` and `Launch.peek_progress` take none. An observer that uses only these two does not
        change the run.

    Notes
    -----
    An interrupt (Ctrl-C) ends a wait within a fraction of a second, between two cycles. The device can then go on
    from there, for example with another `wait`.

    Examples
    --------
    >>> device = caesura.sim.open_device("rtl", "gtx480")           # doctest: +SKIP
    >>> module = device.load_ptx("pathfinder.ptx")                  # doctest: +SKIP
    >>> launch = module["pathfinder"](12, 256, arguments)           # doctest: +SKIP
    >>> device.advance(4000); device.preempt(launch)                # doctest: +SKIP
    """

    def __init__(self, transport: Transport, system_fraction: float = 0.5):
        super().__init__(DeviceCore(transport), *split_memory(transport, system_fraction))
        self._time = self._core.time
        self._partition = Partition(self.heap)

    def __repr__(self):
        what = f"{self.transport.name}, {self.geometry.name}, {self.transport.memory_bytes:,} bytes"
        return f"Device({what}, {'closed' if self.closed else f'cycle {self.cycle:,}'})"

    # The end

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""
        return self.host.closed

    def close(self) -> None:
        """End the machine and give its memory back. Any later use raises `Closed`, also in other threads that wait.
        Safe to repeat."""
        for launch in [*self.launches.values()]:
            launch.held = []
        self.host.close()

    def __enter__(self) -> Device:
        self.require_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Registers

    @checked(path=TEXT)
    def read(self, path: str) -> int:
        """Return a register by path, for example ``"kernel[0].state"``."""
        return self.host.read(path)

    @checked(path=TEXT)
    def peek(self, path: str) -> int | None:
        """Return a register without time passing, None on a machine that cannot (Amaranth's simulator)."""
        return self.host.peek(path)

    @checked(path=TEXT, value=optional(WORD))
    def write(self, path: str, value: int | None = None, **fields: int) -> None:
        """Write a register as a whole or by fields."""
        self.host.write(path, value, **fields)

    @checked(path=TEXT)
    def fields(self, path: str) -> dict[str, int]:
        """Return a register's fields."""
        return self.host.fields(path)

    # Launches

    @property
    def launches(self) -> Mapping[int, Launch]:
        """The last launch of each kernel slot that had one."""
        return self.launcher.launches

    def work(self) -> Work:
        """Return an empty set of launches that can be taken off the device together and launched again (docs/reset.md).

        Raises
        ------
        OutOfMemory
            If there is no room for its flag.
        """
        return Work(self, self._core)

    def host_state(self) -> tuple:
        """Return the driver's own state (launches, allocations), to go with a snapshot of the machine."""
        return self.launcher.host_state(), self._preemption.host_state()

    @checked(state=a(tuple))
    def set_host_state(self, state: tuple) -> None:
        """Put back what `host_state` returned."""
        launcher, preemption = state
        self.launcher.set_host_state(launcher)
        self._preemption.set_host_state(preemption)

    # Tenants and streams

    @checked(memory_bytes=WORD, system_bytes=optional(WORD), name=TEXT)
    def tenant(self, memory_bytes: int, *, system_bytes: int | None = None, launches: int | None = None,
               name: str = "") -> Tenant:
        """Return a new tenant: an owner of memory of its own, which no kernel of another owner reaches.

        Parameters
        ----------
        memory_bytes : int
            Size of its arrays and global variables, taken from the end of the device's heap.
        system_bytes : int, optional
            Size of its code, constants, contexts and local memory; `memory_bytes` unless given.
        launches : int, optional
            The largest number of launches that it may have at a time, preempted ones included; no limit unless given.
        name : str
            Name of the tenant in messages.

        Raises
        ------
        OutOfMemory
            If there is no room.
        If a launch or a queue of the device itself could reach the memory because it was made before.
        """
        return Tenant(self._core, self, self._partition, whole_number(memory_bytes, "memory_bytes"),
                      None if system_bytes is None else whole_number(system_bytes, "system_bytes"),
                      None if launches is None else whole_number(launches, "launches"), name)

    @property
    def tenants(self) -> list[Tenant]:
        """The tenants that have not been closed."""
        return [owner for owner in self.launcher.owners if isinstance(owner, Tenant)]

    @checked(tasks=many(Task))
    def wait_any(self, tasks: Iterable[Task], max_cycles: int = DEFAULT_CYCLES) -> Task:
        """Let time pass until one of some tasks of streams is over, and return this task.

        Raises
        ------
        CycleLimit
            If no task is over after `max_cycles`.
        """
        return self._core.streams.wait_any(tasks, max_cycles)

    # Time

    @property
    def cycle(self) -> int:
        """Cycles since the start of the machine; the access takes no simulated time."""
        return self.transport.cycle

    @property
    def observer(self) -> Observer | None:
        """Called with the launch and the cycle while time passes."""
        return self._time.observer

    @observer.setter
    @checked(observer=optional(Wanted("a function of a launch and a cycle", callable)))
    def observer(self, observer: Observer | None) -> None:
        self._time.observer = observer

    def advance(self, cycles: int) -> int:
        """Let `cycles` cycles pass, and return how many did: more if streams have begun something at the end.

        Raises
        ------
        LaunchError
            If `cycles` is not a whole number from 0.
        """
        return self._time.advance(cycles)

    @checked(launch=a(Launch))
    def run(self, launch: Launch, cycles: int) -> int:
        """Let `cycles` cycles pass, or fewer if a launch finishes; return the cycles passed. `wait` reports faults.

        Raises
        ------
        LaunchError
            If `cycles` is not a whole number from 0.
        """
        return self._time.run(launch, cycles)

    @checked(launch=a(Launch))
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

    # Inspection

    def warps(self) -> list[WarpState]:
        """Return the state of every warp on the SM."""
        return self._core.inspection.warps()

    def describe_warps(self) -> str:
        """Return a few lines with the state of every warp on the SM."""
        return self._core.inspection.describe_warps()
