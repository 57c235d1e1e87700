# amaranth: UnusedElaboratable=no
"""Queue preemption against kernels that behave as the SMs do, while memory fails: no command that is not to be given is
given, a queue whose kernel cannot be brought back stops and keeps nobody off, and in the end every kernel has come
back."""

import itertools
import random

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.device.queues.queue_preemption import QueuePreemption
from support.hw.lockstep import lockstep
from support.hw.simulation import Simulator, component
from support.models.queue_preemption_model import Policy
from support.selection import quick

G = preset("tiny").replace(sms=2, queues=4, queue_capacity=2)
DEPTH = G.queue_capacity
SLOTS = range(G.kernel_slots)
STEPS, SHORT = 800, 175
ERRORS, STATES = list(CommandError), list(KernelState)


def any_inputs(g, rng, cycles):
    """Yield any inputs, and what is to be put out: few kernels or many, in states that are alike or not, commands that
    are carried out or others."""
    policy, action = Policy(g), None
    kernels = [{"started": 0, "slot": 0} for _ in range(g.flights)]
    queues = [{"priority": 0, "stuck": 0, "roomless": 0} for _ in range(g.queues)]
    states = [[KernelState.IDLE] * g.kernel_slots for _ in range(g.sms)]
    errors = [[CommandError.NONE] * g.kernel_slots for _ in range(g.sms)]
    every, bits = (1 << g.flights) - 1, [error for error in ERRORS if error.bit_count() == 1]

    def some(share):
        return int(rng.random() < share)

    for cycle in range(cycles):
        if cycle % 60 == 0:
            present = rng.sample(range(g.flights), rng.choice((1, 2, 3, g.flights)))
            usual = rng.sample(STATES, rng.choice((1, 2, 3, len(STATES)))) + [KernelState.PREEMPTED]
            levels = rng.choice(((0, 1), (0, 1, 2), range(1 << 4)))
            bad, hungry, looks = rng.choice((0, 0, 0.3, 0.7)), rng.choice((0, 0.1, 0.5)), rng.choice((0.3, 0.9))
            enable, busy, brings = some(0.9), rng.choice((0.1, 0.5)), rng.choice((0.1, 0.5))
        for f, kernel in enumerate(kernels):
            if some(0.1):
                kernel["started"] = int(f in present and rng.random() < 0.9)
                kernel["slot"] = rng.randrange(g.kernel_slots)
        for queue in queues:
            queue["priority"] = rng.choice(levels) if some(0.1) else queue["priority"]
            queue["roomless"] = some(hungry) if some(0.2) else queue["roomless"]
            queue["stuck"] = some(0.3) if some(0.1) else queue["stuck"]
        for k in range(g.kernel_slots):
            together = rng.choice(usual) if some(0.6) else None
            for i in range(g.sms) if some(busy) else ():
                states[i][k] = rng.choice(usual) if together is None else together
                errors[i][k] = rng.choice(bits + ERRORS) if some(bad) else CommandError.NONE
        what = action if action and some(0.7) else {
            "op": rng.choice([*Command, Command.KILL]) if some(0.5) else rng.getrandbits(4),
            "kernel": rng.choice(present), "slot": 0, "checkpoint": some(0.2), "whole": some(0.2)}
        away = sum(flight.away << f for f, flight in enumerate(policy.flights))
        given = {
            "enable": enable, "in_place": some(0.5), "queues": [dict(queue) for queue in queues],
            "kernels": [dict(kernel) for kernel in kernels], "states": [list(own) for own in states],
            "errors": [list(own) for own in errors], "free": some(0.4), "retry": some(0.1), "settled": some(looks),
            "checkpoint": {"valid": some(0.1), "priority": rng.choice(levels)},
            "done": {"valid": some(0.4), "accepted": some(0.7), "what": what},
            "adopts": rng.choice((away, every, away)) & rng.getrandbits(g.flights) if some(brings) else 0,
            "discard": rng.getrandbits(g.flights) if some(0.1) else 0}
        policy.look(given)
        shown, vectors = policy.outputs()
        action = policy.action()
        yield given, shown | {name: sum(bool(flag) << f for f, flag in enumerate(flags))
                              for name, flags in vectors.items()}
        policy.step()


@pytest.mark.parametrize("seed, cycles", quick([*itertools.product(range(2), [5000]), (2, 150)], [(2, 150)]))
def test_every_cycle_is_that_of_a_model(seed, cycles):
    lockstep(component(QueuePreemption, G), any_inputs(G, random.Random(seed), cycles))


class Kernel:
    """A kernel in flight, as it is known outside the block: a kernel slot or none, and work that is left."""

    def __init__(self, work):
        self.slot, self.work = None, work
        self.away = self.bound = self.stays = self.adopting = self.back = self.broken = False


class Scene:
    """Queues, some kernel slots that they share, and what becomes of commands."""

    def __init__(self, seed, slots):
        self.rng = random.Random(seed)
        self.slots = list(range(slots))
        self.priority = [level for _ in range(G.queues) for level in [self.rng.randrange(3)] * DEPTH]  # of each kernel
        self.kernels = [None] * G.flights
        self.states = [[KernelState.IDLE] * G.kernel_slots for _ in range(G.sms)]
        self.errors = [[CommandError.NONE] * G.kernel_slots for _ in range(G.sms)]
        self.keeps = self.fail = False
        self.stuck = [False] * G.queues
        self.seen = set()

    def held(self):
        return {kernel.slot for kernel in self.kernels if kernel and not kernel.away}

    def free(self):
        return [k for k in self.slots if k not in self.held()
                and all(sm[k] in (KernelState.IDLE, KernelState.FINISHED) for sm in self.states)]

    def failed(self, kernel):
        return any(errors[kernel.slot] for errors in self.errors)

    def state(self, q):
        kernel = self.kernels[q]
        return {sm[kernel.slot] for sm in self.states}

    def wants(self, q, mine):
        """The kernel is to run."""
        kernel = self.kernels[q]
        if kernel is None:
            return False
        if kernel.slot is None or kernel.away:
            return not self.stuck[q // DEPTH]
        states = self.state(q)
        saved = KernelState.PREEMPTED in states and states <= {KernelState.PREEMPTED, KernelState.FINISHED}
        return bool(states - {KernelState.FINISHED, KernelState.IDLE}) and (not saved or mine[q] and not kernel.broken)

    def off(self, q, mine):
        """The kernel is to leave the SMs, or to stay away."""
        return not self.stuck[q // DEPTH] and any(
            self.wants(p, mine) and self.priority[p] > self.priority[q] for p in range(G.flights))

    def resumed(self):
        """Kernels whose resume has ended, and whether it has failed."""
        return {q: any(states[kernel.slot] is KernelState.PREEMPTED and errors[kernel.slot]
                       for states, errors in zip(self.states, self.errors, strict=True))
                for q, kernel in enumerate(self.kernels)
                if kernel and kernel.back and KernelState.RESUMING not in self.state(q)}

    def mend(self, q):
        """A queue is stopped and goes on."""
        if self.stuck[q]:
            self.stuck[q] = False
            for kernel in filter(None, self.kernels[q * DEPTH:(q + 1) * DEPTH]):
                kernel.broken = False

    def pass_time(self):
        """What is under way ends some time, on each SM by itself; kernels that run come to their end."""
        ends = {KernelState.PREEMPTING: KernelState.PREEMPTED, KernelState.RESUMING: KernelState.RUNNING,
                KernelState.KILLING: KernelState.IDLE, KernelState.ADOPTING: KernelState.PREEMPTED}
        for sm, states in enumerate(self.states):
            for k in SLOTS:
                if states[k] in ends and self.rng.random() < 0.2:
                    if states[k] is KernelState.ADOPTING and self.fail:
                        states[k], self.errors[sm][k] = KernelState.IDLE, CommandError.BAD_IMAGE
                    elif states[k] in (KernelState.PREEMPTING, KernelState.RESUMING) and self.fail:
                        states[k], self.errors[sm][k] = KernelState.PREEMPTED, CommandError.BUS_ERROR
                    else:
                        states[k] = ends[states[k]]
        for q, kernel in enumerate(self.kernels):
            if kernel and kernel.slot is not None and not kernel.away and self.state(q) == {KernelState.RUNNING}:
                kernel.work -= 1
                if kernel.work <= 0:
                    for states in self.states:
                        states[kernel.slot] = KernelState.FINISHED

    def command(self, op, slot, whole):
        """Give a command to all SMs; return whether one takes it. A preempt of what is saved is taken if some of it is
        not in memory, and a release if all is (not `whole`)."""
        to = {Command.PREEMPT: KernelState.PREEMPTING, Command.RESUME: KernelState.RESUMING,
              Command.KILL: KernelState.KILLING, Command.RELEASE: KernelState.KILLING}[op]
        over = {KernelState.IDLE, KernelState.FINISHED, KernelState.KILLING}
        takes = {Command.PREEMPT: {KernelState.RUNNING, KernelState.RESUMING}, Command.RESUME: {KernelState.PREEMPTED},
                 Command.KILL: {*KernelState} - over,
                 Command.RELEASE: set() if whole else {KernelState.PREEMPTED}}[op]
        taken = False
        for sm, states in enumerate(self.states):
            if states[slot] in takes or (
                    whole and op is Command.PREEMPT and states[slot] is KernelState.PREEMPTED):
                states[slot], self.errors[sm][slot], taken = to, CommandError.NONE, True
        return taken


async def show(ctx, dut, scene):
    for q, kernel in enumerate(scene.kernels):
        ctx.set(dut.kernels[q], {"started": kernel is not None and kernel.slot is not None,
                                 "slot": kernel.slot if kernel and kernel.slot is not None else 0})
    for q in range(G.queues):
        ctx.set(dut.queues[q], {"stuck": scene.stuck[q], "priority": scene.priority[q * DEPTH], "roomless": any(
            kernel is not None and kernel.slot is None for kernel in scene.kernels[q * DEPTH:(q + 1) * DEPTH])})
    for i in range(G.sms):
        for k in SLOTS:
            ctx.set(dut.states[i][k], scene.states[i][k])
            ctx.set(dut.errors[i][k], scene.errors[i][k])
    ctx.set(dut.free, bool(scene.free()))


def check(scene, what, mine):
    """The command is one that is to be given now."""
    q, op = what.kernel, Command(what.op)
    kernel, states = scene.kernels[q], scene.state(what.kernel)
    off = scene.off(q, mine)
    assert kernel is not None and kernel.slot == what.slot and not kernel.away
    match op:
        case Command.PREEMPT if what.whole:
            assert off and mine[q] and not scene.free() and kernel.bound
        case Command.PREEMPT:
            assert off and states & {KernelState.RUNNING, KernelState.RESUMING}
            assert not states & {KernelState.PREEMPTING, KernelState.KILLING, KernelState.ADOPTING}
        case Command.RESUME:
            assert not off and mine[q] and not kernel.broken and KernelState.PREEMPTED in states
            assert states <= {KernelState.PREEMPTED, KernelState.FINISHED, KernelState.RUNNING}
        case Command.KILL if kernel.adopting:
            assert any(errors[kernel.slot] for errors in scene.errors)
        case Command.RELEASE:
            assert off and mine[q] and not kernel.bound and not scene.free()
            assert states <= {KernelState.PREEMPTED, KernelState.FINISHED}
            needs = [p for p in range(G.flights) if scene.kernels[p] and not scene.stuck[p // DEPTH]
                     and (scene.kernels[p].slot is None or scene.kernels[p].away)]
            assert any(scene.priority[p] > scene.priority[q] for p in needs)
        case _:
            raise AssertionError(op)


@pytest.mark.parametrize("seed, slots, steps", quick(
    [*itertools.product(range(3), (1, 2, 3), [STEPS]), (2, 3, SHORT)], [(2, 3, SHORT)]))
def test_commands_by_priority(seed, slots, steps):
    scene = Scene(10 * seed + slots, slots)
    dut, rng, ended = component(QueuePreemption, G), scene.rng, []
    mine = [False] * G.flights

    async def testbench(ctx):
        ctx.set(dut.enable, 1)
        for step in range(steps + 4000):
            if step < steps:
                for q in range(G.flights):
                    if scene.kernels[q] is None and rng.random() < 0.02:
                        scene.kernels[q] = Kernel(rng.randrange(1, 40))
                scene.keeps, scene.fail = rng.random() < 0.3, rng.random() < (0.4 if slots == 1 else 0.2)
            else:
                scene.keeps = scene.fail = False
            for q in range(G.queues):
                if rng.random() < 0.01:
                    scene.mend(q)
            if step >= steps and not any(scene.kernels):
                break
            for k in SLOTS:  # the kernel slots that nobody has forget their errors
                if k not in scene.held():
                    for errors in scene.errors:
                        errors[k] = CommandError.NONE
            ctx.set(dut.in_place, scene.keeps)
            ctx.set(dut.retry, rng.random() < 0.05)
            ctx.set(dut.settled, 1)
            ctx.set(dut.adopts, 0)
            await show(ctx, dut, scene)
            away = ctx.get(dut.away)
            assert away == sum(1 << q for q, kernel in enumerate(scene.kernels) if kernel and kernel.away)
            action, back = ctx.get(dut.action), ctx.get(dut.back)
            assert not back or scene.free()
            for q in (q for q in range(G.flights) if back >> q & 1):
                assert not scene.off(q, mine)
            resumed = scene.resumed()
            lost = sum(failed << q for q, failed in resumed.items())
            done = {"valid": 0, "accepted": 0, "what": {}}
            if action.valid:
                what = action.what
                check(scene, what, mine)
            for q, failed in resumed.items():
                scene.kernels[q].back, scene.kernels[q].broken, mine[q] = False, failed, failed
                scene.stuck[q // DEPTH] |= failed
            if action.valid:
                kernel = scene.kernels[what.kernel]
                whole = kernel.stays or scene.failed(kernel)
                taken = scene.command(Command(what.op), what.slot, whole)
                done = {"valid": 1, "accepted": int(taken), "what": {name: getattr(what, name) for name in (
                    "op", "kernel", "slot", "checkpoint", "whole")}}
                scene.seen.add("whole" if what.whole else Command(what.op))
                if what.op == Command.PREEMPT and what.whole:
                    kernel.bound = kernel.stays = False
                elif what.op == Command.PREEMPT and taken:
                    mine[what.kernel] = True
                    kernel.bound, kernel.stays = scene.keeps, scene.keeps and rng.random() < 0.7
                    kernel.back = False
                elif what.op == Command.RESUME and taken:
                    kernel.back = True
                elif what.op == Command.KILL:
                    scene.stuck[what.kernel // DEPTH] = True
                    lost |= 1 << what.kernel
                    kernel.away, kernel.adopting = True, False
                elif what.op == Command.RELEASE:
                    kernel.away, kernel.bound = taken, not taken
            elif scene.free():
                waiting = [q for q, kernel in enumerate(scene.kernels) if kernel and (
                    kernel.slot is None or (kernel.away and back >> q & 1)) and not scene.stuck[q // DEPTH]]
                for q in sorted(waiting, key=lambda q: -scene.priority[q])[:1]:
                    kernel, slot = scene.kernels[q], scene.free()[0]
                    for states in scene.states:
                        states[slot] = KernelState.ADOPTING if kernel.away else KernelState.RUNNING
                    if kernel.away:
                        ctx.set(dut.adopts, 1 << q)
                        kernel.away, kernel.adopting, mine[q] = False, True, True
                    kernel.slot = slot
            ctx.set(dut.done, done)
            assert ctx.get(dut.lost) == lost
            scene.seen |= {"lost"} if lost else set()
            await ctx.tick()
            ctx.set(dut.done, {"valid": 0})
            for kernel in scene.kernels:
                if kernel and kernel.adopting and KernelState.ADOPTING not in {sm[kernel.slot] for sm in scene.states} \
                        and not any(errors[kernel.slot] for errors in scene.errors):
                    kernel.adopting = False
            scene.pass_time()
            for q, kernel in enumerate(scene.kernels):
                if kernel and kernel.slot is not None and not kernel.away and not kernel.adopting \
                        and scene.state(q) == {KernelState.FINISHED}:
                    ended.append(q)
                    scene.kernels[q], mine[q] = None, False
        assert not any(scene.kernels), "every kernel comes back, and ends"

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    assert len(ended) > 10
    assert scene.seen >= (
        {Command.PREEMPT, Command.RESUME, Command.RELEASE, Command.KILL, "whole", "lost"} if slots == 1
        else {Command.PREEMPT})
