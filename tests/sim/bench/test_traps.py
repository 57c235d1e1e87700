"""``caesura bench traps``: its figures are those of single preempts; what is wrong is said."""

import dataclasses
import json

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.errors import InputError
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.waiting import UNLIMITED
from caesura.sim.bench.traps import Task, measure, run, summary, ways_of
from caesura.sim.report import traps as report
from caesura.sim.scenario import CompiledJob
from caesura.software.compiler.flashback.kinds import ROUTINES, RoutineForm
from caesura.software.compiler.flashback.traps import with_routines
from support.sim.tiny_launch import tiny_launch
from support.sim.tiny_run import TINY, work

WAYS = ["occupied", "points", "live", "relaxed", "ctxback", "cs-defer", "ctxback+cs-defer", "software-all",
        "software-live", "software-ctxback"]


def single(image, mechanism, at, trap):
    """The report of a preempt on a machine of its own, and the warps it saved."""
    device, launch = tiny_launch(CompiledJob(image, work().job), at)
    patience = None if mechanism is Mechanism.OCCUPIED else UNLIMITED
    report = device.preempt(launch, mechanism, patience=patience, trap=trap)
    return report, [warp for tb in device.context(launch) for warp in tb.warps]


@pytest.fixture(scope="module", params=[pytest.param(2, marks=pytest.mark.full)], ids=["moments"])
def rows(request):
    task = Task(TINY, work(), ways_of(TINY, work(), Mechanism.LIVE_CP), request.param)
    return [{"kernel": "collatz"} | row for row in measure(task)]


def test_figures_are_those_of_single_preempts(rows):
    assert [row["way"] for row in rows] == WAYS
    for row in rows:
        assert row["correct"]
        trap = row["way"] not in ("occupied", "points")
        kind, form = ROUTINES[row["way"]] if trap else (None, None)
        image = with_routines(work().image, TINY, kind, form=form) if trap else work().image
        assert (row["words"], row["trap_words"]) == (len(image.code), len(image.traps))
        mechanism = Mechanism.OCCUPIED if row["way"] == "occupied" else Mechanism.LIVE_CP
        device, launch = tiny_launch(CompiledJob(image, work().job))
        cycles = device.wait(launch)
        saved, warps = single(image, mechanism, cycles // 4, trap)
        first = row["moments"][0]
        assert (first["latency"], first["drain"], first["tbs"]) == (saved.save_cycles, saved.drain_cycles, saved.tbs)
        stored = first["data"] - saved.data_bytes
        assert first["bytes"] == saved.saved_bytes + stored
        assert (stored > 0) == (trap and form is RoutineForm.SOFTWARE)
        if row["way"] == "software-all":
            assert stored == 4 * image.registers * sum(warp.live_lanes.bit_count() for warp in warps)


def test_means_are_of_the_moments_that_all_ways_have(rows):
    found = summary(rows)
    assert list(found) == WAYS and all(of["kernels"] == 1 for of in found.values())
    assert found["occupied"]["latency"] == found["occupied"]["bytes"] == 1
    assert found["software-all"]["latency_of_stored"] == found["software-all"]["bytes_of_stored"] == 1
    for way, of in found.items():
        own = [moment for row in rows if row["way"] == way for moment in row["moments"]]
        assert of["lost"] == sum(moment["lost"] for moment in own) / len(own)
    assert found["live"]["bytes"] < 1 and found["live"]["code"] > 2
    fewer = [dict(row, moments=[None, *row["moments"][1:]]) if row["way"] == "points" else row for row in rows]
    second = [dict(row, moments=row["moments"][1:]) for row in rows]
    assert summary(fewer) == summary(second)
    none = [dict(row, moments=[None, None]) for row in rows]
    assert summary(none)["live"] == {"kernels": 0} | dict.fromkeys(found["live"].keys() - {"kernels"})


def test_the_report(rows, tmp_path):
    result = {"preset": "tiny", "size": "small", "moments": 2, "mechanism": "live+cp", "summary": summary(rows),
              "runs": [*rows[1:], dict(rows[0], correct=False)]}
    text = report.markdown(result)
    assert text.count("| right |") == len(rows) - 1 and text.count("| WRONG |") == 1
    file = tmp_path / "page.md"
    file.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.update_markdown(file, result)
    assert "ctxback+cs-defer" in file.read_text() and "old" not in file.read_text()


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(InputError, match="has no traps"):
        run(dataclasses.replace(TINY, traps=False))
    with pytest.raises(InputError, match="1 or more"):
        run(TINY, moments=0)


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr("caesura.sim.bench.traps.run", lambda *a, **k: {
        "preset": "tiny", "size": "small", "moments": 1, "mechanism": "live", "summary": {}, "runs": [], "met": True})
    file = tmp_path / "out.json"
    result = CliRunner().invoke(main, ["bench", "traps", "--kernel", "collatz", "--json", str(file)])
    assert result.exit_code == 0, result.output
    assert json.loads(file.read_text())["met"] is True
