"""A kernel that overwrites every register and every shared byte of an SM: the worst neighbour for a saved context.

It also writes every uniform register, and its own local memory.
"""

from __future__ import annotations

import math

import numpy as np

from caesura.hw.arch.geometry import PC_NONE, REGISTER_BANKS, UNIFORMS, WORD_BYTES, Geometry
from caesura.hw.arch.isa.opcodes import Special
from caesura.hw.arch.isa.words import Instruction, encode
from caesura.software.compiler import KernelImage, Parameter

from .job import Job

__all__ = ["hostile"]

LOCAL_WORDS = 2
"""Bytes of local memory per thread."""
UNROLLED = 8
"""Most words of shared memory that a thread writes between branches."""


def _fill(register: int) -> int:
    return (0xA5C3_96E1 * (2 * register + 1)) & 0xFFFF_FFFF


def _occupancy(g: Geometry) -> tuple[int, int, int]:
    """Return the TBs, warps per TB and registers per thread that fill the register file as far as possible."""
    registers = min(g.regs_per_thread, g.registers)
    warps = max(1, min(g.warps, g.registers // registers))
    blocks = max(1, min(2, g.tb_slots, warps))
    per_block = min(warps // blocks, g.max_block_warps)
    blocks = min(g.tb_slots, g.registers // (-(-per_block * registers // REGISTER_BANKS) * REGISTER_BANKS))
    return blocks, per_block, registers


def hostile(g: Geometry) -> tuple[KernelImage, Job]:
    """Return the kernel and a job that occupies the whole register file and all shared memory of an SM.

    Each thread writes all its registers and its local memory, and the TB writes all its shared memory. Each thread then
    stores the sum of its registers, its warp's uniform registers, its local memory and a shared word. So the result
    shows whether the kernel itself was disturbed.
    """
    make = Instruction.make
    blocks, warps, registers = _occupancy(g)
    threads = warps * g.warp_size
    shared = g.shared_bytes // blocks // (4 * threads) * 4 * threads
    lines = shared // (4 * threads)
    code = [
        make("s2r", d=0, imm=Special.TID_X), make("s2r", d=1, imm=Special.CTAID_X),
        make("imul.lo.i", d=1, a=1, imm=threads), make("iadd", d=1, a=1, b=0),  # r1: thread of the grid
        make("shl.i", d=2, a=0, imm=2),                                         # r2: shared address
        make("mov.i", d=3, imm=lines),                                          # r3: words of shared memory to write
    ]
    if lines:
        loop, together = len(code), math.gcd(lines, UNROLLED)
        code += [
            make("xor.i", d=4, a=2, imm=0x5A5A_5A5A), make("isub.i", d=3, a=3, imm=together),
            *(make("st.shared.b32", a=2, imm=4 * threads * k, d=4) for k in range(together)),
            make("iadd.i", d=2, a=2, imm=4 * threads * together), make("setp.ne.i", pd=0, a=3, imm=0),
        ]
        live = (1 << 1) | (1 << 2) | (1 << 3) | 1
        code += [make("pp", live=live), make("pp.div", live=live)]
        code += [make("bra", guard=0, target=loop, reconv=len(code) + 1)]
    code += [make("bar.pp.0", live=0b11)]
    for k in range(LOCAL_WORDS):
        code += [make("xor.i", d=2, a=1, imm=_fill(-1 - k)), make("st.local.b32", no_base=1, imm=WORD_BYTES * k, d=2)]
    code += [make("shl.i", d=2, a=0, imm=2)]
    code += [make("umov.i", d=u, imm=_fill(64 + u)) for u in range(UNIFORMS)]
    code += [make("xor.i", d=r, a=1, imm=_fill(r)) for r in range(3, registers)]
    if lines:
        code += [make("ld.shared.b32", a=2, d=2)]
    else:
        code += [make("xor.i", d=2, a=2, imm=0x5A5A_5A5A)]
    code += [make("iadd", d=2, a=2, b=r) for r in range(3, registers)]
    code += [make("uiadd", d=0, a=0, b=u) for u in range(1, UNIFORMS)]
    code += [make("iadd", d=2, a=2, b=0, b_uniform=1)]
    for k in range(LOCAL_WORDS):
        code += [make("ld.local.b32", no_base=1, imm=WORD_BYTES * k, d=3), make("iadd", d=2, a=2, b=3)]
    code += [make("ldp", d=3, imm=0), make("shl.i", d=1, a=1, imm=2), make("iadd", d=3, a=3, b=1),
             make("st.global.b32", a=3, d=2), make("exit")]
    assert all(i.get("reconv") != PC_NONE for i in code)
    image = KernelImage("hostile", tuple(encode(i) for i in code), registers, 1, shared, 4,
                        (Parameter("out", "u64", 0, 8, True),), source="hostile", local_bytes=WORD_BYTES * LOCAL_WORDS)
    thread = np.arange(blocks * threads, dtype=np.uint64)
    total = (4 * (thread % threads)) ^ 0x5A5A_5A5A
    for r in range(3, registers):
        total = total + (thread ^ _fill(r))
    for k in range(LOCAL_WORDS):
        total = total + (thread ^ _fill(-1 - k))
    total = total + sum(_fill(64 + u) for u in range(UNIFORMS))
    expected = (total & 0xFFFF_FFFF).astype(np.uint32).view(np.int32)
    job = Job((blocks, 1, 1), (threads, 1, 1), {"out": np.zeros(blocks * threads, np.int32)}, {"out": expected})
    return image, job
