"""A stream, which carries out its tasks in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from ..launch.arguments import triple
from ..launch.launcher import Launcher
from ..launch.loaded import LoadedKernel
from ..machine.errors import CycleLimit, DriverError
from ..machine.host_interface import HostInterface
from ..machine.wanted import TEXT, Wanted, a, checked
from ..memory.arrays import DeviceArray
from ..memory.memory import DeviceMemory
from ..time.simulated_time import DEFAULT_CYCLES
from .task import Action, Call, KernelTask, Task, TaskState, Wait

__all__ = ["Event", "Stream"]


SomeTask = TypeVar("SomeTask", bound=Task)


class Conductor(Protocol):
    """The part of a device that all its streams share.

    Attributes
    ----------
    launcher : Launcher
    """

    launcher: Launcher

    def keep(self, stream: Stream) -> None:
        """Hold a stream that is not idle, even if nothing else holds it."""
        ...

    def go_on(self) -> None:
        """Begin the tasks that can begin, after one was put in."""
        ...

    def wait_until(self, done: Callable[[], bool], max_cycles: int) -> int:
        """Let time pass."""
        ...

    def close(self, stream: Stream) -> None:
        """End the tasks of a stream."""
        ...


class Event(Action):
    """A moment in a stream, at which all tasks before it have ended.

    Attributes
    ----------
    cycle : int or None
        Cycle in which the host saw this moment; None until then.
    """

    def __init__(self, stream: Stream):
        super().__init__(stream, "event", lambda: None)

    @property
    def cycle(self) -> int | None:
        """Cycle in which the host saw that all before it had ended; None until then, or if it never came to that."""
        return self.ended if self.state is TaskState.DONE else None

    @checked(other=Wanted("an Event", lambda value: isinstance(value, Event)))
    def since(self, other: Event) -> int:
        """Return the cycles from another event to this one.

        Raises
        ------
        DriverError
            If one of them has not come yet, or they are of two devices.
        """
        if other.stream.host is not self.stream.host:
            raise DriverError("the events are of two devices, each with a time of its own; take two of one device")
        if self.cycle is None or other.cycle is None:
            raise DriverError("an event that has not come yet has no time; wait for it")
        return self.cycle - other.cycle


class Stream:
    """Kernels, copies, events and calls in order; see `Device.stream`.

    Every method that puts something in returns a `Task` at once, without waiting. When a task fails, those behind it
    are cancelled. `synchronize` or the task's own `wait` raises the error once; after that the stream carries out new
    tasks.

    Parameters
    ----------
    streams : Conductor
        The `Streams` of the device.
    owner : DeviceMemory
        Owner of the kernels and arrays that it takes.
    priority : int
        The highest priority goes first.
    name : str
    number : int
        Number of the stream on its device, in the order of creation.
    """

    def __init__(self, streams: Conductor, owner: DeviceMemory, priority: int, name: str, number: int):
        self._streams, self.owner, self.priority, self.name = streams, owner, priority, name
        self.number = number
        self.tasks: deque[Task] = deque()
        self.turn = 0
        self.closed = False
        self._failed: Task | None = None

    def __repr__(self):
        return f"Stream({self.name}, priority {self.priority}, {len(self.tasks)} tasks)"

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if kind is None:
            self.synchronize()
        self.close()

    @property
    def cycle(self) -> int:
        """The cycle of the device."""
        return self.owner.transport.cycle

    @property
    def host(self) -> HostInterface:
        """The device."""
        return self.owner.host

    # Tasks

    @checked(kernel=a(LoadedKernel))
    def launch(self, kernel: LoadedKernel, grid, block, arguments: Sequence, shared_bytes: int = 0) -> KernelTask:
        """Launch a kernel when all before it has ended; see `Kernel.__call__`.

        Raises
        ------
        LaunchError
            Raised by this call if the arguments do not match the parameters, or one of them has been freed. Also if the
            module has been unloaded, or a thread block does not fit the SM. Arrays, textures and code are those of this
            call, and stay until the task has ended.
        """
        self._check_open()
        self._check_device(kernel.device, f"kernel {kernel.image.name!r}")
        if kernel.device is not self.owner:
            raise DriverError(f"kernel {kernel.image.name!r} is of {kernel.device.name}, the stream of "
                              f"{self.owner.name}; use one of its own")
        return self._put(KernelTask(self, self._streams.launcher, kernel, triple(grid, "grid"), triple(block, "block"),
                                    arguments, shared_bytes))

    @checked(array=a(DeviceArray))
    def copy_to(self, array: DeviceArray, values) -> Task:
        """Copy a numpy array to a device array, as `DeviceArray.set`; the values are those of now. The array's memory
        stays until the task has ended.

        Raises
        ------
        ValueError
            Raised by this call if the values do not fit the array.
        """
        self._check_array(array)
        return self._put(Action(self, "copy to the device", array.writer(values)))

    @checked(array=a(DeviceArray))
    def copy_from(self, array: DeviceArray) -> Task:
        """Copy a device array, whose memory stays until the copy is done; the result of the task is a numpy array."""
        self._check_array(array)
        return self._put(Action(self, "copy from the device", array.reader()))

    @checked(name=TEXT)
    def call(self, function: Callable[[], Any], name: str = "") -> Task:
        """Call a function of the host, without arguments, which may use the device, put more into streams, and wait for
        others. The first thread to see that it is the function's turn calls it: this one, or any that waits.

        Its return value is the task's result, and its exception the task's error. `KeyboardInterrupt` (Ctrl-C) is
        raised in that thread too.

        Raises
        ------
        DriverError
            Raised by this call if the function cannot be called.
        """
        self._check_open()
        if not callable(function):
            raise DriverError(f"a stream calls functions, and {function!r} is none; give the function itself, not what "
                              "it returns, for example a lambda")
        return self._put(Call(self, name or getattr(function, "__name__", "call"), function))

    def record(self) -> Event:
        """Return an event that comes when all before it has ended."""
        self._check_open()
        return self._put(Event(self))

    @checked(awaited=a(Task))
    def wait_event(self, awaited: Task) -> Task:
        """Have later tasks of this stream wait for an event, or any other task, of another stream of the device."""
        self._check_open()
        if awaited.stream.host is not self.host:
            raise DriverError(f"{awaited.name} is of another device; a stream waits for what its own does")
        return self._put(Wait(self, awaited))

    def _put(self, task: SomeTask) -> SomeTask:
        self.tasks.append(task)
        self._streams.keep(self)
        self._streams.go_on()
        return task

    def _check_open(self) -> None:
        self.owner.require_open()
        if self.closed:
            raise DriverError(f"the stream {self.name} has been closed; make another")

    def _check_device(self, device: DeviceMemory, what: str) -> None:
        if device.host is not self.host:
            raise DriverError(f"{what} is on another device than the stream {self.name}; use one of its own")

    def _check_array(self, array: DeviceArray) -> None:
        self._check_open()
        self._check_device(array.device, "the array")
        if array.device is not self.owner:
            raise DriverError(f"the array is of {array.device.name}, the stream of {self.owner.name}; use one of its "
                              "own")
        _ = array.memory

    # Waiting

    @property
    def settled(self) -> bool:
        """Whether it is idle, and has no failure to report."""
        return not self.tasks and self._failed is None

    @property
    def idle(self) -> bool:
        """Whether all its tasks are over."""
        return not self.tasks

    def synchronize(self, max_cycles: int = DEFAULT_CYCLES) -> int:
        """Let time pass until all its tasks are over; return the cycles passed.

        Raises
        ------
        Exception
            The error of the first task that failed since the last call.
        CycleLimit
            If it takes longer than `max_cycles`.
        """
        passed = self._streams.wait_until(lambda: self.idle, max_cycles)
        self.raise_failure()
        if not self.idle:
            raise CycleLimit(f"stream {self.name} has not ended after {passed} cycles: "
                             f"{self.tasks[0].name}, put in at {self.tasks[0].where}, is {self.tasks[0].state.value}")
        return passed

    def wait_for(self, task: Task, max_cycles: int) -> None:
        """Let time pass until a task is over; see `Task.wait`."""
        passed = self._streams.wait_until(lambda: task.over, max_cycles)
        if not task.over:
            raise CycleLimit(f"{task.name}, put into stream {self.name} at {task.where}, is {task.state.value} after "
                             f"{passed} cycles")

    def failed(self, task: Task) -> None:
        """Keep a failure until it has been reported."""
        self._failed = self._failed or task

    def noticed(self, task: Task) -> None:
        """Note that a failure has been reported."""
        if self._failed is task:
            self._failed = None

    def raise_failure(self) -> None:
        """Raise the first failure that has not been reported, if there is one."""
        if self._failed is not None:
            failed, self._failed = self._failed, None
            assert failed.error is not None
            raise failed.error

    def close(self) -> None:
        """Kill the running kernel, and drop the waiting tasks. Safe to repeat."""
        if not self.closed:
            self.closed = True
            self._streams.close(self)
            self._streams.go_on()
