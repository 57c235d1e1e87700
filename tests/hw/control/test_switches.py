"""How a preempt or a resume ended, as the command processor tells it; and the counters of that."""

import random

import pytest

from caesura.hw.arch.commands import Command, Switch
from caesura.hw.arch.faults import CommandError
from caesura.hw.control.switch_counters import SwitchCounters
from support.hw.command_driver import G, drive
from support.hw.simulation import component
from support.hw.stream_bench import simulate

pytestmark = pytest.mark.depends_on("hw/arch", "hw/interfaces", "hw/lib", "hw/control", "hw/dispatch", "sim/events")

KERNEL, BIT = 2, 0b100
FAILED = CommandError.BUS_ERROR


def told(ctx, dut):
    """The switch of this cycle, None if there is none."""
    switched = ctx.get(dut.status.switched)
    if not switched.valid:
        return None
    assert switched.kernel == KERNEL
    return Switch(switched.kind)


@pytest.mark.parametrize(("fields", "result", "after", "switch"), [
    ({}, {"saved": 1}, {"saved": BIT}, Switch.AT_POINTS),
    ({}, {"saved": 1, "at_once": 1}, {"saved": BIT}, Switch.AT_ONCE),
    ({}, {}, {}, Switch.DRAINED),
    ({}, {}, {"saved": BIT}, Switch.DRAINED),
    ({}, {"at_once": 1}, {}, Switch.DRAINED),
    ({}, {}, {"done": BIT}, Switch.FINISHED),
    ({}, {"error": FAILED, "saved": 1}, {"saved": BIT}, None),
    ({}, {"error": FAILED, "at_once": 1}, {}, None),
    ({"checkpoint": 1}, {"at_once": 1, "saved": 1}, {}, Switch.CHECKPOINTED),
    ({"checkpoint": 1}, {}, {"saved": BIT}, Switch.CHECKPOINTED),
    ({"checkpoint": 1}, {}, {"done": BIT}, Switch.FINISHED),
    ({"checkpoint": 1}, {"error": FAILED}, {}, None)])
def test_how_a_preempt_ended(fields, result, after, switch):
    async def scenario(ctx, dut, driver):
        await driver.command(Command.START, KERNEL)
        ctx.set(dut.dispatch.present, BIT)
        await driver.command(Command.PREEMPT, KERNEL, **fields)
        await driver.takes(KERNEL, 0)
        assert told(ctx, dut) is None
        ctx.set(dut.dispatch.present, 0)
        for name, vector in after.items():
            ctx.set(dut.engine.saved if name == "saved" else dut.dispatch.done, vector)
        await driver.result(**result)
        assert driver.events() == {"preempted"} and told(ctx, dut) == switch
        await ctx.tick()
        assert told(ctx, dut) is None

    drive(scenario)


@pytest.mark.parametrize(("result", "switch"), [
    ({}, Switch.RESUMED), ({"left": 1}, None), ({"error": FAILED}, None), ({"error": FAILED, "left": 1}, None)])
def test_how_a_resume_ended(result, switch):
    async def scenario(ctx, dut, driver):
        await driver.command(Command.START, KERNEL)
        ctx.set(dut.dispatch.present, BIT)
        await driver.command(Command.PREEMPT, KERNEL)
        await driver.takes(KERNEL, 0)
        ctx.set(dut.engine.saved, BIT)
        ctx.set(dut.dispatch.present, 0)
        await driver.result(saved=1)
        await ctx.tick()
        await driver.command(Command.RESUME, KERNEL)
        await driver.takes(KERNEL, 1)
        await driver.result(**result)
        assert told(ctx, dut) == switch
        await ctx.tick()
        assert told(ctx, dut) is None

    drive(scenario)


@pytest.mark.parametrize("op", [Command.ABORT, Command.KILL])
def test_what_is_withdrawn_or_killed_is_no_switch(op):
    async def scenario(ctx, dut, driver):
        await driver.command(Command.START, KERNEL)
        ctx.set(dut.dispatch.present, BIT)
        await driver.command(Command.PREEMPT, KERNEL)
        await driver.takes(KERNEL, 0)
        await driver.command(op, KERNEL)
        ctx.set(dut.engine.saved, BIT)
        ctx.set(dut.dispatch.present, 0)
        await driver.result(saved=1, at_once=1)
        for _ in range(4):
            assert told(ctx, dut) is None
            await ctx.tick()

    drive(scenario)


@pytest.mark.parametrize("slots", [1, 3])
def test_counts_are_those_of_a_plain_model(slots):
    rng, dut = random.Random(slots), component(SwitchCounters, G.replace(kernel_slots=slots))
    counts = [dict.fromkeys(Switch, 0) for _ in range(slots)]

    async def bench(ctx):
        for _ in range(600):
            clear = rng.getrandbits(slots) if rng.random() < 0.03 else 0
            valid, kernel, kind = int(not clear and rng.random() < 0.7), rng.randrange(slots), rng.choice([*Switch])
            ctx.set(dut.switched, {"valid": valid, "kernel": kernel, "kind": kind})
            ctx.set(dut.clear, clear)
            await ctx.tick()
            counts[kernel][kind] += valid
            for k in range(slots):
                if clear >> k & 1:
                    counts[k] = dict.fromkeys(Switch, 0)
                now = ctx.get(dut.counts[k])
                assert {kind: getattr(now, kind.name.lower()) for kind in Switch} == counts[k]

    simulate(dut, bench)
