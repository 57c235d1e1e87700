"""Requests over a line that may lose or damage them. Each is carried out once, or an error reports that it failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from caesura.hw.arch.board_protocol import CRC_BYTES, HEADER_BYTES, MAX_DATA, Request, Status

from .errors import BoardError
from .frames import Answer, FrameSplitter, request_frame
from .line import Line

__all__ = ["Link"]

Result = TypeVar("Result")
_MOST_DROPPED = 1 << 16
"""The most bytes of an earlier conversation that are dropped."""
_QUIET = 0.25
"""Share of the time-out. When the line has been silent so long after damage, the request is sent again."""
_NOISY = "what is sent or answered is damaged; is the line noisy, or is this not the board's port or baud rate?"
_SILENT = "no answer; is the board on, is the bitstream loaded, and is this its port and baud rate?"
_ENDLESS = "bytes come without end; is this the board's port?"
_DAMAGED = (Status.DAMAGED, Status.TOO_LONG, Status.TRUNCATED)
_MEANING = {
    Status.UNKNOWN: "the board does not know this request; its bitstream is of another version",
    Status.BAD_SIZE: "the board refuses the size of this request; its bitstream is of another version",
    Status.BAD_ADDRESS: "the board has no register there; its bitstream is of another version",
    Status.BUS_ERROR: "the board's memory answers with an error; what was to be written may be written in part",
    Status.NO_ANSWER: "the board's memory does not answer; reset it: open the board again",
}


def _longest(size: int) -> int:
    """Return the largest number of bytes of an answer with so much data."""
    return 2 * (HEADER_BYTES + size + CRC_BYTES) + 2


class Link:
    """Sends requests, and repeats them until they are answered.

    Parameters
    ----------
    line : Line
    name : str
        Name of the port in messages.
    timeout : float
        Seconds within which the first byte of an answer has to arrive, and then each next byte.
    tries : int
        The largest number of times that a request is sent.

    Attributes
    ----------
    repeated : int
        Number of requests sent again so far.
    """

    def __init__(self, line: Line, name: str, timeout: float = 0.5, tries: int = 4):
        self.name, self.repeated = name, 0
        self._line, self._timeout, self._tries = line, timeout, tries
        self._splitter = FrameSplitter()
        self._sequence = 0

    def ask(self, request: Request, address: int = 0, size: int = 0, data: bytes = b"", wait: float = 0.0) -> Answer:
        """Send a request until it has been carried out; return its answer, whose status is `DONE`.

        Parameters
        ----------
        request : Request
        address, size, data
            As in `request_frame`.
        wait : float
            Seconds that the request itself takes.

        Raises
        ------
        BoardError
            If the board does not answer, or refuses.
        """
        self._sequence = (self._sequence + 1) & 0xFF
        frame = request_frame(self._sequence, request, address, size, data)
        seen = ""
        for attempt in range(self._tries):
            self.repeated += attempt > 0
            self._guarded(lambda: self._line.write(frame))
            answer, seen = self._answer(wait, _longest(size))
            if answer is not None:
                if answer.status is Status.DONE:
                    return answer
                raise BoardError(f"{self.name}: {_MEANING[answer.status]} ({request.name.lower()} at {address:#x}, "
                                 f"{size} bytes)")
        raise BoardError(f"{self.name}: {seen} ({self._tries} tries)")

    def _guarded(self, action: Callable[[], Result]) -> Result:
        """Use the line; raise a `BoardError` if it is gone."""
        try:
            return action()
        except OSError as error:  # a SerialException is one
            raise BoardError(f"{self.name}: the line is gone ({error}); connect the board and open it again") from None

    def _answer(self, wait: float, longest: int) -> tuple[Answer | None, str]:
        """Return the answer to the last request, of at most so many bytes, or None and the reason for its absence."""
        damaged, taken = False, 0
        limit = self._timeout + wait
        while True:
            data = self._read(limit)
            taken += len(data)
            if not data or taken > 2 * _longest(MAX_DATA):  # late answers to earlier tries come, too
                self._splitter.clear()
                return None, _ENDLESS if data else _NOISY if damaged else _SILENT
            for body in self._splitter.feed(data):
                answer = Answer.unpack(body)
                if answer is None or answer.status in _DAMAGED:  # one of us has to say it again
                    damaged = True
                elif answer.sequence == self._sequence:
                    return answer, ""
            damaged |= taken > longest
            limit = self._timeout * _QUIET if damaged else self._timeout

    def _read(self, seconds: float) -> bytes:
        """Return the bytes that are there, or arrive within so many seconds."""
        def read() -> bytes:
            self._line.timeout = seconds
            return self._line.read(max(1, self._line.in_waiting))

        return self._guarded(read)

    def settle(self, seconds: float = 0.05) -> None:
        """Drop the bytes of an earlier conversation until the line is silent.

        Raises
        ------
        BoardError
            If the line never is silent.
        """
        self._guarded(self._line.reset_input_buffer)
        dropped = 0
        while data := self._read(seconds):
            dropped += len(data)
            if dropped > _MOST_DROPPED:
                raise BoardError(f"{self.name}: {_ENDLESS}")
        self._splitter.clear()
