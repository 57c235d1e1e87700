"""Cost files: what is written is read, what is damaged or of something else is refused; lines and crowds."""

import json

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.sim.model import CostError, read_costs, write_costs
from caesura.sim.model.costs import VERSION, check_geometry, fit_line
from support.sim.sched import TINY, round_costs, round_kernel


def test_what_is_written_is_read(tmp_path):
    costs = round_costs(round_kernel("vecadd", spread=(0.5, 1.5), bytes_per_tb=12.5), round_kernel("saxpy"))
    costs.kernels["vecadd"].beside["saxpy"] = 0.25
    write_costs(costs, tmp_path / "costs.json")
    assert read_costs(tmp_path / "costs.json") == costs


@pytest.mark.parametrize("change, message", [
    (lambda stored: stored.update(version=VERSION + 1), f"is of version {VERSION + 1}, {VERSION} is wanted"),
    (lambda stored: stored["geometry"].update(memory_latency=11), "the digest is not of its geometry"),
    (lambda stored: stored["kernels"]["vecadd"].pop("spread"), "is damaged"),
    (lambda stored: stored["kernels"]["vecadd"]["switches"]["flush"].update(save=3), "is damaged"),
    (lambda stored: stored.pop("kernels"), "is damaged"),
    (lambda stored: stored.pop("version"), "is no cost file"),
])
def test_what_is_damaged_is_refused(tmp_path, change, message):
    path = tmp_path / "costs.json"
    write_costs(round_costs(), path)
    stored = json.loads(path.read_text())
    change(stored)
    path.write_text(json.dumps(stored))
    with pytest.raises(CostError, match=message):
        read_costs(path)


@pytest.mark.parametrize("text", ["", "[1]", "{", "3"])
def test_what_is_no_cost_file_is_refused(tmp_path, text):
    (tmp_path / "x").write_text(text)
    for name in ("x", "missing"):
        with pytest.raises(CostError, match="no cost file that `caesura bench calibrate` writes"):
            read_costs(tmp_path / name)


def test_costs_of_something_else_are_refused():
    costs = round_costs(round_kernel("vecadd"))
    with pytest.raises(CostError, match="no costs of kernel 'saxpy'; there are vecadd"):
        costs.of("saxpy", 16)
    with pytest.raises(CostError, match="are of TBs of 16 threads, not of 32"):
        costs.of("vecadd", 32)
    with pytest.raises(CostError, match="are of other code"):
        costs.of("vecadd", 16, "0123")
    check_geometry(costs, TINY)
    for other in (PRESETS["ecp5"], TINY.replace(memory_latency=11)):
        with pytest.raises(CostError, match="the costs are of tiny"):
            check_geometry(costs, other)


def test_a_line_goes_through_measurements_and_never_falls():
    line = fit_line([1, 2, 4], [30, 40, 60])
    assert (line.base, line.per_tb) == (pytest.approx(20), pytest.approx(10)) and line.at(3) == pytest.approx(50)
    assert fit_line([2, 2], [10, 14]).at(9) == 12
    falling = fit_line([1, 2], [40, 30])
    assert falling.per_tb == 0 and falling.base == 35
    steep = fit_line([1, 2], [10, 100])
    assert steep.base == 0 and 10 < steep.per_tb < 100
    with pytest.raises(CostError):
        fit_line([], [])


def test_between_crowds_and_beyond_them_lines_are_straight():
    kernel = round_kernel("vecadd", ((1, 100.0), (2, 150.0), (4, 290.0)))
    assert [kernel.cycles_with(n) for n in (1, 1.5, 2, 3, 4, 6)] == [100, 125, 150, 220, 290, 430]
    only = round_kernel("vecadd", ((1, 100.0),))
    assert [only.cycles_with(n) for n in (0.5, 1, 2)] == [100, 100, 200]
