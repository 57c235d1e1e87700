# amaranth: UnusedElaboratable=no
"""AXI4 masters on one port, against a slave that delays and reorders; whose turn it is, and that the last has its
share."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from caesura.hw.arch.geometry import preset
from caesura.hw.memory.axi import ID_BITS, Axi4, AxiMaster
from caesura.hw.memory.axi_join import FairJoin, PriorityJoin
from caesura.hw.memory.guaranteed_share import PERIOD
from caesura.hw.memory.ports import ReadPort, WritePort
from support.hw.axi_bench import Bench
from support.hw.buses import with_bus
from support.hw.simulation import Simulator
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw/arch", "hw/lib", "hw/memory", "sim/events")

TINY = preset("tiny")
BUSES = {width: with_bus(width) for width in (4, 8, 16, 64, 128)}


class Joined(wiring.Component):
    """Masters of two readers and a writer each, on one port."""

    def __init__(self, g, masters, join, buffered=False):
        self.geometry, self.masters, self.join, self.buffered = g, masters, join, buffered
        super().__init__({"readers": In(ReadPort(g)).array(2 * masters), "writers": In(WritePort(g)).array(masters),
                          "axi": Out(Axi4(g, ID_BITS + ceil_log2(masters)))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.join = join = self.join(self.geometry, self.masters, ID_BITS, buffered=self.buffered)
        for n in range(self.masters):
            m.submodules[f"master_{n}"] = master = AxiMaster(self.geometry, 2, 1)
            for outer, inner in ((self.readers[2 * n], master.readers[0]), (self.readers[2 * n + 1], master.readers[1]),
                                 (self.writers[n], master.writers[0])):
                wiring.connect(m, wiring.flipped(outer), inner)
            wiring.connect(m, master.axi, join.masters[n])
        m.d.comb += join.share.eq(32)
        wiring.connect(m, join.axi, wiring.flipped(self.axi))
        return m


@pytest.mark.parametrize("join, masters, density, width, buffered", quick(
    [(join, masters, density, width, buffered) for join in (FairJoin, PriorityJoin) for masters in (1, 2, 3, 5)
     for density in (0.0, 0.4) for width in BUSES for buffered in (False, True)],
    [(FairJoin, 1, 0.4, 8, False), (FairJoin, 2, 0.4, 8, False), (PriorityJoin, 2, 0.4, 16, True)]))
def test_random_bursts_reach_the_memory_and_their_own_master(join, masters, density, width, buffered):
    g = BUSES[width]
    Bench(g, Joined(g, masters, join, buffered), 15, f"{join.__name__} {masters} {width}", density).run()


@pytest.mark.parametrize("buffered", [False, True])
def test_a_beat_a_cycle_with_no_gap_between_bursts(buffered):
    bench = Bench(BUSES[16], Joined(BUSES[16], 2, FairJoin, buffered), 40, 0, 0.0)
    bench.run()
    for cycles in (bench.w_cycles, bench.r_cycles):
        assert len(cycles) >= 0.97 * (cycles[-1] - cycles[0] + 1)


def taken(dut, channel, asking, lengths=None, share=0, requests=600, seed=0):
    """Which masters' requests are taken, one after the other, and how many beats each has."""
    order, rng = [], random.Random(seed)
    ports = [{name: getattr(master, channel + name) for name in ("valid", "ready", "len", "id")}
             for master in dut.masters]

    async def process(ctx):
        ctx.set(dut.share, share)
        for n, port in enumerate(ports):
            ctx.set(port["valid"], asking(n, rng))
        while len(order) < requests:
            ctx.set(getattr(dut.axi, f"{channel}ready"), rng.random() < 0.9)
            if channel == "aw":  # the data follow at once
                for master in dut.masters:
                    ctx.set(master.wvalid, 1)
                    ctx.set(master.wlast, 1)
                ctx.set(dut.axi.wready, 1)
            goes = [ctx.get(port["valid"]) & ctx.get(port["ready"]) for port in ports]
            assert sum(goes) <= 1
            waiting = [ctx.get(port["valid"]) for port in ports]
            order.extend((n, 1 + ctx.get(port["len"]), waiting) for n, port in enumerate(ports) if goes[n])
            await ctx.tick()
            for n, port in enumerate(ports):
                if goes[n] or not waiting[n]:
                    ctx.set(port["valid"], asking(n, rng))
                    if lengths:
                        ctx.set(port["len"], lengths(rng))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()
    return order


@pytest.mark.parametrize("channel", ["ar", "aw"])
def test_masters_that_always_ask_take_turns(channel):
    order = [n for n, _, _ in taken(FairJoin(TINY, 3, ID_BITS), channel, lambda n, rng: 1, requests=60)]
    assert all({*order[k:k + 3]} == {0, 1, 2} for k in range(len(order) - 3))


@pytest.mark.parametrize("channel", ["ar", "aw"])
def test_one_that_asks_seldom_waits_for_each_other_once_at_most(channel):
    order = taken(FairJoin(TINY, 4, ID_BITS), channel, lambda n, rng: n < 3 or rng.random() < 0.1)
    waits = 0
    for n, _, waiting in order:
        waits = waits + 1 if waiting[3] and n != 3 else 0
        assert waits <= 3


@pytest.mark.parametrize("channel", ["ar", "aw"])
def test_earlier_masters_go_first_without_a_share(channel):
    order = taken(PriorityJoin(TINY, 3, ID_BITS), channel, lambda n, rng: rng.random() < 0.4)
    assert all(not any(waiting[:n]) for n, _, waiting in order)
    assert {n for n, _, _ in order} == {0, 1, 2}


@pytest.mark.parametrize("channel", ["ar", "aw"])
@pytest.mark.parametrize("share", quick([16, 32, 100], [32]))
def test_the_last_master_has_its_share_of_any_beats_while_it_waits(channel, share):
    g = BUSES[16]
    dut = PriorityJoin(g, 2, ID_BITS)
    lengths = None if channel == "aw" else lambda rng: rng.choice((g.burst_beats - 1, rng.randrange(g.burst_beats)))
    order = taken(dut, channel, lambda n, rng: n == 0 or rng.random() < 0.7, lengths, share, 1500)
    beats = [n == 1 for n, count, waiting in order if waiting[1] for _ in range(count)]
    windows = [sum(beats[k:k + PERIOD]) for k in range(len(beats) - PERIOD)]
    assert share <= min(windows) and max(windows) <= share + 3 * g.burst_beats


def test_an_answer_that_names_no_master_is_dropped():
    dut = FairJoin(TINY, 3, ID_BITS)

    async def process(ctx):
        for channel in ("r", "b"):
            for number in range(4):
                ctx.set(getattr(dut.axi, f"{channel}id"), number << ID_BITS | 5)
                ctx.set(getattr(dut.axi, f"{channel}valid"), 1)
                got = [ctx.get(getattr(master, f"{channel}valid")) for master in dut.masters]
                assert got == [n == number for n in range(3)]
                assert ctx.get(getattr(dut.axi, f"{channel}ready")) == (number == 3)
                assert all(ctx.get(getattr(master, f"{channel}id")) == 5 for master in dut.masters)
                ctx.set(getattr(dut.axi, f"{channel}valid"), 0)

    simulator = Simulator(dut)
    simulator.add_testbench(process)
    simulator.run()


def test_there_is_a_master():
    with pytest.raises(ValueError, match="masters must be 1 or more, not 0"):
        FairJoin(TINY, 0, ID_BITS)
