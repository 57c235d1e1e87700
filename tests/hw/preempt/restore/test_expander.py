"""The expander: every register of a warp that was not saved as it is, from its words, in order."""

import random

import pytest

from caesura.hw.arch.geometry import MAX_REGISTERS, preset
from caesura.hw.preempt.restore.expander import Expander
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate, steady, value

TINY = preset("tiny")
GEOMETRIES = {"8x8": TINY, "16x4": TINY.replace(warp_size=16, lanes=4), "32x16": TINY.replace(warp_size=32, lanes=16)}
EVERY = [(name, pag) for name, g in GEOMETRIES.items() for pag in (8, 16, 32) if pag <= g.warp_size]


class Job:
    """Registers of a warp by kind, their words, and the beats that have to come."""

    def __init__(self, g, rng, pag, kinds):
        groups = g.warp_size // pag
        where = {"warp": rng.randrange(g.warps), "base": rng.randrange(g.registers), "bank": rng.getrandbits(1)}
        self.payload = {**where, **{kind: sum(1 << r for r, k in kinds.items() if k == kind)
                                    for kind in ("uniform", "strided", "dead")}}
        self.words, self.beats = [], []
        for register in sorted(kinds):
            kind = kinds[register]
            lanes = []
            for _ in range(groups):
                base, step = ((rng.getrandbits(32), rng.getrandbits(32)) if kind == "strided" else
                              (rng.getrandbits(32), 0) if kind == "uniform" else (0, 0))
                self.words += {"strided": [base, step], "uniform": [base], "dead": []}[kind]
                lanes += [(base + step * k) & 0xFFFF_FFFF for k in range(pag)]
            for beat in range(g.beats):
                self.beats.append({"words": lanes[beat * g.lanes:(beat + 1) * g.lanes], "beat": beat,
                                   "last": beat == g.beats - 1, "dead": kind == "dead",
                                   "tag": {**where, "register": register, "ends": register == max(kinds)}})

    def chunks(self, rng):
        """The words in chunks of up to four."""
        left, chunks = list(self.words), []
        while left:
            count = min(len(left), rng.choice([4, 4, rng.randint(1, 4)]))
            chunks.append({"words": left[:count] + [rng.getrandbits(32)] * (4 - count), "count": count})
            del left[:count]
        return chunks


def jobs_of(g, rng, pag):
    kinds = ("uniform", "strided", "dead")
    sets = [{0: "uniform"}, {MAX_REGISTERS - 1: "strided"}, {5: "dead"}]
    sets += [{r: kind for r in range(g.regs_per_thread)} for kind in kinds]
    sets += [{r: rng.choice(kinds) for r in rng.sample(range(MAX_REGISTERS), rng.randint(2, 9))} for _ in range(4)]
    return [Job(g, rng, pag, each) for each in rng.sample(sets, len(sets))]


@pytest.mark.parametrize("name, pag", EVERY)
def test_registers_come_in_order_with_their_values(name, pag):
    g, rng = GEOMETRIES[name], random.Random(f"{name} {pag}")
    dut, jobs = component(Expander, g), jobs_of(GEOMETRIES[name], rng, pag)

    async def sink(ctx):
        ctx.set(dut.pag, pag)
        beats = [beat for job in jobs for beat in job.beats]
        for number, beat in enumerate(beats):
            assert value(await get(ctx, dut.output, rng, 0.25)) == beat
            pending, rest = ctx.get(dut.pending), beats[number + 1:]
            if ctx.get(dut.output.valid):
                assert pending >> rest[0]["tag"]["bank"] & 1
            assert not pending or rest

    simulate(dut, put_all(dut.job, [job.payload for job in jobs], rng, 0.5),
             put_all(dut.words, [chunk for job in jobs for chunk in job.chunks(rng)], rng, 0.2), sink,
             watches=[steady(dut.output)])


@pytest.mark.parametrize("name, pag, kind, cycles", [
    ("8x8", 8, "strided", 1), ("16x4", 16, "uniform", 4), ("32x16", 32, "strided", 2), ("32x16", 8, "uniform", 2),
    ("32x16", 8, "dead", 2), ("32x16", 8, "strided", 3)])
def test_a_beat_a_cycle_and_one_more_for_eight_words(name, pag, kind, cycles):
    g, rng, count = GEOMETRIES[name], random.Random(0), 12
    dut, job, times = component(Expander, g), Job(GEOMETRIES[name], rng, pag, dict.fromkeys(range(count), kind)), []
    chunks = [{"words": (job.words + [0] * 3)[at:at + 4], "count": len(job.words[at:at + 4])}
              for at in range(0, len(job.words), 4)]

    async def sink(ctx):
        ctx.set(dut.pag, pag)
        ctx.set(dut.output.ready, 1)
        for now in range(cycles * count + 20):
            times.extend([now] * ctx.get(dut.output.valid))
            await ctx.tick()

    simulate(dut, put_all(dut.words, chunks), put_all(dut.job, [job.payload]), sink)
    assert len(times) == count * g.beats
    assert times[-1] - times[0] <= cycles * count - 1
