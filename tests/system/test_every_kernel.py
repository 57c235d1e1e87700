"""Every shipped kernel preempted all through its run on the RTL, with each mechanism: nothing may be lost.

`make test` takes a cycle of each kernel, with one mechanism in turn; `make test-full` every k-th cycle, at least 200 of
them, with each, on a smaller SM that the hostile neighbour fills sooner. The memory is near. A run of the campaign is
preempted again after each eighth of the kernel's cycles, and begins with that k cycles later than the run before.
"""

import functools
import itertools

import pytest

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.geometry import PRESETS
from caesura.sim.memory import MemoryTiming
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import Work, shipped_work
from caesura.sim.testing.everywhere import SMALL_SM, Campaign, has_points
from caesura.software.kernels import KERNELS, hostile

NEAR = 50
"""Cycles of memory latency."""
POINTS = 200
PERIODS = 8
"""Preemptions of a run, about; there are as many runs as `POINTS` takes."""
IN_TURN = list(zip((name for name, k in KERNELS.items() if k.folder != "examples"), itertools.cycle(Mechanism),
                   strict=False))
"""The examples are in `test_everywhere`, larger."""


@functools.lru_cache(maxsize=1)
def campaign(name, geometry):
    transport = RtlTransport(geometry, memory_bytes=4 << 20)
    transport.set_timing(MemoryTiming.of(geometry.replace(memory_latency=NEAR)))
    return Campaign(transport, shipped_work(name, geometry, "tiny"), Work(*hostile(geometry)))


def check(outcomes):
    """Nothing is wrong; return how often something was preempted, and how often something was saved."""
    outcomes = list(outcomes)
    wrong = {o.cycle: o.wrong_bytes for o in outcomes if o.wrong_bytes}
    assert not wrong, f"wrong bytes by cycle of the (first) request: {wrong}"
    return sum(o.requests for o in outcomes), sum(o.saved for o in outcomes)


@pytest.mark.parametrize("name, mechanism", IN_TURN, ids=lambda x: getattr(x, "label", x))
def test_sampled_cycle(name, mechanism):
    c = campaign(name, PRESETS["gtx480"])
    _, saved = check(c.at_cycles(mechanism, [c.cycles // 2]))
    assert saved or mechanism is not Mechanism.OCCUPIED


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mechanism", Mechanism, ids=lambda mechanism: mechanism.label)
@pytest.mark.parametrize("name", KERNELS)
def test_every_kth_cycle(name, mechanism):
    c = campaign(name, SMALL_SM)
    period = c.cycles // PERIODS
    (last,) = c.at_cycles(mechanism, [period - 1], period)  # the run with the fewest
    step = period * last.requests // POINTS
    assert step >= 1
    requests, saved = check([last, *c.at_cycles(mechanism, range(0, period - 1, step), period)])
    assert requests >= POINTS
    assert saved or mechanism is not Mechanism.OCCUPIED and not has_points(c.work.image)
