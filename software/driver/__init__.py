"""The driver: devices, modules, kernels, arrays, launches, preemption."""

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
from .launch import Launch, PreemptReport, ResumeReport, WarpState
from .memory import DeviceArray
from .module import Kernel, Module
from .textures import Texture
from .transport import Transport
from .variables import Variable

__all__ = ["Device", "Launch", "PreemptReport", "ResumeReport", "WarpState", "Module", "Kernel", "DeviceArray",
           "Variable", "Texture", "Transport", "Contexts", "TbContext", "WarpContext", "StackEntry", "DriverError",
           "LaunchError", "NoSuchKernel", "OutOfMemory", "ContextError", "Closed", "CommandRefused", "CycleLimit",
           "KernelFault", "FaultRecord"]
