"""The model under commands at random: whatever comes when, each work ends once and leaves nothing behind."""

import itertools
import random

import pytest

from caesura.errors import UserError
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import Way
from caesura.sim.model import ModelMachine
from caesura.software.sched import EventKind, QueueSpec, RunState
from support.selection import quick
from support.sim.sched import round_costs, round_kernel, work

NAMES = "vecadd", "saxpy", "collatz", "rankfilter"
KERNELS = [round_kernel(name, spread=(0.7, 1.0, 1.3)) for name in NAMES]
WORKS = {(name, tbs): work(name, tbs) for name in NAMES for tbs in (1, 2, 3, 7, 12)}
WAYS = [Way(Mechanism.LIVE_CP), Way(Mechanism.LIVE_CP, in_place=True), Way(restart=True),
        Way(grace="unlimited"), Way(Mechanism.LIVE_CP, grace=700),
        Way(Mechanism.LIVE, incremental=True)]
RESULTS = {RunState.FINISHED: EventKind.FINISHED, RunState.KILLED: EventKind.KILLED}
MIXES = ("submit preempt resume", "submit preempt checkpoint resume",
         "submit submit preempt preempt resume resume checkpoint kill reset")
PASSES = 0, 1, 50, 100, 300, 1000, 3000
LONG = 1_000_000
"""Cycles in which all that can end does."""


class Conversation:
    """A model, the works that it was given, and what it has said of them."""

    def __init__(self, rng, seed):
        self.rng = rng
        self.made = ModelMachine(round_costs(*KERNELS), rng.choice([1, 1, 2, 3]), seed=seed)
        sms = range(self.made.sms)
        some = [None, None, frozenset(rng.sample(sms, rng.randint(1, len(sms))))]
        self.queues = [self.made.queue(QueueSpec(rng.randrange(3), 1, rng.choice(some)))
                       for _ in range(min(self.made.geometry.kernel_slots, 3))]
        self.signals, self.events, self.last = [], [], None

    def command(self, name):
        """Give a command to any work, most likely one that has not ended; a refusal has a message of ours."""
        rng, made = self.rng, self.made
        if name == "submit":
            self.signals.append(made.submit(rng.choice(self.queues), WORKS[rng.choice([*WORKS])]))
            return
        live = [signal for signal in self.signals if not signal.done]
        if not live:
            return
        signal = rng.choice(live if rng.random() < 0.9 else self.signals)
        if rng.random() < 0.5:  # one that was given a command before
            signal = self.last or signal
        self.last = signal
        try:
            if name == "preempt":
                made.preempt(signal, rng.choice(WAYS), rng.choice(live))
            elif name == "checkpoint":
                made.checkpoint(signal, Mechanism.LIVE)
            elif name == "reset":
                made.reset(signal.queue)
            else:
                getattr(made, name)(signal)
        except UserError:
            pass

    def let_pass(self, cycles):
        """Let time pass, and hear what happens."""
        end = self.made.cycle + cycles
        while (event := self.made.run_until(end)) is not None:
            self.events.append(event)

    def end(self):
        """Bring back what is preempted, when nothing else can end any more, until all is over."""
        while True:
            self.let_pass(LONG)
            left = [signal for signal in self.signals if not signal.done]
            away = [signal for signal in left if signal.state is RunState.PREEMPTED]
            assert all(signal.state in (RunState.PREEMPTED, RunState.WAITING) for signal in left), "it is stuck"
            assert bool(away) == bool(left), "works wait for nothing"
            if not left:
                return
            self.made.resume(self.rng.choice(away))


def check(talk):
    """Check what there is when all works have ended."""
    for signal in talk.signals:
        said = [event for event in talk.events if event.signal is signal]
        ends = [event for event in said if event.kind in RESULTS.values()]
        assert ends == said[-1:] and ends[0].kind is RESULTS[signal.state] and ends[0].cycle == signal.ended
        finished = signal.state is RunState.FINISHED
        assert talk.made.progress(signal) == (finished * signal.work.tbs, signal.work.tbs)
    assert all(one.cycle <= two.cycle for one, two in itertools.pairwise(talk.events))
    assert not any(sm.tbs or sm.staying or sm._rows or sm._lines or talk.made._switching.brings_back(sm)
                   for sm in talk.made._sms)
    assert talk.made.ended_tbs >= sum(s.work.tbs for s in talk.signals if s.state is RunState.FINISHED)


def converse(seed):
    """Give commands at random, and let all works end."""
    rng = random.Random(seed)
    talk = Conversation(rng, seed)
    mix = rng.choice(MIXES).split()
    for _ in range(rng.randint(3, 40)):
        talk.command(rng.choice(mix))
        if rng.random() < 0.6:
            talk.let_pass(rng.choice(PASSES))
    talk.end()
    check(talk)


@pytest.mark.parametrize("seeds", quick([range(80), range(80, 600), range(600, 8000)], [range(80)]),
                         ids=["short", "more", "long"])
def test_works_end_once_and_leave_nothing_behind(seeds):
    for seed in seeds:
        try:
            converse(seed)
        except Exception as error:
            error.add_note(f"with seed {seed}")
            raise
