"""The kernels of CTXBack Table I on the RTL, stopped in preemption routines of both forms; routines cost nothing where
nobody preempts."""

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.sim import MEMORY_BYTES
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, shipped_work
from caesura.sim.workloads.everywhere import Campaign, totals
from caesura.software.compiler.flashback.kinds import RoutineForm, RoutineKind
from caesura.software.kernels import hostile
from support.programs.routine_forms import TABLE_ONE, routine_id, with_routines_of

G = PRESETS["gtx480"]
MOMENTS = 120
LIMIT = 1_000_000


def campaign(name, form):
    work = shipped_work(name, G, "tiny")
    if form:
        work = with_routines_of(work, G, RoutineKind.CTXBACK, form)
    return Campaign(RtlTransport(G, MEMORY_BYTES), work, CompiledJob(*hostile(G)), LIMIT)


@pytest.mark.full
@pytest.mark.parametrize("name", TABLE_ONE)
def test_nobody_preempts_and_routines_take_no_time(name):
    without, handing_over, storing = (campaign(name, form).cycles for form in (
        None, RoutineForm.HARDWARE, RoutineForm.SOFTWARE))
    assert handing_over == without and 0 <= storing - without <= 2


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("form", RoutineForm, ids=routine_id)
@pytest.mark.parametrize("name", TABLE_ONE)
def test_stopped_throughout_the_run(name, form):
    """At `MOMENTS` of its cycles; two mechanisms take turns."""
    c = campaign(name, form)
    step = max(1, c.cycles // MOMENTS) | 1
    for k, mechanism in enumerate((Mechanism.LIVE_CP, Mechanism.LIVE)):
        requests, saved = totals(c.at_cycles(mechanism, range(k * step, c.cycles, 2 * step)))
        assert saved > 0.9 * requests > 0
