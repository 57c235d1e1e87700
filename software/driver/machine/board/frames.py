"""Frames of the serial line (`hw.arch.board_protocol`), on the host's side."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from caesura.hw.arch.board_protocol import (
    CRC_BYTES,
    END,
    ESC,
    ESCAPED_END,
    ESCAPED_ESC,
    HEADER_BYTES,
    Request,
    Status,
)

__all__ = ["Answer", "FrameSplitter", "request_frame"]

_REQUEST = struct.Struct("<BBIH")
_INTERRUPT = 0x80
_ESCAPES = ((bytes([ESC]), bytes([ESC, ESCAPED_ESC])), (bytes([END]), bytes([ESC, ESCAPED_END])))


def request_frame(sequence: int, request: Request, address: int = 0, size: int = 0, data: bytes = b"") -> bytes:
    """Return a request in its form on the line.

    Parameters
    ----------
    sequence : int
        0 to 255.
    request : Request
    address : int
        32 bits.
    size : int
        16 bits.
    data : bytes
        Data to write.
    """
    body = _REQUEST.pack(sequence, request, address, size) + data
    return framed(body + zlib.crc32(body).to_bytes(CRC_BYTES, "little"))


def framed(body: bytes) -> bytes:
    """Return bytes as a frame, between two `END` bytes."""
    for plain, pair in _ESCAPES:
        body = body.replace(plain, pair)
    return bytes([END]) + body + bytes([END])


@dataclass(frozen=True)
class Answer:
    """An answer of a board.

    Attributes
    ----------
    sequence : int
    status : Status
    interrupt : bool
        Whether the interrupt line was high.
    cycle : int
        Cycles since the SM was reset.
    data : bytes
        Data that was read.
    """

    sequence: int
    status: Status
    interrupt: bool
    cycle: int
    data: bytes

    @classmethod
    def unpack(cls, body: bytes) -> Answer | None:
        """Return the answer in a frame, None if the frame is damaged."""
        if len(body) < HEADER_BYTES + CRC_BYTES or zlib.crc32(body[:-CRC_BYTES]) != int.from_bytes(
                body[-CRC_BYTES:], "little"):
            return None
        status = body[1] & ~_INTERRUPT
        if status not in Status.__members__.values():
            return None
        return cls(body[0], Status(status), bool(body[1] & _INTERRUPT),
                   int.from_bytes(body[2:HEADER_BYTES], "little"), body[HEADER_BYTES:-CRC_BYTES])


class FrameSplitter:
    """Takes bytes as they arrive, and returns frames."""

    def __init__(self):
        self._body, self._escaped, self._bad = bytearray(), False, False

    def clear(self) -> None:
        """Drop the bytes of an incomplete frame."""
        self._body.clear()
        self._escaped = self._bad = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the frames that end in these bytes. A frame with a wrong escape is returned empty."""
        frames = []
        for byte in data:
            if byte == END:
                if self._body or self._bad:
                    frames.append(b"" if self._bad or self._escaped else bytes(self._body))
                self.clear()
            elif self._escaped:
                self._escaped = False
                self._bad |= byte not in (ESCAPED_END, ESCAPED_ESC)
                self._body.append(END if byte == ESCAPED_END else ESC)
            elif byte == ESC:
                self._escaped = True
            else:
                self._body.append(byte)
        return frames
