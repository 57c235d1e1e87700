"""``caesura bench deadline``: the same traffic in each way, on the model and on the RTL."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.errors import InputError
from caesura.sim.bench import deadline
from caesura.sim.bench.deadline import run
from caesura.sim.report import deadline as report
from caesura.software.sched import TECHNIQUES
from support.sim.sched import TINY

SMALL = {"tbs": 60, "arrivals": 5, "every": 7_000}


@pytest.fixture(scope="module")
def of_model():
    return run(TINY, "model", **SMALL)


def rows_of(result):
    return {row["way"]: row for row in result["runs"]}


@pytest.mark.full
def test_each_way_has_a_distribution(of_model):
    rows = rows_of(of_model)
    assert [*rows] == [*TECHNIQUES]
    for row in rows.values():
        assert row["ended"] == len(row["latencies"]) == 5 and row["latencies"] == sorted(row["latencies"])
        assert (row["min"], row["max"]) == (row["latencies"][0], row["latencies"][-1])
        assert row["min"] <= row["median"] == np.median(row["latencies"]) <= row["p99"] <= row["max"]
        assert row["late"] == sum(latency > SMALL["every"] for latency in row["latencies"])
    for way in ("live+cp", "in-place", "checkpoint", "flush", "reset"):
        assert rows[way]["max"] < rows["none"]["median"]
    assert rows["reset"]["batch_tbs"] < rows["flush"]["batch_tbs"] < rows["live+cp"]["batch_tbs"]
    assert rows["none"]["batch_speed"] == 1


@pytest.mark.full
def test_the_rtl_gives_nearly_the_same_and_right_results(of_model):
    ways = ("none", "live+cp", "reset")
    result = run(TINY, "rtl", ways, **SMALL)
    assert result["met"] and [row["way"] for row in result["runs"]] == [*ways]
    for way, row in rows_of(result).items():
        assert row["wrong"] == 0 and row["ended"] == 5
        assert np.mean(row["latencies"]) == pytest.approx(np.mean(rows_of(of_model)[way]["latencies"]), rel=0.35)


def test_wrong_results_are_counted_and_said(monkeypatch, capsys):
    monkeypatch.setattr(deadline.DriverMachine, "results", lambda self, signal: {
        name: np.zeros_like(value) for name, value in signal.work.arguments().items() if isinstance(value, np.ndarray)})
    result = run(TINY, "rtl", ("none",), 60, 2, 4_000)
    assert not result["met"] and result["runs"][0]["wrong"] > 0
    report.print_report(result)
    assert "WRONG" in capsys.readouterr().out


def test_a_deadline_of_its_own_and_a_run_that_is_cut_off(monkeypatch):
    result = run(TINY, "model", ("live+cp",), 60, 3, 4_000, deadline=10)
    assert result["deadline"] == 10 and result["runs"][0]["late"] == 3
    monkeypatch.setattr(deadline, "PATIENCE", 0)
    (row,) = run(TINY, "model", ("live+cp",), 60, 3, 4_000)["runs"]
    assert (row["ended"], row["late"], row["latencies"]) == (0, 3, []) and "median" not in row


def test_an_announcement_that_comes_too_late_costs_time():
    found = [run(TINY, "model", ("checkpoint",), lead=lead, **SMALL)["runs"][0] for lead in (20, 2000)]
    assert found[1]["median"] < found[0]["median"]


def test_several_sms_on_the_model():
    four = run(TINY.replace(sms=4), "model", ("none", "live+cp"), **SMALL)
    one = run(TINY, "model", ("none",), **SMALL)
    assert rows_of(four)["none"]["batch_tbs"] > 1.5 * rows_of(one)["none"]["batch_tbs"]


@pytest.mark.parametrize("change, message", [
    ({"machine": "golden"}, "machine must be rtl or model"), ({"ways": ("nap",)}, "no way 'nap'"),
    ({"tbs": 0}, "tbs must be 1"), ({"arrivals": 0}, "arrivals must be 1"), ({"every": 0}, "every must be 1"),
    ({"lead": -1}, "lead must be 0"),
    ({"g": TINY.replace(in_place=False), "ways": ("in-place",)}, "cannot make room by 'in-place'")])
def test_what_cannot_be_shown_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        run(**{"g": TINY, **SMALL, **change})


def test_ways_that_the_sm_cannot_do_are_left_out():
    g = TINY.replace(in_place=False, checkpoints=False, restart=False)
    ways = [way.name for way in deadline._chosen(g, (), "rankfilter")]
    assert ways == ["none", "drain", "live+cp", "reset"]


def test_one_command_gives_a_table_a_picture_json_and_markdown(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    words = ["bench", "deadline", "--preset", "tiny", "--way", "none", "--way", "live+cp", "--tbs", "60", "--arrivals",
             "3", "--every", "4000", "--picture", str(tmp_path / "a.png"), "--json", str(tmp_path / "a.json"),
             "--markdown", str(page)]
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 0, found.output
    assert "rankfilter of 60 TBs runs" in found.stdout and "p99" in found.stdout
    stored = json.loads((tmp_path / "a.json").read_text())
    assert stored["machine"] == "model" and [row["way"] for row in stored["runs"]] == ["none", "live+cp"]
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert "old" not in page.read_text() and "| live+cp |" in page.read_text() and "after" in page.read_text()
    report.picture(stored, tmp_path / "a.svg")
    assert b"Latency of an urgent kernel" in (tmp_path / "a.svg").read_bytes()


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(deadline, "calibrate", lambda *arguments: pytest.fail("measured"))
    for words in (["--picture", str(tmp_path / "a.txt")], ["--markdown", str(tmp_path / "none" / "a.md")]):
        assert CliRunner().invoke(main, ["bench", "deadline", "--preset", "tiny", *words]).exit_code == 2
