"""What a launch is given by which it can be told to leave (`compiler.preemption.eviction_check`): a flag in memory, and
a word of its own that says whether any of its thread blocks has left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..memory.memory import DeviceMemory
from ..memory.regions import Allocation

__all__ = ["Flag", "Ticket", "Ticketed", "ticket_of"]

_WORD = 4
"""Bytes of a flag, and of a record."""


class Flag:
    """A word in device memory; thread blocks of launches that were given it leave if it is not zero when they begin.

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
        """Its value; asking takes no simulated time."""
        return _is_set(self.device, self.memory)

    def write(self, value: bool) -> None:
        """Set or clear it: what is loaded from the next cycle on has the value."""
        self.device.write_memory(self.memory.address, int(value).to_bytes(_WORD, "little"))


class Ticket:
    """What one launch is given.

    Parameters
    ----------
    flag : Flag

    Attributes
    ----------
    flag : Flag
    record : Allocation
        The word that thread blocks write which leave.
    """

    def __init__(self, flag: Flag):
        self.flag = flag
        self.record = _word(flag.device)

    @classmethod
    def alone(cls, device: DeviceMemory) -> Ticket:
        """Return the ticket of a launch whose flag nobody sets."""
        return cls(Flag(device))

    @property
    def words(self) -> tuple[int, int]:
        """Addresses of flag and record, as the kernel's parameters have them."""
        return self.flag.memory.address, self.record.address

    @property
    def memory(self) -> tuple[Allocation, Allocation]:
        """What a launch with this ticket uses."""
        return self.flag.memory, self.record

    @property
    def left(self) -> bool:
        """Some thread block has left; asking takes no simulated time. What was stored last may still be on its way
        until the launch has ended."""
        return _is_set(self.flag.device, self.record)


class Ticketed(list):
    """Arguments of a launch with the ticket that it is given.

    Parameters
    ----------
    arguments : sequence
    ticket : Ticket
    """

    def __init__(self, arguments: Sequence, ticket: Ticket):
        super().__init__(arguments)
        self.ticket = ticket


class _Shared(Protocol):
    """What has a ticket for launches that were given none."""

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
