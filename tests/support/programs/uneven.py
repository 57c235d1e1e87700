"""Launches of an idempotent kernel whose thread blocks take unequally long."""

import dataclasses

import numpy as np

from caesura.hw.arch.geometry import preset
from caesura.software.compiler import compile_ptx

__all__ = ["UNEVEN_BLOCKS", "Uneven"]

THREADS, UNEVEN_BLOCKS = 2 * preset("tiny").warp_size, 9
UNEVEN = """
.version 8.0
.target sm_70
.address_size 64
.visible .entry uneven(.param .u64 output, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .b64 %a<4>;
    ld.param.u64 %a0, [output];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %a1, %r4, 4;
    add.u64 %a0, %a0, %a1;
    and.b32 %r5, %r1, 3;
    add.u32 %r5, %r5, 1;
    mul.lo.u32 %r5, %r5, %r0;
    mov.u32 %r6, 0;
LOOP:
    mad.lo.u32 %r4, %r4, 1664525, 1013904223;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p0, %r6, %r5;
    @%p0 bra LOOP;
    st.global.u32 [%a0], %r4;
    ret;
}
"""


class Uneven:
    """A launch whose thread blocks take one to four times as long as the shortest, with so many registers a thread if
    `registers` says so."""

    def __init__(self, device, rounds=20, registers=0):
        self.device, self.rounds = device, rounds
        self.output = device.zeros(THREADS * UNEVEN_BLOCKS, np.uint32)
        images = [dataclasses.replace(image, registers=registers or image.registers)
                  for image in compile_ptx(UNEVEN).values()]
        self.launch = device.load(images)["uneven"](UNEVEN_BLOCKS, THREADS, [self.output, rounds])

    def finishes(self):
        self.device.wait(self.launch)
        values = np.arange(THREADS * UNEVEN_BLOCKS, dtype=np.uint32)
        rounds = (np.arange(len(values)) // THREADS % 4 + 1) * self.rounds
        for k in range(rounds.max()):
            values = np.where(k < rounds, values * np.uint32(1664525) + np.uint32(1013904223), values)
        assert np.array_equal(self.output, values)
