"""The memory behind an SM: one AXI4 slave with a fixed latency and a limited bandwidth.

This file defines the behaviour and is its Python implementation; `sim/rtl/axi_memory.h` is the same in C++,
cycle for cycle. In every cycle, in this order:

1. The bus earns `bytes_per_cycle` if it has less than a beat's worth; one beat, read or write, costs
   `bus_bytes` whatever its strobes. So at most one beat moves a cycle, at `bytes_per_cycle` on average.
2. A read beat is offered if the oldest read request is `latency` cycles old and the last beat was taken; it
   carries what memory holds now. ``wready`` is given instead if a write beat waits too and it is its turn
   (the two alternate), and also if no read beat is due.
3. Handshakes are sampled. A write beat is applied as soon as it and its address are there.
4. The acknowledgement of a burst is offered `latency` cycles after its last beat was applied.

Reads are answered in request order, and so are writes. `MemoryTiming.requests` of each kind can be outstanding.
Beyond the end of memory the answer is DECERR, in an error range SLVERR; neither writes, both read zeros.
Bursts are INCR and of full width; anything else raises `ProtocolError`, as does withdrawing or changing a
request before it was taken.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from caesura.errors import InputError
from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry

__all__ = ["LEAST_REQUESTS", "FRACTION_BITS", "MemoryTiming", "ErrorRange", "ProtocolError", "AxiMemory"]

LEAST_REQUESTS = 64
"""Requests of each kind that can be outstanding, at least."""
SPARE_REQUESTS = 16
"""Requests beyond those that cover the latency."""
WRITE_BEATS = 16
"""Write beats held before their address has come."""
FRACTION_BITS = 16
"""Fraction bits of the bandwidth in bytes a cycle."""
OKAY, SLVERR, DECERR = 0, 2, 3


class ProtocolError(RuntimeError):
    """The master broke a rule of AXI4 that the memory checks."""


@dataclass(frozen=True)
class MemoryTiming:
    """Latency and bandwidth.

    Attributes
    ----------
    bus_bytes : int
        Bytes of a beat.
    bytes_per_cycle : float
        Sustained bandwidth of reads and writes together, at most `bus_bytes`.
    latency : int
        Cycles from a request (for a write: its last beat) to the first beat (the acknowledgement), 1 or more.
    """

    bus_bytes: int
    bytes_per_cycle: float
    latency: int

    def __post_init__(self):
        if not 0 < self.bytes_per_cycle <= self.bus_bytes:
            raise InputError(f"bytes_per_cycle must be above 0 and at most {self.bus_bytes}, "
                             f"not {self.bytes_per_cycle}")
        if self.latency < 1:
            raise InputError(f"latency must be 1 or more, not {self.latency}")

    @classmethod
    def of(cls, g: Geometry) -> MemoryTiming:
        """Return the timing of a geometry's memory."""
        return cls(g.bus_bytes, g.bytes_per_cycle, g.memory_latency)

    @property
    def rate(self) -> int:
        """Bytes a cycle with `FRACTION_BITS` fraction bits."""
        return max(1, round(self.bytes_per_cycle * (1 << FRACTION_BITS)))

    @property
    def requests(self) -> int:
        """Requests of each kind that can be outstanding: bursts of whole segments never wait for the latency."""
        covering = math.ceil(self.latency * self.bytes_per_cycle / SEGMENT_BYTES)
        return max(LEAST_REQUESTS, covering + SPARE_REQUESTS)


@dataclass(frozen=True)
class ErrorRange:
    """Addresses from `start` to before `end` that answer SLVERR to reads, writes or both."""

    start: int
    end: int
    reads: bool = True
    writes: bool = True


@dataclass
class _Burst:
    """A request, with what is left of it."""

    id: int
    address: int
    beats: int
    ready_at: int = 0
    response: int = OKAY


class AxiMemory:
    """The memory model in Python: `drive` gives the slave's signals of a cycle, `sample` takes the master's.

    Parameters
    ----------
    timing : MemoryTiming
    size : int
        Bytes of memory, from address 0.

    Attributes
    ----------
    data : bytearray
        The memory.
    errors : list of ErrorRange
    read_bytes, written_bytes : dict of int to int
        Bus traffic by AXI id; a beat counts `bus_bytes`.
    """

    def __init__(self, timing: MemoryTiming, size: int):
        self.timing = timing
        self.data = bytearray(size)
        self.errors: list[ErrorRange] = []
        self.read_bytes: dict[int, int] = {}
        self.written_bytes: dict[int, int] = {}
        self._now = 0
        self._tokens = 0
        self._reads: deque[_Burst] = deque()
        self._writes: deque[_Burst] = deque()
        self._acks: deque[_Burst] = deque()
        self._beats: deque[tuple[int, int, int]] = deque()
        self._write_waits = False
        self._write_turn = False
        self._held: dict[str, tuple[int, ...]] = {}
        self._signals: dict[str, int] = dict.fromkeys(
            ("awready", "wready", "bid", "bresp", "bvalid", "arready", "rid", "rdata", "rresp", "rlast", "rvalid"), 0)

    def _response(self, address: int, write: bool) -> int:
        end = address + self.timing.bus_bytes
        if end > len(self.data):
            return DECERR
        hit = any((e.writes if write else e.reads) and address < e.end and end > e.start for e in self.errors)
        return SLVERR if hit else OKAY

    def drive(self) -> dict[str, int]:
        """Return the slave's signals of this cycle, by AXI name."""
        s, cost = self._signals, self.timing.bus_bytes << FRACTION_BITS
        if self._tokens < cost:
            self._tokens += self.timing.rate
        affordable = self._tokens >= cost
        due = not s["rvalid"] and bool(self._reads) and self._reads[0].ready_at <= self._now
        room = affordable and len(self._beats) < WRITE_BEATS
        grant_write = room and (not due or (self._write_waits and self._write_turn))
        if affordable and due and self._write_waits:
            self._write_turn = not self._write_turn
        if affordable and due and not grant_write:
            self._tokens -= cost
            self._offer_read(self._reads[0])
        s["awready"] = int(len(self._writes) + len(self._acks) < self.timing.requests)
        s["arready"] = int(len(self._reads) < self.timing.requests)
        s["wready"] = int(grant_write)
        if not s["bvalid"] and self._acks and self._acks[0].ready_at <= self._now:
            s.update(bvalid=1, bid=self._acks[0].id, bresp=self._acks[0].response)
        return s

    def _offer_read(self, burst: _Burst) -> None:
        width = self.timing.bus_bytes
        response = self._response(burst.address, write=False)
        value = 0 if response else int.from_bytes(self.data[burst.address:burst.address + width], "little")
        self._signals.update(rvalid=1, rid=burst.id, rdata=value, rresp=response, rlast=int(burst.beats == 1))
        self.read_bytes[burst.id] = self.read_bytes.get(burst.id, 0) + width

    def sample(self, m: Mapping[str, int]) -> None:
        """Take the master's signals of this cycle, by AXI name, and end the cycle.

        Raises
        ------
        ProtocolError
            If they break a rule that is checked.
        """
        s = self._signals
        self._check_held("ar", m, ("arid", "araddr", "arlen"), s["arready"])
        self._check_held("aw", m, ("awid", "awaddr", "awlen"), s["awready"])
        self._check_held("w", m, ("wdata", "wstrb", "wlast"), s["wready"])
        if s["rvalid"] and m["rready"]:
            self._step_read()
        if s["bvalid"] and m["bready"]:
            self._acks.popleft()
            s["bvalid"] = 0
        if m["arvalid"] and s["arready"]:
            self._reads.append(self._request("ar", m))
        if m["awvalid"] and s["awready"]:
            self._writes.append(self._request("aw", m))
        if m["wvalid"] and s["wready"]:
            self._tokens -= self.timing.bus_bytes << FRACTION_BITS
            self._beats.append((m["wdata"], m["wstrb"], m["wlast"]))
        self._write_waits = bool(m["wvalid"])
        while self._beats and self._writes:
            self._apply(*self._beats.popleft())
        self._now += 1

    def _check_held(self, channel: str, m: Mapping[str, int], names: tuple[str, ...], ready: int) -> None:
        valid = m[channel + "valid"]
        values = tuple(m[name] for name in names)
        if channel in self._held and (not valid or values != self._held[channel]):
            raise ProtocolError(f"cycle {self._now}: {channel} was withdrawn or changed before it was taken")
        self._held.pop(channel, None)
        if valid and not ready:
            self._held[channel] = values

    def _request(self, channel: str, m: Mapping[str, int]) -> _Burst:
        address, beats, width = m[channel + "addr"], m[channel + "len"] + 1, self.timing.bus_bytes
        if m[channel + "burst"] != 1 or 1 << m[channel + "size"] != width or address % width:
            raise ProtocolError(f"cycle {self._now}: {channel} is not an aligned INCR burst of full width")
        if address // 4096 != (address + beats * width - 1) // 4096:
            raise ProtocolError(f"cycle {self._now}: {channel} burst at {address:#x} crosses a 4 KB boundary")
        return _Burst(m[channel + "id"], address, beats, self._now + self.timing.latency)

    def _step_read(self) -> None:
        burst = self._reads[0]
        burst.address += self.timing.bus_bytes
        burst.beats -= 1
        if not burst.beats:
            self._reads.popleft()
        self._signals["rvalid"] = 0

    def _apply(self, value: int, strobe: int, last: int) -> None:
        burst, width = self._writes[0], self.timing.bus_bytes
        response = self._response(burst.address, write=True)
        burst.response = max(burst.response, response)
        if not response:
            for k in range(width):
                if strobe >> k & 1:
                    self.data[burst.address + k] = value >> 8 * k & 0xFF
        self.written_bytes[burst.id] = self.written_bytes.get(burst.id, 0) + width
        burst.address += width
        burst.beats -= 1
        if bool(last) != (burst.beats == 0):
            raise ProtocolError(f"cycle {self._now}: wlast does not mark the last beat of the burst")
        if not burst.beats:
            burst.ready_at = self._now + self.timing.latency
            self._acks.append(self._writes.popleft())
