"""A kernel that uses every unit and every kind of memory in each round, with what it must compute."""

import numpy as np

from caesura.software.compiler import CompileOptions, KernelImage, compile_ptx
from support.sim.launch import Bench, argument_words

__all__ = ["CONSTANTS", "WORDS", "StirArrays", "image", "stirred"]

WORDS = 64
"""Words that are read at random; a multiple of 2."""
CONSTANTS = tuple((0x9E3779B1 * (k + 1) ^ k << 20) & 0xFFFF_FFFF for k in range(16))

_PTX = f"""
.version 8.0
.target sm_70
.address_size 64
.const .align 4 .u32 table[16] = {{{", ".join(map(str, CONSTANTS))}}};

.visible .entry stir(.param .u64 output, .param .u64 input, .param .u64 counters, .param .u64 total,
                     .param .u32 rounds)
{{
    .reg .pred %p<3>;
    .reg .b32 %r<30>;
    .reg .f64 %d<3>;
    .reg .b64 %a<20>;
    .shared .align 4 .b8 mine[256];
    .shared .align 4 .b8 sum[4];
    .local .align 4 .b8 kept[16];
    ld.param.u64 %a0, [output];
    ld.param.u64 %a1, [input];
    ld.param.u64 %a2, [counters];
    ld.param.u64 %a3, [total];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mul.wide.u32 %a4, %r4, 4;
    add.u64 %a0, %a0, %a4;
    add.u64 %a2, %a2, %a4;
    mov.u64 %a5, mine;
    mul.wide.u32 %a6, %r1, 4;
    add.u64 %a7, %a5, %a6;
    xor.b32 %r5, %r1, 1;
    mul.wide.u32 %a8, %r5, 4;
    add.u64 %a9, %a5, %a8;
    mov.u32 %r6, %r4;
    mov.u32 %r7, 0;
ROUND:
    setp.ge.u32 %p0, %r7, %r0;
    @%p0 bra DONE;
    and.b32 %r8, %r6, {WORDS - 1};
    mul.wide.u32 %a10, %r8, 4;
    add.u64 %a10, %a1, %a10;
    ld.global.u32 %r9, [%a10];
    and.b32 %r10, %r9, 15;
    mul.wide.u32 %a11, %r10, 4;
    mov.u64 %a12, table;
    add.u64 %a12, %a12, %a11;
    ld.const.u32 %r11, [%a12];
    atom.global.add.u32 %r12, [%a2], %r11;
    red.global.add.u32 [%a3], 1;
    atom.shared.add.u32 %r13, [sum], 1;
    mad.lo.u32 %r6, %r6, 5, %r9;
    add.u32 %r6, %r6, %r11;
    add.u32 %r6, %r6, %r12;
    st.global.u32 [%a0], %r6;
    cvt.rn.f64.u32 %d0, %r6;
    add.rn.f64 %d0, %d0, %d0;
    mul.rn.f64 %d0, %d0, 0d3FE0000000000000;
    cvt.rzi.u32.f64 %r14, %d0;
    and.b32 %r15, %r7, 3;
    mul.wide.u32 %a13, %r15, 4;
    mov.u64 %a14, kept;
    add.u64 %a14, %a14, %a13;
    st.local.u32 [%a14], %r14;
    st.shared.u32 [%a7], %r6;
    bar.sync 0;
    ld.shared.u32 %r16, [%a9];
    bar.sync 0;
    ld.local.u32 %r17, [%a14];
    add.u32 %r6, %r16, %r17;
    add.u32 %r7, %r7, 1;
    bra ROUND;
DONE:
    st.global.u32 [%a0], %r6;
    ret;
}}
"""


def image(registers: int):
    """Return the kernel, compiled for threads of at most `registers` registers.

    It has the arguments ``output``, ``input`` (`WORDS` words), ``counters``, ``total`` and ``rounds``. Output and
    counters have one word per thread; a TB has an even number of threads up to 64.
    """
    return compile_ptx(_PTX, options=CompileOptions(max_registers=registers))["stir"]


def stirred(words: np.ndarray, threads: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what `threads` threads leave in ``output`` and ``counters``; ``total`` is ``threads * rounds``."""
    value, counters = np.arange(threads, dtype=np.uint32), np.zeros(threads, np.uint32)
    constants = np.array(CONSTANTS, np.uint32)
    for _ in range(rounds):
        loaded = words[value % WORDS]
        constant = constants[loaded & 15]
        value = value * np.uint32(5) + loaded + constant + counters
        counters = counters + constant
        value = value[np.arange(threads) ^ 1] + value
    return value, counters


class StirArrays:
    """The memory that a launch of the kernel reads and writes, and shares with no other.

    Parameters
    ----------
    bench : Bench
    code : KernelImage
        Kernel that `image` returned.
    threads : int
    words : numpy.ndarray
        The `WORDS` words it reads.
    rounds : int
    """

    def __init__(self, bench: Bench, code: KernelImage, threads: int, words: np.ndarray, rounds: int = 1):
        self._transport, self._code = bench.transport, code
        self.threads, self.words, self.rounds = threads, words, rounds
        size = -(-4 * threads // 128) * 128
        self.output, self._counters, self._total = (bench.allocate(n) for n in (size, size, 128))
        self.end = self._total + 128
        self._input = bench.store(words.tobytes())

    @property
    def arguments(self) -> list[int]:
        """Parameter words of a launch."""
        return argument_words(self._code, self.output, self._input, self._counters, self._total, self.rounds)

    def clear(self) -> None:
        """Make ready for another launch."""
        self._transport.write_memory(self.output, bytes(self.end - self.output))

    def read(self) -> bytes:
        """Return everything that the kernel writes."""
        return self._transport.read_memory(self.output, self.end - self.output)

    def check(self) -> None:
        """It has run to its end, each TB once."""
        read = self._transport.read_memory
        values, counters = stirred(self.words, self.threads, self.rounds)
        total = int.from_bytes(read(self._total, 4), "little")
        assert total == self.threads * self.rounds, f"{total} of {self.threads * self.rounds} steps"
        for what, address in ((values, self.output), (counters, self._counters)):
            assert np.array_equal(np.frombuffer(read(address, 4 * self.threads), np.uint32), what)
