"""Shipped kernels on two SMs of `gtx480`, preempted on both while another overwrites what they had: nothing is lost."""

import itertools

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, shipped_work
from caesura.sim.workloads.everywhere import Campaign, has_points, totals
from caesura.software.kernels import KERNELS, hostile

TWO = PRESETS["gtx480"].replace(sms=2)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name, mechanism", list(zip(KERNELS, itertools.cycle(Mechanism), strict=False)),
                         ids=lambda x: getattr(x, "label", x))
def test_a_kernel_preempted_on_both_sms(name, mechanism):
    transport = RtlTransport(TWO, memory_bytes=16 << 20)
    campaign = Campaign(transport, shipped_work(name, TWO, "tiny"), CompiledJob(*hostile(TWO)), fill=True)
    requests, saved = totals(campaign.at_cycles(mechanism, [campaign.cycles // 3, 2 * campaign.cycles // 3]))
    assert requests >= 2
    assert saved or mechanism is not Mechanism.OCCUPIED or not has_points(campaign.work.image)
