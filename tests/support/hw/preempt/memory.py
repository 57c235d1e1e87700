"""A memory with latencies behind the ports of a `PreemptEngine`: it checks bursts, and fails when a test says so."""

import random
from collections import deque
from collections.abc import Collection, Iterable
from typing import Any

from caesura.hw.arch.geometry import Geometry

SEGMENT = 128


class Memory:
    """Reads and writes with a latency each; bursts are checked against the port's rules.

    Accesses of segments in `bad_reads` and `bad_writes` fail, and those that arrive while `fail` says so. A write that
    fails has its effect, none, or half of it.
    """

    def __init__(self, g: Geometry, read_latency: int, write_latency: int, rng: random.Random):
        self.g, self.read_latency, self.write_latency, self.rng = g, read_latency, write_latency, rng
        self.bytes = bytearray(0x40000)
        self.reads, self.requests, self.acks = deque(), deque(), deque()
        self.count, self.read_bytes, self.written = 0, 0, 0
        self.bad_writes, self.bad_reads = set(), set()
        self.log = []
        self.fail()

    def word(self, address: int) -> int:
        return int.from_bytes(self.bytes[address:address + 4], "little")

    def poke(self, address: int, words: Iterable[int]):
        for k, word in enumerate(words):
            self.bytes[address + 4 * k:address + 4 * k + 4] = word.to_bytes(4, "little")

    def _rules(self, address: int, extra: int):
        size = (extra + 1) * self.g.bus_bytes
        assert address % self.g.bus_bytes == 0
        assert address // SEGMENT == (address + size - 1) // SEGMENT, f"burst {address:#x}+{size} crosses a segment"

    def read(self, now: int, address: int, extra: int):
        self._rules(address, extra)
        ready = now + self.read_latency
        bad = self.fails("read", now, address)
        for k in range(extra + 1):
            self.reads.append((ready + k, address + k * self.g.bus_bytes, k == extra, bad))
            self.read_bytes += self.g.bus_bytes

    def fail(self, kinds: Collection[str] = (), begin: int = 0, cycles: int = 0):
        """Let all accesses of some kinds (``read``, ``write``) fail for some cycles, no others."""
        self.outage = kinds, range(begin, begin + cycles)

    def fails(self, what: str, now: int, address: int) -> bool:
        """Whether an access that arrives now is answered with an error."""
        kinds, cycles = self.outage
        return address // SEGMENT in (self.bad_reads if what == "read" else self.bad_writes) or (
            what in kinds and now in cycles)

    def write_request(self, now: int, address: int, extra: int):
        self._rules(address, extra)
        bad = self.fails("write", now, address)
        self.requests.append([address, extra, bad, self.rng.choice(("old", "new", "half")) if bad else "new"])

    def write_beat(self, now: int, beat: Any):
        assert self.requests, "a beat before its request"
        pending = self.requests[0]
        (address, extra, bad, effect), n = pending, self.g.bus_bytes
        payload = beat.data.to_bytes(n, "little")
        for k in range(n):
            if beat.strobe >> k & 1:
                if effect == "new" or effect == "half" and self.rng.random() < 0.5:
                    self.bytes[address + k] = payload[k]
                self.written += 1
        self.log.append((now, "write", address, beat.data, beat.strobe, beat.last))
        assert beat.last == (extra == 0)
        if beat.last:
            self.acks.append((now + self.write_latency, address, bad))
            self.requests.popleft()
        else:
            pending[0], pending[1] = address + n, extra - 1
