# amaranth: UnusedElaboratable=no
"""The guaranteed share of the bus: for all traffic by proof, and of the whole bus master under saturating traffic."""

import random
from collections import deque

import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.geometry import preset
from caesura.hw.export.verilog import ExportError, rtlil_text, run_yosys
from caesura.hw.memory.axi import AxiMaster
from caesura.hw.memory.guaranteed_share import PERIOD, SHARE_BITS, GuaranteedShare
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import simulate
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw", "sim/events")

TINY = preset("tiny")
BUSES = {width: with_bus(width)
         for width in (4, 8, 16, 64, 128)}
INDUCTION = """
read_rtlil d.il; proc; flatten; opt -full; techmap; opt -full
tee -o proof.txt sat -verify -timeout 300 -tempinduct -maxsteps 1 -set-init-zero -prove right 1 top
""".strip()
"""It holds after a reset, and from any state in which it holds in the next, whatever the inputs."""
URGENT = """
read_rtlil d.il; proc; flatten; memory_map; opt_clean; setattr -unset init w:*
tee -o proof.txt sat -verify -timeout 300 -seq 1 -set master.{channel}_share.urgent 1 -set waits 1 -prove others 0 top
""".strip()
"""In any state, whatever the inputs: no other port is taken while the last one waits and is urgent."""


class Judged(wiring.Component):
    """Any arbiter that obeys `urgent` (or not), and counts of a window that may begin in any cycle.

    `right`: the debt is within its bound, and of the beats of the window, if they are `PERIOD` or more, the last port
    has its share. What makes that inductive: the debt is no less than what the beats of the window have added to it.
    """

    offered: Signal
    last: Signal
    waits: Signal
    extra_beats: Signal
    begins: Signal
    right: Signal

    def __init__(self, g, share, obeys=True):
        self.geometry, self.share, self.obeys = g, share, obeys
        super().__init__({"offered": In(1), "last": In(1), "waits": In(1), "extra_beats": In(range(g.burst_beats)),
                          "begins": In(1), "right": Out(1)})

    def elaborate(self, platform):
        m, most = Module(), self.geometry.burst_beats
        m.submodules.dut = dut = GuaranteedShare(self.geometry)
        total = Signal(range(PERIOD + most))  # beats of the window that count
        own = Signal(range(PERIOD + most))  # those of the last port
        granted = Signal()
        beats = Signal(range(most + 1))
        m.d.comb += [
            granted.eq(self.offered & Mux(self.last, self.waits, ~(dut.urgent & self.waits & self.obeys))),
            beats.eq(self.extra_beats + 1), dut.share.eq(self.share), dut.waits.eq(self.waits),
            dut.granted.eq(granted), dut.last.eq(self.last), dut.extra_beats.eq(self.extra_beats),
            self.right.eq((dut.debt <= PERIOD * most) & (total < PERIOD + most) & (own <= total)
                          & ((self.share + most) * total <= PERIOD * own + dut.debt)
                          & ((total < PERIOD) | (own >= self.share))),
        ]
        with m.If(self.begins | (total >= PERIOD)):
            m.d.sync += [total.eq(0), own.eq(0)]
        with m.Elif(granted & self.waits):
            m.d.sync += [total.eq(total + beats), own.eq(own + beats * self.last)]
        return m


def prove(g, share, obeys=True):
    return run_yosys(rtlil_text(Judged(g, share, obeys), reset=False), INDUCTION, "proof.txt")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("width, share", quick([(width, share) for width in BUSES for share in (1, 32, 77, 127)],
                                               [(8, 1)]))
def test_of_any_beats_that_count_the_last_port_has_its_share(width, share):
    assert "Induction step proven: SUCCESS!" in prove(BUSES[width], share)


@pytest.mark.full
def test_the_proof_notices_an_arbiter_that_does_not_obey():
    with pytest.raises(ExportError, match="proof did fail"):
        prove(BUSES[16], 32, obeys=False)


class Ports(wiring.Component):
    """A bus master with any requests on all ports; `others`: one that is not the last port's is taken."""

    share: Signal
    requests: Signal
    taken: Signal
    arready: Signal
    awready: Signal
    waits: Signal
    others: Signal

    def __init__(self, channel):
        self.channel = channel
        super().__init__({"share": In(SHARE_BITS), "requests": In(3), "arready": In(1), "awready": In(1),
                          "waits": Out(1), "others": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.master = master = AxiMaster(TINY, 3, 3)
        ports = [port.request for port in (master.readers if self.channel == "ar" else master.writers)]
        m.d.comb += [master.share.eq(self.share), master.axi.arready.eq(self.arready),
                     master.axi.awready.eq(self.awready), self.waits.eq(ports[-1].valid),
                     self.others.eq(ports[0].valid & ports[0].ready | ports[1].valid & ports[1].ready)]
        m.d.comb += [port.valid.eq(self.requests[k]) for k, port in enumerate(ports)]
        return m


@pytest.mark.timeout(600)
@pytest.mark.parametrize("channel", quick(["ar", "aw"], []))
def test_the_bus_master_takes_no_other_request_while_the_last_port_is_urgent(channel):
    text = rtlil_text(Ports(channel), reset=False)
    assert "SUCCESS" in run_yosys(text, URGENT.format(channel=channel), "proof.txt")
    with pytest.raises(ExportError, match="proof did fail"):
        run_yosys(text, URGENT.format(channel=channel).replace("urgent 1", "urgent 0"), "proof.txt")


async def saturate(ctx, dut, rng, share, granted):
    """All ports of readers ask all the time, the last one but for pauses; note the bursts taken while it waits."""
    ports, most = dut.readers, dut.geometry.burst_beats
    ctx.set(dut.share, share)
    for port in ports:
        ctx.set(port.request.valid, 1)
    while sum(beats for _, beats in granted) < 8000:
        ctx.set(dut.axi.arready, rng.random() < 0.8)
        waits = ctx.get(ports[-1].request.valid)
        taken = [ctx.get(port.request.valid) & ctx.get(port.request.ready) for port in ports]
        granted += [(port is ports[-1], 1 + ctx.get(port.request.payload.extra_beats))
                    for port, goes in zip(ports, taken, strict=True) if goes and waits]
        await ctx.tick()
        for port, goes in zip(ports, taken, strict=True):
            if goes:
                ctx.set(port.request.payload.extra_beats, rng.choice((most - 1, rng.randrange(most))))
        if taken[-1] or not waits:
            ctx.set(ports[-1].request.valid, rng.random() < 0.5)


def least(granted):
    """Return the fewest beats of the last port among any bursts in a row that have `PERIOD` beats or more."""
    window, total, own, found = deque(), 0, 0, PERIOD
    for last, beats in granted:
        window.append((last, beats))
        total, own = total + beats, own + last * beats
        while total - window[0][1] >= PERIOD:
            gone, size = window.popleft()
            total, own = total - size, own - gone * size
        if total >= PERIOD:
            found = min(found, own)
    return found


@pytest.mark.parametrize("width, share", quick(
    [(16, 32), (16, 0), (16, 127), (8, 32), (4, 100)], [(8, 32), (4, 100)]))
def test_saturating_traffic_leaves_the_last_port_its_share_and_no_more_than_is_said(width, share):
    g, granted, rng = BUSES[width], [], random.Random(share)
    dut = component(AxiMaster, g, 3, 1)

    async def bench(ctx):
        await saturate(ctx, dut, rng, share, granted)

    simulate(dut, bench, cycles=30000)
    own, total = sum(last * beats for last, beats in granted), sum(beats for _, beats in granted)
    assert least(granted) >= share
    assert own <= (share + g.burst_beats) / PERIOD * total + 2 * g.burst_beats if share else own == 0
