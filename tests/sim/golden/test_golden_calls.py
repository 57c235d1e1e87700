"""Calls and returns of the golden model: `call` and `bru`, in divergent code too, and return addresses gone wild."""

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PC_NONE
from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.opcodes import Special
from caesura.sim import open_device
from caesura.software.compiler import assemble
from support.programs.machine_code import field, start, word


def steps(count, *words, **options):
    """Run `count` instructions of a one-warp kernel; return the bench and its warp."""
    bench, (tb, *_) = start(*words, **options)
    bench.transport.advance(count)
    return bench, tb.warps[0]


def test_call_writes_the_return_address_and_bru_goes_back():
    code = [word("call", d=31, target=3), word("mov.i", d=1, imm=5), word("exit"), word("mov.i", d=2, imm=6),
            word("bru", a=31)]
    _, warp = steps(1, *code)
    assert warp.stack[-1].pc == 3 and warp.uniforms[31] == 1 and warp.uniforms_written == 1 << 31
    bench, warp = steps(4, *code)
    assert bench.fault() is None and warp.stack[-1].pc == 2
    assert set(warp.registers[1].tolist()) == {5} and set(warp.registers[2].tolist()) == {6}


def test_only_the_active_lanes_go():
    """Two sides call one routine, from different places; each comes back to its own."""
    code = [word("s2r", d=0, imm=Special.LANEID), word("setp.lt.u.i", pd=0, a=0, imm=3),
            word("bra", target=5, reconv=7, guard=0),
            word("call", d=4, target=9), word("bra", target=7, reconv=7),
            word("mov.i", d=1, imm=100), word("call", d=4, target=9),
            word("iadd.i", d=1, a=1, imm=1000), word("exit"),
            word("iadd", d=1, a=1, b=0), word("iadd.i", d=1, a=1, imm=1), word("bru", a=4)]
    bench, warp = steps(3 + 5 + 5 + 1, *code)
    assert bench.fault() is None and warp.stack[-1].pc == 8 and len(warp.stack) == 1
    assert warp.registers[1].tolist() == [1000 + lane + 1 + 100 * (lane < 3) for lane in range(8)]


def test_a_call_or_return_to_where_the_lanes_meet_pops_the_stack():
    head = [word("s2r", d=0, imm=Special.LANEID), word("setp.lt.u.i", pd=0, a=0, imm=3),
            word("bra", target=4, reconv=6, guard=0)]
    _, warp = steps(4, *head, word("nop"), word("call", d=1, target=6), word("nop"))
    assert [(e.pc, e.mask) for e in warp.stack] == [(6, 0xFF), (3, 0xF8)] and warp.uniforms[1] == 5
    _, warp = steps(5, *head, word("nop"), word("umov.i", d=1, imm=6), word("bru", a=1))
    assert [(e.pc, e.mask) for e in warp.stack] == [(6, 0xFF), (3, 0xF8)]


def test_rejoin_goes_to_where_the_entry_ends():
    head = [word("s2r", d=0, imm=Special.LANEID), word("setp.lt.u.i", pd=0, a=0, imm=3),
            word("bra", target=5, reconv=7, guard=0)]
    code = [*head, word("mov.i", d=1, imm=5), word("rejoin"), word("mov.i", d=1, imm=6), word("rejoin"), word("exit")]
    _, warp = steps(5, *code)
    assert [(e.pc, e.mask) for e in warp.stack] == [(7, 0xFF), (3, 0xF8)]
    bench, warp = steps(7, *code)
    assert bench.fault() is None and [(e.pc, e.mask) for e in warp.stack] == [(7, 0xFF)]
    assert warp.registers[1].tolist() == [6] * 3 + [5] * 5


def test_rejoin_faults_where_nothing_ends():
    bench, _ = steps(2, word("nop"), word("rejoin"))
    fault = bench.fault()
    assert (fault.kind, fault.pc) == (Fault.FETCH_BOUND, 1)


@pytest.mark.parametrize("address, pc", [
    (99, 99), (PC_NONE - 1, PC_NONE - 1), (PC_NONE, 1), (PC_NONE + 1, 1), (1 << 31, 1), (0xFFFF_FFFF, 1)])
def test_a_wild_return_address_faults(address, pc):
    """Where the fetch fails; an address that no PC holds, at the return itself."""
    bench, _ = steps(3, word("umov.i", d=1, imm=address), word("bru", a=1))
    fault = bench.fault()
    assert (fault.kind, fault.pc) == (Fault.FETCH_BOUND, pc)


@pytest.mark.parametrize("target", [99, PC_NONE])
def test_a_call_out_of_the_code_faults_there(target):
    bench, _ = steps(3, word("call", d=1, target=target))
    fault = bench.fault()
    assert (fault.kind, fault.pc) == (Fault.FETCH_BOUND, target)


@pytest.mark.parametrize("bad", [word("call", d=1, target=0) | field("d", Format.C, 32),
                                 word("bru", a=1) | field("a", Format.C, 32)])
def test_registers_that_do_not_exist_are_illegal(bad):
    bench, _ = steps(1, bad)
    assert bench.fault().kind is Fault.ILLEGAL_OPCODE


def test_a_return_address_is_no_address_of_an_array():
    """With bounds checked: the tag of what the register held before goes."""
    image, = assemble(".kernel k\n.param a u32 0 4 pointer\nuldp U1, param[0]\ncall U1, routine\nexit\n"
                      "routine:\nmov.i R1, 3\nbru U1\n")
    device = open_device("golden", "tiny", 1 << 16, check_bounds=True)
    device.load([image])["k"](1, 8, [device.empty(8, np.uint32)])
    machine, tags = device.transport.machine, []
    for _ in range(10):
        device.advance(1)
        tags += [(warp.stack[-1].pc, warp.bounds_tags().uniform(1)) for tb in machine.resident() for warp in tb.warps]
    assert dict(tags)[1] > 0 and dict(tags)[3] == 0
