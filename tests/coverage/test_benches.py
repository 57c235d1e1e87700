"""The benches of exported SystemVerilog run the preemption rooms, and notice faults in them (docs/coverage.md)."""

import re
from dataclasses import replace

import pytest

from caesura.hw.lib.vectors import LeastRecent
from caesura.sim.cocotb.run import BenchError
from support.checkout import ROOT
from support.coverage import page as coverage_page
from support.coverage.runs import RUNS, Run
from support.coverage.tally import explained, rooms, totals
from support.mutation import page as fault_page
from support.mutation.__main__ import main as mutate
from support.mutation.campaign import CAUGHT, campaign
from support.mutation.cocotb_bench import CocotbBench
from support.mutation.equivalence import Verdict, equivalent
from support.mutation.one_step import OneStep
from support.mutation.planting import planted
from support.mutation.targets import TARGETS
from support.selection import named

DEMANDED = 0.95
PAGE = ROOT / "docs" / "coverage.md"
PACKER, EVICTING = (next(target for target in TARGETS if target.name == name) for name in ("packer", "evict_sequencer"))


@pytest.mark.full
def test_the_bench_of_the_packer_takes_all_of_its_branches():
    found = rooms(Run("packer", {"size": 4, "most": 4}).points())
    room = found["formats"]
    assert list(found) == ["formats"] and not room.missed
    assert len(room.covered) == 8 and room.branches[0] == room.branches[1] > 30
    assert room.toggles[0] > 0.98 * room.toggles[1]


@pytest.mark.full
def test_a_bench_that_does_less_covers_less():
    """One chunk and no pauses: words are never kept for another group."""
    room = rooms(Run("packer", {"size": 4, "most": 4, "count": 1}).points())["formats"]
    assert room.missed and room.branches[0] < room.branches[1]


@pytest.mark.full
def test_faults_of_the_packer_are_noticed():
    result = campaign(PACKER, 10)
    assert len(result.faults) == 10 and result.share >= DEMANDED, [str(fault) for fault, _ in result.survivors]


@pytest.mark.full
def test_no_fault_is_proved_equivalent_to_none_and_one_that_is_noticed_is_not():
    component = PACKER.bench.component()
    mutated = planted(component, 10, PACKER.seed)
    assert equivalent(component, mutated, 0, PACKER.contract) == Verdict.PROVED
    assert equivalent(component, mutated, 3, PACKER.contract) == Verdict.DIFFERS


@pytest.mark.full
def test_within_a_cycle_nothing_is_proved_of_a_fault_that_is_noticed():
    noticed, one_step = campaign(PACKER, 10), OneStep(planted(PACKER.bench.component(), 10, PACKER.seed).rtlil)
    assert one_step.equivalent(0) == Verdict.PROVED
    for fault, fate in zip(noticed.faults, noticed.fates, strict=True):
        verdict = one_step.equivalent(fault.number)
        assert verdict == Verdict.UNDECIDED or fate == Verdict.PROVED.value, fault


@pytest.fixture
def figures():
    """What was recorded last, of coverage and of planted faults."""
    if not (coverage_page.RECORDED.exists() and fault_page.RECORDED.exists()):
        pytest.skip("no figures have been recorded: `make coverage ARGS=--record`, `make mutate ARGS=--record`")
    return coverage_page.recorded(), fault_page.recorded()


def test_the_page_has_what_was_recorded(figures):
    text = PAGE.read_text()
    kept, faults = figures
    for table in (coverage_page.room_table(kept), coverage_page.missed_table(kept), fault_page.fault_table(faults),
                  fault_page.survivor_table(faults), fault_page.unrecorded(faults)):
        assert table in text, f"put this into docs/coverage.md:\n{table}"


def test_what_was_recorded_is_what_is_demanded(figures):
    kept, faults = figures
    assert kept["all"]["lines"][0] >= DEMANDED * kept["all"]["lines"][1]
    assert all(reason for *_, reason in kept["missed"])
    assert sum(row["faults"] for row in faults.values()) >= 300


def test_so_many_faults_were_noticed(figures):
    """By the benches of exported SystemVerilog; what blocks' own tests notice is recorded, and misses the aim."""
    benches = [target.name for target in TARGETS if isinstance(target.bench, CocotbBench)]
    assert len(benches) == 10 and set(figures[1]) <= {target.name for target in TARGETS}
    assert fault_page.caught_share([figures[1][name] for name in benches]) >= DEMANDED


@pytest.mark.full
def test_tests_of_a_block_notice_faults_in_its_netlist():
    """They pass without one; of six all that are not proved equivalent are noticed."""
    result = campaign(EVICTING, 6)
    assert len(result.faults) == 6 and result.share == 1 and result.count(CAUGHT) > 3


@pytest.mark.full
def test_a_long_test_runs_for_each_fault():
    """The first fault is none, so all tests pass; the others are noticed as they are one by one."""
    events = next(target for target in TARGETS if target.name == "device_events")
    mutated = planted(events.bench.component(), 4, events.seed)
    limit, numbers = events.bench.limit(mutated, events.seed), [fault.number for fault in mutated.faults]
    assert any("[four-1500]" in name for name in limit["tests"])
    together = events.bench.caught(mutated, [0, *numbers], limit, events.seed)
    assert together == set().union(*(events.bench.caught(mutated, [each], limit, events.seed) for each in numbers))
    assert len(together) > 1


def test_flip_flops_start_at_zero_since_a_fault_takes_the_initial_value_away():
    netlist = planted(LeastRecent(3, told=True), 60, 1).netlist
    assert re.findall(r"reg [^=;]*= 1'h0", netlist)
    assert not re.findall(r"reg [^=;]*= \d+'h0*[1-9a-f]", netlist)


@pytest.mark.full
def test_a_fault_is_in_the_block_that_the_tests_run():
    """A test that never runs the block with faults is an error, and no fault is noticed by it."""
    strange = replace(EVICTING, bench=replace(EVICTING.bench, geometry=EVICTING.bench.geometry.replace(warps=2)))
    with pytest.raises(BenchError, match="does not run it"):
        campaign(strange, 1)


def test_the_page_names_commands_that_there_are():
    makefile = (ROOT / "Makefile").read_text()
    assert all(re.search(rf"^[\w ]*\b{name}\b.*:", makefile, re.MULTILINE)
               for name in re.findall(r"`?make (\w[\w-]*)", PAGE.read_text()))


@pytest.mark.full
@pytest.mark.timeout(4 * 3600)
def test_so_much_is_covered():
    found = rooms(points for run in RUNS for points in run.points())
    covered, whole = totals(found.values())["lines"]
    assert covered >= DEMANDED * whole
    if coverage_page.RECORDED.exists():
        assert coverage_page.figures(found, explained(found)) == coverage_page.recorded()


@pytest.mark.full
@pytest.mark.timeout(4 * 3600)
def test_faults_are_noticed_as_recorded():
    kept = fault_page.recorded()
    results = [campaign(target) for target in TARGETS if target.name in kept]
    assert fault_page.figures(results) == kept


def test_words_choose_names_and_none_is_an_error():
    assert named([], ["packer", "save"]) == ["packer", "save"] and named(["ack"], ["packer", "save"]) == ["packer"]
    with pytest.raises(SystemExit, match="nothing has pakcer in its name; there are packer, save"):
        named(["pakcer"], ["packer", "save"])
    with pytest.raises(SystemExit, match="there is no block pakcer with faults; there are packer"):
        mutate(["pakcer"])
