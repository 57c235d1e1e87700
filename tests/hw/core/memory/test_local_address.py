"""Local addresses: the formula of every lane, and what lies beyond."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import Size, Space
from caesura.hw.core.memory.local_address import LocalAddress
from support.hw.simulation import Simulator, component

GEOMETRIES = {"8x8": preset("tiny"), "16x4": preset("tiny").replace(warp_size=16, lanes=4, kernel_slots=3, tb_slots=3)}
BYTES = {Size.U8: 1, Size.S8: 1, Size.U16: 2, Size.S16: 2, Size.B32: 4, Size.B64: 8, Size.B128: 16}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_offsets_become_addresses_of_interleaved_words(name):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut = component(LocalAddress, g)
    sizes = [0, 4, 0xFFFC, 16][:g.kernel_slots]
    bases = [128 * rng.getrandbits(20) for _ in range(g.tb_slots)]

    def some_offset(bytes_):
        return rng.choice([0, 1, bytes_ - 1, bytes_, bytes_ + 1, bytes_ - 4, bytes_ - 16, -1, -16, 1 << 31,
                           (1 << 31) - 1, 4 * rng.randrange(bytes_ // 4 + 1), rng.getrandbits(16)]) & 0xFFFF_FFFF

    async def bench(ctx):
        for k, size in enumerate(sizes):
            ctx.set(dut.kernels[k].local_bytes, size)
        for tb, base in enumerate(bases):
            ctx.set(dut.tbs[tb].local_base, base)
        for _ in range(60):
            kernel, tb, warp = (rng.randrange(count) for count in (len(sizes), g.tb_slots, g.max_block_warps))
            size, space, beat = rng.choice(list(Size)), rng.choice([*[Space.LOCAL] * 4, *Space]), rng.randrange(g.beats)
            local_bytes, count = sizes[kernel], BYTES[size]
            offsets = [some_offset(local_bytes) for _ in range(g.lanes)]
            ctx.set(dut.valid, 1)
            ctx.set(dut.op, {"kernel": kernel, "tb": tb, "block_warp": warp, "size": size, "space": space,
                             "beat": beat, "address": offsets})
            for lane, offset in enumerate(offsets):
                beyond = space == Space.LOCAL and offset + count > local_bytes
                assert ctx.get(dut.beyond) >> lane & 1 == beyond
                expected = offset
                if space == Space.LOCAL and not beyond and offset % count == 0:
                    expected = (bases[tb] + warp * local_bytes * g.warp_size + (offset >> 2) * 4 * g.warp_size
                                + 4 * (beat * g.lanes + lane) + (offset & 3)) & 0xFFFF_FFFF
                assert ctx.get(dut.address[lane]) == expected

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
