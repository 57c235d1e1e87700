"""The interface of a machine to the driver: registers, memory and time, wherever the machine is."""

from __future__ import annotations

from typing import Protocol

from caesura.hw.arch.geometry import Geometry

__all__ = ["Transport"]


class Transport(Protocol):
    """One SM with its memory.

    Attributes
    ----------
    geometry : Geometry
        Geometry of the SM.
    memory_bytes : int
        Size of the memory; addresses run from 0.
    name : str
        Name of the machine in reports, for example ``"rtl"`` or ``"golden"``.
    """

    geometry: Geometry
    memory_bytes: int
    name: str

    @property
    def cycle(self) -> int:
        """Cycles since the start; the access takes no simulated time."""
        ...

    def read_register(self, address: int) -> int:
        """Return the 32-bit register at a byte address (`hw.arch.registers`)."""
        ...

    def write_register(self, address: int, value: int) -> None:
        """Write a 32-bit register."""
        ...

    def peek_register(self, address: int) -> int | None:
        """Return a 32-bit register without time passing, None if this machine cannot."""
        ...

    def read_memory(self, address: int, size: int) -> bytes:
        """Return `size` bytes of global memory; it takes no simulated time."""
        ...

    def write_memory(self, address: int, data: bytes) -> None:
        """Write global memory; it takes no simulated time."""
        ...

    def advance(self, cycles: int) -> int:
        """Let exactly `cycles` cycles pass and return them."""
        ...

    def wait(self, cycles: int) -> int:
        """Let time pass until the interrupt line is high, at most `cycles` cycles; return the cycles passed."""
        ...
