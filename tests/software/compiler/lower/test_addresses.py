"""Address arithmetic: every offset that is folded into an access, of every form, wraps at 32 bits."""

import numpy as np
import pytest

from caesura.hw.arch.isa.words import decode
from caesura.sim import open_device
from caesura.sim.workloads.random_ptx.addresses import RandomAddresses
from caesura.software.compiler import CompileError, compile_ptx
from support.selection import quick

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
PROGRAMS = 1200
SHARDS = 12


def run(program, device):
    memory = device.array(np.frombuffer(program.memory, np.uint8))
    out = device.zeros(program.row * program.threads, np.uint8)
    device.wait(device.load([compile_ptx(program.text)["k"]])["k"](1, program.threads, [memory, out]))
    rows = out.get().reshape(program.threads, program.row)
    for thread, (got, expected) in enumerate(zip(rows, program.expected, strict=True)):
        differ = np.flatnonzero(got != np.frombuffer(expected, np.uint8))
        assert not differ.size, (program.seed, thread, differ[:4], program.text)


@pytest.mark.parametrize("first", quick(range(0, PROGRAMS, PROGRAMS // SHARDS), ()))
@pytest.mark.timeout(3600)
def test_random_address_arithmetic(first):
    for seed in range(first, first + PROGRAMS // SHARDS):
        with open_device("golden", "gtx480", memory_bytes=1 << 23) as device:
            run(RandomAddresses(seed), device)


def test_some_random_address_arithmetic():
    for seed in range(6):
        with open_device("golden", "gtx480", memory_bytes=1 << 23) as device:
            run(RandomAddresses(10_000 + seed), device)


def kernel(body):
    return HEAD + f""".visible .entry k(.param .u64 o, .param .u32 n)
{{ .reg .b32 %n, %v; .reg .b64 %o, %x, %w; .shared .align 8 .b8 mine[64];
   ld.param.u64 %o, [o]; mov.u32 %n, %tid.x; mov.u32 %v, 3; mov.u64 %w, 1; {body} ret; }}"""


@pytest.mark.parametrize("offset", [-8, -6144, -(1 << 23), (1 << 23) - 8, -(1 << 23) - 8, 1 << 23, 1 << 31])
@pytest.mark.parametrize("access", ["red.global.add.u64 [{}], %w;", "atom.global.exch.b64 %w, [{}], %w;",
                                    "ld.global.u64 %w, [{}]; st.global.u64 [%o], %w;", "st.global.u64 [{}], %w;"])
def test_an_offset_from_the_index(access, offset):
    """``base + 8 * (n + c)``: the field of an atomic has 24 bits with a sign; what does not fit is added."""
    body = f"add.s32 %n, %n, {offset // 8}; mul.wide.u32 %x, %n, 8; add.s64 %x, %o, %x; {access.format('%x')}"
    image = compile_ptx(kernel(body))["k"]
    accesses = [ins for ins in map(decode, image.code) if "mem" in ins.op.operands]
    atomic = [ins for ins in accesses if ins.op.is_atomic]
    if atomic:
        fits = -(1 << 23) <= offset < 1 << 23
        assert [ins.get("imm") for ins in atomic] == [offset if fits else 0]
    else:
        assert accesses[0].get("imm") == offset & 0xFFFF_FFFF


@pytest.mark.parametrize("text", ["[mine-8]", "[mine+4294967288]"])
def test_a_constant_address_below_zero_wraps(text):
    """As the hardware's adder does; nothing lies there, so that the access faults when it executes."""
    image = compile_ptx(kernel(f"red.shared.add.u32 {text}, %v;"))["k"]
    atomic, = (ins for ins in map(decode, image.code) if ins.op.is_atomic)
    assert atomic.get("no_base") and atomic.get("imm") == -8


@pytest.mark.parametrize("text", ["[%o+4294967296]", "[%o-4294967297]", "[mine+99999999999]"])
def test_an_offset_of_more_than_32_bits_is_refused(text):
    with pytest.raises(CompileError, match="32 bits"):
        compile_ptx(kernel(f"ld.global.u64 %w, {text}; st.global.u64 [%o], %w;"))
