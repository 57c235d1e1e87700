"""Kernel slots: what software writes is what the hardware sees and software reads back."""

import copy
import functools
import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.registers import register_map
from caesura.hw.control.kernel_table import KernelTable, descriptor_words
from caesura.hw.control.register_ports import KERNEL_BASE, KERNEL_STRIDE
from support.hw.lockstep import lockstep, number
from support.hw.simulation import component
from support.hw.stream_bench import simulate
from support.selection import quick

G = preset("tiny").replace(kernel_slots=3, windows=3)
SPARE = G.replace(entries=6, windows=1)


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
        ctx.set(dut.registers.write, {"valid": 1, "kernel": slot, "word": word, "data": value})
        await ctx.tick()
        mask = sum((1 << f.width) - 1 << f.low for f in register.fields.values())
        expected[register.path] = value & mask if exists(register, slot, g) else 0
    ctx.set(dut.registers.write.valid, 0)
    return expected


@pytest.mark.parametrize("g", [G, G.replace(entries=6)], ids=["tiny", "spare entries"])
def test_every_register_reads_back_and_what_does_not_exist_reads_zero(g):
    async def bench(dut, ctx):
        expected = await write_all(dut, ctx, 1, g)
        assert bool(expected["kernel[2].entries"]) == bool(g.spare_entries)
        for register, slot, word in writable():
            ctx.set(dut.registers.select, {"kernel": slot, "word": word})
            await ctx.tick()
            assert ctx.get(dut.registers.read_data) == expected[register.path], register.path
        ctx.set(dut.registers.select, {"kernel": 0, "word": 0x24})   # a hole of the map
        await ctx.tick()
        assert ctx.get(dut.registers.read_data) == 0

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


def nothing(layout):
    """What a structure of zeros holds."""
    return {name: [nothing(field.shape.elem_shape) for _ in range(field.shape.length)]
            if hasattr(field.shape, "elem_shape") else 0 for name, field in layout}


def writes(dut, g, rng, cycles):
    """Yield writes to any word of any slot, and reads of any."""
    words, mirror, asked = descriptor_words(g), {}, None
    kernels = [nothing(dut.kernels[0].shape()) for _ in range(g.kernel_slots)]
    bits = {name: len(dut.registers.write[name]) for name in ("word", "kernel")}

    def place():
        word = rng.choice(list(words)) if rng.random() < 0.9 else rng.getrandbits(bits["word"])
        return {"word": word, "kernel": rng.choice([rng.randrange(g.kernel_slots), rng.getrandbits(bits["kernel"])])}

    for _ in range(cycles):
        write = place() | {"valid": int(rng.random() < 0.7), "data": number(rng, 32)}
        select = write if rng.random() < 0.2 else place()
        select = {name: select[name] for name in ("word", "kernel")}
        yield ({"registers.write": write, "registers.select": select},
               {"kernels": copy.deepcopy(kernels), "registers.read_data": asked or 0})
        asked = mirror.get((select["kernel"], select["word"]))
        if write["valid"] and write["kernel"] < g.kernel_slots and write["word"] in words:
            kept = 0
            for field, path in words[write["word"]]:
                value = write["data"] >> field.low & (1 << field.width) - 1
                kept |= value << field.low
                target = kernels[write["kernel"]]
                for step in path[:-1]:
                    target = target[step]
                target[path[-1]] = value
            mirror[write["kernel"], write["word"]] = kept


@pytest.mark.parametrize("g", quick([G, SPARE], [SPARE]), ids=["tiny", "spare entries"])
def test_any_writes_and_reads_are_those_of_a_model(g):
    dut = component(KernelTable, g)
    lockstep(dut, writes(dut, g, random.Random(g.windows), 400))
