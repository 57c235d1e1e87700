"""The driver: devices, modules, kernels, arrays, launches, preemption."""

from .constants import Constant
from .context import StackEntry, TbContext, WarpContext
from .device import Device
from .errors import CommandRefused, CycleLimit, DriverError, FaultRecord, KernelFault, LaunchError
from .launch import Launch, PreemptReport, ResumeReport, WarpState
from .memory import DeviceArray
from .module import Kernel, Module
from .transport import Transport

__all__ = ["Device", "Launch", "PreemptReport", "ResumeReport", "WarpState", "Module", "Kernel", "DeviceArray",
           "Constant", "Transport", "TbContext", "WarpContext", "StackEntry", "DriverError", "LaunchError",
           "CommandRefused", "CycleLimit", "KernelFault", "FaultRecord"]
