"""Loads and stores of the golden model: sizes, order of colliding stores, partial effects of faults."""

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

BASE, END = 0x4000, 0x5000
STORES = [s for s in Size if s not in (Size.S8, Size.S16)]


def launch(words, addresses, shared=0, windows=((BASE, END),), data=()):
    """Start one full warp with `addresses` in register 0 and `data` in the registers from 4."""
    transport = GoldenTransport(preset("gtx480"), 1 << 16)
    bench = Bench(transport)
    bench.load(0, KernelImage("k", (*words, word("exit")), 16), (1,), (32,), windows=windows, shared_bytes=shared)
    bench.start(0)
    transport.machine.manage()
    (tb,) = transport.machine.resident()
    tb.warps[0].registers[0] = addresses
    for k, values in enumerate(data):
        tb.warps[0].registers[4 + k] = values
    return bench, tb


def random_registers(rng, count):
    return [[rng.getrandbits(32) for _ in range(32)] for _ in range(count)]


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("size", list(Size), ids=lambda s: s.name)
def test_load_of_every_size_and_alignment(space, size):
    rng = random.Random(size)
    contents = rng.randbytes(1024)
    offsets = [rng.randrange(1024 // size.bytes) * size.bytes for _ in range(32)]
    base = BASE if space == "global" else 0
    bench, tb = launch([word(f"ld.{space}.{size.name.lower()}", d=4, a=0, imm=-4 % (1 << 32))],
                       [base + offset + 4 for offset in offsets], shared=1024)
    bench.transport.write_memory(BASE, contents)
    tb.shared[:] = list(contents)
    bench.transport.advance(1)
    code = {Size.U8: "B", Size.S8: "b", Size.U16: "H", Size.S16: "h", Size.B32: "I", Size.B64: "2I", Size.B128: "4I"}
    for lane, offset in enumerate(offsets):
        expected = struct.unpack_from("<" + code[size], contents, offset)
        assert tb.warps[0].registers[4:4 + size.registers, lane].tolist() == [v % (1 << 32) for v in expected]


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("size", STORES, ids=lambda s: s.name)
def test_store_highest_lane_wins(space, size):
    rng = random.Random(size)
    offsets = [rng.randrange(8) * size.bytes for _ in range(32)]
    data = random_registers(rng, size.registers)
    base = BASE if space == "global" else 0
    bench, tb = launch([word(f"st.{space}.b{8 * size.bytes}", a=0, d=4)], [base + o for o in offsets], 1024, data=data)
    expected = bytearray(8 * size.bytes)
    for lane, offset in enumerate(offsets):
        value = b"".join(struct.pack("<I", data[k][lane]) for k in range(size.registers))
        expected[offset:offset + size.bytes] = value[:size.bytes]
    bench.transport.advance(1)
    got = bench.transport.read_memory(BASE, len(expected)) if space == "global" else tb.shared[:len(expected)].tobytes()
    assert got == bytes(expected)
    assert tb.lines_valid == (1 if space == "shared" else 0)


def test_stores_before_a_bad_segment_are_done_and_nothing_after():
    addresses = [BASE + 4 * lane for lane in range(32)]
    addresses[5] = END  # its segment comes after that of lane 0
    addresses[6] = BASE + 256
    bench, _ = launch([word("st.global.b32", a=0, d=4)], addresses, data=[list(range(1, 33))])
    bench.transport.advance(1)
    memory = struct.unpack("<65I", bench.transport.read_memory(BASE, 260))
    assert [v for v in memory if v] == [lane + 1 for lane in range(32) if lane not in (5, 6)]
    fault = bench.fault()
    assert (fault.kind, fault.address, fault.pc) == (Fault.GLOBAL_WINDOW, END, 0)


@pytest.mark.parametrize("name, address, kind", [
    ("ld.global.b32", END, Fault.GLOBAL_WINDOW), ("ld.global.b32", BASE - 4, Fault.GLOBAL_WINDOW),
    ("st.global.b8", 0, Fault.GLOBAL_WINDOW), ("ld.global.b64", BASE + 4, Fault.MISALIGNED),
    ("st.global.b16", END + 1, Fault.MISALIGNED), ("ld.shared.b32", 512, Fault.SHARED_BOUND),
    ("st.shared.b64", 508, Fault.MISALIGNED), ("st.shared.b128", (1 << 32) - 16, Fault.SHARED_BOUND),
])
def test_faulting_access_reports_the_lowest_faulting_lane(name, address, kind):
    good = BASE if "global" in name else 0
    addresses = [good] * 32
    addresses[3] = address
    addresses[9] = address + 16 & 0xFFFF_FFFF
    bench, _ = launch([word(name, a=0, d=4)], addresses, shared=512)
    bench.transport.advance(1)
    fault = bench.fault()
    assert (fault.kind, fault.address, fault.kernel, fault.tb, fault.warp) == (kind, address, 0, 0, 0)
    bench.finish(0, 100)


def test_masked_lanes_neither_fault_nor_write():
    addresses = [BASE + 4 * lane for lane in range(32)]
    addresses[1] = 3
    bench, tb = launch([word("ld.global.b32", a=0, d=4, guard=0)], addresses, data=[[7] * 32])
    bench.transport.write_memory(BASE, bytes(range(128)))
    tb.warps[0].predicates[0] = 0xFFFF_FFF1
    bench.transport.advance(1)
    assert bench.fault() is None
    assert tb.warps[0].registers[4, :5].tolist() == [0x03020100, 7, 7, 7, 0x13121110]


def test_two_windows_and_no_base():
    bench, tb = launch([word("ld.global.b32", d=4, no_base=1, imm=0x6000)], [0] * 32,
                       windows=((BASE, END), (0x6000, 0x6080)))
    bench.transport.write_memory(0x6000, b"\x2a")
    bench.transport.advance(1)
    assert set(tb.warps[0].registers[4].tolist()) == {42}


def test_access_beyond_the_memory_is_a_bus_error():
    bench, _ = launch([word("ld.global.b32", a=0, d=4)], [1 << 20] * 32, windows=((0, 1 << 21),))
    bench.transport.advance(1)
    assert bench.fault().kind is Fault.BUS_ERROR
