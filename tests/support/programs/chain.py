"""A chain of kernels, each reading the results of the previous one.

It comes with barriers, ragged warps and shared memory, and without.
"""

import numpy as np

from caesura.hw.arch.geometry import preset
from caesura.software.compiler import CompileOptions, compile_ptx

from .shared_counters import HEAD

__all__ = ["BLOCKS", "THREADS", "Chain", "chain_images", "stage"]

BLOCKS, THREADS = 3, 12
"""A thread block has a whole warp and half of one on `tiny`."""
INDEX = """
    ld.param.u64 %a0, [output];
    ld.param.u64 %a1, [input];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %a2, %r4, 4;
    add.u64 %a0, %a0, %a2;
    add.u64 %a1, %a1, %a2;
    ld.global.u32 %r5, [%a1];
    mov.u32 %r6, 0;
"""
REGISTERS = """
    .reg .pred %p<3>;
    .reg .b32 %r<14>;
    .reg .b64 %a<4>;
"""
PARAMETERS = "(.param .u64 output, .param .u64 input, .param .u32 rounds)"
TURN = f"""
.visible .entry turn{PARAMETERS}
{{
    .shared .align 4 .b8 values[64];
{REGISTERS}{INDEX}
    mov.u32 %r7, values;
    shl.b32 %r8, %r3, 2;
    add.u32 %r8, %r7, %r8;
    add.u32 %r9, %r3, 1;
    setp.eq.u32 %p1, %r9, %r2;
    selp.b32 %r9, 0, %r9, %p1;
    shl.b32 %r9, %r9, 2;
    add.u32 %r9, %r7, %r9;
LOOP:
    mad.lo.u32 %r5, %r5, 5, 1;
    st.shared.u32 [%r8], %r5;
    bar.sync 0;
    ld.shared.u32 %r10, [%r9];
    add.u32 %r5, %r5, %r10;
    bar.sync 0;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p0, %r6, %r0;
    @%p0 bra LOOP;
    st.global.u32 [%a0], %r5;
    ret;
}}
"""
ALONE = f"""
.visible .entry alone{PARAMETERS}
{{
{REGISTERS}{INDEX}
LOOP:
    mad.lo.u32 %r5, %r5, 5, 1;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p0, %r6, %r0;
    @%p0 bra LOOP;
    st.global.u32 [%a0], %r5;
    ret;
}}
"""
ADD = """
.visible .entry add(.param .u64 counter)
{
    .reg .b32 %r<2>;
    .reg .b64 %a<2>;
    ld.param.u64 %a0, [counter];
    red.global.add.u32 [%a0], 1;
    ret;
}
"""

FILL = """
.visible .entry fill(.param .u64 output)
{
    .reg .b32 %r<2>;
    .reg .b64 %a<2>;
    ld.param.u64 %a0, [output];
    mov.u32 %r0, 1;
    st.global.u32 [%a0], %r0;
    ret;
}
"""


def chain_images(check=True):
    """Return images of ``turn``, in which threads of a block meet, ``alone``, ``add``, which counts, and ``fill``."""
    options = CompileOptions(max_registers=preset("tiny").regs_per_thread, eviction_check=check)
    return compile_ptx(HEAD + TURN + ALONE + ADD + FILL, options=options)


def stage(name, values, rounds):
    """Return what a kernel makes of its input."""
    values = values.astype(np.uint32).reshape(BLOCKS, THREADS)
    for _ in range(rounds):
        values = values * np.uint32(5) + np.uint32(1)
        if name == "turn":
            values = values + np.roll(values, -1, axis=1)
    return values.reshape(-1)


class Chain:
    """A work of kernels, each reading the results of the previous one.

    Parameters
    ----------
    device : Device
    names : tuple of str
        ``"turn"`` or ``"alone"``.
    rounds : int
    """

    def __init__(self, device, names=("turn", "alone", "turn"), rounds=3):
        self.device, self.names, self.rounds = device, names, rounds
        self.module = device.load(chain_images().values())
        self.first = np.arange(7, 7 + BLOCKS * THREADS, dtype=np.uint32)
        self.arrays = [device.array(self.first), *(device.zeros(BLOCKS * THREADS, np.uint32) for _ in names)]
        self.work = device.work()
        self.pieces = []

    def clear(self):
        """Forget all results."""
        for array in self.arrays[1:]:
            array.set(np.zeros(BLOCKS * THREADS, np.uint32))

    def put(self, k, queue=None, barrier=False):
        """Launch the k-th."""
        arguments = [self.arrays[k + 1], self.arrays[k], self.rounds]
        self.pieces.append(self.work.launch(self.module[self.names[k]], BLOCKS, THREADS, arguments, queue=queue,
                                            barrier=barrier))
        return self.pieces[-1]

    def expected(self, k):
        """Return what the k-th writes."""
        values = self.first
        for name in self.names[:k + 1]:
            values = stage(name, values, self.rounds)
        return values

    def right(self, k):
        """Return whether it has been written."""
        return np.array_equal(self.arrays[k + 1].get(), self.expected(k))

    def blocks_written(self, k):
        """Return how many threads of each block have written what they should; others must have written nothing."""
        found, expected = self.arrays[k + 1].get(), self.expected(k)
        assert ((found == expected) | (found == 0)).all()
        return (found == expected).reshape(BLOCKS, THREADS).sum(axis=1).tolist()
