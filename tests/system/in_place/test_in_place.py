"""In-place preempts on the RTL: who makes room when one follows the other, and shared memory that stays alone is taken
over by the other machine."""

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from support.programs.guests import MEMORY, Guest, evicted, image, stays
from support.selection import quick
from support.sim.adoption import carry
from support.sim.launch import Bench

TINY = preset("tiny")
TRANSPORTS = {"golden": GoldenTransport, "rtl": RtlTransport}
UNDER_WAY = {"golden": 60, "rtl": 400}
"""Cycles until the thread blocks of a launch are in the middle."""
GIVERS = [(giver, taker, mechanism, scramble) for giver, taker in (("rtl", "golden"), ("golden", "rtl"), ("rtl", "rtl"))
          for mechanism in Mechanism for scramble in (False, True)]


@pytest.mark.parametrize("ends", [Command.ABORT, Command.KILL], ids=lambda command: command.name)
def test_a_preempt_that_ends_before_its_plan_is_made_leaves_the_next_one_its_own(ends):
    """The newcomer needs the registers of the second kernel, whatever becomes of the first."""
    transport = RtlTransport(TINY, memory_bytes=MEMORY)
    bench = Bench(transport)
    first, second = Guest(bench, 0, rounds=60), Guest(bench, 1, registers=16, rounds=60)
    newcomer = Guest(bench, 2, warps=3, registers=16, rounds=2)
    for slot in (0, 1):
        bench.start(slot)
    bench.transport.advance(400)
    bench.set("patience", 0)
    bench.set("newcomer", kernel=2, tbs=2)
    state, early = transport.snapshot(), 0
    for moment in range(40):
        transport.restore(state)
        for slot in (0, 1):
            bench.command(Command.PREEMPT, slot, Mechanism.LIVE, in_place=True)
        for _ in range(moment):
            bench.transport.advance(1)
        bench.command(ends, 0)
        passed = 0
        while bench.state(1) is not KernelState.PREEMPTED:
            passed += bench.transport.advance(1)
            assert passed < 2000
        assert stays(bench, 1) == ([], [0]), moment
        early += not any(stays(bench)) and bench.state(0) is not KernelState.RESUMING
        if moment == 10:
            bench.start(2)
            bench.finish(2)
            newcomer.check()
            assert evicted(bench)[0] == 0
            bench.resume(1)
            bench.finish(1)
            second.check()
            if ends is Command.ABORT:
                bench.finish(0)
                first.check()
    assert early > 20


@pytest.mark.parametrize("giver, taker, mechanism, scramble", quick(GIVERS, [
    ("rtl", "golden", Mechanism.LIVE_CP, True), ("golden", "rtl", Mechanism.LIVE_TB, True),
    ("golden", "rtl", Mechanism.OCCUPIED, False), ("rtl", "rtl", Mechanism.LIVE, False)]))
def test_shared_memory_that_stayed_alone_completes_an_image_on_both(giver, taker, mechanism, scramble):
    bench = Bench(TRANSPORTS[giver](TINY, memory_bytes=MEMORY))
    guest = Guest(bench, 0, warps=2, registers=16, rounds=40)
    Guest(bench, 1, warps=4, registers=16)
    bench.start(0)
    bench.transport.advance(UNDER_WAY[giver])
    bench.preempt(0, mechanism, scramble, in_place=True, newcomer=(1, 1))
    assert stays(bench) == ([], [0]) and bench.error(0) is CommandError.NONE
    bench.preempt(0, mechanism, scramble)
    assert stays(bench) == ([], []) and bench.error(0) is CommandError.NONE
    first, second = guest.entry(), guest.entry(side=1)
    assert first["live_warps"] == second["live_warps"] == 0b11 and second["base_crc"] == first["crc"]
    other = carry(bench, TRANSPORTS[taker](TINY, memory_bytes=MEMORY))
    assert other.adopt(0) is CommandError.NONE
    for machine in (other, bench):
        guest.bench = machine
        machine.resume(0, scramble)
        machine.finish(0)
        assert machine.fault() is None
        guest.check()


@pytest.mark.parametrize("name", TRANSPORTS)
def test_what_is_live_is_not_known_of_an_image_that_was_completed(name):
    """A warp waits at a barrier when it is saved, comes back with random bits in registers that are not live, waits
    still when it is saved again, and has all of them in the image."""
    transport = TRANSPORTS[name](TINY, memory_bytes=MEMORY)
    bench = Bench(transport)
    guest = Guest(bench, 0, warps=4, registers=16, rounds=40)
    Guest(bench, 1, warps=4, registers=16)
    bench.set("patience", 0)
    bench.start(0)
    bench.transport.advance(UNDER_WAY[name])

    def waiting():
        """Return how many registers are saved of each warp at a barrier."""
        records, _, _ = image(bench, guest, guest.entry())
        return {record.header["warp"]: len(registers) for record, registers in records if record.header["waiting"]}

    state, found = transport.snapshot(), 0
    for moment in range(0, 90, 3):
        transport.restore(state)
        bench.transport.advance(1 + moment)
        bench.preempt(0, Mechanism.LIVE, scramble=True, in_place=True, newcomer=(1, 1))
        before = waiting()
        assert stays(bench) == ([], [0]) and all(count < 16 for count in before.values())
        bench.preempt(0, Mechanism.LIVE, scramble=True)
        bench.resume(0, scramble=True)
        bench.preempt(0, Mechanism.LIVE, scramble=True)
        found += any(waiting().get(warp) == 16 for warp in before)
    assert found
    bench.resume(0, scramble=True)
    bench.finish(0)
    guest.check()
