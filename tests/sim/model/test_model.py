"""The model of a GPU with costs that are round numbers: what follows from them can be worked out by hand."""

import dataclasses
import random

import pytest

from caesura.errors import InputError
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import Way
from caesura.sim.model import CostError, ModelMachine
from caesura.sim.model.traffic import make_work
from caesura.software.sched import (
    TECHNIQUES,
    Arrival,
    EventKind,
    MachineError,
    PriorityScheduler,
    QueueSpec,
    RunState,
)
from support.selection import quick
from support.sim.sched import (
    BACK,
    KILL,
    LIMIT,
    PER_TB,
    SAVE,
    START,
    TINY,
    events,
    kinds,
    round_costs,
    round_kernel,
    work,
)

E = EventKind
WAY = Way(Mechanism.LIVE_CP)


def model(*kernels, **options):
    """A model with such costs, and a queue of it."""
    made = ModelMachine(round_costs(*kernels), **options)
    return made, made.queue(QueueSpec(capacity=2))


@pytest.mark.parametrize("tbs, cycles", [(1, 1000), (2, 1500), (3, 2500), (6, 4500), (7, 5500)])
def test_tbs_take_what_they_cost_side_by_side(tbs, cycles):
    made, queue = model()
    signal = made.submit(queue, work("vecadd", tbs))
    found = events(made)
    assert [(event.kind, event.cycle) for event in found] == [(E.STARTED, START), (E.FINISHED, START + cycles)]
    assert signal.latency == START + cycles and made.ended_tbs == tbs


def test_caches_are_cold_for_the_first_tbs_of_a_work_only():
    made, queue = model(round_kernel("vecadd", cold=200.0))
    signal = made.submit(queue, work("vecadd", 4))
    events(made)
    assert signal.latency == START + 2 * 1500 + 300, "a fifth of a TB more, at the pace of two"


def test_shared_memory_registers_and_warps_keep_tbs_away():
    halves = round_kernel("vecadd", shared_bytes=TINY.shared_bytes // 2)
    more = round_kernel("vecadd", shared_bytes=TINY.shared_bytes // 2 + 128)
    for kernel, latency in ((halves, 3 * 1500), (more, 6 * 1000)):
        made, queue = model(kernel)
        signal = made.submit(queue, work("vecadd", 6))
        events(made)
        assert signal.latency == START + latency


def test_works_take_turns_and_slow_each_other_down():
    first, second = round_kernel("vecadd"), round_kernel("collatz")
    first.beside["collatz"], second.beside["vecadd"] = 1.0, 0.5
    made, queue = model(first, second)
    one, two = made.submit(queue, work("vecadd", 1)), made.submit(queue, work("collatz", 1))
    events(made)
    assert two.latency == 2 * START + 1500, "the first is beside it all the time"
    assert one.latency == two.latency + 1000 - START - 1500 // 2, "alone, half as fast, alone again"


def test_warp_slots_keep_tbs_away():
    made, queue = model(dataclasses.replace(round_kernel("vecadd"), warps=3))
    signal = made.submit(queue, work("vecadd", 6))
    events(made)
    assert signal.latency == START + 6 * 1000


def test_of_two_works_neither_waits_for_the_end_of_the_other():
    made, queue = model()
    signals = [made.submit(queue, work(name, 12)) for name in ("vecadd", "collatz")]
    events(made, silence=60_000)
    ends = [signal.ended for signal in signals]
    assert min(ends) > 0.85 * max(ends)


def test_a_kernel_of_unknown_company_counts_by_its_share():
    made, queue = model()
    signals = [made.submit(queue, work(name, 1)) for name in ("vecadd", "saxpy")]
    events(made)
    assert 1000 < signals[0].latency < signals[1].latency < 2 * START + 1501


@pytest.mark.parametrize("sms, tbs", [(1, 2), (3, 6), (60, 120)])
def test_sms_share_a_grid(sms, tbs):
    made, queue = model(sms=sms)
    signal = made.submit(queue, work("vecadd", 4 * tbs))
    events(made)
    assert signal.latency == START + 4 * 1500


def test_memory_is_shared_by_sms():
    kernel = round_kernel("vecadd", bytes_per_tb=6000.0)
    latencies = []
    for bandwidth in (None, 8.0):
        made, queue = model(kernel, sms=2, bytes_per_cycle=bandwidth)
        signal = made.submit(queue, work("vecadd", 8))
        events(made)
        latencies.append(signal.latency - START)
    assert latencies[0] == 3000, "8 bytes a cycle each, which is what two TBs ask for"
    assert latencies[1] == pytest.approx(6000, rel=0.05), "half of that each"


def test_a_queue_is_kept_to_some_sms():
    made = ModelMachine(round_costs(), sms=3)
    queue = made.queue(QueueSpec(sms=frozenset({1})))
    signal = made.submit(queue, work("vecadd", 6))
    events(made)
    assert signal.latency == START + 3 * 1500
    with pytest.raises(MachineError, match="of SMs \\[3\\]"):
        made.queue(QueueSpec(sms=frozenset({3})))


def test_a_preempt_takes_its_line_and_work_that_was_done_counts():
    made, queue = model()
    signal = made.submit(queue, work("vecadd", 2))
    assert made.run_until(LIMIT).kind is E.STARTED and made.run_until(START + 600) is None
    made.preempt(signal, WAY)
    event = made.run_until(LIMIT)
    assert event.cycle == START + 600 + SAVE + 2 * PER_TB and event.cost.tbs == 2
    assert event.cost.cycles == SAVE + 2 * PER_TB
    made.resume(signal)
    resumed, finished = made.run_until(LIMIT), made.run_until(LIMIT)
    assert resumed.cycle == event.cycle + BACK and finished.kind is E.FINISHED
    assert resumed.cycle + 900 - BACK <= finished.cycle <= resumed.cycle + 900


def test_what_was_saved_whole_comes_back_whole_although_it_has_a_base():
    kernel = round_kernel("vecadd")
    for way, cycles in (("live+cp", 100), ("checkpoint", 400), ("flush", 10), ("in-place", 5)):
        costs = kernel.switches[way]
        kernel.switches[way] = dataclasses.replace(costs, resume=dataclasses.replace(costs.resume, base=cycles))
    made, queue = model(kernel)
    signal = made.submit(queue, work("vecadd", 2))
    made.run_until(LIMIT)
    for way, cycles in ((WAY, 100), (Way(Mechanism.LIVE, incremental=True), 400), (WAY, 100),
                        (Way(Mechanism.LIVE_CP, in_place=True), 5), (Way(restart=True), 10)):
        assert made.run_until(made.cycle + 50) is None
        made.preempt(signal, way)
        made.run_until(LIMIT)
        asked = made.cycle
        made.resume(signal)
        assert made.run_until(LIMIT).cycle - asked == cycles


def test_a_flush_loses_work_and_a_drain_none():
    for way, lost in ((Way(restart=True), 1400), (Way(grace="unlimited"), 0)):
        made, queue = model()
        signal = made.submit(queue, work("vecadd", 4))
        made.run_until(LIMIT)
        made.run_until(START + 1400)
        made.preempt(signal, way)
        off = made.run_until(LIMIT)
        assert off.cycle == (START + 1400 + SAVE + 2 * PER_TB if lost else START + 1500)
        made.resume(signal)
        events(made)
        away = off.cycle - START - 1400 if lost else 0
        assert signal.latency == pytest.approx(START + 3000 + lost + away + BACK, abs=BACK + 1)


def test_after_so_much_grace_what_is_left_is_saved():
    made, queue = model()
    signal = made.submit(queue, work("vecadd", 4))
    made.run_until(LIMIT)
    made.run_until(START + 100)
    made.preempt(signal, Way(Mechanism.LIVE_CP, grace=500))
    event = made.run_until(LIMIT)
    assert event.cycle == START + 600 + SAVE + 2 * PER_TB and event.cost.tbs == 2


def test_in_place_leaves_what_a_newcomer_does_not_need():
    kernel, small = round_kernel("vecadd", shared_bytes=512), round_kernel("collatz", shared_bytes=512)
    tiny = round_kernel("rankfilter", shared_bytes=0)
    for newcomer, evicted in ((small, 2), (tiny, 0)):
        made, queue = model(kernel, newcomer)
        signal = made.submit(queue, work("vecadd", 2))
        made.run_until(LIMIT)
        made.run_until(START + 300)
        made.preempt(signal, Way(Mechanism.LIVE_CP, in_place=True))
        off = made.run_until(LIMIT)
        other = made.submit(queue, work(newcomer.name, 2))
        events(made)
        waited = evicted * PER_TB
        assert START + 1500 <= other.ended - off.cycle <= START + 1500 + waited
        assert (other.ended - off.cycle > START + 1500) == bool(evicted)
        made.resume(signal)
        assert kinds(events(made), signal)[-1] is E.FINISHED


def test_what_is_brought_back_comes_before_fresh_tbs():
    made, queue = model()
    back, fresh = made.submit(queue, work("vecadd", 2)), made.submit(queue, work("collatz", 20))
    made.run_until(START // 2 + START)
    made.preempt(back, WAY)
    while back.state is not RunState.PREEMPTED:
        made.run_until(LIMIT)
    made.run_until(made.cycle + 200)
    made.resume(back)
    found = events(made)
    assert kinds(found, back)[-2:] == [E.RESUMED, E.FINISHED] and back.ended < fresh.ended
    resumed = next(event.cycle for event in found if event.kind is E.RESUMED)
    assert resumed < back.ended < resumed + 1600


@pytest.mark.parametrize("way", [WAY, Way(restart=True), None], ids=["preempt", "flush", "kill"])
def test_a_resume_that_is_withdrawn_in_the_same_cycle_leaves_the_sms_free(way):
    made, queue = model()
    signal = made.submit(queue, work("vecadd", 8))
    made.run_until(LIMIT)
    made.run_until(START + 300)
    made.preempt(signal, WAY)
    made.run_until(LIMIT)
    made.resume(signal)
    if way is None:
        made.kill(signal)
    else:
        made.preempt(signal, way)
    other = made.submit(queue, work("collatz", 2))
    found = events(made)
    assert kinds(found, signal) == [E.KILLED if way is None else E.PREEMPTED]
    assert kinds(found, other) == [E.STARTED, E.FINISHED]
    if way is not None:
        made.resume(signal)
        assert kinds(events(made), signal) == [E.RESUMED, E.FINISHED]


def test_a_work_that_ends_while_its_bases_wait_for_the_engine_has_ended():
    made = ModelMachine(round_costs())
    signal, other = (made.submit(made.queue(QueueSpec(number)), work(name, 1))
                     for number, name in enumerate(("vecadd", "collatz")))
    made.run_until(LIMIT)
    while made.estimate(signal).drain_cycles > SAVE // 2:
        made.run_until(made.cycle + 1)
    made.preempt(other, WAY)
    made.checkpoint(signal, Mechanism.LIVE)
    assert kinds(events(made), signal) == [E.FINISHED]
    assert signal.state is RunState.FINISHED and signal.counts.checkpoints == 0
    made.kill(signal)
    with pytest.raises(MachineError):
        made.preempt(signal, WAY)


def test_a_kill_frees_its_room_at_once():
    made, queue = model()
    signal = made.submit(queue, work("vecadd", 50))
    made.run_until(LIMIT)
    made.run_until(1000)
    made.kill(signal)
    after = made.submit(queue, work("collatz", 1))
    events(made)
    assert after.latency == KILL + START + 1000


def test_costs_that_were_not_measured_are_refused():
    kernel = round_kernel("vecadd")
    del kernel.switches["flush"]
    made, queue = model(kernel)
    signal = made.submit(queue, work("vecadd", 2))
    made.run_until(LIMIT)
    with pytest.raises(CostError, match="what 'flush' costs of kernel 'vecadd'; there are live"):
        made.preempt(signal, Way(restart=True))
    with pytest.raises(CostError, match="not measured what a preempt with"):
        made.preempt(signal, Way(Mechanism.OCCUPIED))
    with pytest.raises(CostError, match="no costs of kernel 'saxpy'"):
        made.submit(queue, work("saxpy", 1))
    with pytest.raises(MachineError, match="takes works off all SMs"):
        ModelMachine.preempt(ModelMachine(round_costs(), sms=2), signal, WAY, sms=frozenset({1}))
    with pytest.raises(InputError, match="1 SM or more"):
        ModelMachine(round_costs(), sms=0)
    assert signal.state is RunState.RUNNING and kinds(events(made), signal) == [E.FINISHED]


def traffic(seed):
    """Arrivals of three priorities at random."""
    rng = random.Random(seed)
    return [Arrival(at, work(rng.choice(["vecadd", "collatz", "rankfilter"]), rng.randint(1, 9)), rng.randrange(3))
            for at in sorted(rng.randrange(20_000) for _ in range(12))]


@pytest.mark.parametrize("way", TECHNIQUES)
@pytest.mark.parametrize("seed", quick(range(6), [0, 4]))
def test_random_traffic_ends_and_every_tb_ends_once(seed, way, monkeypatch):
    from caesura.sim.model.residents import Sm
    enter = Sm.enter

    def checked(self, tb, now):
        found = enter(self, tb, now)
        assert len(self.tbs) <= TINY.tb_slots and self.warps <= TINY.warps and len({*self.tbs}) == len(self.tbs)
        for places, name, most in ((self._rows, "rows", TINY.register_rows), (self._lines, "lines", TINY.shared_lines)):
            spans = sorted((start, start + getattr(each, name)) for each, start in places.items())
            assert all(end <= begin for (_, end), (begin, _) in zip(spans, spans[1:], strict=False))
            assert not spans or spans[-1][1] <= most
        return found

    monkeypatch.setattr(Sm, "enter", checked)
    kernels = [round_kernel(name, spread=(0.6, 1.0, 1.7), shared_bytes=shared)
               for name, shared in (("vecadd", 0), ("collatz", 512), ("rankfilter", 640))]
    ends = []
    for sms in (1, 1, 3):
        made, arrivals, done = ModelMachine(round_costs(*kernels), sms, seed=seed), traffic(seed), []
        scheduler = PriorityScheduler(made, TECHNIQUES[way], {0: 2, 1: 1, 2: 1}, 400, done.append)
        scheduler.run(arrivals, limit=LIMIT)
        assert len(done) == len(arrivals)
        again = sum(signal.work.tbs for request in done for signal in request.signals[:-1])
        wanted = sum(arrival.work.tbs for arrival in arrivals)
        assert wanted <= made.ended_tbs <= wanted + again
        assert all(made.progress(request.signal) == (request.work.tbs,) * 2 for request in done)
        assert not any(sm.tbs or sm.staying or sm._rows or sm._lines for sm in made._sms)
        ends.append([request.signal.ended for request in done])
    assert ends[0] == ends[1], "the same seed gives the same cycles"
    assert max(ends[2]) < max(ends[0])


def test_another_seed_gives_other_cycles():
    ends = []
    for seed in (1, 2):
        made, queue = model(round_kernel("vecadd", spread=tuple(0.5 + 0.01 * k for k in range(100))), seed=seed)
        signal = made.submit(queue, make_work("vecadd", TINY, 40)[0])
        events(made, silence=60_000)
        ends.append(signal.latency)
    assert ends[0] != ends[1]
