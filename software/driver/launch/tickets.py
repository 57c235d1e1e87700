"""The ticket by which a launch can be told to leave (`compiler.preemption.eviction_check`): a flag in memory, and a
word per launch that says whether any of its thread blocks has left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..memory.memory import DeviceMemory
from ..memory.regions import Allocation

__all__ = ["Flag", "Ticket", "Ticketed", "ticket_of"]

_WORD = 4
"""Bytes of a flag, and of a record."""


class Flag:
    """A word in device memory. Thread blocks of launches with this flag leave if it is not zero when they begin.

    Parameters
    ----------
    device : DeviceMemory

    Attributes
    ----------
    device : DeviceMemory
    memory : Allocation
    """

    def __init__(self, device: DeviceMemory):
        self.device = device
        self.memory = _word(device)

    @property
    def is_set(self) -> bool:
        """Value of the flag; the read takes no simulated time."""
        return _is_set(self.device, self.memory)

    def write(self, value: bool) -> None:
        """Set or clear the flag; loads from the next cycle on return the new value."""
        self.device.write_memory(self.memory.address, int(value).to_bytes(_WORD, "little"))


class Ticket:
    """The flag and the record of one launch.

    Parameters
    ----------
    flag : Flag

    Attributes
    ----------
    flag : Flag
    record : Allocation
        Word that thread blocks write when they leave.
    """

    def __init__(self, flag: Flag):
        self.flag = flag
        self.record = _word(flag.device)

    @classmethod
    def alone(cls, device: DeviceMemory) -> Ticket:
        """Return the ticket of a launch whose flag nothing sets."""
        return cls(Flag(device))

    @property
    def words(self) -> tuple[int, int]:
        """Addresses of flag and record, in the form of kernel parameters."""
        return self.flag.memory.address, self.record.address

    @property
    def memory(self) -> tuple[Allocation, Allocation]:
        """Memory that a launch with this ticket uses."""
        return self.flag.memory, self.record

    @property
    def left(self) -> bool:
        """Whether some thread block has left; the read takes no simulated time. Until the launch has ended, its last
        stores may still be on their way."""
        return _is_set(self.flag.device, self.record)


class Ticketed(list):
    """Arguments of a launch together with its ticket.

    Parameters
    ----------
    arguments : sequence
    ticket : Ticket
    """

    def __init__(self, arguments: Sequence, ticket: Ticket):
        super().__init__(arguments)
        self.ticket = ticket


class _Shared(Protocol):
    """Object that has a ticket for launches that were given none."""

    @property
    def ticket(self) -> Ticket: ...


def ticket_of(arguments: Sequence, shared: _Shared) -> Ticket:
    """Return the ticket of a launch with these arguments."""
    return arguments.ticket if isinstance(arguments, Ticketed) else shared.ticket


def _word(device: DeviceMemory) -> Allocation:
    memory = device.reserve(_WORD)
    device.clear(memory.address, _WORD)
    return memory


def _is_set(device: DeviceMemory, memory: Allocation) -> bool:
    return any(device.transport.read_memory(memory.address, _WORD))
