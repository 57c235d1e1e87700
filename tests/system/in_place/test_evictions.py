"""What stayed on the SM is evicted while memory fails, power is lost or the kernel is killed, at any cycle: nothing is
lost, and an image is whole or refused."""

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.rtl.transport import RtlTransport
from support.attacks.kept_memory import FINISHED, IDLE, PREEMPTED, Scene
from support.selection import quick

GEOMETRIES = [pytest.param("tiny", id="tiny"), pytest.param("gtx480", id="gtx480", marks=pytest.mark.full)]
MECHANISMS = [Mechanism.OCCUPIED, Mechanism.LIVE, Mechanism.LIVE_CP, Mechanism.LIVE_TB]
STEPS = quick([7, 23], [23])
OUTAGES = [(length, mechanism, step) for length in (9, 120) for mechanism in MECHANISMS for step in (7, 23)]
"""Cycles for which memory fails; from one moment to the next."""
MOMENTS = {"gtx480": 30}
"""Most of a test, where an eviction has thousands of cycles; elsewhere all there are."""


@pytest.fixture(scope="module", params=GEOMETRIES)
def scene(request):
    return Scene(RtlTransport(preset(request.param), memory_bytes=1 << 19), pause=200)


def stayed(scene, mechanism):
    """Preempt in place in the middle of the run; return the state of the machine, and the cycles of an eviction."""
    scene.start(scene.moments(4)[2])
    scene.bench.set("newcomer", kernel=0, tbs=0)
    scene.bench.command(Command.PREEMPT, 0, mechanism, in_place=True)
    scene.until(PREEMPTED)
    assert scene.bench.get("kernel[0].registers_stay")
    state = scene.transport.snapshot()
    took = evict(scene, mechanism, pause=1)
    assert not stays(scene) and scene.error is CommandError.NONE
    return state, took


def evict(scene, mechanism, pause=50):
    """Preempt what has been preempted in place already; return the cycles."""
    scene.bench.command(Command.PREEMPT, 0, mechanism)
    return scene.settle(pause)


def moments(scene, took, step):
    """Return cycles of an eviction that takes so many."""
    most = MOMENTS.get(scene.bench.geometry.name, took)
    return range(0, took + step, max(step, (took + step) // most | 1))


def stays(scene):
    return scene.bench.get("kernel[0].registers_stay") | scene.bench.get("kernel[0].lines_stay")


@pytest.mark.parametrize("length, mechanism, step", quick(
    OUTAGES, [(120, Mechanism.LIVE_TB, 23)]))
def test_memory_fails_for_a_while_at_any_cycle_of_an_eviction(scene, mechanism, length, step):
    """What is refused stays; the next eviction completes it, or a resume brings it back from where it is. Of a kernel
    of which only the record could not be written nothing is lost either."""
    state, took = stayed(scene, mechanism)
    failed = 0
    cycles = moments(scene, took, step)
    for number, moment in enumerate(cycles):
        scene.transport.restore(state)
        scene.bench.command(Command.PREEMPT, 0, mechanism)
        scene.transport.advance(moment)
        scene.contexts_fail(reads=number % 2 == 0)
        scene.transport.advance(length)
        scene.transport.clear_error_ranges()
        scene.settle(50)
        error = scene.error
        assert error in (CommandError.NONE, CommandError.BUS_ERROR) and scene.state is PREEMPTED
        failed += error is CommandError.BUS_ERROR
        if number % 3 == 0 or error is CommandError.BUS_ERROR and not stays(scene):  # all but the record is written
            scene.ends_well()
            continue
        if error is CommandError.BUS_ERROR:
            evict(scene, mechanism)
        assert not stays(scene) and scene.error is CommandError.NONE
        assert scene.take_over(scene.memory()) is CommandError.NONE
        scene.ends_well()
    assert failed > len(cycles) // (4 if length > 100 else 12)  # a short one may fall between two answers


@pytest.mark.parametrize("mechanism", quick(MECHANISMS, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
def test_power_lost_at_any_cycle_of_an_eviction(scene, mechanism):
    """Each state of the context in memory is taken over; it is whole once all that stayed is there, not before."""
    state, _ = stayed(scene, mechanism)
    scene.transport.restore(state)
    images, seen = [scene.memory()], scene.ccb()
    scene.bench.command(Command.PREEMPT, 0, mechanism)
    while scene.bench.peek("status")["busy"] or scene.state is KernelState.PREEMPTING:
        scene.transport.advance(1)
        if (now := scene.ccb()) != seen:
            seen = now
            images.append(scene.memory())
    ends = []
    for memory in images[:1] + images[1:-20:9] + images[-20:]:
        ends.append(scene.take_over(memory))
        if ends[-1] is CommandError.NONE:
            scene.ends_well()
    assert set(ends) == {CommandError.NONE, CommandError.BAD_IMAGE}
    assert ends == sorted(ends, reverse=ends[0] > ends[-1]) and ends[-1] is CommandError.NONE


@pytest.mark.parametrize("step", STEPS)
def test_a_kernel_is_killed_at_any_cycle_of_its_eviction(scene, step):
    """Nothing of it stays, and the same machine takes it over from an image that was whole."""
    state, took = stayed(scene, Mechanism.LIVE_CP)
    whole = scene.memory()
    for moment in moments(scene, took, step):
        scene.transport.restore(state)
        scene.bench.command(Command.PREEMPT, 0, Mechanism.LIVE_CP)
        scene.transport.advance(moment)
        scene.bench.command(Command.KILL, 0)
        scene.until(IDLE, FINISHED)
        assert not stays(scene) and not scene.bench.peek("status")["resident"]
        scene.transport.write_memory(0, whole)
        scene.bench.command(Command.ADOPT, 0)
        scene.until(PREEMPTED)
        scene.ends_well()
