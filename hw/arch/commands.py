"""Commands and states of a kernel slot: which command is taken in which state, and where it leads.

The hardware and the golden model derive from `REFUSED`; the table of the documentation is held
against it.
"""

from __future__ import annotations

import enum

from .faults import CommandError

__all__ = ["Command", "KernelState", "Switch", "REFUSED", "BUSY_STATES", "STATE_ORDER"]


class Command(enum.IntEnum):
    """Values of ``command.op``."""

    START = 1
    """The kernel begins with its first TB."""
    PREEMPT = 2
    """Its TBs are saved and leave the SM; a resume under way is withdrawn first."""
    RESUME = 3
    """Its saved TBs come back, as there is room."""
    ABORT = 4
    """The preempt under way is withdrawn, and what it has saved is resumed; or the resume is
    withdrawn, and what has no room yet stays saved."""
    HASTEN = 5
    """The preempt under way waits no longer: warps stop at their next instruction."""
    KILL = 6
    """The kernel ends: nothing more of it is executed, saved or brought back."""
    ADOPT = 7
    """The kernel is taken over from memory: the record in its CCB says how far it was when it was
    preempted, whichever machine did that; a resume brings it back."""
    RELEASE = 8
    """The kernel slot is given up, as by a kill, if memory holds all of the kernel and its record:
    an adoption brings it back, into any slot. Else the command is refused."""


class KernelState(enum.IntEnum):
    """Values of ``kernel[k].state``."""

    IDLE = 0
    """Never started, or killed."""
    RUNNING = 1
    PREEMPTING = 2
    PREEMPTED = 3
    """Some of its TBs, or all, are saved; no fresh ones are launched. Others may run on, after a
    preempt that failed or a resume that was withdrawn."""
    RESUMING = 4
    """TBs come back, or wait for room."""
    FINISHED = 5
    KILLING = 6
    """Its TBs leave the SM; then memory has to answer what it was asked."""
    ADOPTING = 7
    """Its record and its entries are read."""


class Switch(enum.IntEnum):
    """How a preempt or a resume ended well: what the counters ``kernel[k].switches_*`` count, which
    bear these names.

    NVIDIA's ``GET_CTXSW_STATS`` tells saves apart in much the same way: after all work
    (`FINISHED`), between thread blocks (`DRAINED`), where work can be cut (`AT_POINTS`), and at any
    instruction (`AT_ONCE`).
    """

    AT_POINTS = 0
    """TBs were saved, each warp at a preemption point or a barrier."""
    AT_ONCE = 1
    """TBs were saved, and warps stopped at their next instruction."""
    DRAINED = 2
    """Nothing was to be saved; TBs of the grid are left."""
    FINISHED = 3
    """Nothing was to be saved, and the kernel is done."""
    CHECKPOINTED = 4
    """TBs were saved, and run on."""
    RESUMED = 5
    """All that was saved has come back."""


_BUSY, _NOT_RUNNING = CommandError.BUSY, CommandError.NOT_RUNNING
(_IDLE, _RUNNING, _PREEMPTING, _PREEMPTED, _RESUMING, _FINISHED, _KILLING,
 _ADOPTING) = KernelState
_START = {_RUNNING: _BUSY, _PREEMPTING: _BUSY, _PREEMPTED: _NOT_RUNNING, _RESUMING: _BUSY,
          _KILLING: _BUSY, _ADOPTING: _BUSY}

REFUSED: dict[Command, dict[KernelState, CommandError]] = {
    Command.START: _START,
    Command.PREEMPT: {_IDLE: _NOT_RUNNING, _PREEMPTING: _BUSY, _FINISHED: _NOT_RUNNING,
                      _KILLING: _BUSY, _ADOPTING: _BUSY},
    Command.RESUME: {_IDLE: _NOT_RUNNING, _RUNNING: _NOT_RUNNING, _PREEMPTING: _BUSY,
                     _RESUMING: _BUSY, _FINISHED: _NOT_RUNNING, _KILLING: _BUSY, _ADOPTING: _BUSY},
    Command.ABORT: {_IDLE: _NOT_RUNNING, _RUNNING: _NOT_RUNNING, _PREEMPTED: _NOT_RUNNING,
                    _FINISHED: _NOT_RUNNING, _KILLING: _BUSY, _ADOPTING: _BUSY},
    Command.HASTEN: {_IDLE: _NOT_RUNNING, _RUNNING: _NOT_RUNNING, _PREEMPTED: _NOT_RUNNING,
                     _RESUMING: _NOT_RUNNING, _FINISHED: _NOT_RUNNING, _KILLING: _BUSY,
                     _ADOPTING: _BUSY},
    Command.KILL: {_IDLE: _NOT_RUNNING, _FINISHED: _NOT_RUNNING, _KILLING: _BUSY},
    Command.ADOPT: _START,
    Command.RELEASE: {_IDLE: _NOT_RUNNING, _RUNNING: _BUSY, _PREEMPTING: _BUSY, _RESUMING: _BUSY,
                      _FINISHED: _NOT_RUNNING, _KILLING: _BUSY, _ADOPTING: _BUSY},
}
"""Why a command is refused in a state of its kernel; in the other states it is taken.

In `KernelState.PREEMPTED` it counts whether the kernel is *recorded*: its record is in memory, and
nothing of it has run since. A release is refused as `CommandError.NOT_IN_MEMORY` if it is not. A
preempt is refused as `CommandError.NOT_RUNNING` if no TB of the kernel is on the SM and it is, or
the preempt is in place or a checkpoint; else it evicts what stays, and writes the record."""

STATE_ORDER = (_KILLING, _PREEMPTING, _RESUMING, _ADOPTING, _PREEMPTED, _RUNNING, _FINISHED)
"""The state of a kernel on several SMs is the first of these that the kernel has on any SM. So the
kernel is preempted while any SM has saved something of it."""
BUSY_STATES = (_PREEMPTING, _RESUMING, _KILLING, _ADOPTING)
"""States in which something is under way that ends with an event."""
