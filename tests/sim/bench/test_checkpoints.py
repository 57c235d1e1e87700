"""``caesura bench checkpoints``: its figures are those of single preempts; what is wrong is said."""

import json

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.errors import InputError
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.bench import checkpoints
from caesura.sim.bench.checkpoints import Task, measure, run, summary
from caesura.sim.report import checkpoints as report
from support.sim.tiny_launch import tiny_launch
from support.sim.tiny_run import TINY, work


def single(mechanism, at, gap, incremental):
    """Reports of a base and of a preempt on a machine of its own."""
    device, launch = tiny_launch(work(), at)
    base = device.checkpoint(launch, mechanism)
    device.run(launch, gap)
    return base, device.preempt(launch, mechanism, incremental=incremental)


def kept(device, launch, mechanism, incremental):
    report = device.preempt(launch, mechanism, incremental=incremental)
    return report, device.context(launch)


@pytest.fixture(scope="module")
def rows():
    return [{"kernel": "collatz"} | row for row in measure(Task(TINY, work(), (Mechanism.LIVE, Mechanism.LIVE_CP)))]


def test_figures_are_those_of_single_preempts(rows):
    for row in rows:
        assert row["correct"] and row["base"]["tbs"] and "half" in row["moments"]
        for each in row["moments"].values():
            base, increment = single(row["mechanism"], row["at"], each["after"], True)
            _, whole = single(row["mechanism"], row["at"], each["after"], False)
            assert base.saved_bytes == row["base"]["bytes"]
            for prefix, found in (("", increment), ("whole_", whole)):
                assert each[f"{prefix}bytes"] == found.saved_bytes
                assert each[f"{prefix}registers"] == found.registers
                assert abs(each[f"{prefix}saves"] - (found.save_cycles - found.drain_cycles)) <= 5
            assert each["bytes"] <= each["whole_bytes"]


def test_means_over_kernels(rows):
    of = summary(rows)["live"]["half"]
    (row,) = [row for row in rows if row["mechanism"] == "live"]
    each = row["moments"]["half"]
    assert of["kernels"] == of["with_base"] == 1 and of["of_whole_bytes"] == each["bytes"] / each["whole_bytes"]
    assert of["of_base"] == each["stream_bytes"] / each["base_stream_bytes"]
    again, each = summary(rows)["live"]["half, restored"], row["restored"]["half"]
    assert again["of_whole_registers"] == each["registers"] / each["whole_registers"]
    nothing = {"kernel": "b", "mechanism": "live", "at": 1, "correct": True, "base": None, "moments": {},
               "restored": {}}
    assert summary([*rows, nothing])["live"]["half"] == of
    assert summary([nothing])["live"]["half"] == {"kernels": 0, "with_base": 0, "of_base": None, "of_whole_bytes": None,
                                                  "of_whole_registers": None, "of_whole_saves": None}


@pytest.mark.parametrize("mechanism", [Mechanism.LIVE, Mechanism.LIVE_CP])
def test_an_image_that_was_restored_is_a_base(rows, mechanism):
    """The figures are those of a machine that is preempted, resumed, and preempted twice again."""
    (row,) = [row for row in rows if row["mechanism"] == mechanism.label]
    assert set(row["restored"]) == {"half", "three quarters"}
    device, launch = tiny_launch(work(), row["at"])
    first = {tb.launch_id: tb.length for tb in kept(device, launch, mechanism, False)[1]}
    for each in row["restored"].values():
        device.resume(launch)
        device.run(launch, row["at"])
        report, contexts = kept(device, launch, mechanism, True)
        known = [tb for tb in contexts if tb.base is not None]
        assert known and all(tb.base.length == first[tb.launch_id] for tb in known)
        assert each["with_base"] == len(known) and each["stream_bytes"] == sum(tb.length for tb in known)
        assert each["bytes"] == report.saved_bytes < each["whole_bytes"]
        assert each["registers"] == report.registers < each["whole_registers"]


def test_a_wrong_result_is_told(monkeypatch):
    monkeypatch.setattr(checkpoints.Campaign, "_wrong", lambda self: 3)
    (row,) = measure(Task(TINY, work(), (Mechanism.LIVE,)))
    assert not row["correct"] and "WRONG" in str(report.tables({"runs": [{"kernel": "a"} | row], "summary": {}}))


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(InputError, match="no checkpoints"):
        run(TINY.replace(name="strict", checkpoints=False, in_place=False))
    with pytest.raises(InputError, match="jobs must be 1 or more"):
        run(TINY, jobs=0)


def test_command_writes_and_goes_on(monkeypatch, tmp_path, rows):
    asked = []

    def small(g, size, kernels, mechanisms, jobs, progress, *, json_file, resume):
        asked.append((g.name, size, kernels, mechanisms, jobs, resume))
        return {"preset": g.name, "geometry": None, "size": size, "mechanisms": ["live", "live+cp"],
                "summary": summary(rows), "met": True, "runs": rows}

    monkeypatch.setattr(checkpoints, "run", small)
    target, page = tmp_path / "c.json", tmp_path / "c.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    done = CliRunner().invoke(main, ["bench", "checkpoints", "--preset", "ecp5", "--kernel", "vecadd", "--mechanism",
                                     "live", "--json", str(target), "--markdown", str(page)])
    assert done.exit_code == 0, done.output
    assert asked == [("ecp5", "small", ("vecadd",), [Mechanism.LIVE], 1, None)]
    assert json.loads(target.read_text())["runs"][0]["kernel"] == "collatz"
    assert "collatz" in page.read_text() and "old" not in page.read_text() and page.read_text().endswith("after\n")
