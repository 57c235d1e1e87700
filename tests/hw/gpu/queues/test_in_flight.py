# amaranth: UnusedElaboratable=no
"""Kernels in flight, against a list of them, while packets are begun and complete at random."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.gpu.queues.in_flight import InFlight
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
