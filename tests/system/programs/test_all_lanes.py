"""Accesses by lanes that are not active, and `rejoin`: on both machines, in code that no compiler makes."""

import dataclasses

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.formats import FIELDS, Format
from caesura.hw.arch.isa.words import decode
from caesura.software.compiler import assemble

TINY = preset("tiny")
THREADS, UNTOUCHED = TINY.warp_size, 0xDEAD

TEXT = """
.kernel lanes
.registers 5
.predicates 2
.stack 3
.local 8
.param out u32 0 4 pointer
    s2r R0, laneid
    imul.lo.i R1, R0, 3
    iadd.i R1, R1, 7
    mov.i R3, 99
    setp.eq.i P1, R0, 5
    setp.lt.u.i P0, R0, 3
@P1 exit
@!P0 bra many, meet                         // the lanes that branch go first
    ld.local.all.b32 R3, [{place}]    // by those that wait where the others are, too
    rejoin
many:
    st.local.all.b32 [{place}], R1    // by the lanes of the other side, too
    mov.i R1, 0
    mov.i R3, 1
    rejoin
meet:
    ldp R2, param[0]
    shl.i R4, R0, 3
    iadd R2, R2, R4
    st.global.b32 [R2], R3
    st.global.b32 [R2 + 4], R1
    exit
"""


@pytest.mark.parametrize("backend", ["golden", "rtl"])
@pytest.mark.parametrize("guard_not", [0, 1])
@pytest.mark.parametrize("place", [0, 4])
def test_all_lanes_that_have_not_exited_store_and_load(backend, guard_not, place):
    (image,) = assemble(TEXT.format(place=place))
    low, _ = FIELDS[Format.M]["guard_not"]  # of a guard, which is ignored
    image = dataclasses.replace(image, code=tuple(
        word | guard_not << low if decode(word).op.all_lanes else word for word in image.code))
    with open_device(backend, TINY, memory_bytes=1 << 20) as device:
        out = device.array(np.full(2 * THREADS, UNTOUCHED, np.uint32))
        device.wait(device.load([image], check=False)["lanes"](1, THREADS, [out]))
        loaded, kept = out.get().reshape(THREADS, 2).T
    lane = np.arange(THREADS)
    stored = 3 * lane + 7
    assert loaded.tolist() == np.where(lane == 5, UNTOUCHED, stored).tolist()
    assert kept.tolist() == np.where(lane == 5, UNTOUCHED, np.where(lane < 3, stored, 0)).tolist()
