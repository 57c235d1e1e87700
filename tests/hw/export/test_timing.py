"""Timing that is found in netlists: registers, memories, paths within a cycle."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.geometry import preset
from caesura.hw.export import block, blocks
from caesura.hw.export.ports import ports_of
from caesura.hw.export.timing import Timing
from support.hw.simulation import component
from support.selection import quick

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
    monkeypatch.setattr("caesura.hw.export.timing.LARGE", 3)
    made = block("packer").make(G, {})
    assert Timing(made, ports_of(made)).large


class Bus(wiring.Component):
    """A bus whose `ready` follows its `valid`, or comes from a register; beside it an output that follows the bus."""

    def __init__(self, registered):
        self.registered = registered
        bus = wiring.Signature({"valid": Out(1), "ready": In(1)})
        super().__init__({"s_axi": In(bus), "taken": Out(1), "free": In(1), "busy": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.taken.eq(self.s_axi.valid & self.s_axi.ready)
        m.d.comb += self.busy.eq(~self.free)
        if self.registered:
            m.d.sync += self.s_axi.ready.eq(self.free)
        else:
            m.d.comb += [self.s_axi.ready.eq(self.s_axi.valid & self.free), self.busy.eq(self.s_axi.valid)]
        return m


def test_paths_through_a_bus_are_found():
    def paths(registered):
        return Timing(Bus(registered), ports_of(component(Bus, registered))).bus_paths()

    assert paths(False) == {"s_axi_ready": ["s_axi_valid", "free"], "busy": ["s_axi_valid"]}
    assert paths(True) == {}


PARTS = "axi_master", "axi_lite_host"
"""Blocks with a bus on one side, and on the other inner ports that may follow it."""


@pytest.mark.parametrize("name", PARTS)
def test_no_output_of_a_bus_follows_an_input(name):
    made = block(name).make(G, {})
    timing = Timing(made, ports_of(made))
    assert timing.buses == ["axi"]
    assert not [path for path in timing.bus_paths() if path.startswith("axi_")]


TOPS = "axi_registers", "preemption_unit", "control_unit", "sm", "device"


def test_every_exported_block_with_a_bus_is_looked_at():
    kinds = {name for name, each in blocks().items() if each.module == "export.tops"}
    assert kinds == set(TOPS)


@pytest.mark.parametrize("name", quick(TOPS, ["axi_registers"]))
@pytest.mark.timeout(1200)
def test_registers_cut_the_buses_of_exported_blocks_from_all_else(name):
    """Also of a device, though it has more than `LARGE` cells; with queues and watches."""
    g = G.replace(sms=2, queues=1, watches=4) if name == "device" else G
    made = block(name).make(g, {})
    timing = Timing(made, ports_of(made))
    assert timing.buses and set(timing.buses) <= {"s_axi", "m_axi"}
    assert timing.bus_paths() == {}
