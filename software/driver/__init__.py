"""The driver: devices, modules, kernels, arrays, launches, preemption.

::

    transport  <--  host_interface  <--  memory   <--  loaded    <--  launch     <--  module      <--  device
    the machine     registers            regions       code           launcher        preemption
                                         arrays        variables      events          simulated_time
                                                                                      anticipation

Imports go to the left only. A `Device` is one user of a machine: memory of its own, and kernels in it.
"""

from .anticipation import Anticipation
from .arrays import DeviceArray
from .context import Contexts, StackEntry, TbContext, WarpContext
from .device import Device
from .errors import (
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
from .estimate import Estimate, TbEstimate
from .eviction import Piece, ResetReport, Work
from .inspection import WarpState
from .launch import Launch
from .module import Kernel, Module
from .preemption import PreemptReport, ResumeReport
from .streams import Event, KernelTask, Stream, Task, TaskState
from .switches import Switches
from .tenant import Tenant
from .textures import Texture
from .transport import Transport
from .variables import Variable

__all__ = ["Anticipation", "Closed", "CommandRefused", "ContextError", "Contexts", "CycleLimit", "Device",
           "DeviceArray", "DriverError", "Estimate", "Event", "FaultRecord", "Kernel", "KernelFault", "KernelTask",
           "Launch", "LaunchError", "Module", "NoSlot", "NoSuchKernel", "OutOfMemory", "Piece", "PreemptReport",
           "ResetReport", "ResumeReport", "StackEntry", "Stream", "Switches", "Task", "TaskState", "TbContext",
           "TbEstimate", "Tenant", "Texture", "Transport", "Variable", "WarpContext", "WarpState", "Work"]
