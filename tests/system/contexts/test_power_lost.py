"""Power is lost at any cycle of a preempt or a resume, memory kept: a machine that knows nothing of the kernel takes it
over and ends it with the right bits, or refuses it; never anything between."""

import random

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.memory import ErrorRange
from caesura.sim.rtl.transport import RtlTransport
from support.attacks.kept_memory import FINISHED, IDLE, PREEMPTED, Scene
from support.selection import quick
from support.sim.adoption import record, write_record

GEOMETRIES = [pytest.param("tiny", id="tiny"), *(pytest.param(name, id=name, marks=pytest.mark.full)
                                                 for name in ("ecp5", "gtx480"))]


@pytest.fixture(scope="module", params=GEOMETRIES)
def scene(request):
    return Scene(RtlTransport(preset(request.param), memory_bytes=1 << 19))


@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
def test_a_kernel_goes_on_from_memory_alone_wherever_it_was_preempted(scene, mechanism):
    launched = set()
    for cycles in scene.moments(8):
        scene.preempted(cycles, mechanism)
        memory = scene.memory()
        launched.add(record(scene.transport, scene.loaded)["launched"])
        assert scene.take_over(memory) is CommandError.NONE
        scene.ends_well()
        assert scene.take_over(scene.memory()) is CommandError.BAD_IMAGE, "it has run since"
    assert 0 in launched and len(launched) > 2


@pytest.mark.parametrize("moments, step", quick([(slice(1, None), 7), (slice(2, 3), 70)], [(slice(2, 3), 70)]),
                         ids=["all", "some"])
def test_power_lost_at_any_cycle_of_a_save_and_a_resume(scene, moments, step):
    """Each image of the context that ever stands in memory is taken over; only few are whole."""
    for cycles in scene.moments(4)[moments]:
        scene.start(cycles)
        images, ends = [], []
        seen = None
        for command in (Command.PREEMPT, Command.RESUME):
            scene.bench.command(command, 0, Mechanism.LIVE_CP, gang=True)
            while scene.state not in (PREEMPTED, FINISHED, KernelState.RUNNING) or scene.bench.peek("status")["busy"]:
                scene.transport.advance(1)
                if (now := scene.ccb()) != seen:
                    seen = now
                    images.append(scene.memory())
        for memory in images[:2] + images[2:-40:step] + images[-40:]:
            error = scene.take_over(memory)
            assert error in (CommandError.NONE, CommandError.BAD_IMAGE)
            ends.append(error)
            if error is CommandError.NONE:
                scene.ends_well()
        assert ends[0] is ends[-1] is CommandError.BAD_IMAGE and CommandError.NONE in ends, ends


def test_a_kernel_of_which_nothing_is_saved_is_taken_over_once(scene):
    """No entry tells that it has run since: the record itself is made void."""
    scene.preempted(0)
    memory = scene.memory()
    assert scene.take_over(memory) is CommandError.NONE
    scene.bench.command(Command.RESUME, 0)
    scene.until(KernelState.RUNNING)
    assert scene.take_over(scene.memory()) is CommandError.BAD_IMAGE
    assert scene.take_over(memory) is CommandError.NONE
    scene.ends_well()


def test_an_aborted_preempt_of_which_nothing_was_saved_leaves_no_record(scene):
    for wait in range(0, 400, 3):
        scene.start(1)
        scene.bench.command(Command.PREEMPT, 0)
        scene.transport.advance(wait)
        if scene.state is not KernelState.PREEMPTING:
            break
        scene.bench.command(Command.ABORT, 0)
        scene.until(KernelState.RUNNING)
        scene.transport.advance(400)
        assert scene.take_over(scene.memory()) is CommandError.BAD_IMAGE, wait
    assert wait > 3


def lying(scene, memory, **lie):
    """Return memory with fields of the record changed, and its checksum renewed."""
    scene.transport.write_memory(0, memory)
    write_record(scene.transport, scene.loaded, **lie)
    return scene.memory()


@pytest.mark.parametrize("step", quick([1, 17], [17]))
def test_one_bit_of_the_record_is_enough(scene, step):
    scene.preempted(scene.moments(3)[-1])
    memory = scene.memory()
    assert scene.take_over(memory) is CommandError.NONE
    for bit in range(0, 512, step):
        bad = bytearray(memory)
        bad[scene.record + bit // 8] ^= 1 << bit % 8
        assert scene.take_over(bytes(bad)) is CommandError.BAD_IMAGE, bit


HOSTILE = {"launched": (0, 1, 4, 0xFFFF_FFFF), "completed": (0, 1, 0xFFFF_FFFF), "saved": (0, 1, 3, 0xFFFF_FFFF),
           "next_x": (0, 1, 4, 5, 0xFFFF_FFFF), "next_y": (1, 0xFFFF), "next_z": (1, 0xFFFF), "exhausted": (0, 1),
           "generations": (0, 1), "generation": (0, 1, 0xFFFF_FFFF), "grid_x": (0, 1, 6), "grid_y": (0, 2),
           "grid_z": (0, 2), "code_base": (0, 128, 0xFFFF_FF80), "const_base": (0, 0xFFFF_FF80), "geometry_hash": (0,),
           "sides": (1, 3, 4, 1 << 31), "version": (0, 4, 255), "zero": (1,), "zeros": (1,), "state": (0, 0xA5)}


@pytest.mark.parametrize("step", quick([1, 5], [5]))
def test_a_record_that_lies_harms_its_own_kernel_only(scene, step):
    """With checksums that are right: it is refused, or the kernel computes wrongly, in its own memory."""
    scene.preempted(scene.moments(3)[-1])
    memory, rng = scene.memory(), random.Random(3)
    lies = [{name: value} for name, values in HOSTILE.items() for value in values]
    for _ in range(40):
        chosen = rng.sample(list(HOSTILE), 3)
        lies.append({name: rng.choice(HOSTILE[name]) for name in chosen})
    own = [(scene.arrays.output, scene.arrays.end), (scene.loaded.ccb_base, scene.loaded.ccb_base + scene.ccb_bytes),
           (scene.loaded.local_base, scene.loaded.local_end)]
    believed, lies = 0, lies[::step]
    for lie in lies:
        bad = lying(scene, memory, **lie)
        if scene.take_over(bad) is CommandError.BAD_IMAGE:
            continue
        believed += 1
        scene.bench.command(Command.RESUME, 0)
        scene.transport.advance(3000)
        scene.bench.command(Command.KILL, 0)
        scene.until(IDLE, FINISHED)
        after = bytearray(scene.memory())
        for start, end in own:
            after[start:end] = bad[start:end]
        assert after == bad, lie
    assert 0 < believed < len(lies) // 2


@pytest.mark.parametrize("what", quick(["record", "entry"], ["entry"]))
def test_what_cannot_be_read_is_a_bus_error(scene, what):
    scene.preempted(scene.moments(3)[-1])
    memory = scene.memory()
    at = scene.record if what == "record" else scene.loaded.ccb_base
    scene.transport.restore(scene.beginning)
    scene.transport.add_error_range(ErrorRange(at, at + 64))
    scene.transport.write_memory(0, memory)
    scene.bench.command(Command.ADOPT, 0)
    scene.until(PREEMPTED, IDLE)
    assert (scene.state, scene.error) == (IDLE, CommandError.BUS_ERROR)
    scene.transport.clear_error_ranges()
    scene.bench.command(Command.ADOPT, 0)
    scene.until(PREEMPTED, IDLE)
    assert scene.error is CommandError.NONE
    scene.ends_well()


@pytest.mark.parametrize("cycles", [0, 2500])
def test_a_record_that_cannot_be_written_is_a_bus_error_and_nothing_is_lost(scene, cycles):
    scene.start(cycles)
    scene.transport.add_error_range(ErrorRange(scene.record, scene.record + 64, reads=False))
    scene.bench.command(Command.PREEMPT, 0)
    scene.until(PREEMPTED)
    assert scene.error is CommandError.BUS_ERROR and not scene.bench.peek("status")["resident"]
    if not cycles:
        scene.bench.command(Command.RESUME, 0)
        scene.until(PREEMPTED)
        assert scene.error is CommandError.BUS_ERROR, "what the record has become nobody knows"
    scene.transport.clear_error_ranges()
    scene.ends_well()


@pytest.mark.parametrize("cycles", [0, 2500])
def test_another_preempt_writes_the_record_that_could_not_be_written(scene, cycles):
    """So a machine that knows nothing of the kernel takes it over."""
    scene.start(cycles)
    scene.transport.add_error_range(ErrorRange(scene.record, scene.record + 64, reads=False))
    for _ in range(2):
        scene.bench.command(Command.PREEMPT, 0)
        scene.until(PREEMPTED)
        assert scene.error is CommandError.BUS_ERROR
    scene.transport.clear_error_ranges()
    scene.bench.command(Command.PREEMPT, 0)
    scene.until(PREEMPTED)
    assert scene.error is CommandError.NONE
    scene.bench.command(Command.PREEMPT, 0)
    assert scene.bench.refusal() is CommandError.NOT_RUNNING, "it is written"
    assert scene.take_over(scene.memory()) is CommandError.NONE
    scene.ends_well()


def test_an_adoption_is_killed_at_any_cycle(scene):
    scene.preempted(scene.moments(3)[-1])
    memory = scene.memory()
    for cycles in range(0, 200, 7):
        scene.transport.restore(scene.beginning)
        scene.transport.write_memory(0, memory)
        scene.bench.command(Command.ADOPT, 0)
        scene.transport.advance(cycles)
        scene.bench.command(Command.KILL, 0)
        scene.until(IDLE)
        scene.bench.command(Command.ADOPT, 0)
        scene.until(PREEMPTED)
    scene.ends_well()


@pytest.mark.parametrize("moments, step", quick([((0, -1), 5), ((-1,), 50)], [((-1,), 50)]), ids=["all", "some"])
def test_golden_model_and_rtl_write_and_believe_the_same_records(moments, step):
    g = preset("tiny")
    machines = [Scene(make(g, memory_bytes=1 << 19)) for make in (RtlTransport, GoldenTransport)]
    rtl, golden = machines
    for number in moments:
        memories = []
        for machine in machines:
            machine.preempted(machine.moments(4)[number])
            memories.append(machine.memory())
        for memory in memories:
            for machine in machines:
                assert machine.take_over(memory) is CommandError.NONE
                machine.ends_well()
        for bit in range(0, 512, step):
            bad = bytearray(memories[0])
            bad[rtl.record + bit // 8] ^= 1 << bit % 8
            assert golden.take_over(bytes(bad)) is CommandError.BAD_IMAGE
            lie = lying(rtl, bytes(bad))
            assert rtl.take_over(lie) == golden.take_over(lie), bit
