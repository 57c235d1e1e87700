"""``caesura bench machines`` and ``calibrate``: the same workloads on RTL and model, errors as defined."""

import json

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.errors import InputError
from caesura.sim.bench import machines
from caesura.sim.bench.machines import CAPACITY, LATENCY_AIM, THROUGHPUT_AIM, draw, play, run
from caesura.sim.model.opening import open_machine
from caesura.sim.report import machines as report
from caesura.software.sched import TECHNIQUES
from support.sim.sched import TINY, round_costs, round_kernel

COSTS = round_costs(*(round_kernel(name) for name in ("vecadd", "saxpy", "collatz", "rankfilter", "reduction")))


def test_workloads_are_those_of_the_seed():
    for number in range(14):
        one, same, other = (draw(TINY, COSTS, number, seed) for seed in (1, 1, 2))
        shape = [[(a.cycle, a.work.name, a.work.tbs, a.priority) for a in each.arrivals] for each in (one, same, other)]
        assert shape[0] == shape[1] != shape[2]
        assert one.technique.name == [*TECHNIQUES][number % 7] and 4 <= len(one.arrivals) <= 8
        assert {arrival.priority for arrival in one.arrivals} <= {*CAPACITY} and one.arrivals[0].priority == 0
        if one.technique.idempotent:
            assert "saxpy" not in {arrival.work.name for arrival in one.arrivals}
    assert sum(CAPACITY.values()) <= TINY.kernel_slots


def test_a_workload_is_played_to_its_end():
    workload = draw(TINY, COSTS, 2, 1)
    done, end = play(open_machine("model", TINY, COSTS), workload)
    assert [request.work for request in done] == [arrival.work for arrival in workload.arrivals]
    assert end == max(request.signal.ended for request in done) and all(request.latency > 0 for request in done)


def test_a_workload_that_does_not_end_is_an_error(monkeypatch):
    monkeypatch.setattr(machines, "MAX_CYCLES", 5_000)
    with pytest.raises(InputError, match="workload 2 has not ended on machine 'model' after 5,000 cycles"):
        play(open_machine("model", TINY, COSTS), draw(TINY, COSTS, 2, 1))


def test_workloads_are_of_the_kernels_of_which_there_are_costs():
    few = round_costs(round_kernel("saxpy"))
    assert {arrival.work.name for arrival in draw(TINY, few, 2, 1).arrivals} == {"saxpy"}
    with pytest.raises(InputError, match="way 'flush' is for kernels of which thread blocks can begin anew"):
        draw(TINY, few, 5, 1)


def test_errors_are_those_of_the_figures(capsys):
    rtl = {"latencies": [100, 200], "latency": 150.0, "cycles": 1000, "tbs_per_kilocycle": 4.0, "preempts": 1}
    model = {"latencies": [110, 100], "latency": 105.0, "cycles": 800, "tbs_per_kilocycle": 5.0, "preempts": 1}
    row = machines._compare(draw(TINY, COSTS, 0, 1), rtl, model)
    assert row["latency_error"] == pytest.approx(0.3) and row["throughput_error"] == pytest.approx(0.25)
    assert row["work_error"] == pytest.approx((0.1 + 0.5) / 2)
    result = {"preset": "tiny", "sms": 1, "seed": 1, "kernels": ["vecadd"], "workloads": [row], "wrong": 0,
              "times_as_fast": 10.0, "seconds": {"rtl": 1.0, "model": 0.1},
              "aims": {"latency_error": 0.1, "throughput_error": 0.5},
              "errors": {key: {"mean": row[key], "max": row[key]}
                         for key in ("latency_error", "work_error", "throughput_error")}}
    report.print_report(result)
    printed = capsys.readouterr().out
    assert "30.0 %" in printed and "MISSED" in printed and "met" in printed and "10 times as fast" in printed


@pytest.mark.full
def test_the_model_meets_its_aims_on_all_workloads():
    result = run(TINY)
    assert result["met"] and result["wrong"] == 0 and len(result["workloads"]) == 20
    assert result["errors"]["latency_error"]["mean"] <= LATENCY_AIM
    assert result["errors"]["throughput_error"]["mean"] <= THROUGHPUT_AIM


@pytest.mark.full
def test_of_two_sms_too():
    result = run(TINY.replace(sms=2), 7)
    assert result["wrong"] == 0 and result["errors"]["latency_error"]["mean"] <= 2 * LATENCY_AIM


def test_costs_are_shown_and_written(tmp_path):
    words = ["bench", "calibrate", "--preset", "tiny", "--kernel", "vecadd", "--moments", "2",
             "-o", str(tmp_path / "costs.json"), "--json", str(tmp_path / "shown.json")]
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 0, found.output
    assert "Thread blocks, in cycles" in found.stdout and "in-place" in found.stdout
    stored, shown = (json.loads((tmp_path / name).read_text()) for name in ("costs.json", "shown.json"))
    assert stored["kernels"] == shown["kernels"] and stored["digest"] == shown["digest"]


def test_a_model_wants_costs_of_its_own_geometry():
    with pytest.raises(InputError, match="a model needs costs"):
        open_machine("model", TINY)
    with pytest.raises(InputError, match="the costs are of tiny"):
        open_machine("model", TINY.replace(lanes=4), COSTS)
    with pytest.raises(InputError, match="there is no machine 'paper'"):
        open_machine("paper", TINY)
    with pytest.raises(InputError, match="workloads must be 1"):
        run(TINY, 0)
