"""``caesura bench patience``: its figures are those of single preemptions, and a limit that is missed is said."""

import json

import pytest
from click.testing import CliRunner

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.errors import InputError
from caesura.sim import open_device
from caesura.sim.bench import patience
from caesura.sim.bench.patience import Task, measure, print_report, run, verdict
from caesura.sim.scenario import start_job
from caesura.sim.testing.tiny_run import TINY, work
from caesura.software.cli import main
from caesura.software.patience import UNLIMITED

WAYS = {"occupied": (Mechanism.OCCUPIED, None), "zero": (Mechanism.LIVE, 0), "default": (Mechanism.LIVE, None),
        "unlimited": (Mechanism.LIVE, UNLIMITED)}


def single(at, mechanism, given):
    """The latency of one preemption on a machine of its own."""
    device = open_device("rtl", TINY)
    kernel = device.load([work().image])["collatz"]
    launch, _ = start_job(device, kernel, work().job)
    device.advance(at)
    saved = device.preempt(launch, mechanism, patience=given)
    return saved.save_cycles


def test_figures_are_those_of_single_preemptions(monkeypatch):
    moments = []
    plain = patience.Campaign.latencies

    def kept(self, requests, cycles):
        moments.extend(cycles)
        return plain(self, requests, cycles)

    monkeypatch.setattr(patience.Campaign, "latencies", kept)
    (row,) = measure(Task(TINY, work(), (Mechanism.LIVE,), 3, 5))
    assert row["moments"] == len(moments) == 3
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
    def small(g, size, kernels, mechanisms, moments, seed, jobs, progress):
        assert (size, kernels, mechanisms, moments, seed, jobs) == ("small", ("vecadd",), [Mechanism.LIVE], 7, 1, 2)
        latencies = {"occupied": [1000], "zero": [900], "default": [1200], "unlimited": [4000]}
        row = {"kernel": "vecadd", "mechanism": "live", "moments": 1} | verdict(latencies)
        return {"preset": g.name, "size": size, "moments": moments, "seed": seed, "met": False, "runs": [row]}

    monkeypatch.setattr(patience, "run", small)
    out = tmp_path / "p.json"
    result = CliRunner().invoke(main, ["bench", "patience", "--kernel", "vecadd", "--mechanism", "live", "--moments",
                                       "7", "--jobs", "2", "--preset", "ecp5", "--json", str(out)])
    assert result.exit_code == 1
    for text in ("vecadd", "1,200 / 1,100 MISSED (+9.1 %)", "1,200 / 900 MISSED (+33.3 %)"):
        assert text in result.output
    assert json.loads(out.read_text())["runs"][0]["worst"]["unlimited"] == 4000


def test_a_mechanism_that_does_not_wait_is_refused():
    result = CliRunner().invoke(main, ["bench", "patience", "--mechanism", "occupied"])
    assert result.exit_code == 2 and "occupied" in result.output


def test_numbers_below_one_are_refused():
    with pytest.raises(InputError, match="moments and jobs must be 1 or more, not 0 and 1"):
        run(TINY, moments=0)


def test_report_has_a_row_for_each_kernel_and_mechanism(capsys):
    rows = [{"kernel": name, "mechanism": "live", "moments": 0}
            | verdict({way: [] for way in WAYS}) for name in ("one", "two")]
    print_report({"preset": "tiny", "runs": rows})
    text = capsys.readouterr().out
    assert "one" in text and "two" in text and "MISSED" not in text
