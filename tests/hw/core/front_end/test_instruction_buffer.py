"""The instruction buffer: one instruction a warp, and the class of each."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import Unit
from caesura.hw.core.front_end.instruction_buffer import CLASSES, InstructionBuffer
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value

FLAGS = ("store", "atomic", "is_bar", "is_membar", "uniform_a", "uniform_b", "uniform_c", "writes_u", "illegal")


def classes_of(op, instruction):
    """Classes of a decoded instruction; of what cannot be executed none."""
    if instruction["bound"] or instruction["bus_error"] or op["illegal"]:
        return set()
    found = {name for name in CLASSES if name.upper() in Unit.__members__ and op["unit"] == Unit[name.upper()]}
    if op["unit"] == Unit.GLOBAL:
        found |= {"atomic"} if op["atomic"] else set()
        found |= {"store"} if op["store"] else set()
        found |= {"load"} if not op["store"] and not op["atomic"] else set()
    found |= {"sync"} if op["is_bar"] or op["is_membar"] else set()
    return found | ({"uses_u"} if any(op[name] for name in FLAGS[4:8]) else set())


@pytest.mark.parametrize("g", [preset("tiny"), preset("tiny").replace(warps=11)], ids=["4 warps", "11 warps"])
def test_what_each_warp_holds(g):
    dut, rng = component(InstructionBuffer, g), random.Random(g.warps)

    async def bench(ctx):
        held, entries, classes = set(), {}, {}
        for _ in range(120):
            empty = [warp for warp in range(g.warps) if warp not in held]
            fill = rng.choice(empty) if empty and rng.random() < 0.7 else None
            drop = rng.getrandbits(g.warps) & rng.getrandbits(g.warps)
            instruction = {"word": rng.getrandbits(64), "bound": rng.random() < 0.1, "bus_error": rng.random() < 0.1,
                           "routine": rng.random() < 0.5}
            op = {"unit": rng.choice(list(Unit)), **{name: rng.random() < 0.2 for name in FLAGS}}
            op["atomic"] = op["atomic"] and not op["store"]
            ctx.set(dut.fill, {"valid": fill is not None, "warp": fill or 0, "instruction": instruction})
            ctx.set(dut.op, op)
            ctx.set(dut.drop, drop)
            await ctx.tick()
            if fill is not None:
                held.add(fill)
                entries[fill], classes[fill] = instruction, classes_of(op, instruction)
            held = {warp for warp in held if not drop >> warp & 1}
            assert ctx.get(dut.held) == sum(1 << warp for warp in held)
            for name in CLASSES:
                vector = ctx.get(getattr(dut, name))
                assert all((vector >> warp & 1) == (name in classes[warp]) for warp in held), name
            if held:
                warp = rng.choice(sorted(held))
                ctx.set(dut.read.warp, warp)
                assert value(ctx.get(dut.read.instruction)) == entries[warp]

    simulate(dut, bench)
