"""The protocol of host and board over a serial line: frames, commands, answers, identity.

A frame is framed by SLIP (RFC 1055): it ends with `END`. An `END` may stand before it too, so that
noise on the line is a frame of its own. Within the frame `END` and `ESC` are two bytes each. The
frame holds, lowest byte first,

=========  ==================================  =====================================
bytes      request                             answer
=========  ==================================  =====================================
0          sequence number                     that of the request
1          `Request`                           `Status`; the interrupt line in bit 7
2 to 5     address, or a number of cycles      cycles since the SM was reset (48 bits)
6 and 7    size: bytes to read or write
8 ...      what is written                     what was read
last 4     CRC-32 of all before (that of Ethernet, zip and zlib)
=========  ==================================  =====================================

The host sends a request when it has the answer to the one before. If it gets no answer, or a
damaged one, it repeats the request with the same sequence number. A board that has already carried
out the request does not repeat it, unless it only reads, and answers as before.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import struct
from dataclasses import dataclass

from caesura.errors import InputError

from .geometry import Geometry

__all__ = ["END", "ESC", "ESCAPED_END", "ESCAPED_ESC", "HEADER_BYTES", "CRC_BYTES", "MAX_DATA",
           "VERSION", "IDENTITY", "IDENTITY_HEAD", "READS", "Identity", "Request", "Status"]

END, ESC, ESCAPED_END, ESCAPED_ESC = 0xC0, 0xDB, 0xDC, 0xDD
"""Special bytes (RFC 1055): end of a frame; what begins a pair; its second byte, for each."""
HEADER_BYTES = 8
"""Bytes of a request, and of an answer, before its data."""
CRC_BYTES = 4
MAX_DATA = 1024
"""Bytes that one request reads or writes, at most."""
VERSION = 1
"""Version of this protocol."""
IDENTITY = struct.Struct("<4sHH")
"""Start of the identity: `IDENTITY_HEAD`, `VERSION`, number of bytes of the text that follows."""
IDENTITY_HEAD = b"CAES"
_SAME = "build the bitstream and run it with the same version of the package"


class Request(enum.IntEnum):
    """Request to a board."""

    IDENTIFY = 1
    """Read `size` bytes of the identity from `address` on; what comes next is no repetition."""
    READ_MEMORY = 2
    WRITE_MEMORY = 3
    READ_REGISTER = 4
    """Size 4."""
    WRITE_REGISTER = 5
    """Size 4."""
    WAIT = 6
    """Answer after `address` cycles; if `size` is 1, once the interrupt line is high; or when
    another byte comes."""
    RESET = 7
    """Reset the SM, its bus and the cycle counter; memory stays as it is."""


READS = (Request.IDENTIFY, Request.READ_MEMORY, Request.READ_REGISTER)
"""Requests that change nothing: a repetition is carried out."""


class Status(enum.IntEnum):
    """How a request ended."""

    DONE = 0
    DAMAGED = 1
    """The frame was not whole: its CRC, an escape or its length is wrong."""
    TOO_LONG = 2
    """The frame is longer than one with `MAX_DATA`."""
    TRUNCATED = 3
    """The frame had begun, and no byte came for too long."""
    UNKNOWN = 4
    """There is no such request."""
    BAD_SIZE = 5
    """The size is too large, or not that of what was sent, or not that of a register."""
    BAD_ADDRESS = 6
    """No register has this address."""
    BUS_ERROR = 7
    """Memory, or the register, answered with an error; of what was to be written some may be."""
    NO_ANSWER = 8
    """The bus has not answered; nothing but a reset gets it back."""


@dataclass(frozen=True)
class Identity:
    """Facts that a board states of itself.

    Attributes
    ----------
    board : str
        Its name.
    geometry : Geometry
    memory_bytes : int
        Bytes of memory, from address 0 on.
    clock_hz : int
        Clock frequency of the SM and of everything else.
    """

    board: str
    geometry: Geometry
    memory_bytes: int
    clock_hz: int

    def packed(self) -> bytes:
        """Return it as the board holds it."""
        facts = {"board": self.board, "memory_bytes": self.memory_bytes, "clock_hz": self.clock_hz,
                 "geometry": dataclasses.asdict(self.geometry)}
        text = json.dumps(facts, separators=(",", ":")).encode()
        return IDENTITY.pack(IDENTITY_HEAD, VERSION, len(text)) + text

    @classmethod
    def unpack_head(cls, head: bytes) -> int:
        """Return how many bytes follow the first `IDENTITY.size` ones.

        Raises
        ------
        InputError
            If this is no board of ours, or one with another protocol.
        """
        magic, version, size = IDENTITY.unpack(head)
        if magic != IDENTITY_HEAD:
            raise InputError(f"it answers, but is no Caesura board (it says {magic!r})")
        if version != VERSION:
            raise InputError(f"the board speaks version {version} of the protocol, this package "
                             f"version {VERSION}: {_SAME}")
        return size

    @classmethod
    def unpack_text(cls, text: bytes) -> Identity:
        """Return what the text says.

        Raises
        ------
        InputError
            If it cannot be read: a board of another version of the package.
        """
        try:
            found = json.loads(text)
            geometry = Geometry(**found.pop("geometry"))
            return cls(geometry=geometry, **found)
        except (ValueError, TypeError, KeyError) as error:
            raise InputError("what the board says of itself is of another version of the package: "
                             f"{_SAME} ({error})") from None
