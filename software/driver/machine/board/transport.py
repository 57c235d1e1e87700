"""`SerialTransport`: a board on a serial line as a machine for the driver."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from caesura.errors import InputError
from caesura.hw.arch.board_protocol import IDENTITY, MAX_DATA, Identity, Request
from caesura.hw.arch.geometry import Geometry

from .errors import BoardError
from .line import Line, open_line
from .link import Link

__all__ = ["BAUD", "SerialTransport", "open_board"]

BAUD = 500_000
"""Default number of bits per second."""
_SLICE = 0.25
"""Most seconds of one request to wait. A board that is gone is noticed within this time."""
_TIMEOUT = 0.5
"""Seconds within which a board answers, beside the time on the line."""
_LONGEST_FRAME = 2 * (2 * MAX_DATA + 64)
"""The most bytes of a request and its answer."""
_WORD = 4
_LONGEST = 0xFFFF_FFFF


class SerialTransport:
    """A board as a machine: a `software.driver.machine.transport.Transport`.

    Time goes on by itself. A register access takes as long as the line needs, and `advance` and `wait` may let more
    cycles pass than the caller asked for.

    Parameters
    ----------
    line : Line
        Line of pyserial, or of a simulated board.
    name : str
        Name of the port in messages.
    geometry : Geometry, optional
        Geometry that the board should have.
    reset : bool
        Reset the SM. Without a reset its kernels run on. Memory stays as it is either way.
    timeout : float
        Seconds within which the board answers.
    tries : int
        Times that a request is sent, at most.
The largest number of times that a request is sent.
    Attributes
    ----------
    geometry : Geometry
        Geometry that the board reports.
    memory_bytes : int
    name : str
        ``"serial"``.
    identity : Identity
    link : Link

    Raises
    ------
    BoardError
        If nothing answers, or the board is not a Caesura board, or its geometry is another one.
    """

    name = "serial"

    def __init__(self, line: Line, name: str = "the line", geometry: Geometry | None = None, *, reset: bool = True,
                 timeout: float = 0.5, tries: int = 4):
        self._line = line
        self.link = Link(line, name, timeout, tries)
        self.link.settle(min(0.05, timeout))
        self.identity = self._identify()
        self.geometry, self.memory_bytes = self.identity.geometry, self.identity.memory_bytes
        if geometry is not None:
            self._compare(geometry)
        self._cycle = 0
        if reset:
            self.reset()
        else:
            self._cycle = self.link.ask(Request.WAIT).cycle

    def reset(self) -> None:
        """Reset the SM: its work is lost, and its registers are as after power-up. Memory stays as it is."""
        self.link.ask(Request.RESET)
        self._cycle = 0

    def _identify(self) -> Identity:
        def read(begin: int, size: int) -> bytes:
            return b"".join(self.link.ask(Request.IDENTIFY, at, min(MAX_DATA, begin + size - at)).data
                            for at in range(begin, begin + size, MAX_DATA))
        try:
            return Identity.unpack_text(read(IDENTITY.size, Identity.unpack_head(read(0, IDENTITY.size))))
        except InputError as error:
            raise BoardError(f"{self.link.name}: {error}") from None

    def _compare(self, wanted: Geometry) -> None:
        """Refuse a board with another geometry than the one asked for."""
        pairs = ((field.name, getattr(wanted, field.name), getattr(self.geometry, field.name))
                 for field in dataclasses.fields(Geometry) if field.name != "name")
        different = [f"{name} {there} (not {asked})" for name, asked, there in pairs if asked != there]
        if different:
            raise BoardError(f"{self.link.name}: the board's geometry {self.geometry.name!r} is not {wanted.name!r}: "
                             f"{', '.join(different)}; leave the geometry out, or build a bitstream of yours "
                             "(`caesura board build`)")

    @property
    def cycle(self) -> int:
        """Cycles between the reset of the SM and the last answer."""
        return self._cycle

    def _ask(self, request: Request, address: int = 0, size: int = 0, data: bytes = b"", wait: float = 0.0) -> bytes:
        answer = self.link.ask(request, address, size, data, wait)
        self._cycle = max(self._cycle, answer.cycle)
        return answer.data

    def read_register(self, address: int) -> int:
        """Return the 32-bit register at a byte address."""
        return int.from_bytes(self._ask(Request.READ_REGISTER, address, _WORD), "little")

    def write_register(self, address: int, value: int) -> None:
        """Write a 32-bit register."""
        self._ask(Request.WRITE_REGISTER, address, _WORD, value.to_bytes(_WORD, "little"))

    def peek_register(self, address: int) -> int | None:
        """Return None: each access takes time."""
        return None

    def _check_range(self, address: int, size: int) -> None:
        if address < 0 or size < 0 or address + size > self.memory_bytes:
            raise InputError(f"{size} bytes at {address:#x} are not within the board's memory of {self.memory_bytes} "
                             "bytes")

    def read_memory(self, address: int, size: int) -> bytes:
        """Return `size` bytes of global memory.

        Raises
        ------
        InputError
            If they are not within the memory; also raised by `write_memory`.
        """
        self._check_range(address, size)
        return b"".join(self._ask(Request.READ_MEMORY, at, min(MAX_DATA, address + size - at))
                        for at in range(address, address + size, MAX_DATA))

    def write_memory(self, address: int, data: bytes) -> None:
        """Write global memory."""
        self._check_range(address, len(data))
        for at in range(0, len(data), MAX_DATA):
            piece = bytes(data[at:at + MAX_DATA])
            self._ask(Request.WRITE_MEMORY, address + at, len(piece), piece)

    def _pass(self, cycles: int, until_interrupt: bool) -> int:
        """Let cycles pass in requests of `_SLICE` seconds; return how many passed by the board's clock."""
        began, most = self._cycle, max(1, int(self.identity.clock_hz * _SLICE))
        while (left := cycles - (self._cycle - began)) > 0:
            asked = min(left, most, _LONGEST)
            answer = self.link.ask(Request.WAIT, asked, int(until_interrupt), wait=asked / self.identity.clock_hz)
            self._cycle = max(self._cycle, answer.cycle)
            if until_interrupt and answer.interrupt:
                break
        return self._cycle - began

    def advance(self, cycles: int) -> int:
        """Let `cycles` cycles or more pass, and return how many did."""
        return self._pass(cycles, False)

    def wait(self, cycles: int) -> int:
        """Let time pass until the interrupt line is high, or for `cycles` cycles or more; return the cycles passed."""
        return self._pass(cycles, True)

    def close(self) -> None:
        """Close the port; safe to repeat."""
        self._line.close()


def open_board(port: str, geometry: Geometry | None = None, *, baud: int = BAUD, reset: bool = True,
               opener: Callable[[str, int], Line] = open_line) -> SerialTransport:
    """Return the board on a serial port.

    Parameters
    ----------
    port : str
        Port as in `open_line`.
    geometry : Geometry, optional
        Geometry that the board should have.
    baud : int
    reset : bool
        See `SerialTransport`.
    opener : callable
        Function that opens the line.

    Raises
    ------
    BoardError
        If the port has no Caesura board.
    """
    line = opener(port, baud)
    try:
        return SerialTransport(line, port, geometry, reset=reset, timeout=_TIMEOUT + _LONGEST_FRAME * 10 / baud)
    except BaseException:
        line.close()
        raise
