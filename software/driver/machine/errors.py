"""Errors between a program and the device. Each message states the error, its place, and a remedy."""

from __future__ import annotations

from dataclasses import dataclass

from caesura.errors import UserError
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError, Fault
from caesura.hw.arch.geometry import ALIGNED
from caesura.software.compiler.origins import Origin

from .bounds import Violation

__all__ = ["DriverError", "LaunchError", "LaunchLimit", "NoSlot", "NoSuchKernel", "OutOfMemory", "ContextError",
           "Closed", "CommandRefused", "CycleLimit", "KernelFault", "FaultRecord"]


class DriverError(UserError):
    """Base of the driver's errors."""


class LaunchError(DriverError):
    """A launch with impossible arguments, block or sizes; nothing was started."""


class NoSlot(LaunchError):
    """All kernel slots are in use."""


class LaunchLimit(NoSlot):
    """An owner already has as many launches as it may have at a time."""


class NoSuchKernel(LaunchError, KeyError):
    """A module has no kernel of that name. It is a `KeyError` too, as with any mapping."""

    def __str__(self):
        return str(self.args[0])


class OutOfMemory(DriverError):
    """No room for an array, a module or a launch."""


class ContextError(DriverError):
    """A saved context in device memory is damaged or overwritten, or belongs to another machine."""


class Closed(DriverError):
    """The device has been closed."""


class CommandRefused(DriverError):
    """The device refused a command, or could not finish it.

    Attributes
    ----------
    error : CommandError
    state : KernelState or None
        State of the kernel when the command was refused; None if it is not known.
    """

    def __init__(self, what: str, error: CommandError, meaning: str | None = None, state: KernelState | None = None):
        self.error, self.state = error, state
        known = (CommandError.__doc__ or "") if error is CommandError.NONE else _MEANING.get(error, error.name)
        now = "" if state is None else f"; the kernel is {_STATES[state]}"
        super().__init__(f"{what}: {meaning or known}{now}")


_STATES = {
    KernelState.IDLE: "idle: it was killed, or never started",
    KernelState.RUNNING: "running",
    KernelState.PREEMPTING: "being preempted",
    KernelState.PREEMPTED: "preempted",
    KernelState.RESUMING: "being resumed",
    KernelState.FINISHED: "finished",
    KernelState.KILLING: "being killed",
    KernelState.ADOPTING: "being taken from memory",
}
_MEANING = {
    CommandError.UNKNOWN: "the device knows no such command or mechanism",
    CommandError.BUSY: "another command of the kernel is still under way; wait for it, abort it, or kill the kernel",
    CommandError.NOT_RUNNING: "the kernel is not in a state for it (only a running kernel can be preempted, only a "
                              "preempted one resumed, only a preempt or resume under way aborted)",
    CommandError.TOO_LARGE: "a thread block of the kernel can never fit the SM",
    CommandError.AREA_TOO_SMALL: "the save area is too small; nothing was written",
    CommandError.BAD_IMAGE: "the saved context is not what was saved: something has written there since; thread blocks "
                            "that were not restored stay saved",
    CommandError.BUS_ERROR: "the memory answered with an error; thread blocks not yet saved stay on the SM",
    CommandError.NOT_IN_MEMORY: "memory does not hold all of the kernel; preempt it once more, as a whole",
    CommandError.MISPLACED: f"the parameters of the kernel do not lie at a multiple of {ALIGNED['param_base']}, or its "
                            f"constants at one of {ALIGNED['const_base']}",
    CommandError.ABORTED: "it was aborted; thread blocks without room stay saved, all others run",
}


class CycleLimit(DriverError):
    """The cycle limit passed before a kernel finished; the message says where each warp stands."""


@dataclass(frozen=True)
class FaultRecord:
    """Facts that the device recorded about a fault.

    Attributes
    ----------
    kind : Fault
    kernel : str
        Name of the kernel.
    launch_id : int
        Linear TB index.
    warp : int
        Warp of the TB.
    pc : int
        Instruction word index.
    address : int
        Byte address, if the kind of fault has one.
    line : int
        Source line of the instruction, 0 if unknown.
    source : str
        Source file.
    instruction : str
        The instruction, disassembled, "" if unknown.
    origin : Origin or None
        Origin of the line before it was compiled to PTX, if the PTX states it.
    violation : Violation or None
        Access and thread that violated bounds, on a machine that checks them.
    """

    kind: Fault
    kernel: str
    launch_id: int
    warp: int
    pc: int
    address: int
    line: int = 0
    source: str = ""
    instruction: str = ""
    origin: Origin | None = None
    violation: Violation | None = None

    def __str__(self):
        places = [f"{self.source}:{self.line}"] * bool(self.line) + [str(self.origin)] * bool(self.origin)
        where = f" ({', '.join(places)})" if places else ""
        if self.violation is not None:
            return f"out of bounds in kernel {self.kernel!r}{where}: {self.violation}; PC {self.pc}: {self.instruction}"
        text = (f"fault {self.kind.name} in kernel {self.kernel!r}: TB {self.launch_id}, warp {self.warp}, "
                f"PC {self.pc}{where}")
        if self.kind in (Fault.SHARED_BOUND, Fault.GLOBAL_WINDOW, Fault.MISALIGNED, Fault.BUS_ERROR):
            text += f", address {self.address:#010x}"
        return text + (f": {self.instruction}" if self.instruction else "")


class KernelFault(DriverError):
    """A kernel faulted. Its faulting TBs have ended; everything else ran on.

    Attributes
    ----------
    record : FaultRecord or None
        Record of the first fault. It is None if the record was lost because another kernel's had not been read yet.
    where : str
        File and line of the call that launched the kernel, where that is known.
    """

    exit_code = 3

    def __init__(self, record: FaultRecord | None, kernel: str, tbs: int, where: str = ""):
        self.record, self.where = record, where
        launched = f"; launched at {where}" if where else ""
        if record is None:
            super().__init__(f"fault in kernel {kernel!r}: {tbs} of its TBs ended, where is not known, since the "
                             "record of another kernel's fault was waiting: run the kernels one after the other"
                             + launched)
        else:
            super().__init__(str(record) + (f" (and {tbs - 1} more TBs)" if tbs > 1 else "") + launched)
