"""Preempt everywhere where an instruction takes several cycles: whichever of its beats a warp is in, nothing is lost.

In `make test-full`: small runs on `ecp5`, of which a warp of 32 lanes takes four beats, at every third cycle;
mechanisms take turns, and so does stopping at the next instruction and at a point.
"""

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.waiting import UNLIMITED
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob
from caesura.sim.workloads.everywhere import Campaign, totals
from caesura.software.kernels import hostile
from support.programs.small_runs import SMALL_RUNS
from support.sim.campaigns import bring_memory_near

G = PRESETS["ecp5"]
STEP = 3
WAYS = [(mechanism, patience) for mechanism in Mechanism for patience in (0, UNLIMITED)]


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(G.beats))
@pytest.mark.parametrize("name", SMALL_RUNS)
def test_a_warp_is_stopped_in_any_beat(name, first):
    """Cycles that leave one remainder: so each way to stop comes at cycles of all remainders."""
    assert G.beats == 4
    transport = RtlTransport(G, memory_bytes=8 << 20)
    bring_memory_near(transport)
    campaign = Campaign(transport, SMALL_RUNS[name](), CompiledJob(*hostile(G)), fill=True)
    cycles, saved = range(STEP * first, campaign.cycles, STEP * G.beats), 0
    for way, (mechanism, patience) in enumerate(WAYS):
        at = cycles[way::len(WAYS)]
        requests, some = totals(campaign.at_cycles(mechanism, at, patience=patience))
        assert requests == len(at)
        saved += some
    assert saved > len(cycles) // 3
