"""The driver: devices, modules, kernels, arrays, launches, preemption.

::

    transport  <--  host_interface  <--  memory   <--  loaded    <--  launch     <--  module      <--  device
    the machine     registers            regions       code           launcher        preemption
                                         arrays        variables      events          simulated_time
                                                                                      anticipation

Imports go to the left only. A `Device` is one user of a machine: memory of its own, and kernels in it.
"""

from .device import Device
from .launch.context import Contexts, StackEntry, TbContext, WarpContext
from .launch.inspection import WarpState
from .launch.launch import Launch
from .launch.module import Kernel, Module
from .launch.switches import Switches
from .machine.errors import (
    Closed,
    CommandRefused,
    ContextError,
    CycleLimit,
    DriverError,
    FaultRecord,
    KernelFault,
    LaunchError,
    NoSlot,
    NoSuchKernel,
    OutOfMemory,
)
from .machine.transport import Transport
from .memory.arrays import DeviceArray
from .memory.textures import Texture
from .memory.variables import Variable
from .preemption.anticipation import Anticipation
from .preemption.estimate import Estimate, TbEstimate
from .preemption.reports import PreemptReport, ResumeReport
from .reset.eviction import Piece, ResetReport, Work
from .streams import Event, KernelTask, Stream, Task, TaskState
from .tenant import Tenant

__all__ = ["Anticipation", "Closed", "CommandRefused", "ContextError", "Contexts", "CycleLimit", "Device",
           "DeviceArray", "DriverError", "Estimate", "Event", "FaultRecord", "Kernel", "KernelFault", "KernelTask",
           "Launch", "LaunchError", "Module", "NoSlot", "NoSuchKernel", "OutOfMemory", "Piece", "PreemptReport",
           "ResetReport", "ResumeReport", "StackEntry", "Stream", "Switches", "Task", "TaskState", "TbContext",
           "TbEstimate", "Tenant", "Texture", "Transport", "Variable", "WarpContext", "WarpState", "Work"]
