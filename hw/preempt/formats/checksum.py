"""The checksum of context images: CRC-32 as Ethernet and zlib have it (`arch.context`)."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import In, Out

from ...lib.bits import select

__all__ = ["ChecksumPort", "Checksum", "checksum_of", "share"]

BITS = CRC32_ISO_HDLC.crc_width
_REFLECTED = int(f"{CRC32_ISO_HDLC.polynomial:0{BITS}b}"[::-1], 2)


def _after(state: int, data: int, bits: int) -> int:
    """Return the state after `bits` bits of data, the lowest first."""
    for k in range(bits):
        state = state >> 1 ^ (_REFLECTED if (state ^ data >> k) & 1 else 0)
    return state


class ChecksumPort(wiring.Signature):
    """A block's side of a `Checksum` that it shares with others.

    Parameters
    ----------
    words : int
        32-bit words of `data`.

    Attributes
    ----------
    start : Signal, out
    data : Signal(32 * words), out; valid : Signal, out
    crc : Signal(32), in
        The ports of the `Checksum`.
    """

    def __init__(self, words: int):
        super().__init__({"start": Out(1), "data": Out(32 * words), "valid": Out(1),
                          "crc": In(BITS)})


class Checksum(wiring.Component):
    """CRC-32 as Ethernet and zlib have it (ISO-HDLC), of a number of words a cycle.

    Each bit of the next state is one reduction of the state and the words under a mask. A
    `amaranth.lib.crc.Processor`, of which the catalogue entry is used, writes the same as two
    thousand gates of two inputs for 128 bits, which costs elaboration and simulation alike.

    Parameters
    ----------
    words : int
        32-bit words of `data`.

    Attributes
    ----------
    start : Signal, in
        Forget what came before.
    data : Signal, in; valid : Signal, in
        The next words, the first lowest; in a cycle with `start` the first ones.
    crc : Signal(32), out
        The checksum of what has come; it follows `data` by one cycle.
    """

    start: Signal
    data: Signal
    valid: Signal
    crc: Signal

    def __init__(self, words: int):
        self.words = words
        super().__init__({"start": In(1), "data": In(32 * words), "valid": In(1), "crc": Out(BITS)})

    def elaborate(self, platform: Any):
        m = Module()
        initial = Const(CRC32_ISO_HDLC.initial_crc, BITS)
        state = Signal(BITS, init=CRC32_ISO_HDLC.initial_crc)
        before = Signal(BITS)
        m.d.comb += [before.eq(state), self.crc.eq(state ^ CRC32_ISO_HDLC.xor_output)]
        with m.If(self.start):
            m.d.comb += before.eq(initial)
            m.d.sync += state.eq(initial)
        with m.If(self.valid):
            m.d.sync += state.eq(self._next(before))
        return m

    def _next(self, before: Value) -> Value:
        """Return the state after `data`: it is linear, so each bit is the parity of some others."""
        width = len(self.data)
        ones = [_after(1 << k, 0, width) for k in range(BITS)]
        ones += [_after(0, 1 << k, width) for k in range(width)]
        masks = [sum((one >> row & 1) << k for k, one in enumerate(ones)) for row in range(BITS)]
        return Cat((Cat(before, self.data) & mask).xor() for mask in masks)


def checksum_of(m: Module, block: Any, words: int, name: str = "checksum"):
    """Return the `Checksum` of a block: one of its own called `name`, or the port `checksum` to one
    that it shares, if it does (``block.shared``)."""
    if block.shared:
        return block.checksum
    m.submodules[name] = own = Checksum(words)
    return own


def share(m: Module, one: Checksum, ports: Sequence) -> None:
    """Let blocks use one `Checksum` in turns: each reads what it has computed before another
    starts. A port that is not in use is neither `valid` nor starts anything."""
    valid = Cat(port.valid for port in ports)
    m.d.comb += [one.start.eq(Cat(port.start for port in ports).any()), one.valid.eq(valid.any()),
                 one.data.eq(select(valid, [port.data for port in ports])),
                 *(port.crc.eq(one.crc) for port in ports)]
