"""Three launches on four SMs under random commands, in the middle of each of which memory fails for one SM. Nothing is
lost, no slot and no launch; another device takes over what has not ended."""

import pytest

from caesura import open_device
from support.attacks.fan_out_in_flight import FanOutInFlight
from support.sim.queues import DEVICE

MEMORY = 1 << 21
CASES = [(sms, steps, seed) for sms, steps, runs in ((2, 8, 1), (2, 20, 40), (4, 20, 60)) for seed in range(runs)]


@pytest.mark.timeout(900)
@pytest.mark.full
@pytest.mark.parametrize("sms, steps, seed", CASES)
def test_memory_fails_for_one_sm_in_the_middle_of_a_command(sms, steps, seed):
    with open_device("rtl", DEVICE.replace(sms=sms), memory_bytes=MEMORY) as device:
        campaign = FanOutInFlight(device, seed)
        if seed % 2:
            campaign.steps(steps)
            campaign.taken_over()
        else:
            campaign.run(steps)
        print(f"{campaign.outages} outages, {campaign.failed} commands failed, {campaign.adopted} taken over")
        assert campaign.outages
