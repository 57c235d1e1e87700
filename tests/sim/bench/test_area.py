"""Area of an SM: its parts are summed, the sum is judged, mechanisms are priced by the difference they make."""

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.geometry import preset
from caesura.sim.bench import area
from caesura.sim.synth.blocks import INHERENT, MECHANISMS, MINIMAL, SM_PARTS, block, part, priced, unpreempted, without
from caesura.sim.synth.harness import ports
from caesura.sim.synth.measure import synthesise
from caesura.sim.synth.targets import COLUMNS, TARGETS
from caesura.software.job import load_geometry
from support.checkout import ROOT

G = preset("tiny")
AVAILABLE = TARGETS["ecp5"].available


@pytest.fixture
def each_takes(monkeypatch):
    """Let each block take a share of the device."""
    def set_share(of_device, more=lambda name: 0):
        def row(made, target, *, place, progress, name):
            assert not place and target.name == "ecp5"
            return {column: int(AVAILABLE[column] * of_device(name)) + more(name) for column in COLUMNS} | {"parts": {}}
        monkeypatch.setattr(area, "synthesise", row)
    return set_share


def test_parts_that_fit_one_by_one_are_judged_by_their_sum(each_takes, capsys):
    each_takes(lambda name: 0.2)
    result = area.run(G, ["machine"])
    assert len(result["machine"]["parts"]) == len(SM_PARTS) and not result["met"]
    assert result["machine"]["sum"]["flip-flops"] == 7 * (AVAILABLE["flip-flops"] // 5)
    area.print_report(result)
    assert "multipliers of the SM, a tenth of an LFE5U-85 spared: 217, at most 140: missed" in capsys.readouterr().out


def test_carries_and_distributed_memory_take_look_up_tables(each_takes):
    each_takes(lambda name: 0.1)
    found = area.run(G, ["machine"])["machine"]
    assert found["taken"]["LUT"] == 7 * (8364 + 2 * 4182 + 4 * 1045) and not found["fits"]
    each_takes(lambda name: 0.03)
    assert area.run(G, ["machine"])["met"]


def test_mechanisms_are_what_they_add_and_the_engine_is_judged_without_them(each_takes, capsys, tmp_path):
    each_takes(lambda name: 0, lambda name: 6000)
    result = area.run(G, ["mechanisms"])
    engine = result["engine"]
    assert result["met"] and [row["block"] for row in engine["mechanisms"]] == list(MECHANISMS)
    assert all(row[column] == 0 for row in engine["mechanisms"] for column in COLUMNS)
    each_takes(lambda name: 0, lambda name: 7001 if name == "none" else 7100)
    result = area.run(G, ["mechanisms"])
    assert result["engine"]["aims_met"] == {"LUT": True, "flip-flops": False} and not result["met"]
    assert {row["LUT"] for row in result["engine"]["mechanisms"]} == {99}
    area.print_report(result)
    assert "flip-flops of the engine without optional mechanisms: 7,001, at most 7,000: missed" in (
        capsys.readouterr().out)
    assert [(row["block"], row["LUT"]) for row in result["engine"]["inherent"]] == [(name, -99) for name in INHERENT]
    page = tmp_path / "page.md"
    page.write_text(f"{area.BEGIN}\n{area.END}\n")
    area.update_markdown(page, result)
    assert "| + live+tb | 99 |" in page.read_text() and "missed" in page.read_text()


def test_each_price_changes_what_its_mechanism_needs_and_nothing_else():
    least = G.replace(**MINIMAL)
    for name, (_, variant) in priced(G).items():
        changed = {field for field in MINIMAL if getattr(variant, field) != getattr(least, field)}
        assert changed == set(MECHANISMS.get(name, {})) and variant.replace(**MINIMAL) == least


@pytest.mark.parametrize("name, lanes", [("bare_unit", 8), ("bare_unit_32", 32)])
def test_the_examples_are_the_unit_without_optional_mechanisms(name, lanes):
    found = load_geometry(ROOT / "examples" / f"{name}.toml")
    assert found == preset("ecp5").replace(name=name, lanes=lanes, **MINIMAL)


def all_ports(made):
    return {port for flow in ("In", "Out") for port in ports(made, getattr(area.wiring, flow))}


def test_parts_without_preemption_have_no_port_of_it_and_none_for_simulations():
    for name in SM_PARTS:
        whole, bare = (all_ports(make(name, G)) for make in (part, unpreempted))
        assert not any(port.startswith(("trace", "activity", "occupancy")) for port in whole)
        gone = whole - bare
        assert bool(gone) == (name in ("control", "front_end", "execute", "shared_memory"))
        assert all(port.startswith(("state_", "stop_", "core_")) for port in gone)


def test_what_is_inherent_is_told_through_ports_that_are_not_there_without_it():
    whole = all_ports(block("preempt_engine", G.replace(**MINIMAL)))
    for name, held in INHERENT.items():
        left = all_ports(without(name, G))
        assert whole - left == set(held) and not left - whole


def test_a_section_that_is_not_there_is_refused():
    done = CliRunner().invoke(main, ["bench", "area", "--only", "engine"])
    assert done.exit_code == 2 and "machine" in done.stderr


@pytest.mark.full
def test_shared_memory_takes_less_if_nothing_reads_its_rows_for_a_save():
    """Lines' dirty bits and the port of the engine go."""
    whole, bare = (synthesise(make("shared_memory", G), TARGETS["ecp5"], place=False) for make in (part, unpreempted))
    assert bare["LUT"] < whole["LUT"] and bare["flip-flops"] < whole["flip-flops"]
