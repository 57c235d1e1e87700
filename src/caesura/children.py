"""Processes that end with the one that started them, however it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["end_with_parent"]

_PR_SET_PDEATHSIG = 1
"""Option of prctl(2): the signal that the kernel sends when the parent ends, or rather the thread that started this."""
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def end_with_parent(parent: int) -> None:
    """Let this process be killed as soon as its parent ends, by SIGKILL too; called in the new process.

    The thread of the parent that started this process has to live as long.

    Parameters
    ----------
    parent : int
        Process number of the parent: if it has ended already, so does this one.
    """
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
