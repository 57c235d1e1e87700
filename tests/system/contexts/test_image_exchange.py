"""A context saved by one machine is resumed by the other: RTL and golden model agree on the image to the bit."""

import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_ENTRY, Mechanism
from caesura.hw.arch.registers import UNLIMITED_PATIENCE
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.workloads.random_native import random_program
from support.selection import quick
from support.sim.launch import Bench, argument_words

TINY = preset("tiny")
MEMORY = 1 << 16
TRANSPORTS = {"golden": GoldenTransport, "rtl": RtlTransport}


def loaded(name, program):
    """Return a bench with the program loaded, and the addresses of its output and its CCB."""
    bench = Bench(TRANSPORTS[name](TINY, memory_bytes=MEMORY))
    bench.transport.write_memory(0, bytes(MEMORY))
    output, inputs = bench.allocate(program.output_bytes), bench.store(program.inputs)
    placed = bench.load(0, program.image, program.grid, program.block, argument_words(program.image, output, inputs))
    return bench, output, placed.ccb_base


def started(name, program):
    """Return a bench with the program started, and the address of its output."""
    bench, output, _ = loaded(name, program)
    bench.start(0)
    return bench, output


def stopped_at(name, program, part, mechanism, patience=UNLIMITED_PATIENCE, in_place=False):
    """Return a bench whose kernel was preempted after `part` of its run, with no TB finished; if `in_place`, what had
    stayed on the SM was evicted then."""
    bench, _ = started(name, program)
    length = bench.finish(0, 100_000)
    bench, output = started(name, program)
    bench.transport.advance(int(length * part))
    bench.set("patience", patience)
    bench.preempt(0, mechanism, scramble=True, in_place=in_place)
    if in_place:
        assert bench.get("kernel[0].registers_stay") == 0b11 and not bench.get("save_data_bytes")
        bench.preempt(0, mechanism, scramble=True)
        assert bench.get("evicted_tbs") == 2 and not bench.get("kernel[0].registers_stay")
    assert bench.state(0) is KernelState.PREEMPTED
    assert (bench.get("kernel[0].launched"), bench.get("kernel[0].completed")) == (2, 0)
    return bench, output


@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.OCCUPIED, Mechanism.LIVE_TB]), ids=lambda m: m.name)
@pytest.mark.parametrize("giver, taker", [("rtl", "golden"), ("golden", "rtl")])
@pytest.mark.parametrize("seed, parts", [pytest.param(3, [0.3], marks=pytest.mark.full), (8, [0.6]),
                                         pytest.param(3, [0.5, 0.7], marks=pytest.mark.full)],
                         ids=["early", "late", "between"])
def test_image_of_one_machine_is_resumed_by_the_other(giver, taker, mechanism, seed, parts):
    hand_over(giver, taker, mechanism, seed, parts)


@pytest.mark.parametrize("mechanism", quick([*Mechanism][1:], [Mechanism.LIVE_CP]), ids=lambda m: m.name)
@pytest.mark.parametrize("giver, taker", [("rtl", "golden"), ("golden", "rtl")])
@pytest.mark.parametrize("patience", quick([0, 6], [6]))
def test_an_image_of_warps_that_were_stopped_between_points_is_too(giver, taker, mechanism, patience):
    hand_over(giver, taker, mechanism, 3, [0.3, 0.55], patience)


@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
@pytest.mark.parametrize("giver, taker", [("rtl", "golden"), ("golden", "rtl")])
def test_what_was_evicted_completes_an_image_on_both(giver, taker, mechanism):
    hand_over(giver, taker, mechanism, 8, [0.4], in_place=True)


@pytest.mark.parametrize("taker", TRANSPORTS)
@pytest.mark.parametrize("field", quick(CCB_ENTRY.members, [*CCB_ENTRY.members][::4]))
def test_what_completes_an_image_is_judged_when_its_kernel_is_taken_over(taker, field):
    """One bit of each field of its entry is enough, and does no harm once it is put back."""
    program = random_program(TINY, 8, tbs=2, registers=16, statements=24, exits=False)
    source, _ = stopped_at("golden", program, 0.4, Mechanism.LIVE, in_place=True)
    target, _, ccb_base = loaded(taker, program)
    memory = bytearray(source.transport.read_memory(0, MEMORY))
    second = context.entry_address(ccb_base, TINY.tb_slots)
    at = second + CCB_ENTRY[field].offset // 8
    memory[at] ^= 1 << CCB_ENTRY[field].offset % 8
    target.transport.write_memory(0, bytes(memory))
    assert target.adopt(0) is CommandError.BAD_IMAGE
    memory[at] ^= 1 << CCB_ENTRY[field].offset % 8
    target.transport.write_memory(0, bytes(memory))
    assert target.adopt(0) is CommandError.NONE


def hand_over(giver, taker, mechanism, seed, parts, patience=UNLIMITED_PATIENCE, in_place=False):
    """Save on one machine, take over and resume on the other, and compare what comes out."""
    program = random_program(TINY, seed, tbs=2, registers=16, statements=24, exits=False)
    bench, output = started("golden", program)
    bench.finish(0)
    expected = bench.transport.read_memory(output, program.output_bytes)
    for part in parts:
        source, _ = stopped_at(giver, program, part, mechanism, patience, in_place)
        target, output, _ = loaded(taker, program)
        target.transport.write_memory(0, source.transport.read_memory(0, MEMORY))
        assert target.adopt(0) is CommandError.NONE
        target.resume(0, scramble=True)
        target.finish(0, 100_000)
        assert target.fault() is None
        assert target.transport.read_memory(output, program.output_bytes) == expected
