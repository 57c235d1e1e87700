"""``caesura bench patience``: its figures are those of single preemptions, and a limit that is missed is said."""

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.errors import InputError
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.waiting import UNLIMITED
from caesura.sim.bench import patience
from caesura.sim.bench.patience import Task, measure, print_report, run, summary, verdict
from caesura.sim.report import patience as report
from caesura.software.driver.preemption.patience import SHARE, bus_share, default_patience
from support.sim.tiny_launch import tiny_launch
from support.sim.tiny_run import TINY, work

WAYS = {"occupied": (Mechanism.OCCUPIED, None), "zero": (Mechanism.LIVE, 0), "default": (Mechanism.LIVE, None),
        "unlimited": (Mechanism.LIVE, UNLIMITED)}


def single(at, mechanism, given):
    """The latency of one preemption on a machine of its own."""
    device, launch = tiny_launch(work(), at)
    saved = device.preempt(launch, mechanism, patience=given)
    return saved.save_cycles


def test_figures_are_those_of_single_preemptions(monkeypatch):
    moments = []
    plain = patience.Campaign.latencies

    def kept(self, requests, cycles):
        moments.extend(cycles)
        return plain(self, requests, cycles)

    monkeypatch.setattr(patience.Campaign, "latencies", kept)
    (row,) = measure(Task(TINY, work(), (Mechanism.LIVE,), 3, 5, (SHARE, Fraction(4))))
    assert row["moments"] == len(moments) == 3
    assert row["mean"][str(SHARE)] == row["mean"]["default"] and row["worst"][str(SHARE)] == row["worst"]["default"]
    assert "4" in row["mean"]
    for name, (mechanism, given) in WAYS.items():
        latencies = [single(at, mechanism, given) for at in moments]
        assert row["worst"][name] == max(latencies) and row["mean"][name] == pytest.approx(sum(latencies) / 3)


@pytest.mark.parametrize("default, worst_met, mean_met", [
    ([110, 50], True, True), ([111, 49], False, True), ([90, 72], True, False)])
def test_limits_are_of_the_worst_of_occupied_and_of_the_lower_mean(default, worst_met, mean_met):
    row = verdict({"occupied": [100, 90], "zero": [80, 81], "unlimited": [200, 90], "default": default})
    assert (row["worst_limit"], row["mean_limit"]) == (pytest.approx(110), 80.5)
    assert (row["worst_met"], row["mean_met"]) == (worst_met, mean_met)


def test_command_prints_each_figure_next_to_its_limit(monkeypatch, tmp_path):
    out = tmp_path / "p.json"

    def small(g, size, kernels, mechanisms, moments, seed, jobs, progress, shares, *, json_file, resume):
        assert (json_file, resume) == (out, None)
        assert (size, kernels, mechanisms, moments, seed, jobs) == ("small", ("vecadd",), [Mechanism.LIVE], 7, 1, 2)
        assert shares == (Fraction(1, 64), Fraction(1, 5))
        latencies = {"occupied": [1000], "zero": [900], "default": [1200], "unlimited": [4000]}
        row = {"kernel": "vecadd", "mechanism": "live", "moments": 1} | verdict(latencies)
        return {"preset": g.name, "size": size, "moments": moments, "seed": seed, "met": False, "runs": [row],
                "summary": summary([row])}

    monkeypatch.setattr(patience, "run", small)
    result = CliRunner().invoke(main, ["bench", "patience", "--kernel", "vecadd", "--mechanism", "live", "--moments",
                                       "7", "--jobs", "2", "--preset", "ecp5", "--share", "1/64", "--share", "0.2",
                                       "--json", str(out)])
    assert result.exit_code == 1
    for text in ("vecadd", "1,200 / 1,100 MISSED (+9.1 %)", "1,200 / 900 MISSED (+33.3 %)"):
        assert text in result.output
    assert json.loads(out.read_text())["runs"][0]["worst"]["unlimited"] == 4000


def rows():
    return [{"kernel": f"k{number}", "mechanism": "live", "moments": 2} | verdict(latencies) for number, latencies in
            enumerate([{"occupied": [100, 100], "zero": [40, 60], "default": [50, 50], "unlimited": [90, 90],
                        "1/8": [40, 40]},
                       {"occupied": [100, 50], "zero": [80, 80], "default": [90, 70], "unlimited": [40, 40],
                        "1/8": [120, 40]}])]


def test_the_summary_is_over_kernels():
    found = summary(rows())["live"]
    assert found["default"] == {
        "kernels": 2, "relative": pytest.approx(2 ** 0.5), "kept": 1, "worst": 0.9,
        "over_occupied": pytest.approx((50 / 100 + 80 / 75) / 2), "worst_moment": 70 / 50}
    assert found["1/8"] == {
        "kernels": 2, "relative": pytest.approx((0.8 * 2) ** 0.5), "kept": 1, "worst": 1.2,
        "over_occupied": pytest.approx((40 / 100 + 80 / 75) / 2), "worst_moment": 1.2}
    assert list(found) == ["zero", "default", "unlimited", "1/8"]
    assert summary([]) == {}


def test_markdown_has_a_column_for_each_share(tmp_path):
    result = {"preset": "tiny", "size": "small", "moments": 2, "seed": 1, "met": False, "runs": rows(),
              "summary": summary(rows())}
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.update_markdown(page, result)
    text = page.read_text()
    assert "| live | 1/8 | 1.265 | 1 of 2 | 1.20 | 0.733 | 1.20 |" in text and "old" not in text
    assert "| k0 | live | 2 | 100 | 50 / 110 | 100 | 50 | 40 | 90 | 50 / 50 | 0.50 |" in text
    assert text.startswith("before") and text.endswith("after\n")


def test_the_default_is_a_share_of_what_is_resident():
    _, launch = tiny_launch(work(), 50, "golden")
    occupied = launch.resident_tbs * launch.occupied_tb_bytes / TINY.bytes_per_cycle
    assert occupied > 0 and default_patience(launch, Mechanism.LIVE) == int(occupied * SHARE)
    assert bus_share(launch, Fraction(3)) == int(3 * occupied)
    assert default_patience(launch, Mechanism.LIVE_CP) == default_patience(launch, Mechanism.LIVE_TB) == 0


@pytest.mark.parametrize("given", ["many", "1/0", "-1", "1001"])
def test_a_share_that_is_no_number_is_refused(given):
    result = CliRunner().invoke(main, ["bench", "patience", "--share", given])
    assert result.exit_code == 2 and "a number from 0 to 1000" in result.output


def test_a_mechanism_that_does_not_wait_is_refused():
    result = CliRunner().invoke(main, ["bench", "patience", "--mechanism", "occupied"])
    assert result.exit_code == 2 and "occupied" in result.output


def test_numbers_below_one_are_refused():
    with pytest.raises(InputError, match="moments and jobs must be 1 or more, not 0 and 1"):
        run(TINY, moments=0)


def test_report_has_a_row_for_each_kernel_and_mechanism(capsys):
    rows = [{"kernel": name, "mechanism": "live", "moments": 0}
            | verdict({way: [] for way in WAYS}) for name in ("one", "two")]
    print_report({"preset": "tiny", "size": "small", "moments": 5, "seed": 1, "runs": rows, "summary": summary(rows)})
    text = capsys.readouterr().out
    assert "one" in text and "two" in text and "MISSED" not in text
