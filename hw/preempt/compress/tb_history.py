"""Words and steps that are kept of the registers of a TB from one warp record to the next
(`arch.tb_history`)."""

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import MAX_REGISTERS, Geometry
from ...arch.image.encodings import Encoding, encoded_words
from ...arch.image.tb_history import FOLLOWED_WORDS

__all__ = ["kept_register", "followed", "RegisterHistory"]


def kept_register() -> data.StructLayout:
    """A register as it last was, and by how much its first words move on."""
    return data.StructLayout({"code": Encoding, "words": data.ArrayLayout(32, FOLLOWED_WORDS),
                              "move": 32})


def followed(g: Geometry, code: Value) -> Value:
    """Return whether a register in an encoding is kept, so that a later one may follow it."""
    return Value.cast(code).matches(*(
        each for each in Encoding
        if each.group and encoded_words(each, g.warp_size) <= FOLLOWED_WORDS))


class RegisterHistory(wiring.Component):
    """Keeps a row for each register, and shows the row of the one asked for in the cycle before.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    look, ask : Signal, in
        The register that is shown from the next cycle on, if `ask`.
    kept : Signal, out
        Something is kept of the register shown.
    code : Encoding, out; expected : array of words, out
        Encoding and words of the register if it follows; words beyond its encoding do not matter.
    opens : Signal, in
        The register shown is the first of a TB: nothing is kept.
    write : Signal, in; new : Encoding, in; words : array of words, in
        The register shown has these in the record in hand, and is kept.
    go : Signal, in
        The register shown is done with; with it come `opens` and `write`.
    """

    look: Signal
    ask: Signal
    kept: Signal
    code: Signal
    expected: data.View
    opens: Signal
    go: Signal
    write: Signal
    new: Signal
    words: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        words = data.ArrayLayout(32, FOLLOWED_WORDS)
        super().__init__({
            "look": In(range(MAX_REGISTERS)), "ask": In(1), "kept": Out(1), "code": Out(Encoding),
            "expected": Out(words), "opens": In(1), "go": In(1), "write": In(1),
            "new": In(Encoding), "words": In(words)})

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.rows = rows = Memory(shape=kept_register(), depth=MAX_REGISTERS, init=[])
        write = rows.write_port()
        read = rows.read_port(transparent_for=(write,))
        row = read.data
        shown = Signal.like(self.look)
        known = Signal(MAX_REGISTERS)
        before = Signal(MAX_REGISTERS)  # those of this TB
        strided = Value.cast(row.code)[2]
        with m.If(self.ask):
            m.d.sync += shown.eq(self.look)
        m.d.comb += [
            read.addr.eq(self.look), read.en.eq(self.ask), self.code.eq(row.code),
            before.eq(Mux(self.opens, 0, known)), self.kept.eq(before.bit_select(shown, 1)),
            write.addr.eq(shown), write.en.eq(self.go & self.write), write.data.code.eq(self.new),
            Value.cast(write.data.words).eq(Value.cast(self.words)),
            write.data.move.eq(Mux(self.kept & (row.code == self.new),
                                   self.words[0] - row.words[0], self._first_move())),
        ]
        m.d.comb += [self.expected[k].eq(row.words[k] + Mux(strided & (k & 1), 0, row.move))
                     for k in range(FOLLOWED_WORDS)]
        with m.If(self.go):
            m.d.sync += known.eq(before | Mux(self.write, Const(1, MAX_REGISTERS) << shown, 0))
        return m

    def _first_move(self):
        """Return how a register moves on of which nothing is known but what it is."""
        size = self.geometry.warp_size
        whole = next(each for each in Encoding if each.strided and each.group == size)
        return Mux(self.new == whole, self.words[1] << exact_log2(size), 0)
