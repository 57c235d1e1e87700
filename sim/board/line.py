"""The line to a simulated board, with the part of pyserial's ``Serial`` that the driver uses."""

from __future__ import annotations

import ctypes
import weakref
from pathlib import Path

from caesura.errors import InputError
from caesura.hw.arch.board_protocol import Identity
from caesura.hw.arch.geometry import Geometry
from caesura.progress import Progress, report

from .build import board_library

__all__ = ["CLOCK_HZ", "DIVISOR", "FRAME_PATIENCE", "MEMORY_BYTES", "SimulatedLine", "simulated_board"]

CLOCK_HZ = 1_000_000
"""Clock of a simulated board. It is low so that a read from a silent board soon times out."""
MEMORY_BYTES = 256 << 10
"""Default memory of a simulated board."""
DIVISOR = 4
"""Cycles per bit on its line."""
FRAME_PATIENCE = 2000
"""Cycles without a byte after which the board drops a frame."""
_POINTER, _LONG = ctypes.c_void_p, ctypes.c_uint64
_FUNCTIONS = {"new": (_POINTER, ctypes.c_int), "delete": (None, _POINTER), "cycle": (_LONG, _POINTER),
              "waiting": (_LONG, _POINTER), "send": (None, _POINTER, ctypes.c_char_p, _LONG),
              "run": (None, _POINTER, _LONG, _LONG), "take": (_LONG, _POINTER, ctypes.c_char_p, _LONG),
              "drop": (None, _POINTER)}


class SimulatedLine:
    """A line with a simulated board at its end.

    The board's time passes during reads, and stands still otherwise.

    Parameters
    ----------
    library : Path
        Shared library of a board (`simulated_board`).
    pins : bool
        Simulate the line bit by bit, through the board's UART; otherwise byte by byte, around the UART.
    clock_hz : int
        Cycles per second.

    Attributes
    ----------
    library : Path
    timeout : float or None
        Seconds of the board's time that `read` waits; None waits without a limit.
    """

    timeout: float | None

    def __init__(self, library: Path, pins: bool = False, clock_hz: int = CLOCK_HZ):
        self.library, self.timeout = library, None
        self._clock_hz, self._closed = clock_hz, False
        handle = ctypes.CDLL(str(library))
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(handle, f"board_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, f"_{name}", function)
        self._board = self._function("new")(int(pins))
        weakref.finalize(self, self._function("delete"), self._board)

    def _function(self, name: str):
        return getattr(self, f"_{name}")

    def _call(self, name: str, *arguments):
        if self._closed:
            raise InputError("this line has been closed")
        return self._function(name)(self._board, *arguments)

    @property
    def cycle(self) -> int:
        """Cycles since the board was switched on."""
        return self._call("cycle")

    @property
    def in_waiting(self) -> int:
        """Number of received bytes that were not read yet."""
        return self._call("waiting")

    def read(self, size: int = 1) -> bytes:
        """Return `size` bytes, or fewer at a time-out."""
        cycles = (1 << 64) - 1 if self.timeout is None else int(self.timeout * self._clock_hz)
        self._call("run", size, cycles)
        data = ctypes.create_string_buffer(size)
        taken = self._call("take", data, size)
        return data.raw[:taken]

    def write(self, data: bytes) -> int:
        """Send bytes; they reach the board during later reads."""
        self._call("send", bytes(data), len(data))
        return len(data)

    def run(self, cycles: int) -> None:
        """Let cycles pass."""
        self._call("run", (1 << 64) - 1, cycles)

    def reset_input_buffer(self) -> None:
        """Drop the received bytes."""
        self._call("drop")

    def close(self) -> None:
        """Close the line; safe to repeat. Any other later use is an `InputError`."""
        self._closed = True


def simulated_board(geometry: Geometry, memory_bytes: int = MEMORY_BYTES, *, pins: bool = False,
                    progress: Progress = report) -> SimulatedLine:
    """Return a line to a simulated board; build the board if the cache lacks it.

    Parameters
    ----------
    geometry : Geometry
    memory_bytes : int
        Memory, a multiple of 4096 bytes.
    pins : bool
        Parameter of `SimulatedLine`.
    progress : callable
        Called with each step of a build.

    Raises
    ------
    BuildError
        If the simulation cannot be built.
    """
    identity = Identity("simulated", geometry, memory_bytes, CLOCK_HZ)
    return SimulatedLine(board_library(identity, FRAME_PATIENCE, DIVISOR, progress), pins)
