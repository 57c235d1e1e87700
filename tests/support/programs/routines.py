"""A kernel whose lanes, apart from one another, call routines that diverge and call each other; with its reference.

Each thread changes a word a number of times, in one of two ways::

    main, a loop that lanes leave apart:   odd word: call step            even word: call mix
    mix                                    change the word, call step, change it again
    step                                   change the word in one of two ways, by a branch

`step` is called in three places, from two depths; a warp that is interrupted in it goes back to the right one only if
the return addresses of both routines come back with its context.
"""

from __future__ import annotations

import numpy as np

from caesura.sim.scenario import CompiledJob
from caesura.software.compiler.codegen.assemble import assemble
from caesura.software.kernels.job import Job

__all__ = ["routines_work"]

_TEXT = """
.kernel routines
.param output u32 0 4 pointer
.param turns u32 4 4
.registers 6
.predicates 2
.stack 6
    s2r R0, tid.x
    s2r R1, ctaid.x
    s2r R2, ntid.x
    imad.lo R0, R1, R2, R0
    ldp R1, param[0]
    shl.i R2, R0, 2
    iadd R1, R1, R2
    imul.lo.i R2, R0, 0x9E3779B1
    ldp R3, param[4]
    and R3, R3, R0
again:
    pp {R1-R3}
    pp.div {R1-R3}
    and.i R4, R2, 1
    setp.ne.i P0, R4, 0
    @P0 bra odd, joined
    call U29, mix
    bra joined, joined
odd:
    call U30, step
joined:
    isub.i R3, R3, 1
    setp.ge.s.i P1, R3, 0
    @P1 bra again, done
done:
    st.global.b32 [R1], R2
    exit
mix:
    xor.i R2, R2, 0x5A5A
    call U30, step
    iadd.i R2, R2, 7
    bru U29
step:
    and.i R4, R2, 4
    setp.eq.i P0, R4, 0
    @P0 bra other, met
    imul.lo.i R2, R2, 5
    iadd.i R2, R2, 1
    bra met, met
other:
    shr.u.i R5, R2, 3
    xor R2, R2, R5
met:
    bru U30
"""
_WORD = 1 << 32


def _step(word: int) -> int:
    return (5 * word + 1) % _WORD if word & 4 else word ^ word >> 3


def _changed(thread: int, turns: int) -> int:
    word = thread * 0x9E37_79B1 % _WORD
    for _ in range((turns & thread) + 1):
        word = _step(word) if word & 1 else (_step(word ^ 0x5A5A) + 7) % _WORD
    return word


def routines_work(blocks: int, threads: int, turns: int = 3) -> CompiledJob:
    """Return the kernel with a job.

    Parameters
    ----------
    blocks, threads : int
        TBs, and threads of each.
    turns : int
        Thread t changes its word ``(turns & t) + 1`` times.
    """
    image, = assemble(_TEXT, "routines.s")
    expected = np.array([_changed(t, turns) for t in range(blocks * threads)], np.uint32)
    arguments = {"output": np.zeros(blocks * threads, np.uint32), "turns": turns}
    return CompiledJob(image, Job((blocks, 1, 1), (threads, 1, 1), arguments, {"output": expected}))
