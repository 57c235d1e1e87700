"""Schedulers, and their machines: the same scheduler runs on the RTL, the golden model and the discrete-event model.

::

    machine  <--  rules  <--  driver_machine     a device through the driver
             <-- priority a scheduler, which uses only the protocol

Imports go to the left only.
"""

from .machine import (
    Counts,
    Event,
    EventKind,
    KernelRun,
    Left,
    Machine,
    MachineError,
    QueueSpec,
    RunState,
    Submission,
)
from .machines.driver_machine import DriverMachine
from .policies.priority import TECHNIQUES, Arrival, PriorityScheduler, Request, Technique

__all__ = ["Counts", "Event", "EventKind", "Left", "Machine", "MachineError", "QueueSpec", "Submission", "KernelRun",
           "RunState", "DriverMachine", "TECHNIQUES", "Arrival", "PriorityScheduler", "Request", "Technique"]
