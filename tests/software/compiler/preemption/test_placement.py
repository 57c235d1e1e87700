"""Preemption-point placement and its verifier."""

import dataclasses

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.liveness import LIVE_BITS
from caesura.hw.arch.isa.words import Instruction, decode, encode
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileOptions, assemble, compile_ptx
from caesura.software.compiler.image.lift import lift
from caesura.software.compiler.ir.text import parse
from caesura.software.compiler.preemption.check import check_image
from caesura.software.compiler.preemption.intervals import InvalidCode
from caesura.software.compiler.preemption.placement import place_points
from caesura.software.compiler.preemption.word_times import word_times
from caesura.software.kernels import KERNELS
from support.selection import quick

SOME = "collatz", "hotspot", "histogram", "warpscan", "lud_perimeter", "mergesort", "reduce"


def placed(text, interval=500):
    kernel = parse(text)
    place_points(kernel, interval)
    return {block.label: [op.name for op in block.ops] for block in kernel.blocks}


def names(image):
    return [decode(word).op.name for word in image.code]


def test_innermost_loop_gets_one_point_where_least_is_live():
    text = """kernel k
entry:
  R0 = mov 0
  jump outer
outer:
  R1 = mov 9
  jump inner
inner:
  R2 = iadd R1, R0
  R3 = iadd R2, R1
  R4 = iadd R3, R2
  R1 = mov R4
  P0 = setp.lt.s R1, 100
  branch P0 inner latch
latch:
  R0 = iadd R0, 1
  P0 = setp.lt.s R0, 100
  branch P0 outer done
done:
  end
"""
    blocks = placed(text)
    assert blocks["inner"].count("pp") == 1 and sum(b.count("pp") for b in blocks.values()) == 1
    # R0 and R1 are live at the top and the end of the loop, three registers in the middle.
    assert blocks["inner"].index("pp") in (0, 4, 5) and blocks["inner"][blocks["inner"].index("pp") + 1] == "pp.div"


def test_loop_with_a_barrier_gets_no_other_point():
    text = "kernel k\nentry:\n  jump loop\nloop:\n  R0 = iadd R0, 1\n  bar.pp.0\n  branch P0 loop done\ndone:\n  end\n"
    assert "pp" not in placed(text)["loop"]


def test_barrier_on_one_path_only_is_not_enough():
    text = """kernel k
entry:
  jump head
head:
  branch P0 sync plain
sync:
  bar.pp.0
  jump latch
plain:
  nop
  jump latch
latch:
  branch P1 head done
done:
  end
"""
    blocks = placed(text)
    assert sum(names.count("pp") for names in blocks.values()) == 1 and "pp" not in blocks["sync"]


def test_outer_loop_that_can_avoid_its_inner_loop_gets_a_point_too():
    text = """kernel k
entry:
  jump head
head:
  branch P0 inner latch
inner:
  R0 = iadd R0, 1
  branch P1 inner latch
latch:
  R1 = iadd R1, 1
  branch P2 head done
done:
  end
"""
    blocks = placed(text)
    assert blocks["inner"].count("pp") == 1 and blocks["head"].count("pp") + blocks["latch"].count("pp") == 1


def test_irreducible_loop_is_cut():
    text = """kernel k
entry:
  branch P0 a b
a:
  R0 = iadd R0, 1
  branch P1 b done
b:
  R1 = iadd R1, 1
  branch P2 a done
done:
  end
"""
    assert sum(names.count("pp") for names in placed(text).values()) == 1


@pytest.mark.parametrize("interval", [4, 10, 33])
def test_straight_code_gets_a_point_every_interval(interval):
    text = "kernel k\nentry:\n" + "  R0 = iadd R0, 1\n" * 100 + "  end\n"
    ops = placed(text, interval)["entry"]
    runs = "".join("p" if name == "pp" else "" if name == "pp.div" else "i" for name in ops).split("p")
    assert max(map(len, runs)) + (runs[-1] == max(runs, key=len)) <= interval
    assert len(runs) - 1 <= 2 * 101 // interval + 1


def test_by_cycles_a_stretch_is_as_long_as_its_words_take():
    """Moves of a full SM take a cycle a warp, a load takes the bus and the round trip where it is waited for."""
    g = preset("gtx480")
    text = "kernel k\nentry:\n" + "  R0 = iadd R0, 1\n" * 40 + "{}  end\n"
    loads = "  R1 = ld.global.b32 R0\n  R0 = iadd R1, 1\n" * 4
    first, second = parse(text.format("")), parse(text.format(loads))
    block, = first.blocks
    assert set(word_times(block, g, 48)) == {48} and word_times(block, g, 1)[:3] == [1, 1 + g.alu_latency, 7]
    assert word_times(second.blocks[0], g, 48)[40:] == [48 * 8, 48] * 4 + [48]
    assert word_times(second.blocks[0], g, 2)[40:43] == [5 + 2 * 8, 2 + 8 + g.memory_latency - 16, 21]
    assert [point.rule for point in place_points(first, 48 * 50, g)] == []
    assert {point.rule for point in place_points(second, 48 * 50, g)} == {"interval"}


@pytest.mark.parametrize("interval", [4, 300])
@pytest.mark.parametrize("seed", range(2))
def test_random_kernels_keep_the_interval_by_cycles(seed, interval):
    kernel = RandomKernel(seed, statements=10)
    options = CompileOptions(interval=interval, interval_on=preset("ecp5"))
    assert check_image(compile_ptx(kernel.ptx, options=options)[kernel.name]) <= interval


@pytest.mark.parametrize("interval", [12, 40, 500])
@pytest.mark.parametrize("seed", range(2))
def test_random_kernels_keep_the_interval(seed, interval):
    kernel = RandomKernel(seed, statements=10)
    image = compile_ptx(kernel.ptx, options=CompileOptions(interval=interval))[kernel.name]
    assert check_image(image) <= interval


@pytest.mark.parametrize("name", KERNELS)
def test_shipped_kernels_are_preemptible(name):
    assert check_image(KERNELS[name].image()) <= CompileOptions().interval


@pytest.mark.parametrize("name", quick(KERNELS, [*KERNELS][::4]))
def test_points_by_cycles_are_sound_and_no_further_apart(name):
    """A word takes a cycle at least, so an interval of cycles is one of as many instructions as well."""
    image = KERNELS[name].image(CompileOptions(interval=250, interval_on=preset("gtx480")))
    assert check_image(image) <= 250
    assert len(image.points) > len(KERNELS[name].image().points)


@pytest.mark.parametrize("name", quick(KERNELS, SOME))
def test_points_change_nothing_else(name):
    image = KERNELS[name].image()
    without = KERNELS[name].image(CompileOptions(preemption_points=False))
    assert not {"pp", "pp.div"} & set(names(without))
    assert names(without) == [n for n in names(image) if n not in ("pp", "pp.div")]


LOOP = """.kernel k
    mov.i R0, 0
    mov.i R1, 7
loop:
    pp {R0, R1}
    pp.div {R0, R1}
    iadd.i R0, R0, 1
    setp.lt.s.i P0, R0, 100
    @P0 bra loop, done
done:
    bar.pp.0 {R1}
    st.global.b32 [64], R1
    exit
"""


def test_verifier_accepts_a_sound_image():
    image, = assemble(LOOP)
    assert check_image(image) == 3


@pytest.mark.parametrize("before, after, what", [
    ("    pp {R0, R1}\n    pp.div {R0, R1}\n", "", "no preemption point in the loop L2"),
    ("    pp.div {R0, R1}\n", "", "pp without pp.div"),
    ("pp {R0, R1}", "pp {R0}", "pc 2: pp does not save R1$"),
    ("pp.div {R0, R1}", "pp.div {R1}", "pc 3: pp.div does not save R0$"),
    ("bar.pp.0 {R1}", "bar.pp.0 {}", "bar.pp.0 does not save R1$"),
    ("loop, done", "loop, none", "names None as its reconvergence point, not L7"),
    (".kernel k\n", ".kernel k\n.stack 1\n", "may need 2 entries, the image says 1"),
])
def test_verifier_refuses_an_unsound_image(before, after, what):
    image, = assemble(LOOP.replace(before, after))
    with pytest.raises(InvalidCode, match=what):
        check_image(image)


def test_removing_any_bit_from_any_vector_is_noticed():
    """Every vector of a compiled kernel is exactly as large as it must be."""
    image = KERNELS["pathfinder"].image()
    checked = 0
    for pc, word in enumerate(image.code):
        instruction = decode(word)
        if "live" not in instruction.op.operands:
            continue
        for bit in range(LIVE_BITS):
            smaller = instruction.get("live") & ~(1 << bit)
            if smaller == instruction.get("live"):
                continue
            code = (*image.code[:pc], encode(Instruction(instruction.op, {"live": smaller})), *image.code[pc + 1:])
            with pytest.raises(InvalidCode):
                check_image(dataclasses.replace(image, code=code))
            checked += 1
    assert checked > 12


def test_lifted_code_has_the_blocks_of_the_branches():
    image, = assemble(LOOP)
    lifted = lift(image)
    assert lifted.start == {"L0": 0, "L2": 2, "L7": 7}
    assert lifted.meet == {"L2": "L7"}
