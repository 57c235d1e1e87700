"""Registers known to be uniform or strided: the cases, and what registers hold when kernels run."""

from collections import Counter

import numpy as np
import pytest

from caesura.hw.arch.image.patterns import pattern_group
from caesura.sim.scenario import CompiledJob
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import compile_ptx
from caesura.software.compiler.analysis.liveness import liveness
from caesura.software.compiler.analysis.patterns import patterns
from caesura.software.compiler.image.lift import lift
from caesura.software.compiler.ir.kernel import Reg
from caesura.software.compiler.ir.text import parse
from caesura.software.kernels import KERNELS, Job
from support.selection import quick
from support.sim.single_step import single_step

VISITS = 4
"""Times an instruction is looked at."""
QUICK = ("reduction", "bfs", "collatz", "histogram", "warpscan", "hotspot", "layerforward", "lud_perimeter", "reduce",
         "find_range_k", "mergesort", "persistent")
LANE = np.arange(32, dtype=np.uint32)


def shapes_at_end(text, register, label="done", **known):
    kernel = parse(text)
    block = next(block for block in kernel.blocks if block.label == label)
    *_, (_, fact) = patterns(kernel, **known).walk(block)
    return str(fact[Reg(register[0], int(register[1:]))])


ARITHMETIC = """kernel k
done:
  R0 = s2r #4
  R1 = s2r #12
  R2 = ldp #8
  R3 = shl R0, 2
  R4 = iadd R3, R2
  R5 = imul.lo R0, R1
  R6 = imad.lo R1, R2, R0
  R7 = not R0
  R8 = xor R0, R1
  R9 = xor R1, R2
  R10 = ld.global.b32 R2
  R11 = ld.global.b32 R4
  R12 = ld.local.b32 R2
  R13 = atom.global.add.b32 R2, R1
  P0 = setp.lt.s R1, R2
  P1 = setp.lt.s R0, R2
  R14 = sel R3, R4, P0
  R15 = sel R1, R2, P1
  R16 = ballot P1
  R17 = isub R4, R3
  end
"""


@pytest.mark.parametrize("register, shape", [
    ("R0", "stride 1"), ("R1", "uniform"), ("R2", "uniform"), ("R3", "stride 4"), ("R4", "stride 4"),
    ("R5", "stride ?"), ("R6", "stride 1"), ("R7", "stride -1"), ("R8", "random"), ("R9", "uniform"),
    ("R10", "uniform"), ("R11", "random"), ("R12", "random"), ("R13", "random"), ("R14", "stride 4"),
    ("R15", "random"), ("R16", "uniform"), ("R17", "uniform"), ("P0", "uniform"), ("P1", "random"), ("R20", "= 0")])
def test_arithmetic_keeps_what_it_can(register, shape):
    text = ARITHMETIC.replace("  end", "  R21 = mov R20\n  end")
    assert shapes_at_end(text, register) == shape


@pytest.mark.parametrize("block, x, y", [
    ((16, 4, 1), "stride 1", "uniform"), ((20, 4, 1), "random", "random"), ((20, 1, 1), "stride 1", "= 0")])
def test_shape_of_the_thread_block_counts(block, x, y):
    text = "kernel k\ndone:\n  R0 = s2r #4\n  R1 = s2r #5\n  end\n"
    assert (shapes_at_end(text, "R0", block=block), shapes_at_end(text, "R1", block=block)) == (x, y)


BRANCH = """kernel k
entry:
  R0 = s2r #4
  R1 = s2r #12
  R2 = mov 7
  P0 = setp.lt.s {}, 5
  branch P0 left done
left:
  R2 = mov 9
  R3 = mov R2
  jump done
done:
  R4 = mov R2
  end
"""


def test_only_lanes_with_different_ways_make_a_register_random():
    assert shapes_at_end(BRANCH.format("R1"), "R4") == "uniform"
    assert shapes_at_end(BRANCH.format("R0"), "R4") == "random"
    assert shapes_at_end(BRANCH.format("R0"), "R3", "left") == "= 9"
    assert shapes_at_end(BRANCH.format("R0"), "R1") == "uniform"


def test_value_of_a_loop_that_lanes_leave_in_different_rounds_is_random_behind_it_and_uniform_inside():
    text = """kernel k
entry:
  R0 = s2r #4
  jump loop
loop:
  R1 = iadd R1, 4
  P0 = setp.lt.u R1, R0
  branch P0 loop done
done:
  R2 = mov R1
  end
"""
    assert shapes_at_end(text, "R1", "loop") == "uniform" and shapes_at_end(text, "R2") == "random"


@pytest.mark.parametrize("guard, shape", [("R1", "uniform"), ("R0", "random")])
def test_guarded_definition_mixes_unless_its_guard_is_uniform(guard, shape):
    text = ("kernel k\ndone:\n  R0 = s2r #4\n  R1 = s2r #12\n  R2 = mov 7\n"
            f"  P0 = setp.lt.s {guard}, 5\n  @P0 R2 = mov R1\n  end\n")
    assert shapes_at_end(text, "R2") == shape


class Claims:
    """What is claimed of the live registers before each instruction."""

    def __init__(self, image, block, warp_size=32):
        lifted = lift(image)
        found, live = patterns(lifted.kernel, meet=lifted.meet, block=block), liveness(lifted.kernel)
        self.at = {}
        for b in lifted.kernel.blocks:
            gaps = live.gaps(b)
            for index, fact in found.walk(b):
                self.at[lifted.start[b.label] + index] = [
                    (reg, fact[reg]) for reg in sorted(gaps[index]) if reg in fact and not fact[reg].random]
        for b in (b for routine in lifted.kernel.routines for b in routine.body.blocks):  # of these nothing is said
            self.at.update((lifted.start[b.label] + k, []) for k in range(lifted.words[b.label]))
        self.group, self.checked = pattern_group(block[0] if block else 32, warp_size), Counter()

    def check(self, warp, pc, active):
        lanes = (active >> LANE & 1).astype(bool)
        for reg, shape in self.at[pc]:
            values = warp.registers[reg.index] if reg.kind == "R" else (warp.predicates[reg.index] >> LANE & 1)
            for part in [slice(0, 32)] if shape.whole else [slice(a, a + self.group) for a in range(0, 32, self.group)]:
                row, on = values[part].astype(np.uint32), lanes[part]
                place = LANE[:len(row)]
                if shape.stride is not None:
                    rest = (row - np.uint32(shape.stride) * place)[on]
                else:
                    rest = np.diff(row)[on[1:] & on[:-1]]
                assert (rest == rest[:1]).all(), (pc, reg, shape, row, on)
                assert shape.value is None or (row[on] == shape.value).all(), (pc, reg, shape, row)
            self.checked[str(shape).split()[0]] += 1


@pytest.mark.parametrize("name", quick(KERNELS, QUICK))
def test_registers_hold_what_is_claimed(name):
    shipped = KERNELS[name]
    image, job = shipped.image(), shipped.job("tiny")
    claims = [Claims(image, None), Claims(image, job.block)]
    visits = Counter()
    for warp, pc, active in single_step(CompiledJob(image, job)):
        visits[pc] += 1
        if visits[pc] <= VISITS:
            for some in claims:
                some.group = claims[1].group
                some.check(warp, pc, active)
    assert all(sum(some.checked.values()) for some in claims)


@pytest.mark.parametrize("seed", range(2))
def test_registers_of_random_divergent_kernels_hold_what_is_claimed(seed):
    random = RandomKernel(seed, block=(64,), unstructured=True, floats=False)
    image = compile_ptx(random.ptx)[random.name]
    data = np.frombuffer(random.inputs(), np.uint8)
    job = Job(random.grid, random.block, {"output": np.zeros(random.output_bytes, np.uint8), "input": data,
                                          "n": random.n})
    claims, visits = Claims(image, random.block), Counter()
    for warp, pc, active in single_step(CompiledJob(image, job)):
        visits[pc] += 1
        if visits[pc] <= VISITS:
            claims.check(warp, pc, active)
    assert sum(claims.checked.values()) > 1000
