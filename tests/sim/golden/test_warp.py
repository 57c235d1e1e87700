"""SIMT stack rules, on a warp alone and against an interpreter that runs every lane by itself."""

import random

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.sim.golden.state.faults import WarpFault
from caesura.sim.golden.state.thread_block import Warp


class Block:
    """What a warp needs of its TB."""

    class kernel:  # noqa: N801
        registers = 4


def make(live=0xFF):
    return Warp(preset("tiny"), Block, 0, live)


def entries(warp):
    return [(e.pc, e.mask, e.reconv) for e in warp.stack]


def test_divergent_branch_pushes_both_sides_taken_on_top():
    warp = make()
    warp.branch(0x0F, target=10, reconv=20)
    assert entries(warp) == [(20, 0xFF, PC_NONE), (1, 0xF0, 20), (10, 0x0F, 20)]


def test_uniform_branches_push_nothing():
    warp = make()
    warp.branch(0xFF, target=10, reconv=20)
    assert entries(warp) == [(10, 0xFF, PC_NONE)]
    warp.branch(0, target=3, reconv=20)
    assert entries(warp) == [(11, 0xFF, PC_NONE)]


def test_a_side_that_starts_at_its_reconvergence_is_not_pushed():
    warp = make()
    warp.branch(0x0F, target=10, reconv=10)
    assert entries(warp) == [(10, 0xFF, PC_NONE), (1, 0xF0, 10)]
    warp = make()
    warp.branch(0x0F, target=5, reconv=1)
    assert entries(warp) == [(1, 0xFF, PC_NONE), (5, 0x0F, 1)]


def test_a_divergent_loop_does_not_grow_the_stack():
    warp = make()
    depths = []
    for trip in range(7):
        warp.jump(5)
        warp.branch(0xFF << trip + 1 & 0xFF, target=2, reconv=6)
        depths.append(len(warp.stack))
    assert depths == [2] * 7
    warp.jump(5)
    warp.branch(0, target=2, reconv=6)
    assert entries(warp) == [(6, 0xFF, PC_NONE)]


def test_reaching_the_reconvergence_pops_as_many_entries_as_end_there():
    warp = make()
    warp.branch(0x0F, target=10, reconv=20)
    warp.branch(0x03, target=12, reconv=20)  # reuses the entry of 0x0F
    assert entries(warp) == [(20, 0xFF, PC_NONE), (1, 0xF0, 20), (11, 0x0C, 20), (12, 0x03, 20)]
    warp.jump(20)
    warp.jump(20)
    assert entries(warp) == [(20, 0xFF, PC_NONE), (1, 0xF0, 20)]
    warp.jump(20)
    assert entries(warp) == [(20, 0xFF, PC_NONE)]


def test_exit_clears_lanes_everywhere_and_pops_empty_entries():
    warp = make()
    warp.branch(0x0F, target=10, reconv=20)
    warp.exit(0x0F)
    assert warp.live == 0xF0
    assert entries(warp)[-1] == (1, 0xF0, 20)
    warp.exit(0x30)
    assert entries(warp)[-1] == (2, 0xF0, 20) and warp.live == 0xC0
    warp.exit(0xC0)
    assert warp.exited and not warp.stack and not warp.runs


def test_overflow_faults_and_leaves_the_stack():
    warp = make()
    for level in range(3):  # 1 + 2 * 3 = 7 of 8 entries
        warp.branch(0x7F >> level, target=100 * level + 50, reconv=100 * level + 90)
    before = entries(warp)
    with pytest.raises(WarpFault) as caught:
        warp.branch(0x01, target=400, reconv=401)
    assert caught.value.kind is Fault.STACK_OVERFLOW
    assert entries(warp) == before


def test_running_off_the_bottom_is_a_fetch_fault():
    warp = make()
    warp.stack[-1].reconv = 5
    with pytest.raises(WarpFault) as caught:
        warp.jump(5)
    assert caught.value.kind is Fault.FETCH_BOUND


def test_no_reconvergence_point_is_met_at_its_own_address():
    """``PC_NONE`` as a target is an address without code, not the place where lanes meet."""
    warp = make()
    warp.jump(PC_NONE)
    assert entries(warp) == [(PC_NONE, 0xFF, PC_NONE)]


def random_graph(rng):
    """Return structured code as a list of ("op",), ("bra", choices, target, reconv), ("exit", lanes)."""
    code = []

    def body(depth):
        for _ in range(rng.randint(1, 3)):
            kind = rng.random()
            if depth < 3 and kind < 0.5:
                at = len(code)
                code.append(None)
                body(depth + 1)
                over = len(code)
                if rng.random() < 0.7:
                    code.append(None)
                    body(depth + 1)
                    code[over] = ("bra", 0xFF, len(code), len(code))
                    over += 1
                code[at] = ("bra", rng.getrandbits(8), over, len(code))
            elif depth and kind < 0.6:
                code.append(("exit", 1 << rng.randrange(8)))
            else:
                code.append(("op",))

    body(0)
    code.append(("exit", 0xFF))
    return code


@pytest.mark.parametrize("seed", range(40))
def test_every_lane_walks_the_path_it_would_walk_alone(seed):
    code = random_graph(random.Random(seed))
    alone = []
    for lane in range(8):
        pc, path = 0, []
        while True:
            path.append(pc)
            op = code[pc]
            if op[0] == "exit" and op[1] >> lane & 1:
                break
            pc = op[2] if op[0] == "bra" and op[1] >> lane & 1 else pc + 1
        alone.append(path)
    warp = make()
    warp.g = preset("gtx480")
    walked = [[] for _ in range(8)]
    while not warp.exited:
        top = warp.stack[-1]
        active = top.mask & warp.live
        for lane in range(8):
            if active >> lane & 1:
                walked[lane].append(top.pc)
        op = code[top.pc]
        if op[0] == "bra":
            warp.branch(active & op[1], op[2], op[3])
        elif op[0] == "exit":
            warp.exit(active & op[1])
        else:
            warp.jump(top.pc + 1)
    assert walked == alone
