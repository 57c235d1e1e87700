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
    NoSuchKernel,
    OutOfMemory,
)
from .estimate import Estimate, TbEstimate
from .eviction import Piece, ResetReport, Work
from .inspection import WarpState
from .launch import Launch
from .module import Kernel, Module
from .preemption import PreemptReport, ResumeReport
from .switches import Switches
from .textures import Texture
from .transport import Transport
from .variables import Variable

__all__ = ["Device", "Launch", "PreemptReport", "ResumeReport", "Anticipation", "Estimate", "TbEstimate", "Switches",
           "Work", "Piece", "ResetReport", "WarpState", "Module", "Kernel", "DeviceArray", "Variable", "Texture",
           "Transport", "Contexts", "TbContext", "WarpContext", "StackEntry", "DriverError", "LaunchError",
           "NoSuchKernel", "OutOfMemory", "ContextError", "Closed", "CommandRefused", "CycleLimit", "KernelFault",
           "FaultRecord"]
