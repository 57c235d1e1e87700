"""The closer: encoding table, body of the entry and tally of a TB, once all of its registers are in."""

import random

import pytest

from caesura.hw.arch.geometry import MAX_REGISTERS, preset
from caesura.hw.arch.image.context import CCB_ENTRY, VERSION, Mechanism, State, stream_crcs, to_words
from caesura.hw.arch.image.encodings import CODE_BITS, row_words
from caesura.hw.preempt.save.closer import Closer
from support.hw.options import nested
from support.hw.simulation import component
from support.hw.stream_bench import get, put, simulate, steady, value

TINY = preset("tiny")
GEOMETRIES = {"bus of 8": TINY, "bus of 16": TINY.replace(bus_bytes=16, warps=6, tb_slots=5),
              "bus of 4": TINY.replace(bus_bytes=4, bytes_per_cycle=4)}
GENERATION = 0xBEEF_0007
ACCEPTED = {"mechanism": Mechanism.LIVE_CP, "warps": 4}


class Case:
    """A TB whose records are listed, the vectors of its registers, and what has to become of it."""

    def __init__(self, g, rng, registers, bank, records, written, ended, lines, increment, checkpoint):
        listed = rng.choice([0, (1 << records) - 1, rng.getrandbits(32) & (1 << records) - 1])
        live_warps = sum(1 << k for k in rng.sample(range(g.max_block_warps), records))
        place = {name: rng.getrandbits(bits) for name, bits in (
            ("launch_id", 32), ("ctaid_x", 32), ("ctaid_y", 16), ("ctaid_z", 16), ("local_base", 32))}
        metadata_words = rng.randint(9, 250) if records else 0
        base_crc, side = rng.getrandbits(32), rng.getrandbits(1)
        self.job = {"tb": rng.randrange(g.tb_slots), "entry": rng.randrange(g.tb_slots), "side": side,
                    "area": 128 * rng.randrange(1 << 24), "bank": bank, "ended": ended, "written": written,
                    "live_warps": live_warps, "records": records, "listed": listed,
                    "items": bin(listed).count("1"), "registers": rng.randint(0, 60), "lines": lines,
                    "metadata_words": metadata_words, "increment": increment, "base_crc": base_crc}
        self.origin = {"valid": 1, "bank": bank, **place}
        self.row = row_words(registers)
        self.vectors = [rng.getrandbits(CODE_BITS * registers) for _ in range(records)]
        self.words = rng.randint(0, 500) if listed else 0
        data_bytes, metadata_bytes = 4 * self.words + 128 * lines, 4 * (metadata_words + self.row * records)
        self.tally = {"valid": 1, "ended": ended, "tb": self.job["tb"], "entry": self.job["entry"],
                      "side": side, "data_bytes": data_bytes, "metadata_bytes": metadata_bytes,
                      "registers": self.job["registers"], "lines": lines, "warps": records}
        self.stream_words, self.stream_crc = self.words + 32 * lines + metadata_words, rng.getrandbits(32)
        self.body = to_words(
            CCB_ENTRY, **ACCEPTED, **place, registers=registers,
            register_image=self.job["area"], state=State.BASE if checkpoint else State.COMPLETE, version=VERSION,
            incremental=increment, base_crc=base_crc if increment else 0,
            length=data_bytes + metadata_bytes, live_warps=live_warps, data_bytes=data_bytes,
            geometry_hash=g.hash, generation=GENERATION, stream_crc=self.stream_crc,
            table_crc=stream_crcs(g, self.table(), records, registers)[1])

    def table(self):
        rows = [vector if self.job["listed"] >> k & 1 else 0 for k, vector in enumerate(self.vectors)]
        return [row >> 32 * k & 0xFFFF_FFFF for row in rows for k in range(self.row)]


async def unit(ctx, dut, rng, stall):
    """Return the words of a unit, its tag, and how many of the first words are skipped."""
    words, skipped = [], 0
    while True:
        chunk = value(await get(ctx, dut.chunk, rng, stall))
        words += chunk["words"][:chunk["count"]]
        skipped += chunk["count"] * chunk["skip"]
        if chunk["flush"]:
            return words, chunk["tag"], skipped


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("lines, registers, checkpoint", [
    (0, 1, 0), (7, 13, 1), (0, 32, 0), (7, 35, 0), (0, MAX_REGISTERS, 1)])
def test_table_body_and_tally_of_each_tb(name, lines, registers, checkpoint):
    """Of those that are no bases every third is an increment."""
    g, rng = GEOMETRIES[name], random.Random(lines)
    dut = component(Closer, g)
    most = g.max_block_warps
    cases = [Case(g, rng, registers, k % 2, records, written, ended, lines if records else 0,
                  int(k % 3 == 1 and not checkpoint), checkpoint)
             for k, (records, written, ended) in enumerate([
                 (1, 1, 0), (most, 1, 0), (0, 0, 1), (2, 1, 1), (3, 1, 0), (0, 0, 1), (most, 1, 1), (1, 1, 0)])]
    tallies, clears = [], []

    async def vectors(ctx):
        """The collector: registers of a TB are in some time after its job."""
        while True:
            select = ctx.get(dut.select)
            case = next((case for case in cases[len(tallies):] if case.job["bank"] == select.bank), None)
            right = case is not None and select.record < len(case.vectors)
            ctx.set(dut.vector, case.vectors[select.record] if right else 0)
            _, _, done, clear = await ctx.tick().sample(dut.done, dut.clear)
            if done.valid:
                tallies.append(value(done))
                clears.append(clear)
            else:
                assert not clear

    async def bench(ctx):
        ctx.set(dut.accepted, nested(dut.accepted.shape(), {
            **ACCEPTED, "registers": registers, "row_words": row_words(registers), "lines": lines,
            "generation": GENERATION, "checkpoint": checkpoint, "incremental": not checkpoint}))
        for number, case in enumerate(cases):
            bank = case.job["bank"]
            ctx.set(dut.collected[bank], {"items": max(0, case.job["items"] - 1), "words": 3})
            ctx.set(dut.collected[1 - bank], {"items": 1, "words": 77})
            assert not ctx.get(dut.busy)
            ctx.set(dut.origin, case.origin)
            await ctx.tick()
            ctx.set(dut.origin, {**case.origin, "bank": 1 - bank, "launch_id": 5})  # that of the next TB
            await put(ctx, dut.job, case.job)
            if case.job["items"] and case.job["written"]:
                for _ in range(rng.randint(0, 9)):
                    await ctx.tick()
                    assert not ctx.get(dut.chunk.valid) and ctx.get(dut.busy), "a register is still to come"
            ctx.set(dut.collected[bank], {"items": case.job["items"], "words": case.words})
            ctx.set(dut.stream_crc, 0)
            assert not ctx.get(dut.bounded)
            if case.job["written"]:
                words, tag, skipped = await unit(ctx, dut, rng, 0.3)
                assert words == case.table() and not skipped
                assert case.job["ended"] or ctx.get(dut.bounded) and ctx.get(dut.stream_words) == case.stream_words
                assert tag == {"final": 0, "closed": case.job["ended"]}
                if not case.job["ended"]:
                    ctx.set(dut.stream_crc, case.stream_crc)
                    words, tag, skipped = await unit(ctx, dut, rng, 0.3)
                    assert words == case.body and skipped == 2
                    assert tag == {"final": 1, "closed": 1}
            await ctx.tick().until(~dut.busy)
            assert len(tallies) == number + 1
            assert tallies[-1] == (case.tally if case.job["written"] else
                                   {**tallies[-1], "ended": 1, "tb": case.job["tb"], "entry": case.job["entry"],
                                    "side": case.job["side"], "registers": case.job["registers"],
                                    "data_bytes": 0, "metadata_bytes": 0, "lines": 0, "warps": 0})
            assert clears[-1] == 1 << bank

    simulate(dut, bench, watches=[vectors, steady(dut.chunk)])
