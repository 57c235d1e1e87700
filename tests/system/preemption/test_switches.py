"""Context switches that the machine counts: each way to end a preempt, through the Python API, on both machines."""

import pytest

from caesura import open_device
from caesura.hw.arch.geometry import preset
from support.programs.uneven import UNEVEN_BLOCKS, Uneven

TINY = preset("tiny")


@pytest.fixture(params=["golden", "rtl"])
def device(request):
    with open_device(request.param, TINY, memory_bytes=1 << 20) as device:
        yield device


def counted(launch):
    """The counts that are not 0."""
    return {name: count for name, count in vars(launch.switches).items() if count}


@pytest.mark.parametrize(("how", "name"), [
    ({"patience": "unlimited"}, "at_points"),
    ({"patience": 0}, "at_once"),
    ({"mechanism": "occupied"}, "at_once"),
    ({"grace": "unlimited"}, "drained")])
def test_each_way_is_counted_under_its_name(device, how, name):
    launch = Uneven(device).launch
    assert counted(launch) == {}
    for times in (1, 2):
        device.advance(150)
        saved = device.preempt(launch, **how)
        assert saved is not None and (saved.tbs == 0) == (name == "drained")
        assert counted(launch) == {name: times} | ({"resumed": times - 1} if times > 1 else {})
        device.resume(launch)
        assert counted(launch) == {name: times, "resumed": times}


def test_looking_at_them_takes_no_time(device):
    launch = Uneven(device).launch
    device.advance(100)
    before = device.transport.cycle
    assert launch.switches is not None and device.transport.cycle == before


def test_hasten_makes_it_one_at_once_and_an_abort_none(device):
    launch = Uneven(device).launch
    device.advance(150)
    device.begin_preempt(launch, patience="unlimited", grace="unlimited")
    device.advance(10)
    device.hasten(launch)
    assert device.finish_preempt(launch) is not None
    assert counted(launch) == {"at_once": 1}
    device.resume(launch)
    device.begin_preempt(launch, grace="unlimited")
    device.advance(10)
    device.abort(launch)
    assert counted(launch) == {"at_once": 1, "resumed": 1}


def test_a_checkpoint_and_a_restart(device):
    work = Uneven(device)
    launch = work.launch
    device.advance(150)
    device.checkpoint(launch, patience="unlimited")
    assert counted(launch) == {"checkpointed": 1}
    device.advance(50)
    device.preempt(launch, patience="unlimited", incremental=True)
    device.resume(launch)
    assert counted(launch) == {"checkpointed": 1, "at_points": 1, "resumed": 1}
    device.preempt(launch, restart=True, patience="unlimited")
    device.resume(launch)
    assert counted(launch) == {"checkpointed": 1, "at_points": 1, "at_once": 1, "resumed": 2}
    work.finishes()


def test_a_kernel_that_finishes_in_its_grace(device):
    launch = Uneven(device).launch
    while launch.progress[0] + len(device.resident_tbs(launch)) < UNEVEN_BLOCKS:
        device.advance(50)
    assert device.preempt(launch, grace="unlimited") is None
    assert launch.finished and counted(launch) == {"finished": 1}


def test_they_are_of_one_launch_and_stay_known_when_its_slot_has_another(device):
    first = Uneven(device)
    device.advance(150)
    device.preempt(first.launch, patience=0)
    device.resume(first.launch)
    first.finishes()
    others = [Uneven(device) for _ in range(TINY.kernel_slots)]
    assert any(other.launch.slot == first.launch.slot for other in others)
    assert all(counted(other.launch) == {} for other in others)
    assert counted(first.launch) == {"at_once": 1, "resumed": 1}


@pytest.mark.parametrize("backend", ["golden", pytest.param("rtl", marks=pytest.mark.full)])
def test_a_machine_without_profile_counts_nothing(backend):
    with open_device(backend, TINY.replace(name="strict", profile=False), memory_bytes=1 << 20) as device:
        launch = Uneven(device).launch
        assert launch.switches is None
        assert device.read("kernel[0].switches_at_once") == 0
