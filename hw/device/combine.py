"""Combines the words that the SMs of a device read into one word."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.commands import KernelState
from ..arch.geometry import Geometry
from ..arch.registers import Combine, Field, register_map
from ..lib.bits import lowest, select
from .kernel_states import common_state

__all__ = ["RULES", "Combiner"]

RULES = tuple(Combine)
"""The rules by the number that hardware has for them."""


class Combiner(wiring.Component):
    """Combines a word of each SM into one, as `Combine` says. Combinational.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    words : array of Signal(32), in
        Word of each SM.
    chosen : Signal(sms), in
        Vector: SMs that count.
    error_shown : Signal(sms), in
        Vector: SMs whose error counts, of a state.
    rule : Signal, in
        One of `RULES`.
    word : Signal(32), out
        0 if none counts.
    """

    words: data.View
    chosen: Signal
    error_shown: Signal
    rule: Signal
    word: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({"words": In(data.ArrayLayout(32, g.sms)), "chosen": In(g.sms),
                          "error_shown": In(g.sms), "rule": In(range(len(RULES))), "word": Out(32)})

    def elaborate(self, platform: Any):
        m = Module()
        words = [Signal(32, name=f"word_{i}") for i in range(self.geometry.sms)]
        m.d.comb += [word.eq(Mux(self.chosen[i], self.words[i], 0)) for i, word in enumerate(words)]
        first = select(lowest(self.chosen), words)
        how = {
            Combine.FIRST: first, Combine.FAULT: first,
            Combine.SUM: _tree(words, lambda a, b: (a + b)[:32]),
            Combine.MOST: _tree(words, lambda a, b: Mux(a > b, a, b)),
            Combine.LEAST: _tree(words, lambda a, b: Mux((b == 0) | (a != 0) & (a < b), a, b)),
            Combine.STATE: self._state(m, words), Combine.STATUS: self._status(words),
        }
        with m.Switch(self.rule):
            for number, rule in enumerate(RULES):
                with m.Case(number):
                    m.d.comb += self.word.eq(how[rule])
        return m

    def _state(self, m: Module, words: Sequence[Value]):
        """The state that comes first, the first error that is one; recorded on all that have any of
        the kernel."""
        fields = register_map()["kernel[0].state"].fields
        states = [_field(word, fields["state"]) for word in words]
        state = common_state(m, states, self.chosen, "state")
        errors = [_field(word, fields["error"]) for word in words]
        wrong = Cat(error != 0 for error in errors) & self.error_shown
        there = Cat(each != KernelState.IDLE for each in states)
        lacking = there & ~Cat(_field(word, fields["recorded"]) for word in words)
        return (Value.cast(state) << fields["state"].low
                | select(lowest(wrong), errors) << fields["error"].low
                | (there.any() & ~lacking.any()) << fields["recorded"].low)

    def _status(self, words: Sequence[Value]):
        """Busy if any is; TBs and warps added up, as far as they fit; no error."""
        fields = register_map()["status"].fields
        result = Cat(_field(word, fields["busy"]) for word in words).any() << fields["busy"].low
        for name in ("resident", "warps"):
            field = fields[name]
            most = (1 << field.width) - 1
            total = _tree([_field(word, field) for word in words],
                          lambda a, b, most=most: Mux(a + b > most, most, a + b))
            result |= total << field.low
        return result


def _field(word: Value, field: Field):
    return word[field.low:field.low + field.width]


def _tree(values: Iterable[Value], combine: Callable[[Value, Value], Value]) -> Value:
    """Combine values in pairs until one is left."""
    values = list(values)
    while len(values) > 1:
        pairs = [combine(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + ([values[-1]] if len(values) % 2 else [])
    return values[0]
