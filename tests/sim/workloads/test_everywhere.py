"""A preemption campaign compares all of memory, but for what has to be different."""

import numpy as np
import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism, entry_address
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.scenario import CompiledJob
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.kernels import hostile
from support.programs.routines import routines_work

TINY = preset("tiny")
MEMORY = 1 << 20


@pytest.fixture(scope="module")
def campaign():
    return Campaign(GoldenTransport(TINY, MEMORY), routines_work(1, 13), CompiledJob(*hostile(TINY)), fill=True)


def places(campaign):
    """Return a byte of each part of memory that is compared, and of each that is not."""
    array, other = (next(iter(arrays.values())) for arrays in (campaign._arrays, campaign._other_arrays))
    launch = campaign._launch
    compared = {
        "null page": 0, "code": campaign._kernel.address, "the neighbour's code": campaign._other.address + 8,
        "between arrays": array.address + array.nbytes, "free memory of contexts": campaign.device.system.end - 1,
        "the last byte": MEMORY - 1}
    return compared, {"a context": entry_address(launch.ccb_base, 1) + 64, "the neighbour's array": other.address}


def outcome(campaign, address, monkeypatch):
    """Return the outcome of a preemption during which a bit of memory flips."""
    with monkeypatch.context() as patch:
        run = campaign._run_neighbour

        def run_and_flip():
            run()
            (value,) = campaign.transport.read_memory(address, 1)
            campaign.transport.write_memory(address, bytes([value ^ 1]))

        patch.setattr(campaign, "_run_neighbour", run_and_flip)
        (found,) = campaign.at_cycles(Mechanism.OCCUPIED, [campaign.cycles // 2])
    assert found.saved == 1
    return found


def test_a_byte_that_changes_anywhere_is_noticed(campaign, monkeypatch):
    compared, excepted = places(campaign)
    for what, address in compared.items():
        assert outcome(campaign, address, monkeypatch).wrong_bytes == 1, what
    for what, address in excepted.items():
        assert outcome(campaign, address, monkeypatch).wrong_bytes == 0, what


def test_memory_that_nobody_has_is_random_if_asked(campaign):
    held = np.frombuffer(campaign.transport.read_memory(0, MEMORY), np.uint8)
    assert np.unique(held[:4096]).size > 200 and np.unique(held[-4096:]).size > 200
    other = Campaign(GoldenTransport(TINY, MEMORY), routines_work(1, 13), CompiledJob(*hostile(TINY)))
    assert not any(other.transport.read_memory(MEMORY - 4096, 4096))
