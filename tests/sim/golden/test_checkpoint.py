"""Bases and increments in the golden model (PEP III-C): what is saved of them, and that nothing is lost."""

import numpy as np
import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_ENTRY, Mechanism, State
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.workloads.random_native import random_program
from caesura.software.compiler import KernelImage
from support.programs.machine_code import word
from support.selection import quick
from support.sim.launch import Bench

TINY = preset("tiny")
MEMORY = 1 << 17


def entry(bench, loaded, index=0, side=0):
    """The fields of a TB's entry on a side."""
    address = context.entry_address(loaded.ccb_base, index + side * TINY.tb_slots)
    return context.from_words(CCB_ENTRY, np.frombuffer(bench.transport.read_memory(address, 64), "<u4"))


def stepping():
    """A kernel of one warp that writes a register and a line of shared memory at a time: r1 and line 0, a point, r2 and
    line 1, ...; in the end it stores the sum of all and what stands in line 1."""
    points = [word("pp", live=0b1111), word("pp.div", live=0b1111)]
    code = [word("mov.i", d=0, imm=0)]
    for r in (1, 2, 3):
        code += [word("mov.i", d=r, imm=0x1000 << r), word("st.shared.b32", no_base=1, imm=128 * (r - 1), d=r), *points]
    code += [word("iadd", d=1, a=1, b=2), word("iadd", d=1, a=1, b=3), word("ld.shared.b32", no_base=1, imm=128, d=2),
             word("iadd", d=1, a=1, b=2), word("st.global.b32", a=0, imm=0x8000, d=1), word("exit")]
    return KernelImage("k", tuple(code), 4, shared_bytes=3 * 128), 0x1000 * (2 + 4 + 8 + 4)


def stopped_at(point):
    """A machine on which the kernel comes to its `point`, the first 0, when it is asked to."""
    image, expected = stepping()
    bench = Bench(GoldenTransport(TINY, MEMORY))
    loaded = bench.load(0, image, (1,), (8,))
    bench.start(0)
    bench.transport.advance(3 + 4 * point)
    return bench, loaded, expected


def result(bench):
    return int.from_bytes(bench.transport.read_memory(0x8000, 4), "little")


@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
def test_an_increment_has_what_was_written_since_the_base(mechanism):
    bench, loaded, expected = stopped_at(0)
    bench.checkpoint(0, mechanism)
    assert bench.state(0) is KernelState.RUNNING and bench.fields("status")["resident"] == 1
    base = entry(bench, loaded)
    assert base["state"] == State.BASE and not base["incremental"]
    whole = bench.get("save_registers"), bench.get("save_lines")
    bench.transport.advance(3 if mechanism is Mechanism.OCCUPIED else 1)  # the point, the next register and line
    bench.preempt(0, mechanism, incremental=True)
    found = entry(bench, loaded, side=1)
    assert (found["state"], found["incremental"], found["base_crc"]) == (State.COMPLETE, 1, base["crc"])
    assert entry(bench, loaded) == base and found["launch_id"] == base["launch_id"]
    if mechanism is Mechanism.OCCUPIED:  # what was never written is in no base
        assert whole == (4, 3) and (bench.get("save_registers"), bench.get("save_lines")) == (2, 2)
    else:
        assert whole == (2, 1) and (bench.get("save_registers"), bench.get("save_lines")) == (1, 1)
    bench.resume(0)
    bench.finish(0)
    assert result(bench) == expected and bench.fault() is None


def test_the_restored_image_stays_a_base():
    """The third preempt of a TB writes what has changed since the first, whose image is never written again."""
    bench, loaded, expected = stopped_at(0)
    bench.preempt(0, Mechanism.LIVE, incremental=True)
    assert not entry(bench, loaded)["incremental"], "there was no base yet"
    first = bench.transport.read_memory(loaded.ccb_base, 4 * 128)
    for count in (1, 2):
        bench.resume(0)
        bench.transport.advance(1)
        bench.preempt(0, Mechanism.LIVE, incremental=True)
        assert entry(bench, loaded, side=1)["incremental"] and bench.get("save_registers") == count
    assert bench.transport.read_memory(loaded.ccb_base, 64)[1:] == first[1:64], "only its state has changed"
    bench.resume(0)
    bench.finish(0)
    assert result(bench) == expected


def test_without_being_told_a_preempt_saves_everything_on_the_other_side():
    bench, loaded, expected = stopped_at(0)
    bench.checkpoint(0, Mechanism.LIVE)
    bench.preempt(0, Mechanism.LIVE)
    found = entry(bench, loaded, side=1)
    assert found["state"] == State.COMPLETE and not found["incremental"] and not found["base_crc"]
    assert entry(bench, loaded)["state"] == State.BASE
    bench.resume(0)
    bench.preempt(0, Mechanism.LIVE, incremental=True)
    assert entry(bench, loaded)["base_crc"] == found["crc"], "the newer one is the base"
    bench.resume(0)
    bench.finish(0)
    assert result(bench) == expected


def test_a_base_ends_with_its_tb():
    """The next TB in its entry has none."""
    image, _ = stepping()
    bench = Bench(GoldenTransport(TINY, MEMORY))
    loaded = bench.load(0, image, (4,), (8,))
    bench.start(0)
    bench.transport.advance(8)
    bench.checkpoint(0, Mechanism.LIVE)
    kernel = bench.transport.machine.kernels[0]
    assert set(kernel.bases) == {0, 1}
    while bench.get("kernel[0].completed") < 2:
        bench.transport.advance(1)
    assert not kernel.bases
    bench.preempt(0, Mechanism.LIVE, incremental=True)
    assert bench.get("save_tbs") and not any(entry(bench, loaded, k)["incremental"] for k in range(2))
    bench.command(Command.KILL, 0)
    assert not kernel.saved


class Prepared:
    """A random program on a fresh golden model."""

    def __init__(self, seed, **options):
        self.program = random_program(TINY, seed, **options)
        self.transport = GoldenTransport(TINY, MEMORY, seed=seed)
        self.bench = Bench(self.transport)
        self.output = self.bench.allocate(self.program.output_bytes)
        self.loaded = self.bench.load(0, self.program.image, self.program.grid, self.program.block,
                                      (self.output, self.bench.store(self.program.inputs)))
        self.bench.start(0)

    def result(self):
        return self.transport.read_memory(self.output, self.program.output_bytes)


@pytest.mark.parametrize("seed, scramble", quick(
    [(seed, scramble) for seed in (0, *range(2, 12)) for scramble in (False, True)],
    [(4, False), (5, True)]))
def test_random_programs_with_random_checkpoints_and_increments(seed, scramble):
    """Any of checkpoint, whole and incremental preempt with any mechanism, again and again: the result is the same."""
    whole = Prepared(seed, statements=8)
    whole.bench.finish(0)
    run, rng, done = Prepared(seed, statements=8), np.random.default_rng(seed), {"checkpoint": 0, "incremental": 0}
    bench = run.bench
    for _ in range(30):
        run.transport.advance(int(rng.integers(1, 15)))
        if bench.state(0) is not KernelState.RUNNING:
            break
        mechanism = Mechanism(int(rng.integers(len(Mechanism))))
        if rng.integers(3) == 0:
            bench.checkpoint(0, mechanism, scramble)
            done["checkpoint"] += 1
            continue
        bench.preempt(0, mechanism, scramble, incremental=bool(rng.integers(4)))
        if bench.state(0) is KernelState.PREEMPTED:
            saved = run.transport.machine.kernels[0].saved
            done["incremental"] += any(entry(bench, run.loaded, k, of.side)["incremental"] for k, of in saved.items())
            bench.resume(0, scramble)
    bench.finish(0)
    assert bench.fault() is None and run.result() == whole.result()
    assert all(done.values()), done


@pytest.mark.parametrize("where", ["entry", "stream", "another base", "no base any more"])
def test_an_increment_without_its_base_is_refused(where):
    bench, loaded, expected = stopped_at(0)
    bench.checkpoint(0, Mechanism.LIVE)
    base = entry(bench, loaded)
    bench.transport.advance(1)
    bench.preempt(0, Mechanism.LIVE, incremental=True)
    good = bench.transport.read_memory(0, MEMORY)
    if where == "entry":
        bench.transport.write_memory(loaded.ccb_base + 24, b"\x55")
    elif where == "stream":
        at = base["register_image"] + 8
        bench.transport.write_memory(at, bytes([good[at] ^ 1]))
    else:
        state = State.FREE if where == "no base any more" else State.BASE
        words = context.to_words(CCB_ENTRY, **base | {"generation": base["generation"] + 7, "state": state})
        words[1] = context.entry_crc(words)
        bench.transport.write_memory(loaded.ccb_base, np.array(words, "<u4").tobytes())
    bench.command(Command.RESUME, 0)
    bench.transport.advance(10)
    assert bench.error(0) is CommandError.BAD_IMAGE and bench.fields("status")["resident"] == 0
    bench.transport.write_memory(0, good)
    bench.set("event", resumed=1)
    bench.resume(0)
    bench.finish(0)
    assert result(bench) == expected


def test_another_machine_takes_an_increment_over():
    bench, loaded, expected = stopped_at(0)
    bench.checkpoint(0, Mechanism.LIVE_CP)
    bench.transport.advance(1)
    bench.preempt(0, Mechanism.LIVE_TB, incremental=True)
    fresh = Bench(GoldenTransport(TINY, MEMORY))
    fresh.load(0, loaded.image, (1,), (8,))
    fresh.transport.write_memory(0, bench.transport.read_memory(0, MEMORY))
    assert fresh.adopt(0) is CommandError.NONE
    fresh.resume(0)
    fresh.transport.advance(1)
    fresh.preempt(0, Mechanism.LIVE, incremental=True)
    assert entry(fresh, loaded, side=1)["base_crc"] == entry(fresh, loaded)["crc"], "it is a base there too"
    fresh.resume(0)
    fresh.finish(0)
    assert result(fresh) == expected


def test_a_machine_without_checkpoints_refuses():
    image, _ = stepping()
    bench = Bench(GoldenTransport(TINY.replace(name="strict", checkpoints=False, in_place=False), MEMORY))
    bench.load(0, image, (1,), (8,))
    bench.start(0)
    for asked in ({"checkpoint": True}, {"incremental": True}):
        bench.command(Command.PREEMPT, 0, **asked)
        assert bench.refusal() is CommandError.UNKNOWN
    bench.preempt(0, Mechanism.LIVE)
    bench.resume(0)
    bench.finish(0)


def test_a_base_in_which_nothing_is_saved_is_refused():
    bench, _, expected = stopped_at(0)
    bench.command(Command.PREEMPT, 0, checkpoint=True, restart=True)
    assert bench.refusal() is CommandError.UNKNOWN
    bench.set("event", refused=1)
    bench.finish(0)
    assert result(bench) == expected
