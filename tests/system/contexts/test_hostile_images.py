"""Contexts that are not what was saved: with bits flipped, and with checksums that are right and fields that lie.

On the whole RTL and on the golden model. A few thousand words of memory: all of it is compared.
"""

import functools
import random
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import CCB_ENTRY, Capability, Mechanism
from caesura.sim.golden import context_image
from support.attacks.context_machine import PATIENCE, TRANSPORTS, ContextMachine, Image, Outcome
from support.attacks.lies import CHECKSUMS, Places, lies, random_image
from support.selection import quick

ENTRY_BITS = CCB_ENTRY.size
PLACES = {name: (place.offset, place.width) for name, place in CCB_ENTRY}
LONGER = 20
COMPRESSING = [m for m in Mechanism if m.has(Capability.COMPRESSES)]


@functools.cache
def pair(mechanism: Mechanism) -> dict[str, ContextMachine]:
    """Both machines, with the same context saved, each beside a kernel that runs."""
    rtl = ContextMachine("rtl", rounds=4, mechanism=mechanism)
    return {"rtl": rtl, "golden": ContextMachine("golden", rounds=4, mechanism=mechanism, memory=rtl.saved)}


def right_array(tbs: int) -> bytes:
    """What the kernel computes."""
    thread = np.arange(16, dtype=np.uint32)
    mixed = (thread * np.uint32(0x1E37_79B1)) ** 2
    return np.tile(mixed + mixed[thread ^ 1] + 1234 + (thread % 8 >= 3) + 14, tbs).astype("<u4").tobytes()


@pytest.mark.parametrize("mechanism", COMPRESSING, ids=lambda m: m.name)
@pytest.mark.parametrize("name", TRANSPORTS)
def test_the_context_as_it_was_saved_gives_the_right_result(name, mechanism):
    for machine in (ContextMachine(name, tbs=2, mechanism=mechanism), pair(mechanism)[name]):
        machine.back()
        outcome = machine.outcome()
        assert outcome == machine.expected and outcome.error is CommandError.NONE and outcome.fault is None
        assert outcome.state is KernelState.FINISHED and outcome.rest == machine.alone
        result = right_array(machine.tbs)
        assert machine.transport.read_memory(machine.output, len(result)) == result


def bits_of(machine: ContextMachine, index: int) -> tuple[list[int], list[int]]:
    """Bits of a TB's image: those of the entry and of all heads of records; those of the rest of its stream."""
    places = Places(machine.image(index))
    heads = {ENTRY_BITS + bit for at, end in zip(places.heads, places.scalars, strict=True)
             for bit in range(32 * at, 32 * end)}
    every = range(ENTRY_BITS, ENTRY_BITS + 32 * places.end)
    return [*range(ENTRY_BITS), *sorted(heads)], [bit for bit in every if bit not in heads]


@pytest.mark.parametrize("mechanism", quick(COMPRESSING, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
@pytest.mark.parametrize("name, step, sample", quick(
    [(name, *how) for name in TRANSPORTS for how in ((1, 1000), (19, 20))], [(name, 19, 20) for name in TRANSPORTS]))
def test_a_flipped_bit_is_refused_and_does_no_harm_once_it_is_put_back(name, step, sample, mechanism):
    """Each `step`-th bit of both entries and of all heads, `sample` others of each TB.

    With a bad stream of the second TB the first would be back before it, so that one is resumed as a gang.
    """
    machine, rng = ContextMachine(name, tbs=2, mechanism=mechanism), random.Random(1)
    machine.back()
    for index in range(2):
        first, rest = bits_of(machine, index)
        for bit in (*first[index % step::step], *rng.sample(rest, sample)):
            machine.flip(index, bit)
            before = machine.memory()
            assert machine.resume(gang=index == 1) is CommandError.BAD_IMAGE, (index, bit)
            assert machine.bench.state(0) is KernelState.PREEMPTED
            assert machine.bench.fields("status")["resident"] == 0 and machine.memory() == before, (index, bit)
            machine.flip(index, bit)
            assert machine.outcome() == machine.expected, (index, bit)
            machine.back()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mechanism", quick(COMPRESSING, [Mechanism.LIVE_TB]), ids=lambda m: m.name)
@pytest.mark.parametrize("step, sample", quick([(1, 2000), (67, 30)], [(67, 30)]))
def test_a_flipped_bit_under_right_checksums_is_refused_or_harms_its_own_tb_alone(step, sample, mechanism):
    """Each `step`-th bit of the entry, its checksums apart, and of all heads, and `sample` others."""
    machines, rng = pair(mechanism), random.Random(2)
    machine = machines["rtl"]
    machine.back()
    right = machine.image()
    sums = {offset + bit for name, (offset, width) in PLACES.items() if name in CHECKSUMS for bit in range(width)}
    first, rest = bits_of(machine, 0)
    ends = Counter()
    for bit in (*(bit for bit in first[::step] if bit not in sums), *rng.sample(rest, min(sample, len(rest)))):
        image = right.copy()
        words, at = (image.entry, bit) if bit < ENTRY_BITS else (image.stream, bit - ENTRY_BITS)
        words[at // 32] ^= 1 << at % 32
        image.seal()
        rtl, golden = compare(machines, f"bit {bit}", image)
        assert rtl.state is not KernelState.FINISHED or rtl.fault or rtl.own == golden.own, f"bit {bit}: other results"
        ends[rtl.error, rtl.own == machine.expected.own] += 1
    assert ends[CommandError.BAD_IMAGE, False] and ends[CommandError.NONE, False], ends


class _Believed(tuple):
    """Checksums that are the same as any others."""

    def __ne__(self, other: object) -> bool:
        return False


def test_a_machine_that_does_not_look_at_the_checksum_of_a_stream_is_noticed(monkeypatch):
    blind = SimpleNamespace(**vars(context_image.context) | {"stream_crcs": lambda *_: _Believed()})
    monkeypatch.setattr(context_image, "context", blind)
    with pytest.raises(AssertionError, match="BAD_IMAGE"):
        test_a_flipped_bit_is_refused_and_does_no_harm_once_it_is_put_back("golden", ENTRY_BITS, 20, Mechanism.LIVE_CP)


def judge(what: str, machine: ContextMachine, image: Image, forgotten: bool, patience: int = PATIENCE) -> Outcome:
    """Resume an image. Whatever it says, no other memory changes; after a refusal the right one can be resumed.

    A machine that has `forgotten` the kernel takes it over from memory first: it does not know then how long the right
    image is, and looks into one of another length.
    """
    machine.patience = patience
    machine.back()
    right = machine.image()
    machine.put(image)
    before, _ = machine.split(machine.memory())
    if forgotten and machine.adopt():
        assert machine.bench.state(0) is KernelState.IDLE
        assert machine.split(machine.memory())[0] == before, f"{what}: it was refused, and has changed memory"
        machine.put(right)
        assert machine.adopt() is CommandError.NONE and machine.outcome() == machine.expected, what
        return Outcome(CommandError.BAD_IMAGE, KernelState.IDLE, None, before, machine.alone)
    outcome = machine.outcome()
    assert outcome.rest == machine.alone, f"{what}: memory of others has changed"
    assert outcome.error in (CommandError.NONE, CommandError.BAD_IMAGE), what
    assert outcome.fault is None or outcome.fault.kernel == 0, what
    if outcome.error:
        assert outcome.own == before and outcome.fault is None, f"{what}: it was refused, and has changed memory"
        machine.put(right)
        assert not forgotten or machine.adopt() is CommandError.NONE
        assert machine.outcome() == machine.expected, f"{what}: it was refused, and then the right one does not go on"
    return outcome


def compare(machines: dict[str, ContextMachine], what: str, image: Image, forgotten: bool = False
            ) -> tuple[Outcome, Outcome]:
    """Judge an image on the RTL and on the golden model, which have to agree on how it ends.

    Where it seems to go on for ever on one of them only, that one is given more time: their cycles are not the same.
    """
    rtl, golden = (judge(f"{name}: {what}", machine, image, forgotten) for name, machine in machines.items())
    if (rtl.state is KernelState.RUNNING) != (golden.state is KernelState.RUNNING):
        slow = "rtl" if rtl.state is KernelState.RUNNING else "golden"
        again = judge(f"{slow}: {what}", machines[slow], image, forgotten, LONGER * PATIENCE)
        rtl, golden = (again, golden) if slow == "rtl" else (rtl, again)
    assert rtl.error is golden.error, f"{what}: the RTL ends with {rtl.error.name}, the model with {golden.error.name}"
    assert (rtl.state, rtl.fault is None) == (golden.state, golden.fault is None), f"{what}: {rtl}, {golden}"
    return rtl, golden


@pytest.mark.parametrize("mechanism", quick(COMPRESSING, [Mechanism.LIVE_TB]), ids=lambda m: m.name)
@pytest.mark.parametrize("part, parts", quick([*((k, 8) for k in range(8)), (0, 40)], [(0, 40)]))
def test_fields_that_lie_are_refused_or_harm_their_own_tb_alone(part, parts, mechanism):
    machine = pair(mechanism)["rtl"]
    machine.back()
    right = machine.image()
    every = lies(right, machine.loaded.area_bytes)
    outcomes = []
    for what, image in every[part::parts]:
        rtl, golden = compare(pair(mechanism), what, image)
        assert rtl.state is not KernelState.FINISHED or rtl.fault or rtl.own == golden.own, f"{what}: other results"
        outcomes.append(rtl)
        if any(image.fields[name] != right.fields[name] for name in ("length", "live_warps")):
            assert rtl.error is CommandError.BAD_IMAGE, f"{what}: another length than was saved"
            compare(pair(mechanism), f"{what}, adopted", image, forgotten=True)
    refused = sum(outcome.error is CommandError.BAD_IMAGE for outcome in outcomes)
    assert len(outcomes) / 4 < refused < len(outcomes) * 9 / 10
    assert any(outcome.error is CommandError.NONE and outcome.own != machine.expected.own for outcome in outcomes)


@pytest.mark.parametrize("part", quick(range(8), [0]))
def test_random_images_are_refused_or_harm_their_own_tb_alone(part):
    machines, rng = pair(Mechanism.LIVE_TB), random.Random(part)
    machine = machines["rtl"]
    machine.back()
    image = machine.image()
    outcomes = [compare(machines, f"random image {k} of part {part}", random_image(image, rng), True)[0]
                for k in range(40)]
    accepted = [outcome for outcome in outcomes if outcome.error is CommandError.NONE]
    assert len(accepted) > 20 and any(outcome.fault for outcome in accepted)
    assert any(outcome.state is KernelState.FINISHED and outcome.fault is None for outcome in accepted)
