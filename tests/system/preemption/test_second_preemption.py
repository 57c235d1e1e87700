"""A warp that waited at a barrier through one preemption is saved rightly by the next one."""

import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.opcodes import Special
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.compiler import KernelImage
from support.programs.machine_code import word
from support.sim.launch import Bench

TINY = preset("tiny")
LIVE = 0b1111


WAITER = (  # warp 0 waits at a barrier while warp 1 counts; then each thread stores 7 to its word
    word("s2r", d=0, imm=Special.TID_X), word("ldp", d=1, imm=0), word("mov.i", d=2, imm=7),
    word("mov.i", d=3, imm=200),
    word("setp.lt.u.i", pd=0, a=0, imm=8), word("bra", target=11, reconv=11, guard=0),
    word("pp", live=LIVE), word("pp.div", live=LIVE),
    word("isub.i", d=3, a=3, imm=1), word("setp.ne.i", pd=1, a=3, imm=0), word("bra", target=6, reconv=11, guard=1),
    word("bar.pp.0", live=LIVE),
    word("shl.i", d=0, a=0, imm=2), word("iadd", d=0, a=0, b=1), word("st.global.b32", a=0, d=2), word("exit"))
OTHER = (word("mov.i", d=2, imm=0xBAD), word("bar.pp.3", live=0), word("exit"))


@pytest.mark.parametrize("transport", [GoldenTransport, RtlTransport], ids=["golden", "rtl"])
def test_liveness_of_a_waiting_warp_does_not_come_from_who_had_its_slot_before(transport):
    bench = Bench(transport(TINY, memory_bytes=1 << 16))
    output = bench.store(bytes(64))
    bench.load(0, KernelImage("waiter", WAITER, 5), (1,), (16,), params=(output,))
    bench.load(1, KernelImage("other", OTHER, 4), (1,), (16,))
    bench.start(0)
    bench.transport.advance(400)
    for _ in range(2):
        bench.preempt(0, Mechanism.LIVE, scramble=True)
        assert bench.state(0) is KernelState.PREEMPTED and bench.get("save_registers") == 8
        bench.start(1)
        bench.finish(1, 10_000)
        bench.resume(0, scramble=True)
        bench.transport.advance(20)
    bench.finish(0, 100_000)
    assert bench.transport.read_memory(output, 64) == b"\x07\0\0\0" * 16
