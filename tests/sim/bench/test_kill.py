"""``caesura bench kill``: its figures are those of single kills and runs, and what is wrong is said."""

import json

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.image.context import Mechanism, mechanisms_of
from caesura.sim import open_device
from caesura.sim.bench import kill
from caesura.sim.bench.kill import KillRuns, judged, measure, memory_cycles
from caesura.sim.report.kill import print_report
from caesura.sim.scenario import CompiledJob, start_job
from caesura.software.compiler import CompileOptions
from caesura.software.driver.reset.eviction import kill_bound
from caesura.software.kernels import collatz_job, kernel
from support.sim.tiny_run import TINY

MOMENTS = 4


def work(check=True):
    """Return collatz with a job of four thread blocks of two warps, of which two are resident at a time."""
    options = CompileOptions(max_registers=TINY.regs_per_thread, eviction_check=check)
    return CompiledJob(kernel("collatz").image(options), collatz_job(60, 30, seed=1, threads=16))


@pytest.fixture(scope="module")
def row():
    return measure(TINY, work(False), work(), MOMENTS)


def test_each_moment_is_killed_within_the_bound(row):
    left, idle = kill_bound(TINY, memory_cycles(TINY))
    assert len(row["moments"]) == MOMENTS and row["correct"]
    for each in row["moments"]:
        assert 0 <= each["left"] <= left and each["left"] <= each["idle"] <= idle
    assert len({each["at"] for each in row["moments"]}) == MOMENTS


def test_a_row_is_what_single_runs_give(row):
    with open_device("rtl", TINY) as device:
        launch, _ = start_job(device, device.load([work().image])["collatz"], work().job)
        assert device.wait(launch) == row["cycles"] > row["plain_cycles"] and row["instructions"] == 6
    at = row["moments"][1]["at"]
    with open_device("rtl", TINY) as device:
        launch, _ = start_job(device, device.load([work().image])["collatz"], work().job)
        device.run(launch, at)
        report = device.preempt(launch, Mechanism.OCCUPIED)
        assert report.save_cycles == row["moments"][1]["preempts"]["occupied"]
        device.kill(launch)
        assert launch.state is KernelState.IDLE
    assert list(row["moments"][1]["preempts"]) == [m.label for m in mechanisms_of(TINY)] + ["restart"]


def test_a_kill_is_measured_cycle_by_cycle():
    runs = KillRuns(TINY, work())
    found = [(each["at"], each["left"], each["idle"]) for each in runs.at_moments(MOMENTS)]
    assert found == [(each["at"], each["left"], each["idle"]) for each in KillRuns(TINY, work()).at_moments(MOMENTS)]
    assert max(idle for _, _, idle in found) > 0


def test_what_takes_longer_than_its_bound_is_said(row, capsys):
    result = judged(TINY, [row], []) | {"size": "tiny"}
    assert result["met"]
    print_report(result)
    assert "met" in capsys.readouterr().out
    slow = row | {"moments": [row["moments"][0] | {"idle": result["bound"]["idle"] + 1}]}
    result = judged(TINY, [slow], []) | {"size": "tiny"}
    assert not result["met"]
    print_report(result)
    assert "MISSED" in capsys.readouterr().out


def test_wrong_results_are_said(row):
    assert not judged(TINY, [row | {"correct": False}], [])["met"]


def test_the_command(monkeypatch, row):
    monkeypatch.setattr(kill, "run", lambda g, size, kernels, moments, queued, progress: judged(g, [row], []) | {
        "size": size, "asked": [list(kernels), moments, queued]})
    done = CliRunner().invoke(main, ["bench", "kill", "--preset", "ecp5", "--kernel", "vecadd", "--moments", "3",
                                     "--queued", "--size", "tiny", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["asked"] == [["vecadd"], 3, True]
