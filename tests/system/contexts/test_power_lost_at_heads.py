"""Power is lost right after each write of a head of a context, in a first preempt and in later ones. Heads are entries
and records, of any SM. Another machine ends the launch with the right bits, or refuses it and says so."""

import pytest

from support.attacks.lost_power import LostPower
from support.selection import quick
from support.sim.queues import DEVICE

MACHINES = {"golden-1": ("golden", DEVICE.replace(sms=1, queues=0)), "golden-2": ("golden", DEVICE),
            "rtl-2": ("rtl", DEVICE)}
CASES = [(name, seed) for name, runs in (("golden-1", 60), ("golden-2", 30), ("rtl-2", 30)) for seed in range(runs)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name, seed", quick(CASES, [("golden-1", 0), ("golden-2", 1)]))
def test_power_is_lost_after_each_write_of_a_head(name, seed):
    with LostPower(*MACHINES[name], seed) as campaign:
        campaign.run()
        print(f"{campaign.taken} taken over, {campaign.refused} refused")
        assert campaign.taken >= 1 and campaign.refused >= 2
