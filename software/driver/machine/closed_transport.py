"""The machine of a device that has been closed."""

from __future__ import annotations

from typing import NoReturn

from .errors import Closed
from .transport import Transport

__all__ = ["ClosedTransport"]


class ClosedTransport:
    """A `Transport` that refuses everything.

    Parameters
    ----------
    machine : Transport
        Machine before the device was closed.
    """

    def __init__(self, machine: Transport):
        self.geometry, self.memory_bytes, self.name = machine.geometry, machine.memory_bytes, machine.name

    def _refuse(self, *_: object) -> NoReturn:
        raise Closed("this device has been closed; open another")

    read_register = write_register = peek_register = read_memory = write_memory = advance = wait = _refuse
    cycle = property(_refuse)
