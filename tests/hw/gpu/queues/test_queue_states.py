"""How queues are told apart while memory refuses something of one of them: the others go on, and it says so."""

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.packets import QueueError
from caesura.hw.gpu.queues.queue_states import TRIES, QueueStates, Wait
from support.hw.simulation import component
from support.hw.stream_bench import simulate

G = preset("tiny").replace(queues=2, queue_capacity=2, kernel_slots=2, sms=1)
IDLE, RUNNING, PREEMPTED, FINISHED = (KernelState.IDLE, KernelState.RUNNING, KernelState.PREEMPTED,
                                      KernelState.FINISHED)


class Scene:
    """Two enabled queues with packets, of which the first has the higher priority."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        for q in range(2):
            for name, value in (("enable", 1), ("capacity", 2), ("priority", 1 - q), ("write_index", 9)):
                ctx.set(dut.setups[q][name], value)
        ctx.set(dut.slots, 3)
        ctx.set(dut.policy.enable, 1)
        ctx.set(dut.look, 1)

    def kernels(self, *states):
        for slot, state in enumerate(states):
            self.ctx.set(self.dut.states[0][slot], state)

    async def begin(self, queue, number, slot):
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.begin, {"valid": 1, "fresh": 1, "number": number, "slot": slot})
        ctx.set(dut.advance, 1 << queue)
        ctx.set(dut.served, 1 << queue)
        await ctx.tick()
        ctx.set(dut.begin.valid, 0)
        ctx.set(dut.advance, 0)
        ctx.set(dut.served, 0)


@pytest.mark.parametrize("refused", [True, False])
def test_a_queue_whose_completion_memory_refuses_asks_for_no_slot(refused):
    """Kernels of lower priority stay on the SMs, although a packet behind it had found no slot."""
    dut = component(QueueStates, G)

    async def bench(ctx):
        scene = Scene(ctx, dut)
        scene.kernels(RUNNING, RUNNING)
        await scene.begin(0, 0, 0)
        await scene.begin(1, 2, 1)
        ctx.set(dut.verdict, {"valid": 1, "queue": 0, "waits": 1, "why": Wait.ROOM})
        await ctx.tick()
        ctx.set(dut.verdict.valid, 0)
        assert ctx.get(dut.action.valid) and ctx.get(dut.action.what.op) == Command.PREEMPT
        scene.kernels(FINISHED, RUNNING)
        await ctx.tick()
        ctx.set(dut.completion.flight, 0)
        ctx.set(dut.completion.refused, refused)
        await ctx.tick()
        ctx.set(dut.completion.refused, 0)
        for _ in range(4):
            await ctx.tick()
            assert ctx.get(dut.action.valid) == (not refused)
        assert ctx.get(dut.statuses[0].error) == (QueueError.BAD_SIGNAL if refused else QueueError.NONE)

    simulate(dut, bench)


@pytest.mark.parametrize("error", [CommandError.BUS_ERROR, CommandError.BAD_IMAGE, CommandError.NONE,
                                   CommandError.NOT_IN_MEMORY])
def test_a_kernel_that_is_not_brought_back_is_said_and_comes_back_when_its_queue_goes_on(error):
    """What software has preempted itself, or what a command was refused for, is no error of the queue."""
    dut = component(QueueStates, G)

    async def bench(ctx):
        scene = Scene(ctx, dut)
        ctx.set(dut.setups[1].enable, 0)
        scene.kernels(RUNNING, IDLE)
        await scene.begin(0, 0, 0)
        for _ in range(5):
            await ctx.tick()
        scene.kernels(PREEMPTED, IDLE)
        ctx.set(dut.errors[0][0], error)
        for _ in range(20):
            await ctx.tick()
            assert not ctx.get(dut.action.valid)
        lost = error in (CommandError.BUS_ERROR, CommandError.BAD_IMAGE)
        assert ctx.get(dut.statuses[0].error) == (QueueError.BAD_CONTEXT if lost else QueueError.NONE)
        ctx.set(dut.setups[0].enable, 0)
        await ctx.tick()
        ctx.set(dut.setups[0].enable, 1)
        await ctx.tick()
        await ctx.tick()
        assert ctx.get(dut.action.valid) == lost
        assert not lost or ctx.get(dut.action.what.op) == Command.RESUME

    simulate(dut, bench)


def test_a_barriers_signal_is_read_so_many_times_in_a_row_that_memory_refuses():
    """A look that memory answers begins the count anew, and so does a stop."""
    dut = component(QueueStates, G)

    async def bench(ctx):
        scene = Scene(ctx, dut)
        scene.kernels(IDLE, IDLE)

        async def look(fails):
            ctx.set(dut.verdict, {"valid": 1, "queue": 1, "waits": 1, "why": Wait.LATER, "fails": fails})
            await ctx.tick()
            ctx.set(dut.verdict.valid, 0)
            return ctx.get(dut.statuses[1].error)

        for _ in range(3):
            for _ in range(TRIES - 1):
                assert await look(1) == QueueError.NONE
            assert await look(0) == QueueError.NONE
        for _ in range(TRIES - 1):
            assert await look(1) == QueueError.NONE
        assert await look(1) == QueueError.BUS_ERROR and ctx.get(dut.statuses[1].of) == 0
        assert ctx.get(dut.statuses[0].error) == QueueError.NONE
        for enable in (0, 1):
            ctx.set(dut.setups[1].enable, enable)
            await ctx.tick()
        for _ in range(TRIES - 1):
            assert await look(1) == QueueError.NONE

    simulate(dut, bench)


@pytest.mark.parametrize("barrier", [False, True])
@pytest.mark.parametrize("how", ["again", "discarded", "too late"])
def test_an_uncertain_completion_is_left_alone_until_its_queue_goes_on_or_it_is_discarded(how, barrier):
    """One that becomes uncertain while the queue is stopped stops it once more."""
    dut = component(QueueStates, G)

    async def bench(ctx):
        scene = Scene(ctx, dut)
        scene.kernels(RUNNING, IDLE)
        if barrier:
            ctx.set(dut.passes, {"valid": 1, "queue": 0, "signal": 0x40})
            await ctx.tick()
            ctx.set(dut.passes.valid, 0)
        else:
            await scene.begin(0, 0, 0)
        mark, bit = (dut.barrier_uncertain, 16) if barrier else (dut.uncertain, 1)
        if how == "too late":
            ctx.set(dut.setups[0].enable, 0)
            await ctx.tick()
            await ctx.tick()
        ctx.set(dut.completion, {"refused": 1, "uncertain": 1, "barrier": barrier})
        await ctx.tick()
        ctx.set(dut.completion, {"refused": 0, "uncertain": 0, "barrier": 0})
        scene.kernels(IDLE, IDLE)

        def again():
            return ctx.get(dut.passed) & 1 if barrier else ctx.get(dut.ended) & 1

        def stopped():
            status = ctx.get(dut.statuses[0])
            return (status.error, status.uncertain, status.of) == (QueueError.UNCERTAIN, bit, 0 if barrier else 1)

        for _ in range(300):
            await ctx.tick()
            assert not again() and stopped() and ctx.get(dut.chosen.queue) == 1, "the other queue goes on"
        ctx.set(dut.setups[0].enable, 0)
        await ctx.tick()
        await ctx.tick()
        if how == "discarded":
            ctx.set(dut.setups[0].discard, 31 & ~bit)
            await ctx.tick()
            assert not again() and stopped()
            ctx.set(dut.setups[0].discard, bit)
            await ctx.tick()
            assert again() and ctx.get(mark) == 1
            ctx.set(dut.completion, {"done": 1, "barrier": barrier})
            await ctx.tick()
            ctx.set(dut.completion, {"done": 0, "barrier": 0})
            assert not again() and not ctx.get(mark) and ctx.get(dut.statuses[0].error) == QueueError.NONE
            return
        ctx.set(dut.setups[0].enable, 1)
        assert stopped() == (how == "too late")
        ctx.set(dut.all_looked_at, 1)
        for _ in range(300):
            await ctx.tick()
        assert again() == (how == "again") and stopped() == (how == "too late")
        if how == "again":
            assert ctx.get(dut.statuses[0].error) == QueueError.BAD_SIGNAL

    simulate(dut, bench)
