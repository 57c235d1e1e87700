"""Timing that is found in netlists: registers, memories, paths within a cycle."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.geometry import preset
from caesura.hw.blocks import block
from caesura.hw.blocks.ports import ports_of
from caesura.hw.blocks.timing import Timing

G = preset("tiny")


class Delayed(wiring.Component):
    """A stream whose payload passes `registers` registers, or a memory that is read at `domain`."""

    def __init__(self, registers=0, domain=None):
        self.registers, self.domain = registers, domain
        super().__init__({"into": In(stream.Signature(4)), "out": Out(stream.Signature(4)), "parity": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.into.ready.eq(self.out.ready), self.parity.eq(self.into.payload.xor())]
        value = self.into.payload
        for number in range(self.registers):
            following = Signal(4, name=f"stage_{number}")
            m.d.sync += following.eq(value)
            value = following
        if self.domain:
            m.submodules.memory = memory = Memory(shape=4, depth=4, init=[])
            write, read = memory.write_port(), memory.read_port(domain=self.domain)
            m.d.comb += [write.en.eq(1), write.data.eq(value)]
            value = read.data
        m.d.comb += self.out.payload.eq(value)
        return m


@pytest.mark.parametrize("arguments, cycles", [
    ((0,), 0), ((3,), 3), ((1, "comb"), 2), ((0, "sync"), 2), ((2, "sync"), 4)])
def test_the_fewest_cycles_from_a_stream_to_a_stream(arguments, cycles):
    found = Timing(Delayed(*arguments), ports_of(Delayed(*arguments)))
    assert found.latencies() == {("into", "out"): cycles}
    within = found.within_cycle()
    assert within["into_ready"] == ["out_ready"] and within["parity"] == ["into_payload"]
    assert within["out_payload"] == ([] if cycles else ["into_payload"])


@pytest.mark.parametrize("name", ["compressor", "register_encoder", "group_decoder"])
def test_blocks_are_as_fast_as_they_say(name):
    made = block(name).make(G, {})
    assert set(Timing(made, ports_of(made)).latencies().values()) == {made.LATENCY}


def test_a_whole_unit_is_too_large_to_look_through(monkeypatch):
    monkeypatch.setattr("caesura.hw.blocks.timing.LARGE", 3)
    made = block("packer").make(G, {})
    assert Timing(made, ports_of(made)).large
