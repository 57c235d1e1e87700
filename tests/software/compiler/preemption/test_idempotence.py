"""Idempotent regions and kernels: the cases, and what memory sees when kernels run."""

from collections import defaultdict

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.isa.opcodes import BY_NAME
from caesura.hw.arch.isa.operations import Space
from caesura.hw.arch.isa.words import decode
from caesura.sim import open_device
from caesura.sim.scenario import CompiledJob, differences, start_job
from caesura.software.compiler import Parameter, compile_ptx
from caesura.software.compiler.image.lift import lift
from caesura.software.compiler.ir.text import parse
from caesura.software.compiler.preemption.idempotence import idempotence
from caesura.software.kernels import KERNELS
from support.selection import quick
from support.sim.single_step import single_step

POINTERS = tuple(Parameter(name, "u64", 8 * k, 8, pointer=True) for k, name in enumerate("ab"))


def regions(body, restrict=False):
    """Index and reason of each region's start, and whether the kernel is idempotent, of a block of operations."""
    kernel = parse("kernel k\nonly:\n" + body + "  end\n")
    kernel.parameters = POINTERS
    found = idempotence(kernel, restrict=restrict)
    return [(cut.site.index, cut.reason) for cut in found.cuts], found.spoiler is None


BASES = "  R0 = ldp #0\n  R1 = ldp #8\n  R2 = s2r #4\n  R3 = shl R2, 2\n  R4 = iadd R0, R3\n  R5 = iadd R1, R3\n"


def test_store_after_load_of_the_same_word_begins_a_region():
    body = BASES + "  R6 = ld.global.b32 R4\n  st.global.b32 R4, R6\n"
    assert regions(body, True) == ([(0, "start"), (7, "overwrite")], False)


def test_store_before_the_load_does_not():
    assert regions(BASES + "  st.global.b32 R4, R3\n  R6 = ld.global.b32 R4\n") == ([(0, "start")], True)


def test_parameters_may_overlap_unless_they_are_said_not_to():
    body = BASES + "  R6 = ld.global.b32 R4\n  st.global.b32 R5, R6\n"
    assert regions(body) == ([(0, "start"), (7, "overwrite")], False)
    assert regions(body, True) == ([(0, "start")], True)


def test_offsets_from_one_value_are_told_apart():
    apart = BASES + "  R6 = ld.global.b32 R4\n  st.global.b32 R4, R6 #4\n"
    assert regions(apart) == ([(0, "start")], True)
    assert regions(apart.replace("b32 R4, R6 #4", "b32 R4, R6 #3"))[0][-1] == (7, "overwrite")
    copied = BASES + "  R6 = ld.global.b32 R4\n  R7 = iadd R3, 8\n  R8 = iadd R0, R7\n  st.global.b32 R8, R6 #{}\n"
    assert regions(copied.format(0)) == ([(0, "start")], True)
    assert regions(copied.format(4294967288))[0] == [(0, "start"), (9, "overwrite")]


def test_spaces_never_overlap():
    assert regions(BASES + "  R6 = ld.shared.b32 R4\n  st.global.b32 R4, R6\n") == ([(0, "start")], True)


def test_barriers_and_atomics_begin_regions():
    body = BASES + "  R6 = ld.shared.b32 R3\n  bar.pp.0\n  st.shared.b32 R3, R6\n"
    assert regions(body) == ([(0, "start"), (8, "barrier")], True)
    body = BASES + "  R6 = atom.shared.add.b32 R3, R2\n"
    assert regions(body) == ([(0, "start"), (6, "atomic"), (7, "atomic")], True)
    assert not regions(body.replace("shared", "global"))[1]


def test_shared_memory_of_a_block_that_is_run_again_does_not_matter():
    body = BASES + "  R6 = ld.shared.b32 R3\n  st.shared.b32 R3, R6\n"
    assert regions(body) == ([(0, "start"), (7, "overwrite")], True)


def test_with_barriers_another_thread_may_overwrite_what_lies_beside():
    body = BASES + "  R6 = ld.global.b32 R4\n  bar.pp.0\n  st.global.b32 R4, R6 #4\n"
    assert regions(body, True) == ([(0, "start"), (8, "barrier")], False)


def test_with_fences_too():
    body = BASES + "  R6 = ld.global.b32 R4\n  membar\n  st.global.b32 R4, R6 #4\n"
    assert regions(body, True) == ([(0, "start"), (8, "fence")], False)


@pytest.mark.parametrize("meeting", ["nop", "R7 = ballot true", "R7 = match R2", "R7 = shfl.bfly R2, 1 #31"])
def test_lanes_that_have_met_may_overwrite_what_lies_beside(meeting):
    body = BASES + f"  R6 = ld.global.b32 R4\n  {meeting}\n  st.global.b32 R4, R6 #4\n"
    assert regions(body, True) == ([(0, "start"), (8, "overwrite")], False)
    assert regions(body.replace("global.b32 R4, R6 #4", "global.b32 R5, R6"), True) == ([(0, "start")], True)
    assert regions(BASES + f"  {meeting}\n  R6 = ld.global.b32 R4\n  st.global.b32 R4, R6 #4\n")[1]


NEIGHBOUR = """.version 7.8
.target sm_75
.address_size 64
.visible .entry to_the_right(.param .u64 p)
{
    .reg .u32 %r<3>;
    .reg .u64 %rd<3>;
    ld.param.u64 %rd0, [p];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd1, %r0, 4;
    add.u64 %rd2, %rd0, %rd1;
    ld.global.u32 %r1, [%rd2];
    bar.warp.sync 0xffffffff;
    st.global.u32 [%rd2+4], %r1;
    exit;
}
"""


def test_lanes_that_meet_in_ptx_are_seen_in_the_image():
    image = compile_ptx(NEIGHBOUR, "right.ptx")["to_the_right"]
    found = idempotence(lift(image).kernel, restrict=True)
    assert [cut.reason for cut in found.cuts] == ["start", "overwrite"] and found.spoiler is not None
    device = open_device("golden", PRESETS["gtx480"])
    array = device.array(np.arange(33, dtype=np.uint32))
    for times in 1, 2:
        device.wait(device.load([image])[image.name]((1,), (32,), [array]), 10_000)
        assert (array.get() == np.maximum(np.arange(33) - times, 0)).all()


LOOP = """kernel k
entry:
  R0 = ldp #0
  jump loop
loop:
  R1 = ld.global.b32 R0
  R0 = iadd R0, 4
  st.global.b32 R0, R1 #{}
  P0 = setp.lt.u R1, R0
  branch P0 loop done
done:
  end
"""


@pytest.mark.parametrize("offset", [0, 4])
def test_pointer_that_moves_on_is_another_value_in_the_next_round(offset):
    kernel = parse(LOOP.format(offset))
    kernel.parameters = POINTERS
    found = idempotence(kernel, restrict=True)
    assert [(cut.site.label, cut.reason) for cut in found.cuts] == [("entry", "start"), ("loop", "overwrite")]


MEETINGS = {name for name in BY_NAME if name in ("nop", "ballot", "match") or name.startswith("shfl")}


class Memory:
    """What each thread has loaded since the region it is in began, and of that, what other lanes may know of by now."""

    def __init__(self, image, restrict):
        lifted = lift(image)
        found = idempotence(lifted.kernel, restrict=restrict)
        self.cuts = {lifted.start[cut.site.label] + cut.site.index for cut in found.cuts}
        self.words = [decode(word) for word in image.code]
        self.loaded, self.known = defaultdict(set), defaultdict(set)
        self.stores = 0

    def step(self, warp, pc, active):
        word = self.words[pc]
        if pc in self.cuts:
            for lane in range(32):
                if active >> lane & 1:
                    self.loaded[warp, lane].clear()
                    self.known[warp, lane].clear()
        if word.op.name in MEETINGS:
            for lane in range(32):
                self.known[warp, lane] |= self.loaded[warp, lane]
        if word.op.space is None or word.op.is_atomic or word.uniform_writes:
            return
        mask = active
        if word.guard is not None:
            number, negated = word.guard
            mask &= (warp.predicates[number] if number < 7 else -1) ^ -negated
        for lane in range(32):
            if not mask >> lane & 1:
                continue
            base = 0 if word.get("no_base") else (
                warp.uniforms[word.get("a")] if word.get("base_uniform") else warp.registers[word.get("a"), lane])
            first = int(base) + word.get("imm") & 0xFFFF_FFFF
            touched = {(word.op.space, first + k) for k in range(word.op.size.bytes)}
            if word.op.store:
                assert not touched & self.loaded[warp, lane], (pc, lane)
                assert not any(touched & self.known[warp, other] for other in range(32)), (pc, lane)
                self.stores += 1
            elif word.op.space is not Space.CONSTANT:
                self.loaded[warp, lane] |= touched


@pytest.mark.parametrize("restrict", [False, True])
@pytest.mark.parametrize("name", quick(
    ["rankfilter", "bfs_advance", "lud_diagonal", "fdwt53", "gaussian", "adjust_weight", "mergesort", "compute_cost",
     "warpscan"], ["rankfilter", "lud_diagonal", "compute_cost"]))
def test_no_thread_overwrites_what_it_loaded_in_a_region(name, restrict):
    image = KERNELS[name].image()
    memory = Memory(image, restrict)
    for warp, pc, active in single_step(CompiledJob(image, KERNELS[name].job("tiny"))):
        memory.step(warp, pc, active)
    assert memory.stores > 20


def test_kernels_called_idempotent_give_the_same_results_when_they_run_again():
    again = []
    for name in ("vecadd", "collatz", "matmul", "hotspot", "reduction", "dot", "nbody", "srad", "bfs", "saxpy"):
        image, job = KERNELS[name].image(), KERNELS[name].job("tiny")
        if idempotence(lift(image).kernel, restrict=True).spoiler is not None:
            continue
        device = open_device("golden", PRESETS["gtx480"], 16 << 20)
        kernel = device.load([image])[name]
        launch, arrays = start_job(device, kernel, job)
        device.wait(launch, 1_000_000)
        device.wait(kernel(job.grid, job.block, [arrays.get(key, value) for key, value in job.arguments.items()],
                           job.shared_bytes), 1_000_000)
        assert not any(differences(job, arrays).values()), name
        again.append(name)
    assert len(again) == 8 and not {"bfs", "saxpy"} & set(again)
