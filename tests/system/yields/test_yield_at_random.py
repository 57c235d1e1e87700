"""Thread blocks that wait for each other across two kernels, preempted and woken at random: all end, and are right; on
the golden model and, in the full set, on the RTL of an SM."""

import pytest

from caesura.hw.arch.geometry import preset
from caesura.sim.rtl.transport import RtlTransport
from support.selection import quick
from support.sim.yield_campaign import Campaign, OutageCampaign

QUICK, FULL = (0, 1, 2, 3, 92, 178), range(206)
"""In the last two the watch table is full, and those that wait for their turn could keep others from theirs."""
RTL = preset("tiny").replace(watches=3, entries=6)


@pytest.mark.parametrize("spare", quick([False, True], [False]))
def test_waiting_for_each_other_under_preempts_all_end(spare):
    yields = 0
    for seed in QUICK:
        campaign = Campaign(seed, spare)
        campaign.run()
        yields += campaign.check()
    assert yields > 10


@pytest.mark.full
@pytest.mark.parametrize("spare", [False, True])
@pytest.mark.parametrize("seed", FULL)
def test_many_of_them(seed, spare):
    campaign = Campaign(seed, spare)
    campaign.run()
    campaign.check()


@pytest.mark.full
@pytest.mark.parametrize("seed", range(200))
def test_on_the_rtl(seed):
    campaign = Campaign(seed, True, RtlTransport, RTL)
    campaign.run()
    campaign.check()


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1500))
def test_while_memory_refuses_contexts(seed):
    campaign = OutageCampaign(seed, RTL)
    campaign.run()
    campaign.check()
