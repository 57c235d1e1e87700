"""Contexts of two tenants in each other's place: whole, in parts, of thread blocks that are away, or saved before. A
resume is refused by name, or nothing changes but the tenant's own memory. No slot is lost."""

import pytest

from caesura.hw.arch.geometry import preset
from support.attacks.misplaced import MisplacedContexts, MisplacedWhileAway
from support.selection import quick
from support.sim.queues import DEVICE

TINY = preset("tiny").replace(watches=3, entries=6)
GEOMETRIES = {"one": TINY, "two": DEVICE}
RUNS = {MisplacedContexts: {("golden", "one"): 100, ("golden", "two"): 40, ("rtl", "two"): 20},
        MisplacedWhileAway: {("golden", "one"): 40, ("golden", "two"): 20, ("rtl", "two"): 10}}
"""Runs of a campaign by back end and SMs. A run resumes six to eight contexts that are another's."""
CASES = [(kind, backend, sms, seed) for kind, runs in RUNS.items() for (backend, sms), count in runs.items()
         for seed in range(count)]
QUICK = [(kind, "golden", "one", seed) for kind in RUNS for seed in (4,)] + [(MisplacedContexts, "rtl", "two", 0)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind, backend, sms, seed", quick(CASES, QUICK))
def test_what_is_anothers_is_refused_or_harms_its_own_tenant_alone(kind, backend, sms, seed):
    with kind(backend, GEOMETRIES[sms], seed) as campaign:
        campaign.run()
        assert campaign.ends.total() >= 3
        print(dict(campaign.ends))
