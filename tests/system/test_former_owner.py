"""Nothing of a former owner can be read: not by the next kernel in its slot, not through the inspect registers."""

import numpy as np
import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa import Special
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.testing.launch import Bench
from caesura.software.compiler import KernelImage, Parameter
from caesura.software.driver import Device
from support.sim.machine_code import word

TINY = preset("tiny")
LIMIT = 20_000
BACK_ENDS = pytest.mark.parametrize("transport", [GoldenTransport, RtlTransport], ids=["golden", "rtl"])


EXIT = word("exit")


@BACK_ENDS
def test_parameters_of_the_last_kernel_in_the_slot_read_as_zero(transport):
    device = Device(transport(TINY, memory_bytes=1 << 18))
    secret = KernelImage("secret", (EXIT,), 4,
                         parameters=(Parameter("a", "u64", 0, 8), Parameter("b", "u64", 8, 8)))
    spy = KernelImage("spy", (word("ldp", d=0, imm=8), word("ldp", d=1, imm=0), word("st.global.b32", a=1, d=0), EXIT),
                      4, parameters=(Parameter("out", "u32", 0, 4, True),))
    module = device.load([secret, spy])
    output = device.array(np.full(8, 7, np.uint32))
    first = module["secret"](1, 8, (0x1234, 0x5EC2E7))
    device.wait(first, LIMIT)
    second = module["spy"](1, 8, (output,))
    device.wait(second, LIMIT)
    assert second.slot == first.slot
    assert output.get()[0] == 0


@BACK_ENDS
def test_inspect_registers_show_no_stack_entry_that_is_not_there(transport):
    bench = Bench(transport(TINY, memory_bytes=1 << 16))
    nested = [word("s2r", d=0, imm=Special.TID_X)]
    for level in range(4):
        nested += [word("setp.lt.u.i", pd=1, a=0, imm=6 - level),
                   word("bra", guard=1, target=len(nested) + 3, reconv=100 + level), EXIT]
    bench.load(0, KernelImage("nested", (*nested, EXIT), 4, 7, 0, TINY.stack_depth), (1,), (8,))
    bench.start(0)
    bench.finish(0, LIMIT)
    shown = set()
    for slot in range(TINY.warps):
        for entry in range(TINY.stack_depth):
            bench.set("inspect", warp=slot, entry=entry)
            shown |= {bench.get(name) for name in ("inspect_pc", "inspect_mask", "inspect_live", "inspect_state")}
    assert shown == {0}, "an empty warp slot shows something"

    bench.load(0, KernelImage("spin", (word("bra", target=0, reconv=0),), 4), (1,), (8,))
    bench.start(0)
    bench.transport.advance(200)
    bench.set("inspect", warp=0, entry=0)
    assert bench.fields("inspect_state")["depth"] == 1 and bench.get("inspect_mask") == 0xFF
    for entry in range(1, TINY.stack_depth):
        bench.set("inspect", warp=0, entry=entry)
        assert bench.get("inspect_pc") == 0 and bench.get("inspect_mask") == 0
