"""Preempts that trap into preemption routines, on both engines of the golden model."""

import pytest

from caesura import open_device
from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.hw.arch.isa.words import Instruction, encode
from caesura.software.compiler import KernelImage

make = Instruction.make
TINY = preset("tiny")
ADD = make("iadd.i", d=0, a=0, imm=1)
KERNEL = [make("s2r", d=0, imm=0), *[ADD] * 4, make("pp", live=1), make("pp.div", live=1), *[ADD] * 4, make("exit")]


def image(bodies, code=KERNEL):
    """Return a kernel; `bodies` has the routine of some instructions, without the branch back."""
    vectors, words = [], []
    for pc in range(len(code)):
        routine = [*bodies.get(pc, ()), make("bra", target=pc, reconv=PC_NONE)]
        if len(routine) > 4:
            routine, more = [make("bra", target=5 * len(code) + len(words), reconv=PC_NONE)], routine
            words += more
        vectors += routine + [make("trap")] * (4 - len(routine))
    return KernelImage("kernel", tuple(map(encode, code)), 2, predicates=0,
                       traps=tuple(map(encode, (*vectors, *words))))


def stopped(bodies, cycles, threads=8):
    """Preempt a warp after so many cycles; return device, launch, and the saved warp."""
    device = open_device("golden", TINY, memory_bytes=1 << 20)
    launch = device.load([image(bodies)])["kernel"](1, threads, [])
    device.advance(cycles)
    assert device.preempt(launch, "live", trap=True) is not None
    (tb,) = device.context(launch)
    (warp,) = tb.warps
    return device, launch, warp


def body(live, *again):
    return [make("pp", live=live), make("pp.div", live=live | 2), *again]


@pytest.mark.parametrize("cycles", range(1, 5))
def test_a_warp_stops_in_the_routine_of_its_instruction(cycles):
    bodies = {pc: body(1) for pc in range(len(KERNEL) - 1)}
    device, launch, warp = stopped(bodies, cycles)
    below, top = warp.stack
    assert below.pc == top.reconv and top.pc >= len(KERNEL) and top.mask == below.mask
    assert [*warp.registers] == [0]  # by the pp, not by the pp.div: no lane waits elsewhere
    device.resume(launch)
    device.wait(launch)


def test_reverts_and_what_is_done_again():
    """The register is saved as it was two instructions before."""
    back = make("isub.i", d=0, a=0, imm=1)
    bodies = {pc: [back, back, *body(1, ADD, ADD)] for pc in range(3, 5)}
    device, launch, warp = stopped(bodies, 3)
    pc = warp.stack[0].pc
    assert pc in (3, 4) and warp.registers[0][0] == pc - 1 - 2
    device.resume(launch)
    device.run(launch, 4)
    device.preempt(launch, "live", patience="unlimited")
    (tb,) = device.context(launch)
    assert tb.warps[0].stack[-1].pc == 7 and tb.warps[0].registers[0][0] == 4


def test_a_vector_that_leads_back_lets_the_warp_run_on():
    device, launch, warp = stopped({3: body(1)}, 1)
    assert warp.stack[0].pc == 3 and len(warp.stack) == 2
    device.resume(launch)
    device.preempt(launch, "live", trap=True)  # at once: what it was stopped at retires first
    (tb,) = device.context(launch)
    assert [entry.pc for entry in tb.warps[0].stack] == [7]
    device.resume(launch)
    assert device.preempt(launch, "live", trap=True) is None  # nothing stops it any more


def test_a_warp_of_an_unfinished_row_of_threads():
    device, launch, warp = stopped({2: body(1)}, 1, threads=5)
    assert warp.stack[-1].mask == 0b11111
    device.resume(launch)
    device.wait(launch)
