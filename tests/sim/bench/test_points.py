"""``caesura bench points``: its figures are those of single preempts; what is compared is said."""

import json

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.errors import InputError
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.waiting import UNLIMITED
from caesura.sim.bench import points
from caesura.sim.bench.points import INSTRUCTIONS, Task, measure, run, summary
from caesura.sim.report import points as report
from caesura.sim.scenario import CompiledJob
from caesura.software.compiler import CompileOptions
from caesura.software.kernels import kernel
from support.sim.tiny_launch import tiny_launch
from support.sim.tiny_run import TINY, work

MOMENTS = 3
LATENCY = {"occupied": (Mechanism.OCCUPIED, None), "live zero": (Mechanism.LIVE, 0),
           "live default": (Mechanism.LIVE, None), "live unlimited": (Mechanism.LIVE, UNLIMITED)}


def placed(interval):
    image = kernel("collatz").image(CompileOptions(max_registers=TINY.regs_per_thread, interval=interval,
                                                   interval_on=TINY))
    return CompiledJob(image, work().job)


@pytest.fixture(scope="module")
def measured():
    """Rows of a kernel, and the moments of each placement."""
    moments = []
    with pytest.MonkeyPatch.context() as patch:
        plain = points.Campaign.latencies

        def kept(self, requests, cycles):
            moments.append(list(cycles))
            return plain(self, requests, cycles)

        patch.setattr(points.Campaign, "latencies", kept)
        others = tuple((str(interval), placed(interval)) for interval in (40, 100000))
        rows = measure(Task(TINY, work(), others, (Mechanism.LIVE,), MOMENTS, 5))
    return [{"kernel": "collatz"} | row for row in rows], moments


def test_figures_are_those_of_single_preempts(measured):
    rows, moments = measured
    assert [row["interval"] for row in rows] == [INSTRUCTIONS, "40", "100000"]
    assert rows[2] == rows[0] | {"interval": "100000"}, "the same code, measured once"
    assert len(moments) == 2 and rows[1]["points"] > rows[0]["points"] and rows[1]["words"] > rows[0]["words"]
    for row, here, cycles in zip(rows, (work(), placed(40)), moments, strict=False):
        assert row["moments"] == MOMENTS == len(cycles) and max(cycles) <= row["cycles"]
        for way, (mechanism, patience) in LATENCY.items():
            machines = (tiny_launch(here, cycle) for cycle in cycles)
            found = [device.preempt(launch, mechanism, patience=patience).save_cycles for device, launch in machines]
            assert row["worst"][way] == max(found) and row["mean"][way] == pytest.approx(sum(found) / MOMENTS)


def row(name, interval, cycles, occupied, live, moments=2):
    return {"kernel": name, "interval": interval, "points": 3, "words": 10, "cycles": cycles, "moments": moments,
            "mean": {"occupied": occupied, "live zero": live},
            "worst": {"occupied": 2 * occupied, "live zero": 3 * live}}


def test_the_summary_compares_with_one_thing():
    rows = [row("a", INSTRUCTIONS, 100, 10, 8), row("a", "40", 110, 12, 4),
            row("b", INSTRUCTIONS, 200, 20, 30), row("b", "40", 200, 20, 20),
            row("c", INSTRUCTIONS, 50, 1, 1), row("c", "40", 500, 1, 1, moments=0)]
    first, second = summary(rows)
    assert first["kernels"] == second["kernels"] == 2, "one that ended by itself is left out of all"
    assert (second["interval"], second["cycles"], second["points"]) == ("40", pytest.approx(1.05), 6)
    assert second["over_occupied"] == pytest.approx({"occupied": 1.1, "live zero": 0.7})
    assert second["worst"] == pytest.approx({"occupied": 1.2, "live zero": 1.5})
    assert summary([]) == []


def test_command_writes_a_page(monkeypatch, tmp_path, measured):
    rows, _ = measured
    asked = []

    def small(g, size, kernels, mechanisms, intervals, moments, seed, jobs, progress, *, json_file, resume):
        asked.append((g.name, size, kernels, mechanisms, intervals, moments, seed, jobs, resume))
        return {"preset": g.name, "geometry": None, "size": size, "moments": moments, "seed": seed, "met": True,
                "mechanisms": ["live"], "intervals": [40], "summary": summary(rows), "runs": rows}

    monkeypatch.setattr(points, "run", small)
    target, page = tmp_path / "p.json", tmp_path / "p.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    done = CliRunner().invoke(main, ["bench", "points", "--preset", "ecp5", "--kernel", "vecadd", "--mechanism", "live",
                                     "--interval", "40", "--json", str(target), "--markdown", str(page)])
    assert done.exit_code == 0, done.output
    assert asked == [("ecp5", "small", ("vecadd",), [Mechanism.LIVE], (40,), 10, 1, 1, None)]
    assert json.loads(target.read_text())["runs"][1]["interval"] == "40"
    text = page.read_text()
    assert "| collatz | 40 |" in text and f"| {INSTRUCTIONS} | 1 |" in text and "old" not in text
    assert text.endswith("after\n")


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(InputError, match="moments and jobs must be 1 or more, not 0 and 1"):
        run(TINY, moments=0)
    assert CliRunner().invoke(main, ["bench", "points", "--mechanism", "occupied"]).exit_code == 2
    assert CliRunner().invoke(main, ["bench", "points", "--interval", "3"]).exit_code == 2
