"""The SM of the longest campaigns is the same for the command line and for the tests."""

from caesura.sim.workloads.everywhere import SMALL_SM
from caesura.software.job import load_geometry
from support.checkout import ROOT


def test_the_file_that_make_test_full_builds_is_the_sm_of_the_campaigns():
    assert load_geometry(ROOT / "tests" / "support" / "campaign.toml") == SMALL_SM
