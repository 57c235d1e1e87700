"""Kernel slots: what software writes is what the hardware sees and software reads back."""

import functools
import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.registers import register_map
from caesura.hw.device.kernel_table import KernelTable, descriptor_words
from caesura.hw.device.register_block import KERNEL_BASE, KERNEL_STRIDE
from support.hw.stream_bench import simulate

G = preset("tiny").replace(kernel_slots=3, windows=3)


def run(bench, g=G):
    dut = KernelTable(g)
    simulate(dut, functools.partial(bench, dut))


def writable():
    """(register, slot, word) of every writable register of the kernel slots."""
    for register in register_map().values():
        if register.address >= KERNEL_BASE and register.writable:
            slot, offset = divmod(register.address - KERNEL_BASE, KERNEL_STRIDE)
            yield register, slot, offset // 4


def exists(register, slot, g=G):
    name, _, number = register.path.split(".")[1].rstrip("]").partition("[")
    limit = {"window_base": G.windows, "window_end": G.windows}.get(name, 1)
    return register.exists(g) and slot < G.kernel_slots and int(number or 0) < limit


async def write_all(dut, ctx, seed, g=G):
    rng = random.Random(seed)
    expected = {}
    order = list(writable())
    rng.shuffle(order)
    for register, slot, word in order:
        value = rng.getrandbits(32)
        ctx.set(dut.write, {"valid": 1, "kernel": slot, "word": word, "data": value})
        await ctx.tick()
        mask = sum((1 << f.width) - 1 << f.low for f in register.fields.values())
        expected[register.path] = value & mask if exists(register, slot, g) else 0
    ctx.set(dut.write.valid, 0)
    return expected


@pytest.mark.parametrize("g", [G, G.replace(entries=6)], ids=["tiny", "spare entries"])
def test_every_register_reads_back_and_what_does_not_exist_reads_zero(g):
    async def bench(dut, ctx):
        expected = await write_all(dut, ctx, 1, g)
        assert bool(expected["kernel[2].entries"]) == bool(g.spare_entries)
        for register, slot, word in writable():
            ctx.set(dut.select, {"kernel": slot, "word": word})
            await ctx.tick()
            assert ctx.get(dut.read_data) == expected[register.path], register.path
        ctx.set(dut.select, {"kernel": 0, "word": 0x24})   # a hole of the map
        await ctx.tick()
        assert ctx.get(dut.read_data) == 0

    run(bench, g)


def test_descriptors_hold_every_field():
    async def bench(dut, ctx):
        expected = await write_all(dut, ctx, 2)
        for k in range(G.kernel_slots):
            def field(name, part="value", k=k):
                path = f"kernel[{k}].{name}"
                return register_map()[path].unpack(expected[path])[part]

            kernel = ctx.get(dut.kernels[k])
            for name in ("code_base", "code_words", "grid_x", "grid_y", "grid_z", "reciprocal_x", "reciprocal_y",
                         "shared_bytes", "ccb_base", "area_bytes", "local_base", "param_base", "param_bytes"):
                assert kernel[name] == field(name), name
            for axis in "xyz":
                assert kernel[f"block_{axis}"] == field("block", axis)
            for name in ("threads", "registers", "warps"):
                assert kernel[name] == field("sizes", name)
            for w in range(G.windows):
                assert kernel.windows[w].base == field(f"window_base[{w}]")
                assert kernel.windows[w].end == field(f"window_end[{w}]")

    run(bench)


@pytest.mark.parametrize(("name", "entries"), [("tiny", 0), ("tiny", 6), ("gtx480", 0)])
def test_the_descriptor_words_cover_kernel_info_exactly(name, entries):
    from caesura.hw.interfaces.payloads import kernel_info

    g = preset(name).replace(entries=entries)
    covered = [place for places in descriptor_words(g).values() for _, place in places]
    flat = [(member,) for member in kernel_info(g).members if member != "windows"]
    flat += [("windows", w, end) for w in range(g.windows) for end in ("base", "end")]
    assert sorted(map(str, covered)) == sorted(map(str, flat))
