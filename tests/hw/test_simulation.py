"""What is kept of a simulator from test to test, and that no test sees what another has left in it."""

import gc

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import memory, wiring

from support.hw import simulation
from support.hw.simulation import KEPT, Simulator, component


class Block(wiring.Component):
    """A counter that adds `step`, and a memory of 4 words; the counter is written where `address` says."""

    elaborated = 0

    def __init__(self, start: int, step: int = 1):
        self.step, self.start = step, start
        super().__init__({"address": wiring.In(2), "write": wiring.In(1), "read": wiring.Out(8),
                          "count": wiring.Out(8, init=start)})

    def elaborate(self, platform):
        m = Module()
        type(self).elaborated += 1
        m.submodules.memory = words = memory.Memory(shape=8, depth=4, init=[self.start, 2, 3, 4])
        write, read = words.write_port(), words.read_port(domain="comb")
        passed = Signal(8)
        m.d.sync += [self.count.eq(self.count + self.step), passed.eq(self.count)]
        m.d.comb += [write.addr.eq(self.address), write.en.eq(self.write), write.data.eq(passed),
                     read.addr.eq(self.address), self.read.eq(read.data)]
        return m


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(simulation, "_kept", {})
    monkeypatch.setattr(Block, "elaborated", 0)


def run(dut, *testbenches, background=(), **options):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for testbench in background:
        simulator.add_testbench(testbench, background=True)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    simulator.run(**options)


def script(dut, seen, ticks=7):
    """A testbench that notes what it sees, and writes a word of the memory."""
    async def testbench(ctx):
        seen.append([ctx.get(dut.count), ctx.get(dut.address), ctx.get(dut.write), ctx.get(dut.read)])
        ctx.set(dut.address, 2)
        ctx.set(dut.write, 1)
        for _ in range(ticks):
            seen.append([ctx.get(dut.count), ctx.get(dut.read)])
            await ctx.tick()
    return testbench


def test_every_run_begins_with_registers_memories_and_inputs_as_they_were():
    seen = [[], [], []]
    for k, ticks in enumerate((7, 3, 7)):
        dut = component(Block, 9)
        run(dut, script(dut, seen[k], ticks))
    assert Block.elaborated == 1
    assert seen[0] == seen[2] == [[9, 0, 0, 9], [9, 3], [10, 0], [11, 9], [12, 10], [13, 11], [14, 12], [15, 13]]
    assert seen[1] == seen[0][:4]


def test_a_run_sees_the_same_as_one_of_a_new_simulator():
    async def other(ctx):
        async for *_, count in ctx.tick().sample(dut.count):
            found.append(count)

    runs = []
    for dut in (component(Block, 5, step=3), Block(5, step=3), component(Block, 5, step=3)):
        found, seen = [], []
        run(dut, script(dut, seen), background=[other])
        runs.append((found, seen))
    assert runs[0] == runs[1] == runs[2] and len(runs[0][0]) == 7
    assert Block.elaborated == 2


def test_testbenches_of_a_former_run_do_not_run_again_and_their_number_may_change():
    dut, log = component(Block, 0), []

    def named(name, ticks):
        async def testbench(ctx):
            try:
                for _ in range(ticks):
                    log.append((name, ctx.get(dut.count)))
                    await ctx.tick()
            finally:
                log.append((name, "end"))
                ctx.set(dut.address, 3)
        return testbench

    run(dut, named("a", 1), background=[named("b", 9), named("c", 9)])
    assert log == [("b", 0), ("c", 0), ("a", 0), ("b", 1), ("c", 1), ("a", "end"), ("b", "end"), ("c", "end")]
    log.clear()
    run(dut, named("d", 2))
    assert log == [("d", 0), ("d", 1), ("d", "end")]
    log.clear()
    seen = []
    run(dut, *[named(name, 1) for name in "efgh"], script(dut, seen, 1))
    assert [entry for entry in log if entry[1] != "end"] == [(name, 0) for name in "efgh"]
    assert seen[0] == [0, 0, 0, 0]
    assert Block.elaborated == 1


def test_a_testbench_that_waits_for_ever_is_no_trouble():
    async def until(ctx):
        await ctx.tick().until(dut.count == 100)

    async def repeat(ctx):
        await ctx.tick().repeat(1000)

    dut = component(Block, 1)
    for _ in range(2):
        seen = []
        run(dut, script(dut, seen), background=[until, repeat])
        assert len(seen) == 8
        gc.collect()  # what is left of them would be reported here
    assert Block.elaborated == 1


@pytest.mark.parametrize("how", ["exception", "time-out of the test", "limit", "in the background"])
def test_a_run_that_fails_leaves_nothing(how):
    dut = component(Block, 1)
    run(dut, script(dut, []))

    async def fails(ctx):
        ctx.set(dut.address, 1)
        for _ in range(5):
            await ctx.tick()
        if how == "limit":
            await ctx.tick().until(dut.count == 0)
        raise KeyboardInterrupt if how == "time-out of the test" else ValueError

    kind = {"limit": TimeoutError, "time-out of the test": KeyboardInterrupt}.get(how, ValueError)
    with pytest.raises(kind):
        if how == "in the background":
            run(dut, script(dut, [], 20), background=[fails])
        else:
            run(dut, fails, limit=30e-6)
    assert component(Block, 1) is not dut
    seen = []
    run(dut, script(dut, seen, 1))  # still simulated, from the beginning, but not kept
    assert seen[0] == [1, 0, 0, 1] and component(Block, 1) is not dut
    assert Block.elaborated == 2


def test_a_limit_that_is_not_reached_changes_nothing():
    dut = component(Block, 1)
    for limit in (None, 20e-6, 9e-6, None):
        seen = []
        run(dut, script(dut, seen), limit=limit)
        assert [count for count, *_ in seen[1:]] == [1, 2, 3, 4, 5, 6, 7]
    assert Block.elaborated == 1


def test_the_last_used_are_kept_and_each_has_its_arguments():
    blocks = [component(Block, k) for k in range(KEPT)]
    assert component(Block, 0) is blocks[0]
    component(Block, 0, step=2)
    assert component(Block, 0) is blocks[0] and component(Block, 0, step=2).step == 2
    assert component(Block, 2) is blocks[2]
    assert component(Block, 1) is not blocks[1]
