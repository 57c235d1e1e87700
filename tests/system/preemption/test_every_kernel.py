"""Every shipped kernel preempted all through its run on the RTL, with each mechanism: nothing may be lost.

`make test-full` takes a cycle of each kernel on `gtx480`, with one mechanism in turn, and at least 200 with each, on a
smaller SM that the hostile neighbour fills sooner. The memory is near. The runs of the campaign are preempted at every
k-th cycle of the undisturbed run, and, once resumed, again after each eighth of the kernel's cycles; each request
counts, also one in whose drain the kernel ended. How many these are is printed.
"""

import functools
import itertools

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, shipped_work
from caesura.sim.workloads.everywhere import SMALL_SM, Campaign, has_points, totals
from caesura.software.kernels import KERNELS, hostile
from support.sim.campaigns import bring_memory_near

POINTS = 200
PERIODS = 8
"""Most preemptions of a run, about."""
IN_TURN = list(zip(KERNELS, itertools.cycle(Mechanism), strict=False))


@functools.lru_cache(maxsize=1)
def campaign(name, geometry):
    transport = RtlTransport(geometry, memory_bytes=8 << 20)
    bring_memory_near(transport)
    return Campaign(transport, shipped_work(name, geometry, "tiny"), CompiledJob(*hostile(geometry)), fill=True)


@pytest.mark.full
@pytest.mark.parametrize("name, mechanism", IN_TURN, ids=lambda x: getattr(x, "label", x))
def test_sampled_cycle(name, mechanism):
    c = campaign(name, PRESETS["gtx480"])
    _, saved = totals(c.at_cycles(mechanism, [c.cycles // 2]))
    assert saved or mechanism is not Mechanism.OCCUPIED


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mechanism", Mechanism, ids=lambda mechanism: mechanism.label)
@pytest.mark.parametrize("name", KERNELS)
def test_every_kth_cycle(name, mechanism):
    c = campaign(name, SMALL_SM)
    period = c.cycles // PERIODS
    (most,) = c.at_cycles(mechanism, [0], period)
    # A run has (most + 1) / 2 requests on average; a tenth more runs than that takes make a second round rare.
    k = c.cycles * (most.requests + 1) // (2 * POINTS * 11 // 10)
    requests, saved = totals(c.at_cycles(mechanism, range(0, c.cycles, k), period))
    while requests < POINTS and k > 1:
        more, some = totals(c.at_cycles(mechanism, range(k // 2, c.cycles, k), period))
        requests, saved, k = requests + more, saved + some, k // 2
    print(f"{name}, {mechanism.label}: {requests} preemptions, in {requests - saved} the kernel ended in the drain")
    assert requests >= POINTS
    if mechanism is Mechanism.OCCUPIED:
        assert saved >= requests // 2
    else:
        assert saved or not has_points(c.work.image)
