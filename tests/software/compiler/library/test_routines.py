"""Routines that are called: what becomes one, what the code computes, and what the analyses say of it."""

import dataclasses
import re

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.isa.words import decode
from caesura.sim import open_device
from caesura.sim.scenario import CompiledJob, start_job
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileOptions, assemble, compile_module, compile_ptx, disassemble
from caesura.software.compiler.analysis.calls import calls_of
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from caesura.software.compiler.codegen.listing import rows
from caesura.software.compiler.errors import CompileError, ImageError
from caesura.software.compiler.explain import explain
from caesura.software.compiler.image.lift import lift
from caesura.software.compiler.ir.kernel import Reg
from caesura.software.compiler.passes import Observer
from caesura.software.compiler.preemption.check import check_image
from caesura.software.compiler.preemption.intervals import InvalidCode
from caesura.software.driver import KernelFault
from caesura.software.kernels.job import Job
from support.selection import quick
from support.sim.single_step import single_step

G = PRESETS["gtx480"]
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


def program(body, module=""):
    """A kernel that loads x and y (f64, %d1, %d2) of its thread, and stores %d9."""
    return HEAD + module + f"""
.visible .entry k(.param .u64 in, .param .u64 out) {{
    .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f64 %d<40>;
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 16; mul.wide.u32 %rd4, %r1, 8;
    add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd4;
    ld.global.f64 %d1, [%rd1]; ld.global.f64 %d2, [%rd1+8];
    {body}
    st.global.f64 [%rd2], %d9; ret;
}}
"""


def compiled(text, **options):
    return next(iter(compile_ptx(text, "k.ptx", CompileOptions(**options)).values()))


def run(image, pairs):
    """Return what a `program` computes of pairs of numbers."""
    device = open_device("golden", G)
    job = Job((1, 1, 1), (len(pairs), 1, 1), {"in": pairs.ravel(), "out": np.zeros(len(pairs))})
    launch, arrays = start_job(device, device.load([image])[image.name], job)
    device.wait(launch, 200_000)
    return arrays["out"].get()


def called(image):
    """Return the number of calls, by routine."""
    kernel = lift(image).kernel
    found = [0] * len(kernel.routines)
    for _, _, call in calls_of(kernel):
        found[call.imm] += 1
    return found


def divisions(count):
    """`count` quotients, each of the last one and y."""
    return "".join(f"div.rn.f64 %d{10 + k}, %d{9 + k if k else 1}, %d2; " for k in range(count)) \
        + f"mov.f64 %d9, %d{9 + count};"


def random_work(seed, calls="always", **options):
    k = RandomKernel(seed, grid=(1,), block=(40,), divisions=True, unstructured=seed % 2 == 1)
    image = compiled(k.ptx, calls=calls, **options)
    arguments = {"output": np.zeros(k.output_bytes, np.uint8), "input": np.frombuffer(k.inputs(), np.uint8), "n": k.n}
    return CompiledJob(image, Job(k.grid, k.block, arguments, {"output": np.frombuffer(k.expected(), np.uint8)}))


# What is called


def test_a_quotient_is_inlined_where_it_stands_once_and_called_where_it_stands_often():
    once, often = compiled(program(divisions(1))), compiled(program(divisions(3)))
    assert called(once) == [] and called(often) == [3]
    assert len(often.code) < len(once.code) + 40
    assert once.code == compiled(program(divisions(1)), calls="never").code


def test_the_choice_can_be_forced():
    assert called(compiled(program(divisions(1)), calls="always")) == [1]
    assert called(compiled(program(divisions(9)), calls="never")) == []
    with pytest.raises(ValueError, match="calls must be auto, always or never, not 'often'"):
        CompileOptions(calls="often")


def test_where_registers_do_not_suffice_for_a_routine_it_is_inlined():
    text = program(divisions(9))
    few = compiled(text, max_registers=8)
    assert called(compiled(text)) == [9] and called(few) == [] and few.registers <= 8
    assert few.code == compiled(text, max_registers=8, calls="never").code
    with pytest.raises(CompileError, match="needs at least 1[0-9] vector registers"):
        compiled(text, max_registers=8, calls="always")


def test_an_observer_is_told_that_a_kernel_is_compiled_once_more():
    told = []
    observer = Observer(lambda name, kernel: told.append(name), lambda kernel, reason: told.append(reason.message))
    compile_module(program(divisions(9)), "k.ptx", CompileOptions(max_registers=8), observer=observer)
    first, = (k for k, name in enumerate(told) if "vector registers" in name)
    assert told[:first].count("legalize") == told[first:].count("legalize") == 1
    assert "emit" not in told[:first] and told[-1] == "emit"


def test_a_routine_takes_no_more_than_half_an_interval():
    longest = lift(compiled(program(divisions(1)), calls="always")).kernel.ops()
    most = next(op.summary.most for op in longest if op.name == "call")
    text = program(divisions(4))
    assert called(compiled(text, interval=2 * most)) == [4] and called(compiled(text, interval=2 * most - 1)) == []
    assert check_image(compiled(text, interval=2 * most)) <= 2 * most


def test_equal_quotients_are_one_and_unused_ones_none():
    same = "div.rn.f64 %d3, %d1, %d2; div.rn.f64 %d4, %d1, %d2; div.rn.f64 %d5, %d2, %d1; add.f64 %d9, %d3, %d4;"
    assert called(compiled(program(same), calls="always")) == [1]


FUNCTION = """
.func (.param .b64 r) poly(.param .b64 a, .param .b64 b) {
    .reg .pred %q; .reg .f64 %e<9>;
    ld.param.f64 %e1, [a]; ld.param.f64 %e2, [b];
    setp.lt.f64 %q, %e1, %e2;
    @%q bra LESS;
    fma.rn.f64 %e3, %e1, %e1, %e2; fma.rn.f64 %e3, %e3, %e2, %e1; div.rn.f64 %e3, %e3, %e1; bra DONE;
LESS:
    mul.rn.f64 %e3, %e1, %e2; sqrt.rn.f64 %e3, %e3;
DONE:
    st.param.f64 [r], %e3; ret;
}
"""


def uses(count, extra=""):
    """`count` calls of poly, each with the last result."""
    one = "{{ .param .b64 a; .param .b64 b; .param .b64 c; st.param.f64 [a], %d{}; st.param.f64 [b], %d2; " \
          "call.uni (c), poly, (a, b); ld.param.f64 %d{}, [c]; }} "
    return "".join(one.format(9 + k if k else 1, 10 + k) for k in range(count)) + f"mov.f64 %d9, %d{9 + count};" + extra


def test_functions_of_the_file_are_called_too():
    text = program(uses(3), FUNCTION)
    image, inlined = compiled(text), compiled(text, calls="never")
    assert called(image) == [3] and called(inlined) == [] and len(image.code) < len(inlined.code) / 2
    pairs = np.random.default_rng(5).normal(size=(64, 2)) ** 2 + 0.1
    assert (run(image, pairs) == run(inlined, pairs)).all()
    x, y = pairs.T
    once = run(compiled(program(uses(1), FUNCTION), calls="always"), pairs)
    assert (once[x < y] == np.sqrt(x * y)[x < y]).all() and 5 < np.count_nonzero(x < y) < 60


@pytest.mark.parametrize("spoiled", [
    "st.global.f64 [%w], %e1;", "bar.sync 0;", "ld.global.f64 %e1, [%w];", "trap;", "exit;",
    "AGAIN: mul.f64 %e1, %e1, %e2; setp.lt.f64 %q, %e1, %e2; @%q bra AGAIN;",
    "activemask.b32 %v; cvt.rn.f64.u32 %e1, %v;", "mov.u32 %v, %tid.x; cvt.rn.f64.u32 %x, %v; add.f64 %e1, %e1, %x;",
    "mov.u32 %v, %clock; cvt.rn.f64.u32 %e1, %v;", "setp.gt.f64 %q, %e1, %e2; @%q ret;"])
def test_what_does_more_than_compute_is_inlined(spoiled):
    names = ".reg .b64 %w; .reg .b32 %v; .reg .f64 %x; mov.b64 %w, 64;"
    body = FUNCTION.replace("setp.lt", f"{names} {spoiled} setp.lt", 1)
    assert called(compiled(program(uses(4), FUNCTION), calls="always")) == [4]
    image = compiled(program(uses(4), body), calls="always")
    assert called(image) != [4]  # nothing, or the division and the root in it


# What it computes


@pytest.mark.parametrize("seed", quick(range(40), range(3)))
def test_random_kernels_compute_what_the_interpreter_says(seed):
    """Divisions and roots of every width in divergent loops and conditionals, under guards; some values in memory."""
    work = random_work(seed, max_registers=(64, 36, 30)[seed % 3], interval=(300, 500)[seed % 2])
    assert called(work.image)
    assert sum(1 for _ in single_step(work)) > 100  # it judges the results


def test_live_ranges_are_split_around_calls():
    """As few registers as are live at once: what lives across a call makes room for the routine's."""
    text = program("".join(f"add.f64 %d{10 + k}, %d1, %d2; fma.rn.f64 %d{10 + k}, %d{10 + k}, %d{10 + k}, %d2; "
                           f"div.rn.f64 %d{20 + k}, %d{10 + k}, %d1; " for k in range(8))
                   + "mov.f64 %d9, %d20; " + "".join(f"add.f64 %d9, %d9, %d{20 + k}; add.f64 %d9, %d9, %d{10 + k}; "
                                                    for k in range(1, 8)))
    pairs = np.random.default_rng(6).normal(size=(32, 2))
    expected = run(compiled(text, calls="never"), pairs)
    sizes = set()
    for registers in (64, 40, 32, 28, 24):
        image = compiled(text, calls="always", max_registers=registers)
        assert image.registers <= registers and (run(image, pairs) == expected).all()
        sizes.add(image.local_bytes)
    assert len(sizes) > 1


def test_a_quotient_of_uniform_values_is_one_but_a_lane_s_own_is_not():
    """What a routine gives for the same arguments in all lanes is the same; else lanes part at a branch on it."""
    text = program("ld.global.f64 %d3, [%rd1+0]; mov.f64 %d4, 0d4008000000000000; div.rn.f64 %d5, %d4, %d4; "
                   "div.rn.f64 %d6, %d3, %d4; setp.gt.f64 %p1, %d5, %d6; mov.f64 %d9, %d2; @%p1 bra ON; "
                   "div.rn.f64 %d9, %d2, %d6; ON: add.f64 %d9, %d9, %d5;")
    pairs = np.random.default_rng(10).normal(size=(64, 2)) * 6
    x, y = pairs.T
    with np.errstate(all="ignore"):
        expected = np.where(x / 3 < 1, y, y / (x / 3)) + 1
    for mode in ("always", "never"):
        assert (run(compiled(text, calls=mode), pairs) == expected).all()
    assert 10 < np.count_nonzero(x < 3) < 64


# What is said of it


@pytest.fixture(scope="module")
def work():
    return random_work(3)


def test_image_survives_text_and_elf(work):
    image = work.image
    assert assemble(disassemble(image)) == [image]
    assert read_elf(write_elf([image])) == {image.name: image}
    bare = re.sub(r"\.(stack|registers|predicates) \d+\n", "", disassemble(image))
    again, = assemble(bare)
    assert (again.stack_depth, again.registers, again.predicates) == (image.stack_depth, image.registers,
                                                                      image.predicates)


def test_registers_that_are_not_live_may_hold_anything_inside_of_routines(work):
    """What a row says to keep is enough there: the rest of the warp's registers become random bits on the way."""
    facts = explain(work.image, G)
    inside = {lifted + k for lifted, size in routine_spans(work.image) for k in range(size)}
    rng, changed = np.random.default_rng(7), 0
    for warp, pc, _ in single_step(work):
        if pc not in inside or rng.random() < 0.5:
            continue
        row = facts.instructions[pc]
        dead = [r for r in range(work.image.registers) if r not in row.live and r not in row.waiting]
        warp.registers[dead] = rng.integers(0, 1 << 32, (len(dead), warp.g.warp_size), np.uint32)
        for p in set(range(work.image.predicates)) - set(row.predicates):
            warp.predicates[p] = int(rng.integers(0, 1 << 32))
        gone = [u for u in range(32) if u not in row.uniforms]
        warp.uniforms[gone] = rng.integers(0, 1 << 32, len(gone), np.uint32)
        changed += len(dead)
    assert changed > 500


def routine_spans(image):
    """Return address and length of each block of the routines."""
    lifted = lift(image)
    return [(lifted.start[block.label], lifted.words[block.label]) for routine in lifted.kernel.routines
            for block in routine.body.blocks]


def test_every_register_that_a_row_keeps_is_needed():
    """Each vector register live at the first instruction of a routine, made wrong there, spoils the result."""
    image = compiled(program(divisions(3).replace("%d9, %d11", "%d9, %d11; add.f64 %d9, %d9, %d10")))
    facts = explain(image, G)
    pairs = np.random.default_rng(9).normal(size=(32, 2)) + 3
    job = Job((1, 1, 1), (32, 1, 1), {"in": pairs.ravel(), "out": np.zeros(32)}, {"out": run(image, pairs)})
    (entry, _), *_ = sorted(routine_spans(image))
    assert len(facts.instructions[entry].live) > 4
    for register in facts.instructions[entry].live:
        with pytest.raises((AssertionError, KernelFault)):
            for warp, pc, _ in single_step(CompiledJob(image, job)):
                if pc == entry:
                    warp.registers[register] ^= np.uint32(0x5A5A_A5A4)


def test_calls_are_within_the_bounds_of_their_summaries(work):
    """From each call to the word behind it: as many instructions as the summary allows, once for each way of lanes."""
    lifted = lift(work.image)
    calls = {lifted.start[block.label] + index: call.summary for block, index, call in calls_of(lifted.kernel)}
    since = {}
    seen = 0
    for warp, pc, _ in single_step(work):
        depth = len(warp.stack)
        if warp in since:
            start, count, level = since[warp]
            if pc == start + 1 and depth <= level:
                del since[warp]
                assert calls[start].least <= count
                assert depth < level or count <= calls[start].most * 32
                seen += 1
            else:
                since[warp] = start, count + 1, level
        if pc in calls:
            since[warp] = pc, 0, depth
    assert seen > 20


def test_stack_depth_holds_the_branches_of_routines(work):
    deepest = max(len(warp.stack) for warp, _, _ in single_step(work))
    assert deepest <= work.image.stack_depth
    with pytest.raises(InvalidCode, match="the SIMT stack may need"):
        check_image(dataclasses.replace(work.image, stack_depth=work.image.stack_depth - 1))


def test_explain_follows_calls():
    image = compiled(program(divisions(3)))
    facts = explain(image, G)
    assert facts.longest_interval == check_image(image)
    (start, _), *_ = sorted(routine_spans(image))
    first, inside, last = facts.instructions[0], facts.instructions[start], facts.instructions[-1]
    assert first.least_drain < inside.most_drain < first.most_drain and first.may_end
    assert last.text.startswith("bru") and last.least_drain < last.most_drain
    sites = [row for row in facts.instructions if row.text.startswith("call")]
    behind = {r for row in sites for r in facts.instructions[row.pc + 1].live}
    assert len(sites) == 3 and set(last.live) == behind
    for row, other in zip(facts.instructions, rows(image), strict=True):
        assert (row.pc, row.live, row.waiting) == (other.pc, other.live, other.waiting)


def test_drain_bounds_hold_inside_of_routines_too():
    image = compiled(program(divisions(3)))
    facts = explain(image, G)
    pairs = np.random.default_rng(8).normal(size=(32, 2))  # no lane leaves the common way: the warp stays together
    job = Job((1, 1, 1), (32, 1, 1), {"in": pairs.ravel(), "out": np.zeros(32)})
    way = [pc for _, pc, _ in single_step(CompiledJob(image, job))]
    for k, pc in enumerate(way):
        row = facts.instructions[pc]
        assert row.least_drain <= len(way) - k <= row.most_drain
    assert any(decode(image.code[pc]).op.name == "bru" for pc in way)


# Code that is no routine

ROUTINE = """.kernel k
.registers 4
.stack 4
    call U3, first
    call U3, second
    exit
first:
    mov.i R1, 1
    bru U3
second:
    setp.eq P0, R1, R2
    @P0 bra skip, skip
    mov.i R2, 2
skip:
    bru U3
"""


def test_code_of_the_form_is_accepted():
    image, = assemble(ROUTINE)
    kernel = lift(image).kernel
    assert called(image) == [1, 1] and check_image(image) == 3 + 2 + 4
    first, second = (call.summary for _, _, call in calls_of(kernel))
    assert first.kills == first.writes == {Reg("R", 1), Reg("U", 3)} and first.reads == frozenset()
    assert second.reads == {Reg("R", 1), Reg("R", 2)} and (second.least, second.most, second.depth) == (3, 4, 2)
    assert second.writes - second.kills == {Reg("R", 2)} and Reg("P", 0) in second.kills


@pytest.mark.parametrize("old, new, message", [
    ("mov.i R1, 1\n    bru U3", "mov.i R1, 1\n    bru U2", "returns to U2, its calls write U3"),
    ("mov.i R1, 1", "umov.i U3, 1", "writes its return address"),
    ("mov.i R1, 1", "ld.global.b32 R1, [R1]", "may only compute, without ld.global.b32"),
    ("mov.i R1, 1", "exit", "may only compute, without exit|returns at 0 places|a bru in no routine"),
    ("mov.i R1, 1", "bar.pp.0 {}", "may only compute, without bar.pp.0"),
    ("mov.i R1, 1", "call U3, second", "may only compute, without call"),
    ("mov.i R1, 1", "pp {}\n    pp.div {}", "may only compute, without pp"),
    ("mov.i R2, 2", "bra second, none", "has a loop"),
    ("mov.i R2, 2", "bru U3", "returns at 2 places"),
    ("mov.i R2, 2", "bra first, none", "leads into the routine at 3 without a call"),
    ("    exit\n", "    bra first, none\n", "belongs to the routine at 3 and to the kernel"),
    ("    call U3, second\n    exit\n", "    call U3, second\n    bru U3\n", "a bru in no routine"),
])
def test_what_is_no_routine_is_refused(old, new, message):
    assert ROUTINE.count(old) == 1
    image, = assemble(ROUTINE.replace(old, new).replace(".stack 4", ".stack 4\n.predicates 1"))
    with pytest.raises(ImageError, match=message):
        check_image(image)
