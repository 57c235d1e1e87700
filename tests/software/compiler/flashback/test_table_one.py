"""The kernels of CTXBack Table I, stopped in preemption routines of both forms before every dynamic instruction."""

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.scenario import CompiledJob, shipped_work
from caesura.sim.workloads.everywhere import Campaign, totals
from caesura.software.compiler.flashback.kinds import RoutineForm, RoutineKind
from caesura.software.kernels import hostile
from support.programs.routine_forms import TABLE_ONE, routine_id, with_routines_of
from support.selection import quick
from support.sim.campaigns import chunk_of

pytestmark = pytest.mark.depends_on("hw", "sim", "software")

G = PRESETS["gtx480"]
SAMPLES, CHUNKS = 5, 4
_campaigns = {}


def campaign(name, form):
    """The machine with the kernel at its start; the last that was asked for is kept."""
    if (name, form) not in _campaigns:
        _campaigns.clear()
        work = with_routines_of(shipped_work(name, G, "tiny"), G, RoutineKind.CTXBACK, form)
        _campaigns[name, form] = Campaign(GoldenTransport(G, memory_bytes=8 << 20), work, CompiledJob(*hostile(G)),
                                          100_000)
    return _campaigns[name, form]


def test_there_are_twelve():
    assert len(TABLE_ONE) == 12


@pytest.mark.parametrize("form", RoutineForm, ids=routine_id)
@pytest.mark.parametrize("name", quick(TABLE_ONE, ["relu"]))
def test_sampled_instructions(name, form):
    c = campaign(name, form)
    requests, saved = totals(c.at_cycles(Mechanism.LIVE_CP, range(3, c.cycles, c.cycles // SAMPLES),
                                         patience="unlimited"))
    assert saved >= requests - 1 > 0


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("form", RoutineForm, ids=routine_id)
@pytest.mark.parametrize("name", TABLE_ONE)
def test_every_instruction(name, form, chunk):
    c = campaign(name, form)
    cycles = chunk_of(range(c.cycles), chunk, CHUNKS)
    requests, saved = totals(c.at_cycles(Mechanism.LIVE_CP, cycles, patience="unlimited"))
    assert saved > 0.9 * requests
