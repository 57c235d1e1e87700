"""The tables of proactive preemption decide what the paper's flow chart does (PEP Figs. 6 and 7)."""

import itertools

import pytest

from caesura.hw.arch.geometry import PRESETS, preset
from caesura.hw.arch.proactive import (
    ARRIVED,
    CASES,
    SETTLED_INSTRUCTIONS,
    UNKNOWN,
    WAITING,
    Case,
    Choice,
    Situation,
    bus_sixteenths,
    case_of,
    choose,
    cycles_left,
    switch_cycles,
)
from caesura.hw.arch.way import Way


def flow_chart(s: Situation) -> Choice:
    """Fig. 7 by hand."""
    if s.based:
        return Choice.RUN
    if s.left > s.due and s.left > s.switch:
        return Choice.SETTLE if s.successor and s.instructions < SETTLED_INSTRUCTIONS else Choice.CHECKPOINT
    return Choice.DRAIN


SITUATIONS = [Situation(*values) for values in itertools.product(
    (0, 99, 100, 101, UNKNOWN), (0, 100), (0, 100), (0, SETTLED_INSTRUCTIONS - 1, SETTLED_INSTRUCTIONS),
    (False, True), (False, True))]


def test_the_table_before_the_arrival_is_the_flow_chart():
    choices = [choose(WAITING, each) for each in SITUATIONS]
    assert choices == [flow_chart(each) for each in SITUATIONS] and {*choices} == {*Choice} - {Choice.SAVE}


def test_each_situation_has_one_case_at_the_arrival():
    for each in SITUATIONS:
        drains = not each.based and each.left <= each.switch
        assert choose(ARRIVED, each) is (Choice.DRAIN if drains else Choice.SAVE)
        assert case_of(each) is (Case.DRAIN if drains else {
            (False, True): Case.TWO_CHECKPOINTS, (False, False): Case.SINGLE,
            (True, False): Case.DRAIN_SINGLE, (True, True): Case.DRAIN_TWO}[each.successor, each.based])
    assert {*CASES.values()} == {*Case}


def test_cycles_left():
    assert [cycles_left(*each) for each in ((None, 5), (100, 40), (100, 100), (100, 101))] == [UNKNOWN, 60, 0, 0]


@pytest.mark.parametrize("name", PRESETS)
def test_the_bound_on_a_switch_is_the_bus_time_of_all_that_is_allocated(name):
    g = preset(name)
    for tbs, rows, lines in ((1, 1, 0), (2, 5, 3), (g.tb_slots, g.register_rows // g.tb_slots, 1)):
        exact = tbs * (rows * 4 * g.vector_bytes + lines * 128) / g.bytes_per_cycle + g.memory_latency
        assert exact - 1 <= switch_cycles(g, tbs, rows, lines) <= exact + tbs * (rows + lines) / 16 + 1
    assert bus_sixteenths(g, 16) == -(-256 // g.bytes_per_cycle)


def test_a_geometry_says_what_it_lacks():
    for name in ("checkpoints", "profile", "grace"):
        with pytest.raises(ValueError, match=f"proactive = true needs {name} = true"):
            preset("ecp5").replace(proactive=True, **{name: False})


@pytest.mark.parametrize("way, why", [
    (Way(select=True), "select needs grace"), (Way(select=True, grace=9), ""),
    (Way(select=True, grace=9, checkpoint=True), "checkpoint does not go with select")])
def test_a_preempt_that_selects(way, why):
    assert why in way.refusal(preset("tiny").replace(proactive=True)) and bool(why) == bool(way.clash())
    assert "proactive = false" in Way(select=True, grace=9).refusal(preset("tiny"))
