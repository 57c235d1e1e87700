"""Local and constant memory of the golden model: where a thread's bytes lie, and what may be accessed."""

import random
import struct

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.opcodes import Size
from caesura.sim.golden.transport import GoldenTransport
from caesura.software.compiler import KernelImage
from support.programs.machine_code import word
from support.sim.launch import Bench

LOCAL_BYTES = 20
CONSTANTS = random.Random(3).randbytes(300)


def launch(*words, name="gtx480", block=(64,), grid=(1,), local_bytes=LOCAL_BYTES):
    """Start a kernel whose only window lies elsewhere; return the bench, what was loaded and the resident TBs."""
    transport = GoldenTransport(preset(name), 1 << 18)
    bench = Bench(transport)
    image = KernelImage("k", (*words, word("exit")), 16, local_bytes=local_bytes, constants=CONSTANTS)
    loaded = bench.load(0, image, grid, block, windows=((0, 128),))
    bench.start(0)
    transport.machine.manage()
    return bench, loaded, transport.machine.resident()


@pytest.mark.parametrize("size", [Size.U8, Size.U16, Size.B32], ids=lambda s: s.name)
def test_words_of_the_lanes_of_a_warp_interleave(size):
    rng = random.Random(size)
    bits = 8 * size.bytes
    bench, loaded, tbs = launch(word(f"st.local.b{bits}", a=0, imm=4, d=1, guard=0), grid=(2,), block=(64,))
    expected = bytearray(loaded.local_end - loaded.local_base)
    for number, tb in enumerate(tbs):
        for warp in tb.warps:
            offsets = [rng.randrange(0, LOCAL_BYTES, size.bytes) for _ in range(32)]
            warp.registers[0] = [(offset - 4) % (1 << 32) for offset in offsets]
            warp.registers[1] = data = [rng.getrandbits(32) for _ in range(32)]
            warp.predicates[0] = 0xFFFF_FFFE
            for lane in range(1, 32):
                at = number * 1280 + warp.index * LOCAL_BYTES * 32 + offsets[lane] // 4 * 128 + 4 * lane
                at += offsets[lane] % 4
                expected[at:at + size.bytes] = (data[lane] & (1 << bits) - 1).to_bytes(size.bytes, "little")
    bench.transport.advance(4)
    assert bench.fault() is None and len(tbs) == 2
    assert bench.transport.read_memory(loaded.local_base, len(expected)) == bytes(expected)


@pytest.mark.parametrize("size", [s for s in Size if s.registers == 1], ids=lambda s: s.name)
def test_what_was_stored_is_loaded(size):
    code = {Size.U8: "B", Size.S8: "b", Size.U16: "H", Size.S16: "h", Size.B32: "I"}[size]
    bench, _, (tb,) = launch(word("st.local.b32", no_base=1, imm=8, d=1),
                             word(f"ld.local.{size.name.lower()}", a=0, imm=8, d=2), block=(32,))
    warp = tb.warps[0]
    data = [random.Random(lane).getrandbits(32) for lane in range(32)]
    warp.registers[1] = data
    warp.registers[0] = places = [lane * size.bytes % 4 for lane in range(32)]
    bench.transport.advance(2)
    for lane in range(32):
        (value,) = struct.unpack_from("<" + code, struct.pack("<I", data[lane]), places[lane])
        assert warp.registers[2][lane] == value % (1 << 32)


@pytest.mark.parametrize("size", list(Size), ids=lambda s: s.name)
def test_constant_load_of_every_size(size):
    rng = random.Random(size)
    offsets = [rng.randrange(300 // size.bytes) * size.bytes for _ in range(32)]
    bench, _, (tb,) = launch(word(f"ld.const.{size.name.lower()}", a=0, imm=16, d=4), block=(32,))
    tb.warps[0].registers[0] = [(offset - 16) % (1 << 32) for offset in offsets]
    bench.transport.advance(1)
    assert bench.fault() is None
    code = {Size.U8: "B", Size.S8: "b", Size.U16: "H", Size.S16: "h", Size.B32: "I", Size.B64: "2I", Size.B128: "4I"}
    for lane, offset in enumerate(offsets):
        expected = [v % (1 << 32) for v in struct.unpack_from("<" + code[size], CONSTANTS, offset)]
        assert tb.warps[0].registers[4:4 + size.registers, lane].tolist() == expected


@pytest.mark.parametrize("name, address, kind", [
    ("ld.local.b32", 20, Fault.LOCAL_BOUND), ("st.local.b8", 20, Fault.LOCAL_BOUND),
    ("st.local.b32", (1 << 32) - 4, Fault.LOCAL_BOUND), ("ld.local.u16", 1, Fault.MISALIGNED),
    ("ld.const.b32", 300, Fault.CONSTANT_BOUND), ("ld.const.b128", 288, Fault.CONSTANT_BOUND),
    ("ld.const.b64", 292, Fault.MISALIGNED), ("ld.const.u8", (1 << 32) - 1, Fault.CONSTANT_BOUND),
])
def test_faulting_access_reports_the_lowest_faulting_lane(name, address, kind):
    bench, loaded, (tb,) = launch(word(name, a=0, d=4), block=(32,))
    tb.warps[0].registers[0] = [address if lane > 4 else 0 for lane in range(32)]
    bench.transport.advance(1)
    fault = bench.fault()
    assert (fault.kind, fault.address) == (kind, address)
    assert not any(bench.transport.read_memory(loaded.local_base, loaded.local_end - loaded.local_base))


def test_a_kernel_without_local_memory_has_none():
    bench, loaded, _ = launch(word("ld.local.u8", no_base=1, d=4), block=(32,), local_bytes=0)
    bench.transport.advance(1)
    assert bench.fault().kind is Fault.LOCAL_BOUND and loaded.local_base == loaded.local_end == 0
