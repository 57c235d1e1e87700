"""Work that tests put into streams."""

import numpy as np

from caesura.software.compiler import compile_ptx
from support.programs.shared_counters import HEAD
from support.programs.stir import WORDS, image, stirred
from support.programs.stirring import BLOCK, BLOCKS

__all__ = ["Appending", "StirTask"]

APPEND = HEAD + """
.visible .entry append(.param .u64 log, .param .u64 cursor, .param .u32 number, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %a<4>;
    ld.param.u64 %a0, [log];
    ld.param.u64 %a1, [cursor];
    ld.param.u32 %r0, [number];
    ld.param.u32 %r1, [rounds];
LOOP:
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p0, %r1, 0;
    @%p0 bra LOOP;
    ld.global.u32 %r2, [%a1];
    mul.wide.u32 %a2, %r2, 4;
    add.u64 %a2, %a0, %a2;
    st.global.u32 [%a2], %r0;
    add.u32 %r2, %r2, 1;
    st.global.u32 [%a1], %r2;
    ret;
}
"""


class Appending:
    """A kernel that takes a while, and then appends a number to a log: two at a time would spoil it."""

    def __init__(self, owner, rounds=40):
        self.log, self.cursor, self.rounds = owner.zeros(64, np.uint32), owner.zeros(1, np.uint32), rounds
        self.kernel = owner.load(compile_ptx(APPEND).values())["append"]

    def append(self, stream, number):
        return stream.launch(self.kernel, 1, 1, [self.log, self.cursor, number, self.rounds])


class StirTask:
    """The kernel that uses everything in a stream."""

    def __init__(self, owner, stream, rounds, seed):
        self.rounds = rounds
        self.words = np.random.default_rng(seed).integers(0, 1 << 32, WORDS, np.uint32)
        zeros = [owner.zeros(BLOCK * BLOCKS, np.uint32) for _ in range(2)]
        self.arrays = zeros[0], owner.array(self.words), zeros[1], owner.zeros(1, np.uint32)
        self.task = stream.launch(owner.load([image(16)])["stir"], BLOCKS, BLOCK, [*self.arrays, rounds])

    def finish(self):
        self.task.wait()
        self.check()

    def check(self):
        assert self.task.error is None and self.task.over
        values, counters = stirred(self.words, BLOCK * BLOCKS, self.rounds)
        assert np.array_equal(self.arrays[0], values) and np.array_equal(self.arrays[2], counters)
