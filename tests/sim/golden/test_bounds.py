"""Accesses out of bounds are found whatever way an address took, and nothing else is."""

import functools

import numpy as np
import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.sim import open_device
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.driver import KernelFault
from caesura.software.driver.machine.bounds import GUARD_BYTES
from caesura.software.kernels import KERNELS

TINY = preset("tiny")
LIMIT = 200_000
COUNT = 24
"""Elements of each array, and threads."""
HEAD = """.version 8.0
.target sm_75
.address_size 64
.global .align 8 .u64 place[64];
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .s64 i)
{
.reg .pred %p<4>;
.reg .b32 %r<9>;
.reg .b64 %rd<30>;
.reg .b64 %q<40>;
.shared .align 8 .u64 room[64];
.local .align 8 .u64 own[4];
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
ld.param.u64 %rd3, [c];
ld.param.s64 %rd4, [i];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd5, %r1, 8;
"""
TAIL = """
shl.b64 %rd10, %rd4, 2;
add.s64 %rd11, %rd9, %rd10;
ld.global.u32 %r2, [%rd11];
mul.wide.u32 %rd12, %r1, 4;
add.s64 %rd13, %rd3, %rd12;
st.global.u32 [%rd13], %r2;
ret;
}
"""
WAYS = {
    "move": "mov.u64 %rd9, %rd1;",
    "sum": "add.s64 %rd6, %rd1, 8; add.s64 %rd9, %rd6, -8;",
    "difference": "sub.s64 %rd6, %rd2, %rd1; sub.s64 %rd7, %rd1, %rd5; add.s64 %rd9, %rd7, %rd5;",
    "product and sum": "mad.lo.s64 %rd9, %rd5, 0, %rd1;",
    "selection": "setp.lt.u32 %p1, %r1, 999; selp.b64 %rd9, %rd1, %rd2, %p1;",
    "guarded moves": "mov.u64 %rd9, %rd2; setp.ge.u32 %p1, %r1, 0; @%p1 mov.u64 %rd9, %rd1;",
    "branch": "setp.gt.u32 %p1, %r1, 99; @%p1 bra OTHER; mov.u64 %rd9, %rd1; bra DONE; "
              "OTHER: mov.u64 %rd9, %rd2; DONE:",
    "minimum": "min.u64 %rd9, %rd1, %rd2;",
    "alignment": "and.b64 %rd9, %rd1, -16;",
    "bits that are clear": "or.b64 %rd6, %rd1, 4; add.s64 %rd9, %rd6, -4;",
    "pair": "mov.b64 {%r3, %r4}, %rd1; mov.b64 %rd9, {%r3, %r4};",
    "shuffle": "mov.b64 {%r3, %r4}, %rd1; shfl.sync.bfly.b32 %r5, %r3, 1, 31, 0xffffffff; "
               "shfl.sync.idx.b32 %r6, %r4, 0, 31, 0xffffffff; mov.b64 %rd9, {%r5, %r6};",
    "shared memory": "mov.u64 %rd6, room; add.s64 %rd6, %rd6, %rd5; st.shared.u64 [%rd6], %rd1; bar.sync 0; "
                     "ld.shared.u64 %rd9, [%rd6];",
    "global memory": "mov.u64 %rd6, place; add.s64 %rd6, %rd6, %rd5; st.global.u64 [%rd6], %rd1; "
                     "ld.global.u64 %rd9, [%rd6];",
    "local memory": "st.local.u64 [own+8], %rd1; ld.volatile.local.u64 %rd9, [own+8];",
    "vector": "mov.u64 %rd6, room; st.shared.v2.u64 [room], {%rd2, %rd1}; ld.shared.v2.u64 {%rd7, %rd9}, [room];",
    "exchange": "mov.u64 %rd6, place; add.s64 %rd6, %rd6, %rd5; atom.global.exch.b64 %rd7, [%rd6], %rd1; "
                "atom.global.exch.b64 %rd9, [%rd6], %rd7;",
    "compare and swap": "mov.u64 %rd6, room; add.s64 %rd6, %rd6, %rd5; st.shared.u64 [%rd6], %rd2; "
                        "atom.shared.cas.b64 %rd7, [%rd6], %rd2, %rd1; ld.shared.u64 %rd9, [%rd6];",
    "many live values": "".join(f"ld.volatile.shared.u64 %rd20, [room+{8 * k}]; add.s64 %q{k}, %rd{1 + k % 2}, %rd20;"
                                for k in range(40)) + "mov.u64 %rd9, %q0;"
                        + "".join(f"st.volatile.shared.u64 [room+{8 * k}], %q{k};" for k in range(40)),
}


@functools.cache
def images(way, **options):
    options = {"max_registers": TINY.regs_per_thread, "check_addresses": True} | options
    return tuple(compile_ptx(HEAD + way + TAIL, "way.ptx", CompileOptions(**options)).values())


def launched(code, index, checked=True):
    """Return a device on which the kernel reads element `index` of its first array."""
    device = open_device("golden", TINY, 1 << 20, check_bounds=checked)
    arrays = [device.array(np.arange(COUNT, dtype=np.uint32) + 100 * k) for k in range(3)]
    return device, device.load(code)["k"](1, COUNT, [*arrays, index]), arrays


def violation(code, index):
    device, launch, arrays = launched(code, index)
    with pytest.raises(KernelFault) as caught:
        device.wait(launch, LIMIT)
    return caught.value.record.violation, arrays


@functools.cache
def neighbour():
    """Elements from the first array to the second."""
    _, _, (a, b, _) = launched(images(WAYS["move"]), 0)
    return (b.address - a.address) // 4


@pytest.mark.parametrize("way", WAYS)
def test_the_array_that_an_address_comes_from_is_known(way):
    code = images(WAYS[way])
    device, launch, arrays = launched(code, COUNT - 1)
    device.wait(launch, LIMIT)
    assert (arrays[2].get() == COUNT - 1).all()
    found, (a, b, _) = violation(code, neighbour())
    assert (found.expected.start, found.address) == (a.address, b.address)
    assert found.nearest.start == b.address


def test_spilled_addresses_keep_their_array():
    code = images(WAYS["many live values"], max_registers=12)
    assert any(image.local_bytes > 32 for image in code)
    found, (a, _, _) = violation(code, neighbour())
    assert found.expected.start == a.address


UNIFORM = "add.s64 %rd6, %rd2, 4; ld.volatile.global.u32 %r5, [%rd6+-4]; add.s64 %rd6, %rd1, 4; add.s64 %rd9, %rd6, -4;"


def test_uniform_registers_keep_their_array():
    code = images(UNIFORM, check_addresses=False)
    assert found_in(code, "uldp") and found_in(code, "[U")
    assert violation(code, neighbour())[0].expected is not None
    assert violation(images(UNIFORM, uniform=False, check_addresses=False), neighbour())[0].expected is not None


def found_in(code, name):
    from caesura.software.compiler import disassemble_word

    return any(name in disassemble_word(word) for image in code for word in image.code)


MIXTURES = {
    "sum of two": "add.s64 %rd6, %rd1, %rd2; sub.s64 %rd9, %rd6, %rd2;",
    "exclusive or": "xor.b64 %rd6, %rd1, %rd2; xor.b64 %rd9, %rd6, %rd2;",
    "shifts": "shl.b64 %rd6, %rd1, 1; shr.u64 %rd9, %rd6, 1;",
    "product": "mul.lo.s64 %rd6, %rd1, 3; add.s64 %rd7, %rd1, %rd1; sub.s64 %rd9, %rd6, %rd7;",
    "bytes": "st.shared.u64 [room], %rd1; bar.sync 0; ld.shared.u8 %r3, [room]; bar.sync 0; st.shared.u8 [room], %r3; "
             "bar.sync 0; ld.shared.u64 %rd9, [room];",
    "other array and the distance to it": "sub.s64 %rd6, %rd1, %rd2; add.s64 %rd9, %rd2, %rd6;",
}


@pytest.mark.parametrize("way", MIXTURES)
def test_a_mixture_may_go_to_any_array_and_to_no_gap(way):
    code = images(MIXTURES[way])
    for index in (0, COUNT - 1, neighbour(), neighbour() + COUNT - 1):
        device, launch, _ = launched(code, index)
        device.wait(launch, LIMIT)
    for index in (-1, COUNT, COUNT + GUARD_BYTES // 4 - 1, neighbour() - 1):
        found, _ = violation(code, index)
        assert found.expected is None and found.nearest is not None


@pytest.mark.parametrize("index", [-1, COUNT, COUNT + 1, -5000, 100_000])
def test_one_element_is_enough(index):
    found, (a, _, _) = violation(images(WAYS["move"]), index)
    assert found.address == a.address + 4 * index and found.size == 4 and found.access == "load"
    assert str(found).startswith(f"load of 4 bytes at {found.address:#010x}, ")


def test_the_message_names_everything():
    device, launch, (a, _, _) = launched(images(WAYS["move"]), COUNT + 2)
    with pytest.raises(KernelFault) as caught:
        device.wait(launch, LIMIT)
    line = (HEAD + WAYS["move"] + TAIL)[:(HEAD + WAYS["move"] + TAIL).index("ld.global.u32")].count("\n") + 1
    assert str(caught.value).startswith(
        f"out of bounds in kernel 'k' (way.ptx:{line}): load of 4 bytes at {a.address + 4 * COUNT + 8:#010x}, 8 bytes "
        f"behind the end of the array of parameter a (96 bytes at {a.address:#010x}), from which its address comes, "
        "by thread (0, 0, 0) of block (0, 0, 0); PC ")


def test_the_thread_is_named_by_its_indices():
    code = HEAD.replace("%tid.x;", "%tid.y;") + """
        mov.u32 %r3, %ctaid.y; mov.u32 %r4, %tid.x; add.s32 %r5, %r4, %r3; setp.ne.u32 %p1, %r5, 3; mov.u64 %rd9, %rd1;
        setp.ne.u32 %p2, %r1, 2; or.pred %p1, %p1, %p2; @%p1 bra OUT; add.s64 %rd9, %rd1, -4; OUT: mov.u64 %rd4, 0;
        """ + TAIL
    device = open_device("golden", TINY, 1 << 20, check_bounds=True)
    arrays = [device.array(np.zeros(COUNT, np.uint32)) for _ in range(3)]
    launch = device.load(compile_ptx(code, "way.ptx").values())["k"]((2, 2), (3, 5), [*arrays, 0])
    with pytest.raises(KernelFault, match=r"by thread \(2, 2, 0\) of block \(0, 1, 0\)"):
        device.wait(launch, LIMIT)


@pytest.mark.parametrize("access", [
    "st.global.u32 [%rd11], %r1;", "atom.global.add.u32 %r2, [%rd11], 1;", "red.global.add.u32 [%rd11], 1;",
    "st.global.u8 [%rd11+3], %r1;", "ld.volatile.global.v2.u32 {%r2, %r3}, [%rd11+-8];",
    "ld.volatile.global.u64 %rd20, [%rd11+-8];", "ld.volatile.global.u16 %r2, [%rd11+2];",
    "ld.volatile.u32 %r2, [%rd11];", "atom.global.cas.b64 %rd20, [%rd11+-8], 1, 2;"])
def test_every_kind_of_access_is_checked(access):
    code = images(WAYS["move"] + "shl.b64 %rd10, %rd4, 2; add.s64 %rd11, %rd9, %rd10;" + access
                       + "mov.u64 %rd4, 0;")
    device, launch, _ = launched(code, COUNT - 1 - ("-8" in access and COUNT - 3))
    device.wait(launch, LIMIT)
    found, (_, b, _) = violation(code, neighbour() + 2)
    assert found.nearest.start == b.address
    assert found.access == ("load" if access.startswith("ld") else "store" if access.startswith("st") else "atomic")


def test_an_access_across_the_end_is_named_so():
    code = images("add.s64 %rd8, %rd1, 88; ld.volatile.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd8]; "
                       "mov.u64 %rd9, %rd1;")
    found, _ = violation(code, 0)
    assert found.size == 16 and "8 bytes across the end of the array of parameter a" in str(found)


def test_without_the_check_the_same_kernels_reach_the_neighbour():
    device, launch, (a, b, c) = launched(images(WAYS["move"]), 0, checked=False)
    device.wait(launch, LIMIT)
    index = (b.address - a.address) // 4
    device, launch, (a, b, c) = launched(images(WAYS["move"]), index, checked=False)
    device.wait(launch, LIMIT)
    assert (c.get() == 100).all()


@pytest.mark.parametrize("high", [1, 0x7FFF_FFFF, -1])
@pytest.mark.parametrize("access", ["ld.volatile.global.u32 %r2, [%rd8];", "st.global.u32 [%rd8+4], %r1;",
                                    "ld.volatile.u32 %r2, [%rd8];",
                                    "atom.global.add.u32 %r2, [%rd8], 1;"])
def test_an_upper_word_that_is_not_zero_is_found(high, access):
    way = f"add.s64 %rd8, %rd1, {high << 32}; {access} mov.u64 %rd9, %rd1;"
    found, _ = violation(images(way), 0)
    assert found.high_word and "upper 32 bits are not zero" in str(found)
    device, launch, _ = launched(images(way, check_addresses=False), 0)
    device.wait(launch, LIMIT)


def test_a_sum_that_carries_into_the_upper_word_and_back_is_right():
    way = "add.s64 %rd6, %rd1, -64; add.s64 %rd7, %rd6, 0x7fffffff0; add.s64 %rd8, %rd7, -0x7fffffff0; " \
        "ld.volatile.global.u32 %r2, [%rd8+64]; sub.s64 %rd6, %rd5, %rd5; sub.s64 %rd7, %rd6, 4; " \
        "add.s64 %rd8, %rd1, %rd7; " \
        "ld.volatile.global.u32 %r2, [%rd8+4]; mov.u64 %rd9, %rd1;"
    device, launch, _ = launched(images(way), 0)
    device.wait(launch, LIMIT)


@pytest.mark.parametrize(("mechanism", "way", "samples"), [
    (Mechanism.OCCUPIED, "many live values", 3), (Mechanism.LIVE, "shared memory", 6), (Mechanism.LIVE_CP, "sum", 6),
    *(pytest.param(mechanism, way, 1_000, marks=pytest.mark.full) for mechanism in Mechanism for way in WAYS)])
def test_contexts_keep_tags(mechanism, way, samples):
    code = images(WAYS[way])
    device, launch, _ = launched(code, neighbour())
    with pytest.raises(KernelFault):
        device.wait(launch, LIMIT)
    saved = 0
    for at in range(1, device.cycle, max(1, device.cycle // samples)):
        device, launch, (a, _, _) = launched(code, neighbour())
        device.advance(at)
        with pytest.raises(KernelFault) as caught:
            if device.preempt(launch, mechanism, scramble=True) is not None:
                saved += 1
                other = device.load([KERNELS["vecadd"].image()])["vecadd"]
                numbers = [device.array(np.ones(8, np.int32)) for _ in range(3)]
                device.wait(other(1, 8, [*numbers, 8]), LIMIT)
                assert (numbers[2].get() == 2).all()
                device.resume(launch)
            device.wait(launch, LIMIT)
        assert caught.value.record.violation.expected.start == a.address
    assert saved or mechanism is not Mechanism.OCCUPIED


def test_a_violation_ends_the_whole_kernel_at_once():
    spin = HEAD + """
        mov.u32 %r3, %ctaid.x; mov.u64 %rd9, %rd1; setp.eq.u32 %p1, %r3, 1; @%p1 bra BEYOND;
        WAIT: ld.volatile.global.u32 %r4, [%rd2]; setp.ne.u32 %p2, %r4, 12345; @%p2 bra WAIT;
        BEYOND: """ + TAIL
    device = open_device("golden", TINY, 1 << 20, check_bounds=True)
    arrays = [device.array(np.zeros(COUNT, np.uint32)) for _ in range(3)]
    module = device.load(compile_ptx(spin, "way.ptx", CompileOptions(max_registers=16)).values())
    launch = module["k"](5, 8, [*arrays, COUNT])
    with pytest.raises(KernelFault, match="block \\(1, 0, 0\\)"):
        device.wait(launch, 20_000)
    again = module["k"](1, 8, [arrays[0], device.array(np.full(4, 12345, np.uint32)), arrays[2], 0])
    device.wait(again, LIMIT)


def test_neighbours_of_a_preempted_kernel_are_checked_on_their_own():
    code = images(WAYS["move"])
    device, launch, arrays = launched(code, 3)
    device.advance(5)
    assert device.preempt(launch, Mechanism.OCCUPIED)
    with pytest.raises(KernelFault):
        device.wait(device.load(code)["k"](1, COUNT, [*arrays, COUNT]), LIMIT)
    device.resume(launch)
    device.wait(launch, LIMIT)
    assert (arrays[2].get() == 3).all()


def test_global_variables_of_the_module_and_null_pointers():
    code = images("mov.u64 %rd9, place; add.s64 %rd9, %rd9, 508;")
    device, launch, _ = launched(code, 0)
    device.wait(launch, LIMIT)
    assert "the module's global variables (512 bytes" in str(violation(code, 1)[0])
    found, _ = violation(images("mov.u64 %rd9, 0;"), 0)
    assert found.expected is None and found.address == 0


def test_snapshots_keep_tags():
    code = images(WAYS["shared memory"])
    device, launch, (a, _, _) = launched(code, neighbour())
    device.advance(20)
    kept = device.transport.snapshot(), device.host_state()
    for _ in range(2):
        with pytest.raises(KernelFault) as caught:
            device.wait(launch, LIMIT)
        assert caught.value.record.violation.expected.start == a.address
        device.transport.restore(kept[0])
        device.set_host_state(kept[1])


def test_checking_changes_nothing_else():
    code = images(WAYS["many live values"])
    results = []
    for checked in (False, True):
        device = open_device("golden", TINY, 1 << 20, trace=True, check_bounds=checked)
        arrays = [device.array(np.arange(COUNT, dtype=np.uint32)) for _ in range(3)]
        first = device.system.used()
        launch = device.load(code)["k"](2, COUNT, [*arrays, 7])
        device.wait(launch, LIMIT)
        trace = device.transport.take_trace()
        results.append((first, device.cycle, arrays[2].get().tolist(), trace["pc"].tolist(), trace["mask"].tolist()))
    assert results[0] == results[1]
