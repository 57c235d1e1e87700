"""Atomics and fences in PTX: what kernels compute on the golden model, and the code they become."""

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.isa.opcodes import AtomicOp
from caesura.hw.arch.isa.words import decode
from caesura.sim import open_device
from caesura.software.compiler import CompileError, compile_ptx
from support.core.memory_ops import atomic_value
from support.selection import quick
from support.software.ptx_bench import HEAD

THREADS = 64
CELLS = 8
EDGES = [0, 1, 3, 1 << 31, 1 << 32, 1 << 63, (1 << 64) - 1]


def text(body, shared="", cells="ld.param.u64 %rd1, [CELLS]; cvta.to.global.u64 %rd1, %rd1;"):
    """A kernel whose thread i has i in %r1, a place of CELLS in %rd1, its operands in %rd3, %rd4 and %r3, %r4 and %f3,
    and stores what is in %rd9."""
    return HEAD + f"""
.visible .entry k(.param .u64 CELLS, .param .u64 B, .param .u64 C, .param .u64 OUT)
{{
    .reg .pred %p<20>; .reg .b32 %r<60>; .reg .b64 %rd<60>; .reg .f32 %f<20>; .reg .f64 %fd<20>;
    {shared}
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd10, %r1, 8;
    and.b32 %r2, %r1, {CELLS - 1}; mul.wide.u32 %rd11, %r2, 8;
    {cells} add.s64 %rd1, %rd1, %rd11;
    ld.param.u64 %rd5, [B]; add.s64 %rd5, %rd5, %rd10; ld.global.u64 %rd3, [%rd5]; cvt.u32.u64 %r3, %rd3;
    ld.param.u64 %rd6, [C]; add.s64 %rd6, %rd6, %rd10; ld.global.u64 %rd4, [%rd6]; cvt.u32.u64 %r4, %rd4;
    mov.b32 %f3, %r3; mov.b64 %fd3, %rd3;
    mov.u64 %rd9, 0;
    {body}
    ld.param.u64 %rd2, [OUT]; add.s64 %rd2, %rd2, %rd10; st.global.u64 [%rd2], %rd9;
    ret;
}}
"""


def run(source, cells, b, c):
    """Return the cells afterwards, what 64 threads store, and the names of the instructions."""
    image = compile_ptx(source)["k"]
    device = open_device("golden", PRESETS["gtx480"], memory_bytes=1 << 23)
    memory, out = device.array(np.array(cells, np.uint64)), device.array(np.zeros(THREADS, np.uint64))
    given = [device.array(np.array(x, np.uint64)) for x in (b, c)]
    device.wait(device.load([image])["k"](1, THREADS, [memory, *given, out]))
    return ([int(x) for x in memory.get()], [int(x) for x in out.get()],
            [decode(word).op.name for word in image.code])


def orders(function, wide, cells, b, c):
    """Every result of lanes in ascending order: warps of 32 one after the other, in either order."""
    for warps in ((0, 1), (1, 0)):
        memory, found = list(cells), [0] * THREADS
        for lane in (lane for warp in warps for lane in range(32 * warp, 32 * warp + 32)):
            cell = lane % CELLS
            found[lane] = memory[cell] & ((1 << 64) - 1 if wide else 0xFFFF_FFFF)
            new = atomic_value(function, wide, memory[cell], b[lane], c[lane])
            memory[cell] = new if wide else memory[cell] >> 32 << 32 | new
        yield memory, found


CASES = [(f"{name}.{type}", function, bits) for name, function, types in [
    ("add", AtomicOp.ADD, ["u32", "s32", "u64"]), ("and", AtomicOp.AND, ["b32", "b64"]),
    ("or", AtomicOp.OR, ["b32", "b64"]), ("xor", AtomicOp.XOR, ["b32", "b64"]), ("exch", AtomicOp.EXCH, ["b32", "b64"]),
    ("cas", AtomicOp.CAS, ["b32", "b64"]), ("min", AtomicOp.MIN_S, ["s32", "s64"]),
    ("min", AtomicOp.MIN_U, ["u32", "u64"]), ("max", AtomicOp.MAX_S, ["s32", "s64"]),
    ("max", AtomicOp.MAX_U, ["u32", "u64"]), ("inc", AtomicOp.INC, ["u32"]), ("dec", AtomicOp.DEC, ["u32"]),
    ("add", AtomicOp.FADD, ["f32"])] for type in types for bits in [int(type[1:])]]
SHARED = """
    mov.u64 %rd1, tile; add.s64 %rd20, %rd1, %rd11; ld.param.u64 %rd21, [CELLS]; add.s64 %rd21, %rd21, %rd11;
    ld.global.u64 %rd22, [%rd21]; st.shared.u64 [%rd20], %rd22; bar.sync 0;"""
AFTER = "bar.sync 0; ld.shared.u64 %rd22, [%rd1]; st.global.u64 [%rd21], %rd22;"


def values(function):
    rng = np.random.default_rng(int(function) + 7)
    if function is AtomicOp.FADD:
        cells, b = (rng.normal(0, 100, n).astype(np.float32).view(np.uint32) for n in (CELLS, THREADS))
    else:
        cells, b = (rng.choice(np.array(EDGES, np.uint64), n)
                    for n in (CELLS, THREADS))
        b[::3] = cells[np.arange(THREADS)[::3] % CELLS]
    return [[int(x) for x in column] for column in (cells, b, rng.integers(0, 1 << 63, THREADS))]


@pytest.mark.parametrize("space", quick(["global", "shared", "generic"], ["generic"]))
@pytest.mark.parametrize(("operation", "function", "bits"), CASES, ids=lambda value: str(value))
def test_operations(operation, function, bits, space):
    """Returned values and memory are those of the lanes in order, whichever warp comes first."""
    cells, b, c = values(function)
    d, s, t = ("%rd8", "%rd3", "%rd4") if bits == 64 else ("%f8", "%f3", "") if "f32" in operation else (
        "%r8", "%r3", "%r4")
    widen = {"%rd8": "mov.u64 %rd9, %rd8;", "%r8": "cvt.u64.u32 %rd9, %r8;",
             "%f8": "mov.b32 %r8, %f8; cvt.u64.u32 %rd9, %r8;"}[d]
    third = f", {t}" if function is AtomicOp.CAS else ""
    prefix = "" if space == "generic" else f".{space}"
    body = f"atom{prefix}.{operation} {d}, [%rd1], {s}{third}; {widen}"
    if space == "shared":
        source = text(body + AFTER, f".shared .align 8 .b64 tile[{CELLS}];", SHARED)
    else:
        source = text(body)
    memory, found, names = run(source, cells, b, c)
    assert (memory, found) in list(orders(function, bits == 64, cells, b, c))
    where = "shared" if space == "shared" else "global"
    assert sum(name.startswith(f"atom.{where}.") and name.endswith(f"b{bits}") for name in names) == 1


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("base", ["red", "atom"])
def test_results_that_nobody_wants_become_reductions(base, space):
    dest = "%r8, " if base == "atom" else ""
    body = f"{base}.{space}.add.u32 {dest}[%rd1+4], -3; {base}.{space}.max.u64 {dest.replace('r', 'rd')}[%rd1], %rd3;"
    given = (f".shared .align 8 .b64 tile[{CELLS}];", SHARED) if space == "shared" else ()
    source = text(body + (AFTER if space == "shared" else ""), *given)
    *_, names = run(source, [1] * CELLS, [2] * THREADS, [0] * THREADS)
    assert {name for name in names if name.startswith(("atom", "red"))} == {
        f"red.{space}.add.b32", f"red.{space}.max.u.b64"}
    memory, *_ = run(text(f"{base}.global.add.u32 {dest}[%rd1], -3;"), [5] * CELLS, [0] * THREADS, [0] * THREADS)
    assert memory == [(5 - 3 * THREADS // CELLS) & 0xFFFF_FFFF] * CELLS


def test_exchange_stays_even_if_nobody_wants_the_result():
    memory, _, names = run(text("atom.global.exch.b32 %r8, [%rd1], 7;"), [5] * CELLS, [0] * THREADS, [0] * THREADS)
    assert memory == [7] * CELLS and "atom.global.exch.b32" in names


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("guard", ["", "@%p1 "])
def test_f64_sum_is_a_loop_of_compare_and_swaps(space, guard):
    """Sums of integers are exact, so they do not depend on the order; what was found is a partial sum, each once."""
    body = (f"setp.lt.u32 %p1, %r1, 40; {guard}atom.{space}.add.f64 %fd4, [%rd1], %fd3; {guard}mov.b64 %rd9, %fd4;")
    b = np.array([1 << lane % 50 for lane in range(THREADS)], np.float64)
    cells = np.arange(CELLS, dtype=np.float64)
    given = (f".shared .align 8 .b64 tile[{CELLS}];", SHARED) if space == "shared" else ()
    source = text(body + (AFTER if space == "shared" else ""), *given)
    memory, found, _ = run(source, cells.view(np.uint64), b.view(np.uint64), [0] * THREADS)
    lanes = range(40 if guard else THREADS)
    expected = [cells[k] + sum(b[lane] for lane in lanes if lane % CELLS == k) for k in range(CELLS)]
    assert np.array(memory, np.uint64).view(np.float64).tolist() == expected
    before = np.array(found, np.uint64).view(np.float64)
    for k in range(CELLS):
        steps = sorted((before[lane], b[lane]) for lane in lanes if lane % CELLS == k)
        assert [here + step for here, step in steps] == [*(here for here, _ in steps[1:]), expected[k]]
    assert all(before[lane] == 0 for lane in range(len(lanes), THREADS))


def test_generic_addresses_of_two_spaces():
    """Even threads change shared memory, odd ones global memory."""
    body = """and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0;
    cvta.shared.u64 %rd30, %rd20; selp.b64 %rd31, %rd30, %rd21, %p1;
    atom.add.u32 %r8, [%rd31], 1; cvt.u64.u32 %rd9, %r8;
    bar.sync 0; ld.shared.u64 %rd22, [%rd20]; @%p1 st.global.u64 [%rd21], %rd22;"""
    source = text(body, f".shared .align 8 .b64 tile[{CELLS}];", SHARED)
    memory, found, names = run(source, [100 * k for k in range(CELLS)], [0] * THREADS, [0] * THREADS)
    each = THREADS // CELLS
    assert memory == [100 * k + each for k in range(CELLS)]
    assert sorted(found) == [100 * k + n for k in range(CELLS) for n in range(each)]
    assert {"atom.shared.add.b32", "atom.global.add.b32"} <= set(names)


@pytest.mark.parametrize(("order", "before", "after"), [
    ("", 0, 0), (".relaxed", 0, 0), (".relaxed.gpu", 0, 0), (".release.cta", 1, 0), (".acquire.sys", 0, 1),
    (".acq_rel.gpu", 1, 1)])
def test_orders_become_fences(order, before, after):
    *_, names = run(text(f"atom{order}.global.add.u32 %r8, [%rd1], 1; cvt.u64.u32 %rd9, %r8;"), [0] * CELLS,
                    [0] * THREADS, [0] * THREADS)
    place = names.index("atom.global.add.b32")
    assert (names[:place].count("membar"), names[place:].count("membar")) == (before, after)


@pytest.mark.parametrize(("body", "memory", "before"), [
    ("st.release.gpu.global.u32 [%rd1], %r3;", "st.global.b32", True),
    ("ld.acquire.gpu.global.u32 %r8, [%rd1];", "ld.global.b32", False)])
def test_ordered_accesses_become_fences(body, memory, before):
    *_, names = run(text(body), [0] * CELLS, [0] * THREADS, [0] * THREADS)
    place = names.index("membar")
    assert names[place + 1 if before else place - 1] == memory


@pytest.mark.parametrize("fence", ["membar.cta", "membar.gl", "membar.sys", "fence.sc.gpu", "fence.acq_rel.cta"])
def test_fences(fence):
    *_, names = run(text(f"{fence};"), [0] * CELLS, [0] * THREADS, [0] * THREADS)
    assert names.count("membar") == 1


@pytest.mark.parametrize(("body", "message"), [
    ("atom.global.add.f16 %r8, [%rd1], %r3;", "operation is not supported"),
    ("atom.local.add.u32 %r8, [%rd1], %r3;", r"\.local"),
    ("red.global.exch.b32 [%rd1], %r3;", "not supported"),
    ("atom.global.u32 %r8, [%rd1], %r3;", "operation is missing"),
    ("atom.global.cas.b32 %r8, [%rd1], %r3;", "operands"),
    ("atom.global.inc.u64 %rd8, [%rd1], %rd3;", r"type \.u64"),
    ("atom.global.add.u64 %r8, [%rd1], %rd3;", "64"),
    ("atom.global.add.noftz.u32 %r8, [%rd1], %r3;", "noftz")])
def test_what_is_refused(body, message):
    with pytest.raises(CompileError, match=message):
        compile_ptx(text(body))
