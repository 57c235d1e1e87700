"""Shared-memory bank conflicts: which lanes are served in one pass,
and what each bank does for them."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import WORD_BYTES, Geometry
from ...interfaces.payloads import below
from ...lib.bits import look_up

__all__ = ["bank_access", "BankConflicts"]


def bank_access(g: Geometry, rows: int) -> data.StructLayout:
    """Access of one bank in a pass: its row, and the word and byte strobes of a store."""
    return data.StructLayout({"row": below(rows), "data": 32, "strobe": WORD_BYTES})


class BankConflicts(wiring.Component):
    """Picks the lanes of one pass; combinational.

    In each bank the lowest lane that is left wins and chooses the row. With `share` (loads) every
    lane of the same word is served with it. Without `share` only the winner is served. So later
    passes overwrite earlier ones, and the highest lane's store stays.

    Attributes
    ----------
    lanes_pending : Signal(lanes), in
        Lanes to be served.
    share : Signal(1), in
    bank, access : In
        Bank of each lane, and what it wants of it.
    served : Signal(lanes), out
        Lanes of this pass; not empty if `lanes_pending` is not.
    active, banks : Out
        Banks in use, and what each does.
    """

    lanes_pending: Signal
    share: Signal
    bank: list[Signal]
    access: list[data.View]
    served: Signal
    active: Signal
    banks: list[data.View]

    def __init__(self, g: Geometry, rows: int):
        self.geometry = g
        self.rows = rows
        access = bank_access(g, rows)
        super().__init__({
            "lanes_pending": In(g.lanes),
            "share": In(1),
            "bank": In(exact_log2(g.lanes)).array(g.lanes),
            "access": In(access).array(g.lanes),
            "served": Out(g.lanes),
            "active": Out(g.lanes),
            "banks": Out(access).array(g.lanes),
        })

    def elaborate(self, platform: Any):
        m = Module()
        lanes = range(self.geometry.lanes)
        bank_requests = [Signal(len(lanes), name=f"bank_requests_{i}") for i in lanes]
        for i in lanes:
            m.d.comb += bank_requests[i].eq(Mux(
                self.lanes_pending[i], Const(1, len(lanes)) << self.bank[i], 0))
        claimed = _before(m, bank_requests)
        wins = [Signal(len(lanes), name=f"wins_{i}") for i in lanes]
        m.d.comb += [wins[i].eq(bank_requests[i] & ~claimed[i]) for i in lanes]
        m.d.comb += self.active.eq(_either(bank_requests))
        winners = Cat(winner.any() for winner in wins)
        rows = [Signal.like(self.banks[0].row, name=f"row_{i}") for i in lanes]
        same = Signal(len(lanes))
        with m.If(self.lanes_pending.any()):
            for b in lanes:
                m.d.comb += self.banks[b].eq(_either([Mux(wins[i][b], self.access[i].as_value(), 0)
                                                      for i in lanes]))
            for i in lanes:
                look_up(m, rows[i], [self.banks[b].row for b in lanes], self.bank[i])
                m.d.comb += same[i].eq(self.access[i].row == rows[i])
        m.d.comb += self.served.eq(Mux(self.share, self.lanes_pending & same, winners))
        return m


def _before(m: Module, values: Sequence[Value]):
    """Return for each value the OR of those before it, as a tree of logarithmic depth (Sklansky
    1960)."""
    sums = list(values)
    level = 0
    while 1 << level < len(values):
        for i in range(len(values)):
            if i >> level & 1:
                total = Signal.like(values[0], name=f"sum_{level}_{i}")
                m.d.comb += total.eq(sums[i] | sums[(i >> level << level) - 1])
                sums[i] = total
        level += 1
    return [Const(0, len(values[0])), *sums[:-1]]


def _either(values: Sequence[Value]):
    """The OR of all values, as a tree."""
    while len(values) > 1:
        values = [low | high for low, high in zip(values[::2], values[1::2], strict=True)]
    return values[0]
