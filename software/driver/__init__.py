"""The driver: devices, modules, kernels, arrays, launches, preemption."""

from .context import StackEntry, TbContext, WarpContext
from .device import Device
from .errors import CommandRefused, CycleLimit, DriverError, FaultRecord, KernelFault, LaunchError
from .launch import Launch, PreemptReport, ResumeReport, WarpState
from .memory import DeviceArray
from .module import Kernel, Module
from .textures import Texture
from .transport import Transport
from .variables import Variable

__all__ = ["Device", "Launch", "PreemptReport", "ResumeReport", "WarpState", "Module", "Kernel", "DeviceArray",
           "Variable", "Texture", "Transport", "TbContext", "WarpContext", "StackEntry", "DriverError", "LaunchError",
           "CommandRefused", "CycleLimit", "KernelFault", "FaultRecord"]
