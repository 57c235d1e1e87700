"""The memory ports inside the SM: bursts within one 128-byte segment, answers in order.

A block that reads or writes memory has a `ReadPort` or `WritePort` and never sees AXI. A burst
starts at a multiple of `bus_bytes`, has 1 to `burst_beats` beats and stays within one segment. A
request that is not taken yet may be withdrawn, and a beat changed: `AxiMaster` looks at neither
before it takes it.
"""

from typing import Protocol

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import ADDRESS_BITS, Geometry

__all__ = ["burst", "ReadPort", "ReadInterface", "WritePort", "WriteInterface"]


def burst(g: Geometry) -> data.StructLayout:
    """Address (a multiple of `bus_bytes`) and number of beats less one."""
    return data.StructLayout({"address": ADDRESS_BITS, "extra_beats": range(g.burst_beats)})


class ReadPort(wiring.Signature):
    """Master side of a reader: requests out, beats in, in request order.

    Attributes
    ----------
    request : stream of burst, out
    beat : stream, in
        `data`, `last` of its burst; `error` marks a failed beat.
    """

    def __init__(self, g: Geometry):
        beat = data.StructLayout({"data": 8 * g.bus_bytes, "last": 1, "error": 1})
        super().__init__({"request": Out(stream.Signature(burst(g))),
                          "beat": In(stream.Signature(beat))})


class ReadInterface(Protocol):
    """Type of the interfaces of a `ReadPort`."""

    request: stream.Interface
    beat: stream.Interface

    @property
    def signature(self) -> wiring.Signature:
        """The `ReadPort`, or the same flipped."""
        ...


class WritePort(wiring.Signature):
    """Master side of a writer: requests and beats out, acknowledgements in, in request order.

    Attributes
    ----------
    request : stream of burst, out
    beat : stream, out
        `data`, `strobe` (one bit per byte), `last` of its burst; in the order of the requests.
    ack : stream, in
        One a burst; with `error` it is not known what was written.
    """

    def __init__(self, g: Geometry):
        beat = data.StructLayout({"data": 8 * g.bus_bytes, "strobe": g.bus_bytes, "last": 1})
        ack = data.StructLayout({"error": 1})
        super().__init__({"request": Out(stream.Signature(burst(g))),
                          "beat": Out(stream.Signature(beat)), "ack": In(stream.Signature(ack))})


class WriteInterface(Protocol):
    """Type of the interfaces of a `WritePort`."""

    request: stream.Interface
    beat: stream.Interface
    ack: stream.Interface

    @property
    def signature(self) -> wiring.Signature:
        """The `WritePort`, or the same flipped."""
        ...
