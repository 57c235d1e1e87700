"""``caesura bench estimates``: its figures are those of single drains and switches; the unknown is not counted."""

import json

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.errors import InputError
from caesura.sim import open_device
from caesura.sim.bench import estimates
from caesura.sim.bench.estimates import Moment, Task, measure, run, summary, verdict
from caesura.sim.report import estimates as report
from caesura.sim.scenario import start_job
from support.sim.tiny_run import TINY, work


def single(at, grace, counter):
    """What one drain or switch takes on a machine of its own, after the driver has looked."""
    device = open_device("rtl", TINY)
    kernel = device.load([work().image])["collatz"]
    launch, _ = start_job(device, kernel, work().job)
    device.advance(at)
    device.estimate(launch)
    device.preempt(launch, "occupied", grace=grace)
    return device.read(counter)


def test_figures_are_those_of_single_preempts(monkeypatch):
    moments = []
    plain = estimates.Campaign.estimates

    def kept(self, cycles):
        for cycle, found in zip(cycles, plain(self, cycles), strict=True):
            moments.append((cycle, found))
            yield found

    monkeypatch.setattr(estimates.Campaign, "estimates", kept)
    (row,) = measure(Task(TINY, work(), 3, 5))
    found = [(at, each) for at, each in moments if each is not None]
    assert row["moments"] == len(found) > 0
    for at, each in found:  # where memory has been used before, a warp may come a cycle sooner or later
        assert abs(each[2] - single(at, "unlimited", "grace_cycles")) <= 5
        assert abs(each[4] - single(at, 0, "save_cycles")) <= 5
    assert row["drain"] == pytest.approx(sum(each[2] for _, each in found) / len(found))
    assert row["by_pace"]["known"] == len(found), "an earlier launch is known"


def test_errors_and_choices():
    row = verdict([Moment(None, 90, 100, 70, 60), Moment(50, 40, 60, 70, 80), Moment(80, 10, 20, 70, 40)])
    assert (row["moments"], row["drain"], row["switch"]) == (3, 60, 60)
    assert row["by_time"] == {"known": 2, "error": (10 + 60) / 2 / 40, "bias": (60 - 10) / 2 / 40, "right": 1,
                              "over_best": (60 + 40) / (60 + 20)}
    assert row["by_pace"] == {"known": 3, "error": pytest.approx(40 / 3 / 60), "bias": pytest.approx(-40 / 3 / 60),
                              "right": 3, "over_best": 1.0}
    assert row["by_size"]["error"] == pytest.approx(50 / 3 / 60) and row["by_size"]["bias"] == pytest.approx(30 / 180)
    nothing = verdict([Moment(None, None, 7, 5, 5)])
    assert nothing["by_time"] == {"known": 0, "error": None, "bias": None, "right": 0, "over_best": None}
    rows = [{"kernel": "a"} | row, {"kernel": "b"} | nothing]
    of = summary(rows)
    assert of["by_time"]["kernels"] == 1 and of["by_size"]["kernels"] == 2 and of["by_pace"]["right"] == 3
    text = report.markdown({"preset": "p", "size": "s", "moments": 3, "seed": 1, "runs": rows, "summary": of})
    assert "| b | 1 | 7 | 0 | - | 0 of 0 | - |" in text and "1 of 2 | 1.25" in text


def test_command_line(monkeypatch, tmp_path):
    def small(g, size, kernels, moments, seed, jobs, progress, *, json_file, resume):
        assert (g.name, size, kernels, moments, seed, jobs) == ("ecp5", "tiny", ("vecadd",), 2, 7, 3)
        rows = [{"kernel": "vecadd"} | verdict([Moment(50, 40, 60, 70, 80), Moment(80, 10, 20, 70, 40)])]
        return {"preset": g.name, "size": size, "moments": moments, "seed": seed, "runs": rows,
                "summary": summary(rows)}

    monkeypatch.setattr(estimates, "run", small)
    page = tmp_path / "page.md"
    page.write_text(f"# x\n{report.BEGIN}\n{report.END}\n")
    done = CliRunner().invoke(main, ["bench", "estimates", "--preset", "ecp5", "--kernel", "vecadd", "--moments", "2",
                                     "--seed", "7", "--jobs", "3", "--size", "tiny", "--json",
                                     str(tmp_path / "x.json"), "--markdown", str(page)])
    assert done.exit_code == 0, done.output
    assert "87.5 %" in done.output and "| vecadd | " in page.read_text()
    assert json.loads((tmp_path / "x.json").read_text())["runs"][0]["by_time"]["known"] == 2


@pytest.mark.parametrize("changed", [{"profile": False}, {"grace": False}])
def test_a_machine_that_cannot_is_refused(changed):
    with pytest.raises(InputError, match="no profile or no grace"):
        run(TINY.replace(**changed))
