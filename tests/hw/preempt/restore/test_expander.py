"""The expander: every register of a warp that was not saved as it is, from its words, in order."""

import random

import numpy as np
import pytest

from caesura.hw.arch.geometry import MAX_REGISTERS, preset
from caesura.hw.arch.image.encodings import CODE_BITS, Encoding, encoded_words, encodings_of
from caesura.hw.arch.image.tb_history import RegisterHistory
from caesura.hw.preempt.restore.expander import Expander
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, put_all, simulate, steady, value
from support.selection import quick

TINY = preset("tiny")
GEOMETRIES = {"8x8": TINY, "16x4": TINY.replace(warp_size=16, lanes=4), "32x16": TINY.replace(warp_size=32, lanes=16),
              "bus of 128": with_bus(128)}


class Job:
    """Registers of a warp by their codes, their words, and the beats that have to come."""

    def __init__(self, g, rng, kinds, kept=(), history=None):
        opens, history = int(history is None), history or RegisterHistory(g.warp_size)
        self.history, self.kinds, self.most = history, set(kinds.values()), g.chunk_words
        where = {"warp": rng.randrange(g.warps), "base": rng.randrange(g.registers), "bank": rng.getrandbits(1)}
        codes = {**kinds, **dict.fromkeys(kept, Encoding.LOW_8)}
        self.payload = {**where, "opens": opens, "codes": sum(code << CODE_BITS * r for r, code in codes.items()),
                        "dead": sum(1 << r for r, code in kinds.items() if code == Encoding.DEAD)}
        self.words, self.beats = [], []
        for register in sorted(kinds):
            code, lanes = kinds[register], []
            own = [rng.getrandbits(32) for _ in range(encoded_words(code, g.warp_size))]
            self.words += own
            if code == Encoding.FOLLOWS:
                code, own = history.next_of(register)
            history.keep(register, code, np.array(own, np.uint32))
            for at in range(0, len(own), 1 + code.strided):
                base, step = int(own[at]), int(own[at + 1]) * code.strided if code.strided else 0
                lanes += [(base + step * k) & 0xFFFF_FFFF for k in range(code.group)]
            lanes = lanes or [0] * g.warp_size
            for beat in range(g.beats):
                self.beats.append({"words": lanes[beat * g.lanes:(beat + 1) * g.lanes], "beat": beat,
                                   "last": beat == g.beats - 1, "dead": code == Encoding.DEAD,
                                   "tag": {**where, "register": register, "ends": register == max(kinds),
                                           "opens": int(opens and register == min(kinds))}})

    def chunks(self, rng):
        """The words in chunks, full ones and others."""
        left, chunks, most = list(self.words), [], self.most
        while left:
            count = min(len(left), rng.choice([most, most, rng.randint(1, most)]))
            chunks.append({"words": left[:count] + [rng.getrandbits(32)] * (most - count), "count": count})
            del left[:count]
        return chunks


def jobs_of(g, rng):
    kinds = [Encoding.DEAD, *(each for each in encodings_of(g.warp_size, g.lanes) if each.group)]
    sets = [{0: Encoding.UNIFORM_8}, {MAX_REGISTERS - 1: Encoding.STRIDED_8}, {5: Encoding.DEAD}]
    sets += [{r: kind for r in range(g.regs_per_thread)} for kind in kinds]
    sets += [{r: rng.choice(kinds) for r in rng.sample(range(MAX_REGISTERS), rng.randint(2, 9))} for _ in range(4)]
    jobs, history = [], None
    for each in rng.sample(sets, len(sets)) * 3:
        history = history if rng.random() < 0.8 else None
        follows = {r for r in each if history and history.next_of(r) and rng.random() < 0.4}
        chosen = {r: Encoding.FOLLOWS if r in follows else kind for r, kind in each.items()}
        jobs.append(Job(g, rng, chosen, [r for r in rng.sample(range(MAX_REGISTERS), 5) if r not in each], history))
        history = jobs[-1].history
    assert any(Encoding.FOLLOWS in job.kinds for job in jobs)
    return jobs


@pytest.mark.parametrize("name", quick(GEOMETRIES, ["8x8", "16x4"]))
def test_registers_come_in_order_with_their_values(name):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut, jobs = component(Expander, g), jobs_of(GEOMETRIES[name], rng)

    async def sink(ctx):
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


@pytest.mark.parametrize("name, code, cycles", [
    ("8x8", Encoding.STRIDED_8, 1), ("16x4", Encoding.UNIFORM_16, 4), ("32x16", Encoding.STRIDED_32, 2),
    ("32x16", Encoding.UNIFORM_8, 2), ("32x16", Encoding.DEAD, 2), ("32x16", Encoding.STRIDED_8, 3),
    ("bus of 128", Encoding.STRIDED_8, 1), ("bus of 128", Encoding.UNIFORM_32, 1)])
def test_a_beat_a_cycle_and_one_more_for_eight_words_of_a_narrow_bus(name, code, cycles):
    g, rng, count = GEOMETRIES[name], random.Random(0), 12
    dut, job, times = component(Expander, g), Job(GEOMETRIES[name], rng, dict.fromkeys(range(count), code)), []
    most = g.chunk_words
    chunks = [{"words": (job.words + [0] * most)[at:at + most], "count": len(job.words[at:at + most])}
              for at in range(0, len(job.words), most)]

    async def sink(ctx):
        ctx.set(dut.output.ready, 1)
        for now in range(cycles * count + 20):
            times.extend([now] * ctx.get(dut.output.valid))
            await ctx.tick()

    simulate(dut, put_all(dut.words, chunks), put_all(dut.job, [job.payload]), sink)
    assert len(times) == count * g.beats
    assert times[-1] - times[0] <= cycles * count - 1
