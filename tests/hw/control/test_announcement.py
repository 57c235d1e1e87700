"""The announcement: what a plain model says of writes, endings and expiry at random."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.registers import UNLIMITED_EXPIRY
from caesura.hw.control.announcement import Announcement
from support.hw.simulation import component
from support.hw.stream_bench import simulate

G = preset("tiny").replace(proactive=True)
MECHANISMS = 4


class Model:
    """Victims, cycles left, and whether the announcement has just begun."""

    def __init__(self):
        self.victims = self.due = self.left = 0
        self.begins = False

    def step(self, write, running, forget):
        self.begins = write is not None
        self.due -= self.due > 0
        if write is not None:
            known = write["mechanism"] < MECHANISMS
            self.victims = write["victims"] & running & ~forget if known else 0
            self.due, self.left = write["cycles"], write["expiry"]
            return
        self.victims = self.victims & ~forget if self.left else 0
        self.left -= 0 < self.left < UNLIMITED_EXPIRY


def number(rng):
    """A number of cycles that soon pass, or in which few bits are set."""
    return rng.choice((rng.randrange(60), 1 << rng.randrange(32), (1 << rng.randrange(1, 33)) - 2))


@pytest.mark.parametrize("seed", range(6))
def test_it_does_what_a_plain_model_does(seed):
    rng, dut, model, seen = random.Random(seed), component(Announcement, G), Model(), set()

    async def bench(ctx):
        for _ in range(3000):
            write, running, forget = None, rng.getrandbits(4) | rng.getrandbits(4), 0
            if rng.random() < 0.05:
                write = {"victims": rng.getrandbits(8), "mechanism": rng.randrange(16), "cycles": number(rng),
                         "expiry": rng.choice((0, 1, number(rng), UNLIMITED_EXPIRY)), "patience": rng.getrandbits(32),
                         "run_on": rng.getrandbits(1)}
            if rng.random() < 0.1:
                forget = rng.getrandbits(4)
            ctx.set(dut.write, {"valid": 0} if write is None else {"valid": 1, **write})
            ctx.set(dut.running, running)
            ctx.set(dut.forget, forget)
            await ctx.tick()
            model.step(write, running, forget)
            assert ctx.get(dut.victims) == model.victims and ctx.get(dut.due) == model.due
            assert ctx.get(dut.begins) == (model.victims if model.begins else 0)
            if write is not None:
                for name in ("mechanism", "patience", "run_on"):
                    assert ctx.get(getattr(dut, name)) == write[name]
            seen.add((bool(model.victims), model.due == 0, 0 < model.left < UNLIMITED_EXPIRY))

    simulate(dut, bench)
    assert len(seen) >= 6
