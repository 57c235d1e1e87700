"""Streams: kernels, copies, events and calls of the host in order, any number of them at the same time.

::

    Stream   --  what a program sees: put something in, wait for it
    Task     --  what was put in: waits, begins, ends, is cancelled
    Streams  --  begins what is ready whenever time has passed; all streams of a device
    Priorities   preempts kernels for those of streams with a higher priority, and brings them back

Streams are the host's: they need no queue in hardware, and are the same on every machine. Time passes only while the
host waits (`Device.advance`, `wait`, `Stream.synchronize`), and so does what streams do.
"""

from .stream import Event, Stream
from .streams import Streams
from .task import KernelTask, Task, TaskState

__all__ = ["Event", "KernelTask", "Stream", "Streams", "Task", "TaskState"]
