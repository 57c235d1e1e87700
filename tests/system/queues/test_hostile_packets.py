"""A tenant writes anything into packets, kernel objects, arguments and signals of its queue. Each packet completes, is
refused by name, or waits until its queue is ended. Nothing of others changes. The tenant's next packet completes."""

import pytest

from support.attacks.hostile_packets import HostilePackets
from support.selection import quick

PACKETS = 20
"""Of a run."""
CASES = [("golden", seed) for seed in range(45)] + [("rtl", seed) for seed in range(10)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend, seed", quick(CASES, [("golden", 0), ("golden", 1)]))
def test_what_a_tenant_writes_for_its_queue_harms_nobody_else(backend, seed):
    with HostilePackets(backend, seed) as campaign:
        campaign.run(PACKETS)
        print(dict(campaign.ends))
        assert campaign.ends.total() == PACKETS and campaign.ends["failed"]
