"""The SM itself on both simulators."""

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.isa.opcodes import Special
from caesura.sim.rtl.amaranth_sim import AmaranthTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.workloads.random_native import Assembly, Label
from caesura.software.compiler import KernelImage
from support.sim.launch import Bench

TINY = PRESETS["tiny"]


def doubling(rounds):
    """Lanes with an odd thread index double their index `rounds` times, the others once; all store it."""
    code, again, join = Assembly(), Label(), Label()
    code.emit("s2r", d=0, imm=Special.TID_X)
    code.emit("ldp", d=1, imm=0)
    code.emit("shl.i", d=2, a=0, imm=2)
    code.emit("iadd", d=1, a=1, b=2)
    code.emit("mov.i", d=3, imm=0)
    code.emit("and.i", d=4, a=0, imm=1)
    code.emit("imul.lo.i", d=4, a=4, imm=rounds)
    code.place(again)
    code.emit("iadd", d=0, a=0, b=0)
    code.emit("iadd.i", d=3, a=3, imm=1)
    code.emit("setp.lt.u", pd=0, a=3, b=4)
    code.emit("bra", guard=0, target=again, reconv=join)
    code.place(join)
    code.emit("st.global.b32", d=0, a=1, imm=0)
    code.emit("exit")
    return KernelImage("doubling", code.words(), registers=8, stack_depth=3)


@pytest.mark.full
def test_verilator_and_amaranth_run_a_divergent_kernel_alike():
    seen = []
    for kind in (RtlTransport, AmaranthTransport):
        machine = kind(TINY, 1 << 16, trace=True)
        bench = Bench(machine)
        out = bench.store(bytes(64))
        bench.load(0, doubling(3), (1,), (16,), params=[out])
        bench.start(0)
        bench.finish(0, limit=1000)
        assert bench.fault() is None
        index = np.arange(16)
        assert np.array_equal(np.frombuffer(machine.read_memory(out, 64), "<u4"), index << (1 + index % 2 * 2))
        seen.append((machine.cycle, machine.read_memory(0, 1 << 16), machine.traffic.read, machine.take_trace()))
    assert seen[0][:3] == seen[1][:3]
    assert np.array_equal(seen[0][3], seen[1][3]) and len(seen[0][3]) > 50
