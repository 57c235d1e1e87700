"""TB-level compressor and its inverse (Lin et al. III-C, Figs. 9 and 11): a register that follows
from those of the warps before it has no words (`arch.tb_history`).

The compressor of the paper waits for all warps of a TB and compares their first words and steps.
These two compare each warp with the one before, one register per cycle, whatever its place::

    register --> [ stage ] ------+---------------> register, or only that it follows
                     |        compare
                     +-- row --> [ RegisterHistory ]
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...arch.image.encodings import Encoding
from ...arch.image.tb_history import FOLLOWED_WORDS
from .group_decoder import grouped_register
from .register_encoder import encoded_beat
from .tb_history import RegisterHistory, followed

__all__ = ["TbCompressor", "TbDecompressor"]


class _Stage(wiring.Component):
    """One register in hand, and what was kept of it."""

    LATENCY = 1
    input: stream.Interface
    output: stream.Interface

    def __init__(self, g: Geometry, shape: data.StructLayout, more: dict | None = None):
        self.geometry, self.shape = g, shape
        super().__init__({"input": In(stream.Signature(shape)),
                          "output": Out(stream.Signature(shape))} | (more or {}))

    def _hold(self, m: Module):
        """Take a register and look it up; return the history and the register."""
        m.submodules.history = history = RegisterHistory(self.geometry)
        held = Signal(self.shape)
        valid = Signal()
        m.d.comb += [
            self.input.ready.eq(~valid | self.output.ready), self.output.valid.eq(valid),
            history.go.eq(valid & self.output.ready), history.opens.eq(held.tag.opens),
            history.look.eq(self.input.payload.tag.register),
            history.ask.eq(self.input.valid & self.input.ready),
            Value.cast(self.output.payload).eq(Value.cast(held)),
        ]
        with m.If(self.input.ready):
            m.d.sync += valid.eq(self.input.valid)
        with m.If(history.ask):
            m.d.sync += held.eq(self.input.payload)
        return history, held


class TbCompressor(_Stage):
    """Leaves out the words of registers that follow; one beat per cycle, `LATENCY` cycles later.

    Parameters
    ----------
    g : Geometry
    tag : data.StructLayout
        Layout of the tag that all beats of a register carry along. It has at least the number
        `register`, and `opens`: the register begins a new TB.

    Attributes
    ----------
    enable : Signal, in
        Registers may follow; constant while anything is held.
    input, output : stream
        `register_encoder.encoded_beat`; one that follows has no words and the code that says so.
    busy : Signal, out
        Something is held.
    """

    enable: Signal
    busy: Signal

    def __init__(self, g: Geometry, tag: data.StructLayout):
        super().__init__(g, encoded_beat(g, tag), {"enable": In(1), "busy": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        history, held = self._hold(m)
        code, out = held.code, self.output.payload
        kept = Signal()  # it is one that others may follow
        same = Signal()  # and follows itself
        m.d.comb += [
            kept.eq(followed(self.geometry, code)), self.busy.eq(self.output.valid),
            same.eq(self.enable & kept & history.kept & (history.code == code)
                    & self._as_expected(history, held)),
            history.write.eq(kept), history.new.eq(code),
        ]
        m.d.comb += [history.words[k].eq(held.words[k]) for k in range(FOLLOWED_WORDS)
                     if k < len(held.words)]
        with m.If(same):
            m.d.comb += [out.code.eq(Encoding.FOLLOWS), out.count.eq(0)]
        return m

    def _as_expected(self, history: RegisterHistory, held: data.View):
        """Return whether the words of the register in hand are what they are if it follows."""
        same = 1
        for k in range(min(FOLLOWED_WORDS, len(held.words))):
            same &= (held.count <= k) | (held.words[k] == history.expected[k])
        return same


class TbDecompressor(_Stage):
    """Gives registers that follow their encoding and words back; one a cycle, `LATENCY` cycles
    later.

    One that follows where nothing is kept has whatever words.

    Parameters
    ----------
    g : Geometry
    tag : data.StructLayout
        Layout of the tag, as in `TbCompressor`.

    Attributes
    ----------
    input, output : stream
        `group_decoder.grouped_register`.
    """

    def __init__(self, g: Geometry, tag: data.StructLayout):
        super().__init__(g, grouped_register(g, tag))

    def elaborate(self, platform: Any):
        m = Module()
        history, held = self._hold(m)
        out = self.output.payload
        follows = Signal()
        m.d.comb += [
            follows.eq(held.code == Encoding.FOLLOWS),
            out.code.eq(Mux(follows, Value.cast(history.code), Value.cast(held.code))),
            history.write.eq(followed(self.geometry, out.code)), history.new.eq(out.code),
        ]
        for k in range(min(FOLLOWED_WORDS, len(held.words))):
            m.d.comb += [out.words[k].eq(Mux(follows, history.expected[k], held.words[k])),
                         history.words[k].eq(out.words[k])]
        return m
