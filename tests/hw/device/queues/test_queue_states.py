"""How queues are told apart while memory refuses something of one of them: the others go on, and it says so. And all
that queue states say beside a model."""

import random

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.packets import QueueError
from caesura.hw.device.queues.queue_ports import NextJobPort, PacketPort, QueueCompletionPort, Wait
from caesura.hw.device.queues.queue_states import QueueStates
from caesura.hw.device.queues.queue_wait import TRIES
from support.hw.lockstep import lockstep, noise, number
from support.hw.simulation import component
from support.hw.stream_bench import simulate
from support.models.queue_states_model import QueueStatesModel
from support.selection import quick

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
        ctx.set(dut.next_job.settled, 1)

    def kernels(self, *states):
        for slot, state in enumerate(states):
            self.ctx.set(self.dut.states[0][slot], state)

    async def begin(self, queue, number, slot):
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.packet.begin, {"valid": 1, "fresh": 1, "number": number, "slot": slot})
        ctx.set(dut.packet.advance, 1 << queue)
        ctx.set(dut.packet.served, 1 << queue)
        await ctx.tick()
        ctx.set(dut.packet.begin.valid, 0)
        ctx.set(dut.packet.advance, 0)
        ctx.set(dut.packet.served, 0)


@pytest.mark.parametrize("refused", [True, False])
def test_a_queue_whose_completion_memory_refuses_asks_for_no_slot(refused):
    """Kernels of lower priority stay on the SMs, although a packet behind it had found no slot."""
    dut = component(QueueStates, G)

    async def bench(ctx):
        scene = Scene(ctx, dut)
        scene.kernels(RUNNING, RUNNING)
        await scene.begin(0, 0, 0)
        await scene.begin(1, 2, 1)
        ctx.set(dut.packet.verdict, {"valid": 1, "queue": 0, "waits": 1, "why": Wait.ROOM})
        await ctx.tick()
        ctx.set(dut.packet.verdict.valid, 0)
        assert ctx.get(dut.next_job.action.valid) and ctx.get(dut.next_job.action.what.op) == Command.PREEMPT
        scene.kernels(FINISHED, RUNNING)
        await ctx.tick()
        ctx.set(dut.completion.event.flight, 0)
        ctx.set(dut.completion.event.refused, refused)
        await ctx.tick()
        ctx.set(dut.completion.event.refused, 0)
        for _ in range(4):
            await ctx.tick()
            assert ctx.get(dut.next_job.action.valid) == (not refused)
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
            assert not ctx.get(dut.next_job.action.valid)
        lost = error in (CommandError.BUS_ERROR, CommandError.BAD_IMAGE)
        assert ctx.get(dut.statuses[0].error) == (QueueError.BAD_CONTEXT if lost else QueueError.NONE)
        ctx.set(dut.setups[0].enable, 0)
        await ctx.tick()
        ctx.set(dut.setups[0].enable, 1)
        await ctx.tick()
        await ctx.tick()
        assert ctx.get(dut.next_job.action.valid) == lost
        assert not lost or ctx.get(dut.next_job.action.what.op) == Command.RESUME

    simulate(dut, bench)


def test_a_barriers_signal_is_read_so_many_times_in_a_row_that_memory_refuses():
    """A look that memory answers begins the count anew, and so does a stop."""
    dut = component(QueueStates, G)

    async def bench(ctx):
        scene = Scene(ctx, dut)
        scene.kernels(IDLE, IDLE)

        async def look(fails):
            ctx.set(dut.packet.verdict, {"valid": 1, "queue": 1, "waits": 1, "why": Wait.LATER, "fails": fails})
            await ctx.tick()
            ctx.set(dut.packet.verdict.valid, 0)
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
            ctx.set(dut.packet.passes, {"valid": 1, "queue": 0, "signal": 0x40})
            await ctx.tick()
            ctx.set(dut.packet.passes.valid, 0)
        else:
            await scene.begin(0, 0, 0)
        mark, bit = (dut.completion.barrier_uncertain, 16) if barrier else (dut.completion.uncertain, 1)
        if how == "too late":
            ctx.set(dut.setups[0].enable, 0)
            await ctx.tick()
            await ctx.tick()
        ctx.set(dut.completion.event, {"refused": 1, "uncertain": 1, "barrier": barrier})
        await ctx.tick()
        ctx.set(dut.completion.event, {"refused": 0, "uncertain": 0, "barrier": 0})
        scene.kernels(IDLE, IDLE)

        def again():
            return ctx.get(dut.next_job.passed) & 1 if barrier else ctx.get(dut.next_job.ended) & 1

        def stopped():
            status = ctx.get(dut.statuses[0])
            return (status.error, status.uncertain, status.of) == (QueueError.UNCERTAIN, bit, 0 if barrier else 1)

        for _ in range(300):
            await ctx.tick()
            assert not again() and stopped() and ctx.get(dut.next_job.chosen.queue) == 1, "the other queue goes on"
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
            ctx.set(dut.completion.event, {"done": 1, "barrier": barrier})
            await ctx.tick()
            ctx.set(dut.completion.event, {"done": 0, "barrier": 0})
            assert not again() and not ctx.get(mark) and ctx.get(dut.statuses[0].error) == QueueError.NONE
            return
        ctx.set(dut.setups[0].enable, 1)
        assert stopped() == (how == "too late")
        ctx.set(dut.next_job.all_looked_at, 1)
        for _ in range(300):
            await ctx.tick()
        assert again() == (how == "again") and stopped() == (how == "too late")
        if how == "again":
            assert ctx.get(dut.statuses[0].error) == QueueError.BAD_SIGNAL

    simulate(dut, bench)


OFTEN = {
    "states": (0.02, 0.1, 0.3), "errors": (0, 0, 0.02, 0.2), "setup": (0, 0.02, 0.1), "enable": (0.02, 0.3, 1),
    "write_index": (0.1, 0.4), "slots": (0, 0.02, 0.1), "look": (0.1, 0.5, 0.9), "all_looked_at": (0.02, 0.3),
    "done": (0, 0.1, 0.5), "remind": (0, 0.02), "begin": (0.1, 0.4), "served": (0, 0.02, 0.3),
    "passes": (0, 0.02, 0.1), "complete": (0.1, 0.7), "refused": (0, 0.1, 0.7), "verdict": (0.02, 0.02, 0.3),
    "fails": (0, 0.02, 0.9), "wrong": (0, 0.02, 0.3)}
"""Of what happens how probable it is in a cycle; drawn anew for each part of a run."""
STATES = ([RUNNING], [PREEMPTED], [RUNNING, PREEMPTED], [RUNNING, PREEMPTED, FINISHED, IDLE], [IDLE, FINISHED],
          [*KernelState])
PART = 100


class Surroundings:
    """What is around queue states: the SMs, software, memory and the rest of the queue processor.

    Most of the time they do what a model of the block says that is to be done, a while later; else anything.
    """

    def __init__(self, dut, rng):
        self.dut, self.rng, self.g = dut, rng, dut.geometry
        self.model, self.said = QueueStatesModel(self.g), {}
        g = self.g
        self.setups = [noise(rng, dut.setups[q].shape()) for q in range(g.queues)]
        self.states = [[IDLE] * g.kernel_slots for _ in range(g.sms)]
        self.errors = [[CommandError.NONE] * g.kernel_slots for _ in range(g.sms)]
        self.slots, self.policy = (1 << g.kernel_slots) - 1, noise(rng, dut.policy.shape())

    def often(self, name):
        return self.rng.random() < self.rates[name]

    def begin_part(self):
        """Draw how often things happen from now on."""
        rng = self.rng
        self.rates = {name: rng.choice(rates) for name, rates in OFTEN.items()}
        self.equal = rng.random() < 0.5
        self.likely = rng.choice(STATES)
        self.policy = noise(rng, self.dut.policy.shape()) | {"enable": int(rng.random() < 0.8)}
        self.errors = [[CommandError.NONE] * self.g.kernel_slots for _ in range(self.g.sms)]
        for setup in self.setups:
            self.change(setup)

    def change(self, setup):
        """Change the registers of a queue."""
        rng, depth = self.rng, self.g.queue_capacity
        setup |= {"priority": 1 if self.equal else rng.choice([0, 1, 2, 8, rng.getrandbits(4)]),
                  "discard": rng.getrandbits(5), "capacity": rng.choice([depth, depth, rng.getrandbits(3)])}

    def follow(self):
        """Let SMs and software go on."""
        rng, g = self.rng, self.g
        for states, errors in zip(self.states, self.errors, strict=True):
            for k in range(g.kernel_slots):
                states[k] = rng.choice(self.likely) if self.often("states") else states[k]
                if self.often("errors"):
                    errors[k] = rng.choice([CommandError.NONE, CommandError.NONE, *CommandError])
        if self.often("slots"):
            self.slots = rng.choice([(1 << g.kernel_slots) - 1, rng.getrandbits(g.kernel_slots)])
        for setup, queue in zip(self.setups, self.model.queues, strict=True):
            if self.often("setup"):
                self.change(setup)
            if self.often("write_index"):
                setup["write_index"] = (queue.next ^ rng.choice([0, 1 << rng.randrange(32), 7])) % (1 << 32)
            wanted = 0.1 if not setup["enable"] or queue.doubtful or queue.error else 0.02
            if self.often("enable") and rng.random() < wanted:
                setup["enable"] = 1 - setup["enable"]

    def done(self):
        """A command for a kernel that is in flight: the one that is to be given, or any."""
        rng, said = self.rng, self.said
        what = {name.rpartition(".")[2]: value for name, value in said.items() if name.startswith("action.what")}
        if not what or rng.random() < 0.1:
            busy = [f for f, kernel in enumerate(self.model.kernels) if kernel.started]
            what = {"op": rng.choice([Command.PREEMPT, Command.RESUME, Command.KILL, Command.RELEASE]),
                    "kernel": rng.choice(busy or [0]), "slot": 0, "checkpoint": rng.getrandbits(1), "whole": 0}
            if not busy:
                return {"valid": 0, "accepted": 0, "what": what}
        return {"valid": int(self.often("done")), "accepted": int(rng.random() < 0.7), "what": what}

    def begin(self):
        """A kernel that takes the first vacant place of a queue, or comes back, and which queues have been served."""
        rng, said, depth = self.rng, self.said, self.g.queue_capacity
        q = said.get("chosen.queue", rng.randrange(self.g.queues))
        queue = self.model.queues[q]
        away = [i for i, kernel in enumerate(queue.kernels) if kernel.away]
        vacant = [i for i, kernel in enumerate(queue.kernels) if not kernel.busy]
        fresh = not away or bool(vacant) and rng.random() < 0.5
        begin = noise(rng, self.dut.packet.begin.shape()) | {"valid": 0, "slot": rng.randrange(self.g.kernel_slots)}
        if self.model.free and rng.random() < 0.8:
            begin["slot"] = min(self.model.free)
        served = 1 << rng.randrange(self.g.queues) if self.often("served") else 0
        advance = rng.getrandbits(self.g.queues) if rng.random() < 0.05 else 0
        if self.often("begin") and (away or vacant):
            begin |= {"valid": 1, "fresh": int(fresh), "number": q * depth + (vacant if fresh else away)[0]}
            served, advance = 1 << q, advance | fresh << q
        return {"begin": begin, "served": served, "advance": advance}

    def completion(self):
        """What is completed of what is to be, or memory refuses."""
        rng, g, model = self.rng, self.g, self.model
        completion = noise(rng, self.dut.completion.event.shape()) | {"done": 0, "refused": 0}
        flights = [f for f in range(g.flights) if self.said.get("ended", 0) >> f & 1 and model.kernels[f].busy]
        barriers = [q for q in range(g.queues) if self.said.get("passed", 0) >> q & 1]
        if rng.random() < 0.1:
            flights = [f for f, kernel in enumerate(model.kernels) if kernel.here or kernel.completion.left]
            barriers = [q for q, queue in enumerate(model.queues) if queue.barrier.left]
        if flights and (not barriers or rng.random() < 0.5):
            completion |= {"barrier": 0, "flight": rng.choice(flights)}
        elif barriers:
            completion |= {"barrier": 1, "queue": rng.choice(barriers)}
        if (flights or barriers) and self.often("complete"):
            completion["refused" if self.often("refused") else "done"] = 1
        return completion

    def verdict(self):
        rng = self.rng
        verdict = noise(rng, self.dut.packet.verdict.shape()) | {
            "valid": int(self.often("verdict")), "queue": rng.randrange(self.g.queues), "waits": 1, "fails": 0,
            "why": rng.choice([*Wait]), "error": rng.choice([*QueueError]), "of": rng.randint(0, self.g.queue_capacity)}
        if self.often("fails"):
            return verdict | {"fails": 1, "why": Wait.LATER}
        if rng.random() < 0.5:
            return verdict | {"waits": 0, "error": verdict["error"] if self.often("wrong") else QueueError.NONE}
        return verdict

    def by_port(self, values):
        """Return values with the ports of the block before their names."""
        ports = {name: port for port, signature in (
            ("next_job", NextJobPort(self.g)), ("packet", PacketPort(self.g)),
            ("completion", QueueCompletionPort(self.g))) for name in signature.members}
        names = {"completion": "event"}
        found = {}
        for path, value in values.items():
            name, dot, rest = path.partition(".")
            name = names.get(name, name)
            found[f"{ports[name]}.{name}{dot}{rest}" if name in ports else path] = value
        return found

    def cycles(self, count):
        """Yield the inputs and outputs of cycles."""
        rng, g = self.rng, self.g
        for cycle in range(count):
            if cycle % PART == 0:
                self.begin_part()
            self.follow()
            passes = {"valid": int(self.often("passes")), "queue": rng.randrange(g.queues), "signal": number(rng, 32)}
            begin = self.begin()
            if cycle < 2 * g.queues:  # indices from before 0 on
                passes |= {"valid": 1, "queue": cycle % g.queues}
                begin["advance"] = begin["begin"]["valid"] = 0
            given = begin | {
                "setups": [dict(setup) for setup in self.setups], "slots": self.slots, "policy": self.policy,
                "states": [list(states) for states in self.states], "errors": [list(each) for each in self.errors],
                "settled": int(self.often("look")), "all_looked_at": int(self.often("all_looked_at")),
                "done": self.done(), "completion": self.completion(), "verdict": self.verdict(), "passes": passes,
                "checkpoint": {"valid": int(self.often("remind")), "priority": rng.getrandbits(4)}}
            self.model.see(given)
            self.said = self.model.outputs()
            yield self.by_port(given), self.by_port(self.said)
            self.model.step(given)


GEOMETRIES = {"tiny": G, "three queues": G.replace(queues=3, kernel_slots=3, sms=2),
              "one in flight": G.replace(queue_capacity=1, kernel_slots=3)}


@pytest.mark.parametrize("name, cycles", quick(
    [("tiny", 6000), ("three queues", 2000), ("one in flight", 2000), ("tiny", 100)], [("tiny", 100)]))
def test_queue_states_are_those_of_a_model(name, cycles):
    dut = component(QueueStates, GEOMETRIES[name])
    lockstep(dut, Surroundings(dut, random.Random(cycles)).cycles(cycles))
