"""The line itself: bytes to a board and back."""

from __future__ import annotations

import importlib
from typing import Protocol

from .errors import BoardError

__all__ = ["EXTRA", "Line", "open_line"]

EXTRA = "pip install 'caesura[board]'"
"""Command that installs pyserial."""


class Line(Protocol):
    """The part of ``serial.Serial`` that the host needs; a simulated board has the same methods.

    Attributes
    ----------
    timeout : float or None
        Seconds that `read` waits for data.
    """

    timeout: float | None

    @property
    def in_waiting(self) -> int:
        """Bytes that can be read at once."""
        ...

    def read(self, size: int = 1, /) -> bytes:
        """Return `size` bytes, or fewer after a time-out."""
        ...

    def write(self, data: bytes, /) -> int | None:
        """Send bytes."""
        ...

    def reset_input_buffer(self) -> None:
        """Drop the bytes that have arrived."""
        ...

    def close(self) -> None:
        """Close the line."""
        ...


def open_line(port: str, baud: int) -> Line:
    """Open a serial port.

    Parameters
    ----------
    port : str
        Port as pyserial names it: ``/dev/ttyUSB0``, ``COM3``, or a URL (``socket://host:port``).
    baud : int
        Bits per second.

    Raises
    ------
    BoardError
        If it cannot be opened, another process has it, or pyserial is missing.
    """
    try:
        serial = importlib.import_module("serial")
    except ImportError:
        raise BoardError(f"pyserial is missing, which talks to serial ports; install it with `{EXTRA}`") from None
    try:
        return serial.serial_for_url(port, baudrate=baud, exclusive=True)  # two would read each other's answers
    except (serial.SerialException, ValueError, OSError) as error:
        raise BoardError(f"{port} cannot be opened: {error}; `python -m serial.tools.list_ports` lists the serial "
                         "ports there are") from None
