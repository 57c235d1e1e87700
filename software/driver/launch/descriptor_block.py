"""The record that a launch leaves in memory for another host: the registers of its slot, and the memory it uses.

A block lies in front of the launch's context control block, in the same allocation; its address is `Launch.handle`.
32-bit little-endian words::

    0  `MAGIC`                            4  bytes of the block, a multiple of 128: the CCB follows
    1  `VERSION`                          5  register words
    2  CRC-32 of the block, with 0 here   6  ranges of memory
    3  geometry hash                      7  TB slots of an SM, and 2**16 for each SM but the first
                                          8  bytes of the parameters

The registers of the kernel slot that software writes follow in the order of their addresses. The address and the size
of each range come next, then zeros up to a multiple of 128. The parameters follow, and the SMs read them here. The rest
is zeros.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from caesura.hw.arch.geometry import SEGMENT_BYTES, WORD_BYTES, Geometry
from caesura.hw.arch.registers import Register, register_map

from ..machine.errors import DriverError
from ..machine.transport import Transport

__all__ = ["MAGIC", "VERSION", "DescriptorBlock", "block_bytes", "parameter_offset"]

MAGIC = int.from_bytes(b"CBLK", "little")
VERSION = 2
_HEAD_WORDS = 9
_CRC = slice(2 * WORD_BYTES, 3 * WORD_BYTES)


@functools.cache
def _registers(g: Geometry) -> dict[str, Register]:
    """Return the registers of a kernel slot that software writes, by name, in the order of their addresses."""
    slot, found = "kernel[0].", {}
    most = {"window_base": g.windows, "window_end": g.windows}
    for path, register in register_map().items():
        name = path.removeprefix(slot)
        array, _, index = name.removesuffix("]").partition("[")
        if not path.startswith(slot) or not register.writable or not register.exists(g):
            continue
        if not index or int(index) < most[array]:
            found[name] = register
    return dict(sorted(found.items(), key=lambda item: item[1].address))


def _slots(g: Geometry) -> int:
    return (g.sms - 1) << 16 | g.spare_entries << 8 | g.tb_slots


def _whole(size: int) -> int:
    return -(-size // SEGMENT_BYTES) * SEGMENT_BYTES


def parameter_offset(g: Geometry, ranges: int) -> int:
    """Return the offset of the parameters in a block with so many ranges of memory: a multiple of 128."""
    return _whole(WORD_BYTES * (_HEAD_WORDS + len(_registers(g)) + 2 * ranges))


def block_bytes(g: Geometry, ranges: int, parameters: int) -> int:
    """Return the size in bytes of a block with so many ranges of memory and so many bytes of parameters."""
    return parameter_offset(g, ranges) + _whole(parameters)


@dataclass(frozen=True)
class DescriptorBlock:
    """A descriptor block.

    Attributes
    ----------
    registers : mapping of str to int
        Words of the kernel slot's registers by name; registers that are missing here are 0.
    ranges : sequence of (int, int)
        Address and size of each range of memory that the launch uses beside its context and its local memory: code,
        constants, variables, arrays.
    parameters : bytes
        The parameters as whole words.
    """

    registers: Mapping[str, int]
    ranges: Sequence[tuple[int, int]]
    parameters: bytes

    def field(self, name: str, field: str = "value") -> int:
        """Return a field of a register."""
        return register_map()[f"kernel[0].{name}"].fields[field].extract(self.registers.get(name, 0))

    def pack(self, g: Geometry) -> bytes:
        """Return the block in its form in memory."""
        at, names = parameter_offset(g, len(self.ranges)), _registers(g)
        size = block_bytes(g, len(self.ranges), len(self.parameters))
        words = [MAGIC, VERSION, 0, g.hash, size, len(names), len(self.ranges), _slots(g), len(self.parameters)]
        words += [self.registers.get(name, 0) for name in names]
        words += [number for place in self.ranges for number in place]
        raw = bytearray((np.array(words, "<u4").tobytes().ljust(at, b"\0") + self.parameters).ljust(size, b"\0"))
        raw[_CRC] = zlib.crc32(raw).to_bytes(WORD_BYTES, "little")
        return bytes(raw)

    @classmethod
    def read(cls, transport: Transport, handle: int) -> DescriptorBlock:
        """Return the block at an address.

        Raises
        ------
        DriverError
            If there is no block, or it is not of this format or geometry.
        """
        g = transport.geometry
        where = f"no launch can be adopted from {handle:#x}"
        if handle % SEGMENT_BYTES or not 0 <= handle <= transport.memory_bytes - block_bytes(g, 0, 0):
            raise DriverError(f"{where}: that is no address of a descriptor block; give Launch.handle of the launch")
        head = np.frombuffer(transport.read_memory(handle, _HEAD_WORDS * WORD_BYTES), "<u4").tolist()
        magic, version, crc, geometry_hash, size, registers, ranges, slots, given = head
        if magic != MAGIC:
            raise DriverError(f"{where}: there is no descriptor block; give Launch.handle of a launch that has not "
                              "ended, and the memory as it was left")
        if version != VERSION:
            raise DriverError(f"{where}: its descriptor block is of version {version}, this driver's are of {VERSION}; "
                              "adopt it with the version that launched it")
        if (geometry_hash, slots) != (g.hash, _slots(g)):
            raise DriverError(f"{where}: it was launched on another geometry than {g.name!r}; open a device of "
                              "that one")
        right = registers == len(_registers(g)) and size == block_bytes(g, ranges, given)
        if not right or handle + size > transport.memory_bytes:
            raise DriverError(f"{where}: its descriptor block is damaged: {size} bytes for {ranges} ranges")
        raw = bytearray(transport.read_memory(handle, size))
        raw[_CRC] = bytes(WORD_BYTES)
        if zlib.crc32(raw) != crc:
            raise DriverError(f"{where}: its descriptor block is damaged: something has written over it since the "
                              "launch")
        words = np.frombuffer(raw, "<u4")[_HEAD_WORDS:].tolist()
        places, at = words[registers:registers + 2 * ranges], parameter_offset(g, ranges)
        return cls(dict(zip(_registers(g), words, strict=False)),
                   tuple(zip(places[::2], places[1::2], strict=True)), bytes(raw[at:at + given]))
