# amaranth: UnusedElaboratable=no
"""Events of a device: something has ended when it has on all SMs, and counts once."""

import itertools

import pytest

from caesura.hw.arch.commands import KernelState, Switch
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.device.device_events import ENDED, DeviceEvents
from support.hw.simulation import Simulator, component

G = preset("tiny").replace(sms=3)
KERNEL = 1
IDLE, RUNNING, PREEMPTING, PREEMPTED, RESUMING, FINISHED, KILLING, ADOPTING = KernelState


class Driver:
    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        self.counts = []
        for vector in (dut.members[KERNEL], dut.takers[KERNEL]):
            ctx.set(vector, 0b111)

    def states(self, *states):
        for i, state in enumerate(states):
            self.ctx.set(self.dut.states[i][KERNEL], state)

    def switched(self, sm, kind):
        self.ctx.set(self.dut.switched[sm], {"valid": 1, "kernel": KERNEL, "kind": kind})

    def events(self):
        """The events that are set, and cleared now."""
        event = self.ctx.get(self.dut.event)
        names = {name for name in ("preempted", "resumed", "fault", "refused", "killed", "adopted") if event[name]}
        return names | ({"finished"} if event.finished >> KERNEL & 1 else set())

    async def tick(self, cycles=1):
        for _ in range(cycles):
            await self.ctx.tick()
            for i in range(G.sms):
                self.ctx.set(self.dut.switched[i].valid, 0)
            counted = self.ctx.get(self.dut.counted)
            if counted.valid:
                assert counted.kernel == KERNEL
                self.counts.append(Switch(counted.kind))

    async def clear(self):
        self.ctx.set(self.dut.clear, 0xFFFF_FFFF)
        await self.ctx.tick()
        self.ctx.set(self.dut.clear, 0)


def run(scenario):
    dut = component(DeviceEvents, G)

    async def testbench(ctx):
        await scenario(ctx, dut, Driver(ctx, dut))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


@pytest.mark.parametrize(("state", "after"), [(PREEMPTING, PREEMPTED), (PREEMPTING, RUNNING), (RESUMING, RUNNING),
                                              (RESUMING, PREEMPTED), (KILLING, IDLE), (ADOPTING, PREEMPTED)])
def test_it_has_ended_when_it_has_on_the_last_sm(state, after):
    async def scenario(ctx, dut, driver):
        for order in itertools.permutations(range(3)):
            states = [state] * 3
            driver.states(*states)
            await driver.tick(2)
            for sm in order:
                assert driver.events() == set()
                states[sm] = after
                driver.states(*states)
                await driver.tick(2)
            assert driver.events() == {ENDED[state]} and ctx.get(dut.event.as_value()).bit_count() == 1
            await driver.clear()
            assert driver.events() == set()

    run(scenario)


def test_a_kernel_has_finished_when_it_has_on_all_its_sms():
    async def scenario(ctx, dut, driver):
        ctx.set(dut.members[KERNEL], 0b101)
        driver.states(RUNNING, FINISHED, RUNNING)
        await driver.tick(3)
        driver.states(RUNNING, RUNNING, FINISHED)
        await driver.tick(3)
        assert driver.events() == set()
        driver.states(FINISHED, RUNNING, FINISHED)
        await driver.tick(2)
        assert driver.events() == {"finished"}
        await driver.clear()
        await driver.tick(5)
        assert driver.events() == set(), "once"

    run(scenario)


@pytest.mark.parametrize("state", [PREEMPTING, RESUMING, ADOPTING])
def test_a_kill_ends_what_is_under_way_without_its_event(state):
    async def scenario(ctx, dut, driver):
        driver.states(state, RUNNING, state)
        await driver.tick(2)
        driver.states(KILLING, KILLING, KILLING)
        await driver.tick(2)
        assert driver.events() == set()
        driver.states(IDLE, KILLING, IDLE)
        await driver.tick(2)
        assert driver.events() == set()
        driver.states(IDLE, IDLE, IDLE)
        await driver.tick(2)
        assert driver.events() == {"killed"}

    run(scenario)


def test_faults_show_as_long_as_an_sm_has_one_and_refusals_until_they_are_cleared():
    async def scenario(ctx, dut, driver):
        for faults in (0b001, 0b100, 0b110):
            ctx.set(dut.faults, faults)
            assert driver.events() == {"fault"}
        await driver.clear()
        assert driver.events() == {"fault"}
        ctx.set(dut.faults, 0)
        assert driver.events() == set()
        ctx.set(dut.refused, 1)
        await driver.tick()
        ctx.set(dut.refused, 0)
        assert driver.events() == {"refused"}
        await driver.clear()
        assert driver.events() == set()

    run(scenario)


@pytest.mark.parametrize(("kinds", "kind"), [
    ((Switch.AT_POINTS,) * 3, Switch.AT_POINTS), ((Switch.AT_POINTS, Switch.AT_ONCE, Switch.AT_POINTS), Switch.AT_ONCE),
    ((Switch.DRAINED, Switch.AT_POINTS, Switch.DRAINED), Switch.AT_POINTS), ((Switch.DRAINED,) * 3, Switch.DRAINED),
    ((Switch.DRAINED, Switch.CHECKPOINTED, Switch.CHECKPOINTED), Switch.CHECKPOINTED)])
def test_a_preempt_counts_once_as_what_it_was_on_most_account(kinds, kind):
    async def scenario(ctx, dut, driver):
        for order in itertools.permutations(range(3)):
            driver.counts.clear()
            states = [PREEMPTING] * 3
            driver.states(*states)
            await driver.tick()
            for sm in order:
                driver.switched(sm, kinds[sm])
                await driver.tick()
                states[sm] = RUNNING if kind is Switch.CHECKPOINTED else PREEMPTED
                driver.states(*states)
            await driver.tick(5)
            assert driver.counts == [kind]

    run(scenario)


def test_one_that_failed_or_was_withdrawn_on_an_sm_does_not_count():
    async def scenario(ctx, dut, driver):
        for error in (CommandError.BUS_ERROR, CommandError.ABORTED):
            driver.states(PREEMPTING, PREEMPTING, RUNNING)
            await driver.tick()
            driver.switched(0, Switch.AT_POINTS)
            await driver.tick()
            ctx.set(dut.errors[1][KERNEL], error)
            driver.states(PREEMPTED, RUNNING, RUNNING)
            await driver.tick(5)
            assert driver.counts == []
            ctx.set(dut.errors[1][KERNEL], CommandError.NONE)

    run(scenario)


def test_a_preempt_during_which_the_kernel_finished_and_a_resume_that_leaves_something():
    async def scenario(ctx, dut, driver):
        driver.states(PREEMPTING, PREEMPTING, PREEMPTING)
        await driver.tick()
        driver.switched(0, Switch.DRAINED)
        await driver.tick()
        driver.states(PREEMPTED, PREEMPTING, PREEMPTING)
        driver.switched(1, Switch.FINISHED)
        await driver.tick()
        driver.states(FINISHED, FINISHED, FINISHED)
        await driver.tick(5)
        assert driver.counts == [Switch.FINISHED]
        for left in (True, False):
            driver.states(RESUMING, RESUMING, RESUMING)
            await driver.tick()
            driver.switched(0, Switch.RESUMED)
            await driver.tick()
            driver.states(RUNNING, PREEMPTED if left else RUNNING, RUNNING)
            await driver.tick(5)
        assert driver.counts == [Switch.FINISHED, Switch.RESUMED]

    run(scenario)


@pytest.mark.parametrize("kernel", range(G.kernel_slots))
def test_a_resume_that_ends_before_the_preempt_is_counted_counts_alone(kernel):
    async def scenario(ctx, dut, driver):
        async def cycle(state, **switched):
            for i in range(G.sms):
                ctx.set(dut.states[i][kernel], state)
            ctx.set(dut.switched[1], {"valid": 0, "kernel": kernel} | switched)
            counted = ctx.get(dut.counted)
            await ctx.tick()
            return (counted.kernel, Switch(counted.kind)) if counted.valid else None

        assert await cycle(PREEMPTING) is None
        assert await cycle(PREEMPTING, valid=1, kind=Switch.DRAINED) is None
        assert await cycle(RESUMING, valid=1, kind=Switch.RESUMED) is None  # the preempt has ended
        assert await cycle(RUNNING) is None  # and the resume too
        assert await cycle(RUNNING) == (kernel, Switch.RESUMED)
        assert await cycle(RUNNING) is None

    run(scenario)
