"""Commands the machine refuses: the golden model and the RTL answer each with the same error, and change nothing."""

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.hw.arch.isa.words import Instruction, encode
from caesura.sim import open_device
from caesura.software.compiler import KernelImage
from support.sim.launch import Bench

TINY = preset("tiny")
LIMIT = 50_000
POSSIBLE = {"grid": (1, 1, 1), "threads": 8, "warps": 1, "registers": 4, "shared_bytes": 0}
EXIT = encode(Instruction.make("exit"))
LOOP = encode(Instruction.make("bra", target=0, reconv=PC_NONE))
ACCEPTED = [
    {}, {"grid": (3, 2, 2)}, {"threads": 1}, {"threads": 9, "warps": 2}, {"threads": 16, "warps": 2},
    {"threads": 32, "warps": 4}, {"registers": 1}, {"registers": 16}, {"shared_bytes": 1}, {"shared_bytes": 1024},
    {"threads": 32, "warps": 4, "registers": 16, "shared_bytes": 1024},
]
REFUSED = [
    {"grid": (0, 1, 1)}, {"grid": (1, 0, 1)}, {"grid": (1, 1, 0)},
    {"threads": 0}, {"threads": 0, "warps": 0}, {"warps": 0}, {"warps": 2}, {"warps": 63},
    {"threads": 9}, {"threads": 16, "warps": 3}, {"threads": 17, "warps": 2},
    {"threads": 33, "warps": 4}, {"threads": 33, "warps": 5}, {"threads": 2047, "warps": 63},
    {"registers": 0}, {"registers": 17}, {"registers": 127},
    {"shared_bytes": 1025}, {"shared_bytes": (1 << 20) - 1},
]


@pytest.fixture(params=["golden", "rtl"])
def bench(request):
    return Bench(open_device(request.param, TINY, 1 << 18).transport)


def describe(bench, slot, code=(EXIT,), **changes):
    """Write a descriptor exactly as given, consistent or not."""
    sizes = POSSIBLE | changes
    bench.load(slot, KernelImage("k", tuple(code), 4), (1,), (8,))
    for axis, count in zip("xyz", sizes["grid"], strict=True):
        bench.set(f"kernel[{slot}].grid_{axis}", count)
    bench.set(f"kernel[{slot}].sizes", **{name: sizes[name] for name in ("threads", "registers", "warps")})
    bench.set(f"kernel[{slot}].shared_bytes", sizes["shared_bytes"])


def answer(bench, op, slot, mechanism=1):
    """Give a command; return its error, after a check that the event says the same."""
    bench.set("event", refused=1)
    bench.set("command", op=op, kernel=slot, mechanism=mechanism)
    error = bench.refusal()
    assert bench.fields("event")["refused"] == (error is not CommandError.NONE)
    return error


def progress(bench, slot):
    return bench.state(slot), bench.get(f"kernel[{slot}].launched"), bench.get(f"kernel[{slot}].completed")


def test_limits_of_a_start(bench):
    for changes in ACCEPTED:
        describe(bench, 0, **changes)
        assert answer(bench, Command.START, 0) is CommandError.NONE, changes
        bench.finish(0, LIMIT)
        x, y, z = (POSSIBLE | changes)["grid"]
        assert progress(bench, 0) == (KernelState.FINISHED, x * y * z, x * y * z), changes
        assert bench.fault() is None
    for slot, before in ((0, (KernelState.FINISHED, 1, 1)), (1, (KernelState.IDLE, 0, 0))):
        for changes in REFUSED:
            describe(bench, slot, **changes)
            assert answer(bench, Command.START, slot) is CommandError.TOO_LARGE, changes
            assert progress(bench, slot) == before, changes
        describe(bench, slot)
        for name, multiple in (("param_base", 16), ("const_base", 128)):
            base = bench.get(f"kernel[{slot}].{name}")
            for off in (multiple // 2, 1):
                bench.set(f"kernel[{slot}].{name}", base + off)
                assert answer(bench, Command.START, slot) is CommandError.MISPLACED, name
                assert progress(bench, slot) == before, name
            bench.set(f"kernel[{slot}].{name}", base)
    bench.transport.advance(100)
    assert bench.fields("status")["resident"] == 0
    describe(bench, 1, grid=(0xFFFF_FFFF, 0xFFFF, 0xFFFF))
    assert answer(bench, Command.START, 1) is CommandError.NONE


def test_what_does_not_exist_is_unknown(bench):
    describe(bench, 0)
    for op, slot, mechanism in ((0, 0, 0), (max(Command) + 1, 0, 0), (15, 0, 0), (Command.START, 4, 0),
                                (Command.PREEMPT, 15, 0), (Command.RESUME, 4, 0), (Command.PREEMPT, 0, 15)):
        assert answer(bench, op, slot, mechanism) is CommandError.UNKNOWN, (op, slot, mechanism)
    for op in Command:
        assert op in (Command.START, Command.ADOPT) or answer(bench, op, 0) is CommandError.NOT_RUNNING
    assert progress(bench, 0) == (KernelState.IDLE, 0, 0)


def test_state_of_the_kernel_decides(bench):
    describe(bench, 0, (LOOP, EXIT))
    assert answer(bench, Command.START, 0) is CommandError.NONE
    assert answer(bench, Command.START, 0) is CommandError.BUSY
    assert answer(bench, Command.RESUME, 0) is CommandError.NOT_RUNNING
    assert answer(bench, Command.PREEMPT, 0, mechanism=0) is CommandError.NONE
    bench.transport.advance(2000)
    assert bench.state(0) is KernelState.PREEMPTED
    assert answer(bench, Command.START, 0) is CommandError.NOT_RUNNING
    assert answer(bench, Command.PREEMPT, 0) is CommandError.NOT_RUNNING
    assert bench.state(0) is KernelState.PREEMPTED
    assert answer(bench, Command.RESUME, 0) is CommandError.NONE
    bench.transport.advance(2000)
    assert bench.state(0) is KernelState.RUNNING


def test_preempt_in_progress_refuses_another_but_lets_a_kernel_start(bench):
    describe(bench, 0, (LOOP, EXIT))
    assert answer(bench, Command.START, 0) is CommandError.NONE
    bench.transport.advance(300)
    assert answer(bench, Command.PREEMPT, 0, mechanism=1) is CommandError.NONE  # it has no preemption point
    bench.transport.advance(2000)
    assert bench.fields("status")["busy"]
    describe(bench, 1)
    for op in (Command.START, Command.PREEMPT, Command.RESUME):
        assert answer(bench, op, 0) is CommandError.BUSY, op
    for op in (Command.PREEMPT, Command.RESUME):  # of the other kernel: its own state decides
        assert answer(bench, op, 1) is CommandError.NOT_RUNNING, op
    assert answer(bench, Command.PREEMPT, 4) is CommandError.UNKNOWN
    assert answer(bench, Command.PREEMPT, 1, mechanism=15) is CommandError.UNKNOWN
    describe(bench, 1, warps=2)
    assert answer(bench, Command.START, 1) is CommandError.TOO_LARGE
    describe(bench, 1)
    assert answer(bench, Command.START, 1) is CommandError.NONE
    bench.finish(1, LIMIT)
    assert bench.state(0) is KernelState.PREEMPTING and bench.fields("status")["busy"]
