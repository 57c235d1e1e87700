"""Memory units whose warps are forgotten at any time, with a memory behind them that answers when it likes.

Every access has 1 KB of memory of its own, in the order of its number, so that a request says whose it is.
"""

from collections import Counter, deque
from dataclasses import dataclass, field

import numpy as np

from caesura.hw.arch.faults import Fault
from caesura.hw.interfaces.payloads import GENERATION_BITS
from support.core.memory_ops import Access, load_value, perform, store_bytes

__all__ = ["REGION", "Issued", "Generations", "SlowReader", "SlowWriter"]

REGION = 1024
"""Bytes of memory of each access."""


@dataclass(eq=False)
class Issued:
    """An access on its way.

    Attributes
    ----------
    access : Access
    fails : bool
        Memory answers it with errors.
    forgotten, just_forgotten : bool
        Its warp has been forgotten; in the cycle before.
    written : dict
        Values of the lanes by register, of what was written so far.
    faults : int
    """

    access: Access
    fails: bool = False
    forgotten: bool = False
    just_forgotten: bool = False
    written: dict = field(default_factory=dict)
    faults: int = 0

    @property
    def kind(self) -> str:
        return "atomic" if self.access.function is not None else "store" if self.access.store else "load"

    def expect(self, memory: np.ndarray) -> dict:
        """Apply it to `memory`; return the values that it writes, by register and lane."""
        access, values = self.access, {}
        if access.store:
            if not self.fails:
                store_bytes(memory, access, access.lanes)
            return {}
        for segment in access.segments():
            for lane in segment:
                if self.kind == "atomic" and not self.fails:
                    old = perform(memory, access, lane)
                    words = [old >> 32 * k & 0xFFFF_FFFF for k in range(access.size.registers)]
                else:
                    words = load_value(memory, access.address[lane], access.size)
                for k, word in enumerate(words):
                    if not self.fails and (self.kind == "load" or access.returns):
                        values.setdefault(k, {})[lane] = word
        return values


class Generations:
    """Generations of the warp slots, as the front end gives them."""

    def __init__(self, g):
        self.current, self.spent = [0] * g.warps, [0] * g.warps

    def able(self, warp: int, lingering: bool) -> bool:
        """Whether the warp may be forgotten."""
        if not lingering:
            self.spent = [0] * len(self.spent)
        return self.spent[warp] < (1 << GENERATION_BITS) - 1

    def forget(self, warp: int):
        self.current[warp] = (self.current[warp] + 1) % (1 << GENERATION_BITS)
        self.spent[warp] += 1

    def planes(self) -> list[int]:
        """The vectors of `payloads.generations`."""
        return [sum((number >> plane & 1) << warp for warp, number in enumerate(self.current))
                for plane in range(GENERATION_BITS)]


class SlowReader:
    """Answers a `ReadPort`; `owner` says whose an address is.

    A request of a forgotten access may not come. With `frozen` nothing is answered, with `stalled` nothing taken.
    """

    def __init__(self, g, port, memory, owner, rng):
        self.g, self.port, self.memory, self.owner, self.rng = g, port, memory, owner, rng
        self.waiting, self.beat, self.frozen, self.stalled = deque(), None, False, False

    @property
    def owes(self):
        """Accesses whose answers have not come."""
        return {item[0] for item in self.waiting}

    def drive(self, ctx):
        port = self.port
        self.ready = not self.stalled and self.rng.random() < 0.7
        ctx.set(port.request.ready, self.ready)
        if self.beat is None and self.waiting and not self.frozen and self.rng.random() < 0.8:
            issued, address, left = self.waiting[0]
            self.beat = {"data": int.from_bytes(self.memory[address:address + self.g.bus_bytes].tobytes(), "little"),
                         "last": left == 0, "error": issued.fails}
            ctx.set(port.beat.payload, self.beat)
        ctx.set(port.beat.valid, self.beat is not None)

    def sample(self, ctx):
        port = self.port
        if ctx.get(port.request.valid):
            request = ctx.get(port.request.payload)
            issued = self.owner(request.address)
            assert not issued.forgotten, "a read for a forgotten warp"
            if self.ready:
                self.waiting.append((issued, request.address, request.extra_beats))
        if self.beat is not None and ctx.get(port.beat.ready):
            issued, address, left = self.waiting.popleft()
            if left:
                self.waiting.appendleft((issued, address + self.g.bus_bytes, left - 1))
            self.beat = None


class SlowWriter:
    """Answers a `WritePort`, as `SlowReader` a reader.

    Parameters
    ----------
    begun : bool
        A burst that was offered, or would have been in the next cycle, is sent though its warp is forgotten; without
        it, it is withdrawn.
    """

    def __init__(self, g, port, memory, owner, rng, begun):
        self.g, self.port, self.memory, self.owner, self.rng, self.begun = g, port, memory, owner, rng, begun
        self.bursts, self.beats, self.acks = deque(), deque(), deque()
        self.offered, self.frozen, self.stalled, self.waits = False, False, False, False
        self.empty = 0

    @property
    def owes(self):
        """Accesses with bursts that are not acknowledged."""
        return {burst[0] for burst in self.bursts} | set(self.acks)

    def drive(self, ctx):
        port = self.port
        self.ready = not self.stalled and self.rng.random() < 0.7
        self.space = not self.stalled and bool(self.bursts) and self.rng.random() < 0.7
        ctx.set(port.request.ready, self.ready)
        ctx.set(port.beat.ready, self.space)
        if not self.offered and self.acks and not self.frozen and self.rng.random() < 0.5:
            self.offered = True
            ctx.set(port.ack.payload.error, self.acks[0].fails)
        ctx.set(port.ack.valid, self.offered)

    def sample(self, ctx):
        port = self.port
        if self.space and ctx.get(port.beat.valid):
            beat, (issued, address, left) = ctx.get(port.beat.payload), self.bursts.popleft()
            assert beat.last == (left == 0)
            if issued.forgotten:
                assert beat.strobe == 0, "a forgotten warp writes"
                self.empty += 1
            for k in range(self.g.bus_bytes):
                if beat.strobe >> k & 1 and not issued.fails:
                    self.memory[address + k] = beat.data >> 8 * k & 255
            if left:
                self.bursts.appendleft((issued, address + self.g.bus_bytes, left - 1))
            else:
                self.acks.append(issued)
        if ctx.get(port.request.valid):
            request = ctx.get(port.request.payload)
            issued = self.owner(request.address)
            held = self.begun and (self.waits or issued.just_forgotten)
            assert not issued.forgotten or held, "a burst for a forgotten warp"
            self.waits = not self.ready
            if self.ready:
                self.bursts.append((issued, request.address, request.extra_beats))
        if self.offered and ctx.get(port.ack.ready):
            self.acks.popleft()
            self.offered = False


class Reports:
    """Faults that may be reported: BUS_ERROR, once of each access that fails and is not forgotten."""

    def __init__(self):
        self.kinds = Counter()

    def take(self, fault, accesses):
        issued = accesses[fault.pc]
        assert not issued.forgotten and issued.fails and fault.kind == Fault.BUS_ERROR.value
        assert fault.warp == issued.access.warp
        issued.faults += 1
        self.kinds[issued.kind] += 1
