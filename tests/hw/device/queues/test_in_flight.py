# amaranth: UnusedElaboratable=no
"""Kernels in flight, against a list of them, while packets are begun and complete at random, also thousands of them
while one kernel runs."""

import itertools
import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.device.queues.in_flight import InFlight
from support.hw.lockstep import lockstep, number
from support.hw.simulation import Simulator, component
from support.selection import quick


class Model:
    """What a queue has in flight, by place, and the index of its next packet."""

    def __init__(self, places):
        self.places, self.flights, self.next, self.passing = places, {}, 0, False

    @property
    def vacant(self):
        return next(place for place in range(self.places) if place not in self.flights)

    @property
    def oldest(self):
        return min([self.next - self.passing, *(flight["index"] for flight in self.flights.values())])


def check(ctx, dut, models):
    for q, model in enumerate(models):
        assert ctx.get(dut.next[q]) == model.next and ctx.get(dut.oldest[q]) == model.oldest
        assert ctx.get(dut.count[q]) == len(model.flights)
        if len(model.flights) < model.places:
            assert ctx.get(dut.vacant[q]) == model.vacant
        for place in range(model.places):
            one = ctx.get(dut.flights[q][place])
            assert bool(one.busy) == (place in model.flights)
            for name, value in model.flights.get(place, {}).items():
                assert getattr(one, name) == value, name


@pytest.mark.parametrize(("queues", "places", "seed"), quick(
    [(queues, places, seed) for queues in (1, 3, 8) for places in (1, 2, 4) for seed in range(3)],
    [(1, 1, 0), (1, 4, 0), (3, 1, 0)]))
def test_whatever_begins_and_completes(queues, places, seed):
    rng = random.Random(seed)
    g = preset("tiny").replace(sms=2, queues=queues, queue_capacity=places)
    dut, models = component(InFlight, g), [Model(places) for _ in range(queues)]

    async def testbench(ctx):
        for _ in range(250 + 150 * queues):
            number, model = rng.choice([*enumerate(models)])
            what = rng.choice(["kernel", "kernel", "barrier", "end", "end", "back", "nothing"])
            begin, slot = {"valid": 0}, rng.randrange(g.kernel_slots)
            words = {"slot": slot, "signal": rng.getrandbits(32), "start": rng.getrandbits(64)}
            if what == "kernel" and len(model.flights) < places:
                begin = {"valid": 1, "fresh": 1, "number": number * places + model.vacant, **words}
                ctx.set(dut.advance, 1 << number)
                model.flights[model.vacant] = {"index": model.next, **words}
                model.next += 1
            elif what == "barrier":
                ctx.set(dut.advance, 1 << number)
                model.next += 1
            elif what == "end" and model.flights:
                place = rng.choice([*model.flights])
                ctx.set(dut.end, {"valid": 1, "number": number * places + place})
                del model.flights[place]
            elif what == "back" and model.flights:
                place = rng.choice([*model.flights])
                begin = {"valid": 1, "fresh": 0, "number": number * places + place, **words}
                model.flights[place]["slot"] = slot
            ctx.set(dut.begin, begin)
            await ctx.tick()
            for port in (dut.begin, dut.end):
                ctx.set(port, {"valid": 0})
            ctx.set(dut.advance, 0)
            if what == "barrier":  # it passes for a while
                model.passing = True
                ctx.set(dut.passing, 1 << number)
                await ctx.tick()
                check(ctx, dut, models)
                model.passing = False
                ctx.set(dut.passing, 0)
                await ctx.tick()
            check(ctx, dut, models)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    assert max(model.next for model in models) > 30


class Queue:
    """What a queue has in flight, by place, and the index of its next packet."""

    def __init__(self, places):
        self.flights, self.next = [None] * places, 0

    def outputs(self, q, passing):
        """What the outputs for queue `q` are; of a place that is vacant only that it is."""
        flights = self.flights
        oldest = min([self.next - passing, *(one["index"] for one in flights if one)])
        shown = {f"next.{q}": self.next, f"oldest.{q}": oldest % (1 << 32),
                 f"count.{q}": sum(one is not None for one in flights)}
        if None in flights:
            shown[f"vacant.{q}"] = flights.index(None)
        for place, one in enumerate(flights):
            shown |= {f"flights.{q}.{place}.{name}": value for name, value in (one or {"busy": 0}).items()}
        return shown

    def step(self, advance, begin, fresh, words, end):
        """Let a kernel take the place `begin`, and the one at `end` complete, unless they are None."""
        if end is not None:
            self.flights[end] = None
        if begin is not None and fresh:
            self.flights[begin] = words | {"busy": 1, "index": self.next}
        elif begin is not None and self.flights[begin]:
            self.flights[begin]["slot"] = words["slot"]
        self.next += advance


def anything(g, rng, cycles):
    """Yield inputs: whatever begins, completes and advances, in any cycles. The packet before number 0 has a number of
    32 bits as well."""
    every = (1 << g.queues) - 1
    for cycle in range(cycles):
        begin, end = ({"valid": rng.getrandbits(1), "number": rng.choice([
            rng.randrange(g.flights), number(rng, (g.flights - 1).bit_length())])} for _ in range(2))
        begin |= {"fresh": int(rng.random() < 0.7), "slot": rng.randrange(g.kernel_slots), "signal": number(rng, 32),
                  "start": number(rng, 64)}
        yield {"begin": begin, "end": end, "advance": rng.getrandbits(g.queues) if cycle > 9 else 0,
               "passing": rng.choice([0, every, rng.getrandbits(g.queues)])}


def long_stays(g, rng, length):
    """Yield inputs: kernels begin in any order, and complete in the same order when so many packets have passed. Later,
    when packets have large numbers, they begin once more."""
    order = rng.sample(range(g.flights), g.flights)
    begins = {start + 50 * place: number for place, number in enumerate(order) for start in (0, 4 * length)}
    ends = {length + 50 * place: number for place, number in enumerate(order)}
    passing = 0
    for cycle in range(4 * length + 50 * g.flights):
        passing = passing if cycle % 50 else rng.getrandbits(g.queues)
        yield {"begin": {"valid": int(cycle in begins), "fresh": 1, "number": begins.get(cycle, 0), "slot": 0,
                         "signal": 0, "start": 0},
               "end": {"valid": int(cycle in ends), "number": ends.get(cycle, 0)},
               "advance": (1 << g.queues) - 1, "passing": passing}


def beside_a_model(g, steps, every=1):
    """Yield inputs, and each time after so many of them the outputs."""
    depth = g.queue_capacity
    queues = [Queue(depth) for _ in range(g.queues)]

    def place(q, one):
        return one["number"] % depth if one["valid"] and one["number"] // depth == q else None

    before = {}
    for cycle, inputs in enumerate(steps):
        outputs, begin = {}, inputs["begin"]
        for q, queue in enumerate(queues if cycle % every == 0 else ()):
            outputs |= queue.outputs(q, inputs["passing"] >> q & 1)
        yield {name: given for name, given in inputs.items() if before.get(name) != given}, outputs
        before = inputs
        words = {name: begin[name] for name in ("slot", "signal", "start")}
        for q, queue in enumerate(queues):
            queue.step(inputs["advance"] >> q & 1, place(q, begin), begin["fresh"], words, place(q, inputs["end"]))


@pytest.mark.parametrize(("queues", "places", "cycles"), quick(
    [*itertools.product((1, 3), (1, 2, 4), [3000]), (3, 2, 250)], [(3, 2, 250)]))
def test_kernels_in_flight_are_those_of_a_model(queues, places, cycles):
    g = preset("tiny").replace(sms=2, queues=queues, queue_capacity=places)
    lockstep(component(InFlight, g), beside_a_model(g, anything(g, random.Random(places), cycles)))


@pytest.mark.full
def test_the_oldest_packet_is_known_when_many_thousands_have_passed():
    g = preset("tiny").replace(sms=2, queues=3, queue_capacity=2)
    lockstep(component(InFlight, g), beside_a_model(g, long_stays(g, random.Random(1), 33500), every=25))
