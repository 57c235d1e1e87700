"""Fault kinds and command errors: what ends a TB, and what refuses a command, never the machine."""

import enum

__all__ = ["Fault", "CommandError"]


class Fault(enum.IntEnum):
    """Kind of a fault record. A fault ends the TB it happens in (docs/sm.md, Faults)."""

    NONE = 0
    ILLEGAL_OPCODE = 1
    """Opcode not in the table, misaligned register group, or ``pp`` without its ``pp.div``."""
    REGISTER_BOUND = 2
    """A register number at or beyond the kernel's allocation."""
    FETCH_BOUND = 3
    """PC at or beyond the kernel's code; ``bru`` to an address that no PC can hold; ``rejoin`` in
    an entry of the stack that has no end."""
    SHARED_BOUND = 4
    """Shared access beyond the TB's allocation."""
    GLOBAL_WINDOW = 5
    """Global access outside the kernel's windows."""
    MISALIGNED = 6
    """Address not a multiple of the access size."""
    STACK_OVERFLOW = 7
    """Divergence deeper than the SIMT stack."""
    BARRIER_DIVERGENT = 8
    """Barrier reached while other live lanes of the warp are elsewhere."""
    BARRIER_MISMATCH = 9
    """Every live warp of the TB waits, but not at the same barrier."""
    TRAP = 10
    """``trap`` executed."""
    BUS_ERROR = 11
    """The memory answered a load, store or fetch with an error."""
    PARAM_BOUND = 12
    """``ldp`` beyond the kernel's parameters."""
    LOCAL_BOUND = 13
    """Local access beyond the thread's local memory."""
    CONSTANT_BOUND = 14
    """Constant load beyond the kernel's constant bank."""


class CommandError(enum.IntEnum):
    """Why a command was refused or ended badly; in the status register."""

    NONE = 0
    UNKNOWN = 1
    """No such command or mechanism."""
    BUSY = 2
    """Another command of the kernel is still under way."""
    NOT_RUNNING = 3
    """The kernel is in a state in which the command means nothing (`arch.commands.REFUSED`)."""
    TOO_LARGE = 4
    """A TB of the kernel can never fit the SM."""
    AREA_TOO_SMALL = 5
    """The save area is smaller than `context.area_bound`; nothing was written."""
    BAD_IMAGE = 6
    """A saved entry or its stream is not what was written, or not of this kernel or geometry."""
    BUS_ERROR = 7
    """The memory answered a save or restore with an error;
    the TBs concerned stay where they were."""
    ABORTED = 8
    """The preempt or resume was withdrawn; nothing is lost."""
    NOT_IN_MEMORY = 9
    """Memory does not hold all of the kernel, with its record: preempt it once more, as a whole."""
    MISPLACED = 10
    """The parameters or the constants of the kernel do not lie at multiples of
    `arch.geometry.ALIGNED`, which the SM reads them at."""
