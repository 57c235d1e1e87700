"""Save and restore time of every shipped kernel against the limit of the bus; of a wide bus too."""

from pathlib import Path

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.words import decode
from caesura.sim.bench.limits import MOMENTS, LimitRuns, failures
from caesura.sim.scenario import shipped_work
from caesura.software.job import load_geometry
from caesura.software.kernels import KERNELS

GTX480 = PRESETS["gtx480"]
WIDE_PORT = load_geometry(Path(__file__).parents[3] / "examples" / "wide_port.toml")
EXAMPLES = [name for name, k in KERNELS.items() if k.folder == "examples"]
EARLY = {"saxpy": Mechanism.LIVE_CP, "hotspot": Mechanism.LIVE_TB}


def has_loops(name):
    """Whether the kernel has preemption points of loops; without, it may end before any comes."""
    return any(decode(word).op.name == "pp" for word in shipped_work(name, GTX480, "tiny").image.code)


FEW = MOMENTS[2], MOMENTS[1], MOMENTS[3]
"""Where one moment will do at which something is saved, in this order."""

MISSED = {("wide_port", "hybridsort", mechanism, what)
          for mechanism in (Mechanism.LIVE_CP, Mechanism.LIVE_TB) for what in ("save", "restore")}
"""Limits that are not kept (docs/mechanisms.md)."""
MOST = 1.10
"""By how much, of the limit."""


@pytest.mark.full
@pytest.mark.parametrize(("g", "name", "mechanism", "moments"), [
    *((GTX480, name, mechanism, FEW) for name, mechanism in EARLY.items()),
    *((GTX480, name, mechanism, MOMENTS) for name in KERNELS for mechanism in Mechanism),
    *((WIDE_PORT, name, mechanism, MOMENTS if name in EXAMPLES else FEW)
      for name in KERNELS for mechanism in Mechanism)], ids=lambda value: getattr(value, "name", None))
@pytest.mark.timeout(3600)
def test_save_and_restore_keep_to_the_limit_of_the_bus(g, name, mechanism, moments):
    saved = 0
    for early, gang in LimitRuns(g, name).pairs(mechanism, moments):
        for result in (early, gang):
            assert [each for each in failures(result)
                    if (g.name, name, mechanism, each.split(":")[0]) not in MISSED] == []
            if result.preempt is None:
                continue
            saved += result.preempt.tbs
            assert result.save_limit is not None and result.restore_limit is not None
        if early.resume and gang.resume and gang.preempt and gang.preempt.tbs > 1:
            assert gang.restore_limit and gang.restore_limit.regular_cycles == 0
            assert gang.resume.resume_cycles >= gang.resume.restore_cycles
            assert early.resume.resume_cycles < gang.resume.resume_cycles
        if saved and moments is FEW:
            break
    assert saved or mechanism is not Mechanism.OCCUPIED and not has_loops(name), "nothing was ever saved"


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name, mechanism", sorted({(name, mechanism) for _, name, mechanism, _ in MISSED}))
def test_limits_that_are_missed_are_missed_by_less_than_a_tenth(name, mechanism):
    times = []
    for pair in LimitRuns(WIDE_PORT, name).pairs(mechanism, FEW):
        for result in pair:
            times += [limit for limit in (result.save_limit, result.restore_limit) if limit]
    assert times and max(each.cycles / each.limit for each in times) <= MOST
    assert not all(each.met for each in times), "they are kept now: take them off the list"
