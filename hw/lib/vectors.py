"""Blocks that work on vectors with one bit per warp: arbiters, counters in bit planes."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from .bits import encode, lowest

__all__ = ["BitSlicedCounters", "LeastRecent", "RoundRobin"]


class RoundRobin(wiring.Component):
    """Grants one of the requests, starting after the last one granted.

    Parameters
    ----------
    width : int
        Number of requesters.

    Attributes
    ----------
    requests : Signal(width), in
        Requests for a grant in this cycle.
    valid : Signal(), out
        High if there is a request.
    grant : Signal(width), out
        Granted request, one-hot; combinational.
    index : Signal, out
        Number of the granted request.
    """

    requests: Signal
    valid: Signal
    grant: Signal
    index: Signal

    def __init__(self, width: int):
        if width < 1:
            raise ValueError(f"width must be 1 or more, not {width}")
        self.width = width
        super().__init__({"requests": In(width), "valid": Out(1), "grant": Out(width),
                          "index": Out(max(1, ceil_log2(width)))})

    def elaborate(self, platform: Any):
        m = Module()
        above = Signal(self.width)  # the requesters after the last one granted
        upper = Signal(self.width)
        candidates = Signal(self.width)
        m.d.comb += [
            upper.eq(self.requests & above),
            candidates.eq(Mux(upper.any(), upper, self.requests)),
            self.grant.eq(lowest(candidates)),
            self.index.eq(encode(self.grant)),
            self.valid.eq(self.requests.any()),
        ]
        with m.If(self.valid):
            m.d.sync += above.eq(~(candidates ^ (candidates - 1)[:self.width]))
        return m


class LeastRecent(wiring.Component):
    """Grants the request of the requester whose last grant is longest ago.

    A requester is passed over while it does not request, and comes next when it does. So none waits
    for ever, if each waits for something of its own.

    Parameters
    ----------
    width : int
        Number of requesters.
    told : bool
        Whether a grant may come to nothing; then only `served` counts.

    Attributes
    ----------
    requests : Signal(width), in
        Requests for a grant in this cycle.
    grant : Signal(width), out
        Granted request, one-hot; combinational.
    served : Signal(width), in
        Requester whose turn is over, one-hot. Only if `told`.
    """

    requests: Signal
    grant: Signal
    served: Signal

    def __init__(self, width: int, told: bool = False):
        self.width, self.told = width, told
        super().__init__({"requests": In(width), "grant": Out(width),
                          **({"served": In(width)} if told else {})})

    def elaborate(self, platform: Any):
        m = Module()
        everyone = range(self.width)
        # Each pair of requesters has one bit: the last grant of the first is longer ago. With one
        # bit per pair, two are never granted together.
        before = {(i, j): Signal(name=f"before_{i}_{j}", init=1)  # pyright: ignore
                  for i in everyone for j in everyone if i < j}
        for i in everyone:
            others = Cat(self.requests[j] & (~before[i, j] if i < j else before[j, i])
                         for j in everyone if j != i)
            m.d.comb += self.grant[i].eq(self.requests[i] & ~others.any())
        served = self.served if self.told else self.grant
        for (i, j), first in before.items():
            with m.If(served[i]):
                m.d.sync += first.eq(0)
            with m.Elif(served[j]):
                m.d.sync += first.eq(1)
        return m


class BitSlicedCounters(wiring.Component):
    """One small counter per warp, stored as bit planes so that all are tested at once.

    Parameters
    ----------
    width : int
        Number of counters.
    bits : int
        Bits of each counter.

    Attributes
    ----------
    up, down : Signal(width), in
        Counters to increment and to decrement; a counter in both keeps its value. The caller keeps
        them between 0 and all ones.
    clear : Signal(width), in
        Counters that become 0; wins over `up` and `down`.
    any : Signal(width), out
        Counters that are not zero.
    full : Signal(width), out
        Counters that are all ones.
    """

    up: Signal
    down: Signal
    clear: Signal
    any: Signal
    full: Signal

    def __init__(self, width: int, bits: int):
        self.width = width
        self.bits = bits
        super().__init__({"up": In(width), "down": In(width), "clear": In(width),
                          "any": Out(width), "full": Out(width)})

    def elaborate(self, platform: Any):
        m = Module()
        planes = [Signal(self.width, name=f"plane{bit}") for bit in range(self.bits)]
        carry = self.up & ~self.down
        borrow = self.down & ~self.up
        for plane in planes:
            m.d.sync += plane.eq((plane ^ (carry | borrow)) & ~self.clear)
            carry, borrow = carry & plane, borrow & ~plane
        some = planes[0]
        all_ones = planes[0]
        for plane in planes[1:]:
            some, all_ones = some | plane, all_ones & plane
        m.d.comb += [self.any.eq(some), self.full.eq(all_ones)]
        return m
