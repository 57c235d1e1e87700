"""The kernel's record as it is written, on buses of any width, and made void."""

import random

import pytest

from caesura.hw.arch.image.context import CCB_RECORD, VERSION, State, entry_crc, record_address, to_words
from caesura.hw.preempt.save.kernel_record import KernelRecordWriter
from support.hw.buses import with_bus
from support.hw.simulation import component
from support.hw.stream_bench import get, simulate, steady

PROGRESS = {"launched": 32, "completed": 32, "next_x": 32, "next_y": 16, "next_z": 16, "exhausted": 1}
KERNEL = {"grid_x": 32, "grid_y": 16, "grid_z": 16, "code_base": 32, "const_base": 32}


@pytest.mark.parametrize("bus_bytes, checkpoints", [(4, True), (8, False), (16, True), (32, True), (128, False)])
def test_a_record_is_written_whole_and_void_in_its_first_byte(bus_bytes, checkpoints):
    g = with_bus(bus_bytes, tb_slots=4, checkpoints=checkpoints, in_place=checkpoints)
    dut, rng = component(KernelRecordWriter, g), random.Random(bus_bytes)

    async def bench(ctx):
        for void in (0, 1, 0, 0, 1, 1, 0):
            progress = {name: rng.getrandbits(width) for name, width in PROGRESS.items()}
            kernel = {name: rng.getrandbits(width) for name, width in KERNEL.items()}
            ccb, generation, saved, sides, crc = (
                128 * rng.getrandbits(24), *(rng.getrandbits(n) for n in (32, 4, 4, 32)))
            ctx.set(dut.progress, progress)
            ctx.set(dut.kernel, kernel)
            ctx.set(dut.accepted, {"ccb_base": ccb, "generation": generation})
            ctx.set(dut.saved, saved)
            ctx.set(dut.sides, sides)
            ctx.set(dut.generations, crc)
            assert not ctx.get(dut.busy)
            ctx.set(dut.void if void else dut.write, 1)
            await ctx.tick()
            ctx.set(dut.void, 0)
            ctx.set(dut.write, 0)
            burst = await get(ctx, dut.burst, rng, 0.5)
            assert burst.address == ccb + 128 * (8 if checkpoints else 4) == record_address(g, ccb) and not burst.final
            fields = {"state": State.COMPLETE, "version": VERSION, "saved": saved, "sides": sides & saved,
                      "generations": crc, "geometry_hash": g.hash, "generation": generation, **progress, **kernel}
            words = to_words(CCB_RECORD, **fields)
            words[1] = entry_crc(words)
            expected = b"".join(word.to_bytes(4, "little") for word in words)
            assert burst.extra_beats + 1 == (1 if void else max(1, 64 // bus_bytes))
            found = b""
            for _ in range(burst.extra_beats + 1):
                assert ctx.get(dut.busy)
                beat = await get(ctx, dut.data, rng, 0.5)
                assert beat.strobe == (1 if void else (1 << min(bus_bytes, 64)) - 1)
                found += beat.data.to_bytes(bus_bytes, "little")
            assert found[0] == State.DEMOTED if void else found[:64] == expected
            assert not ctx.get(dut.busy)

    simulate(dut, bench, watches=(steady(dut.burst), steady(dut.data)))
