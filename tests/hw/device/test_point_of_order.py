# amaranth: UnusedElaboratable=no
"""The point of order: no segment belongs to two SMs, proved and tried; nobody waits for ever."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.geometry import preset
from caesura.hw.device.point_of_order import LOCK_BITS, PointOfOrder, lock_of
from caesura.hw.export.verilog import ExportError, rtlil_text, run_yosys
from caesura.hw.interfaces.gpu_ports import SEGMENT_BITS
from caesura.hw.lib.bits import popcount
from support.hw.simulation import Simulator
from support.selection import quick

TINY = preset("tiny")
INDUCTION = ("read_rtlil d.il; hierarchy -top top; proc; memory; flatten; opt -full; "
             "tee -o proof.txt sat -verify -timeout 300 -tempinduct -maxsteps 1 -set-init-zero -prove right 1 top")


class Judged(wiring.Component):
    """A point of order whose SMs take and give back anything, but only what they own; `right`: of one lock, which
    never changes, at most one of them is the owner, and it is taken then."""

    def __init__(self, sms, honest=True):
        self.sms, self.honest = sms, honest
        super().__init__({"lock": In(LOCK_BITS), "takes": In(sms), "gives": In(sms),
                          "segments": In(2 * sms * SEGMENT_BITS), "right": Out(1)})

    def elaborate(self, platform):
        m = Module()
        g = TINY.replace(sms=self.sms)
        m.submodules.dut = dut = PointOfOrder(g)
        kept = Signal(LOCK_BITS)  # the lock that is judged
        known = Signal()
        owners = Signal(self.sms)
        m.d.sync += known.eq(1)
        with m.If(~known):
            m.d.sync += kept.eq(self.lock)
        for i, port in enumerate(dut.ports):
            segment = self.segments.word_select(2 * i, SEGMENT_BITS)
            back = self.segments.word_select(2 * i + 1, SEGMENT_BITS)
            mine = lock_of(back) == kept
            gives = self.gives[i] & (owners[i] | ~mine if self.honest else 1)
            m.d.comb += [port.take.valid.eq(self.takes[i] & known), port.take.payload.eq(segment),
                         port.give.valid.eq(gives & known), port.give.segment.eq(back)]
            with m.If(port.take.valid & port.take.ready & (lock_of(segment) == kept)):
                m.d.sync += owners[i].eq(1)
            with m.Elif(port.give.valid & mine):
                m.d.sync += owners[i].eq(0)
        m.d.comb += self.right.eq((popcount(owners) <= 1) & (known | ~owners.any())
                                  & (dut.locks.bit_select(kept, 1) | ~owners.any()))
        return m


@pytest.mark.timeout(600)
@pytest.mark.parametrize("sms", quick([2, 5], [2]))
def test_no_segment_ever_belongs_to_two_sms(sms):
    assert "SUCCESS" in run_yosys(rtlil_text(Judged(sms), reset=False), INDUCTION, "proof.txt")


def test_the_proof_notices_an_sm_that_gives_back_what_is_not_its_own():
    with pytest.raises(ExportError):
        run_yosys(rtlil_text(Judged(2, honest=False), reset=False), INDUCTION, "proof.txt")


@pytest.mark.parametrize("segments, sms", quick(
    [(segments, sms) for segments in (1, 3, 200) for sms in (2, 3, 16)], [(1, 2), (3, 3), (200, 3)]))
def test_each_sm_gets_what_it_wants_and_keeps_it(sms, segments):
    """SMs take a few of `segments` at a time, and hold them for random times; none is passed over for long."""
    dut, rng = PointOfOrder(TINY.replace(sms=sms)), random.Random(f"{sms} {segments}")

    async def process(ctx):
        owned = [{} for _ in range(sms)]  # segment to the cycle in which it is given back
        wanted, waits, most, got = [None] * sms, [0] * sms, 0, [0] * sms
        for cycle in range(1500):
            for i, port in enumerate(dut.ports):
                if wanted[i] is None and len(owned[i]) < 3 and rng.random() < 0.8:
                    free = [s for s in range(segments) if s not in owned[i]]
                    wanted[i] = rng.choice(free) if free else None
                over = next((s for s, end in owned[i].items() if end <= cycle), None)
                ctx.set(port.take.valid, wanted[i] is not None)
                ctx.set(port.take.payload, wanted[i] or 0)
                ctx.set(port.give.valid, over is not None)
                ctx.set(port.give.segment, over or 0)
                if over is not None:
                    del owned[i][over]
                    owned[i][None] = over  # until the next cycle
            goes = [wanted[i] is not None and ctx.get(port.take.ready) for i, port in enumerate(dut.ports)]
            assert sum(goes) <= 1
            everyone = {s for mine in owned for s in (*mine, mine.get(None)) if s is not None}
            for i, go in enumerate(goes):
                if go:
                    assert wanted[i] not in everyone, "it belongs to somebody, or is given back in this cycle"
                    owned[i][wanted[i]] = cycle + 1 + rng.randrange(12)
                    wanted[i], waits[i] = None, 0
                    got[i] += 1
                elif wanted[i] is not None:
                    waits[i] += 1
                    most = max(most, waits[i])
            await ctx.tick()
            for mine in owned:
                mine.pop(None, None)
        assert min(got) > 0.5 * max(got) and most < 14 * 3 * sms

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


def test_neighbours_have_locks_of_their_own():
    """Segments in a row do not wait for each other, nor do those at the same place of many arrays."""
    m = Module()
    segment, lock = Signal(SEGMENT_BITS), Signal(LOCK_BITS)
    m.d.comb += lock.eq(lock_of(segment))

    async def process(ctx):
        def locks(numbers):
            found = set()
            for number in numbers:
                ctx.set(segment, number)
                found.add(ctx.get(lock))
            return len(found)

        assert locks(range(1 << LOCK_BITS)) == 1 << LOCK_BITS
        assert locks(range(0, 1 << 2 * LOCK_BITS, 1 << LOCK_BITS)) == 1 << LOCK_BITS

    simulator = Simulator(m)
    simulator.add_testbench(process)
    simulator.run()
