"""The compile benchmark: its ratio to ptxas is without the start of that, and its verdict follows the limit."""

import json
import stat

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.sim.bench import compile_time
from caesura.sim.bench.compile_time import BEGIN, END, LARGEST_LIMIT, LIMIT, judge
from caesura.software.kernels import KERNELS


def row(kernel, seconds, theirs):
    return {"kernel": kernel, "instructions": 10, "seconds": seconds, "ptxas": theirs}


@pytest.fixture
def ptxas(tmp_path):
    """A program that takes PTX and makes nothing of it, without nvdisasm beside it."""
    program = tmp_path / "ptxas"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.fixture
def once(monkeypatch):
    """Each time is taken once."""
    monkeypatch.setattr(compile_time, "REPEATS", 1)


def invoke(*arguments):
    return CliRunner().invoke(main, ["bench", "compile", "--size", "200", *map(str, arguments)])


def test_the_start_of_ptxas_is_not_counted():
    found = judge([row("a", 0.03, 0.022), row("b", 0.05, 0.032)], 0.012)
    assert found["ptxas"] == pytest.approx(0.03) and found["ratio"] == pytest.approx(0.08 / 0.03)
    assert [k["ratio"] for k in found["kernels"]] == pytest.approx([3.0, 2.5])
    assert found["worst"] == {"kernel": "a", "ratio": pytest.approx(3.0)}
    assert found["mean"] == pytest.approx(7.5 ** 0.5)


def test_the_verdict_follows_the_limit():
    """The geometric mean has a limit, and so has each of the largest kernels. Two kernels as far above as below it
    do not move the mean."""
    assert judge([row("a", LIMIT * 0.99, 2.0)], 1.0)["met"]
    assert not judge([row("a", LIMIT * 1.01, 2.0)], 1.0)["met"]
    small = [row("a", LIMIT * 1.9, 2.0), row("b", LIMIT / 2, 2.0)]
    large = [row(name, LARGEST_LIMIT * 0.99, 2.0) | {"instructions": 100} for name in "xyz"]
    many = [row("quick", 0.1, 2.0)] * 5
    found = judge([*small, *many, *large], 1.0)
    assert found["met"] and [one["kernel"] for one in found["largest"]] == ["x", "y", "z"]
    large[1]["seconds"] = LARGEST_LIMIT * 1.01
    assert not judge([*small, *many, *large], 1.0)["met"]
    assert judge(small, 1.0)["mean"] == pytest.approx(LIMIT * 0.95 ** 0.5)


def test_a_kernel_as_quick_as_the_start_is_not_divided_by_nothing():
    found = judge([row("a", 0.004, 0.011)], 0.012)
    assert found["kernels"][0]["ptxas"] == 0.001 and found["ratio"] == pytest.approx(4.0)


@pytest.mark.full
def test_through_the_command_line(tmp_path, ptxas, once):
    page, figures = tmp_path / "page.md", tmp_path / "figures.json"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    result = invoke("--kernel", "saxpy", "--ptxas", ptxas, "--markdown", page, "--json", figures, "--registers", "20")
    data = json.loads(figures.read_text())
    assert result.exit_code == (not data["met"]) and "grows to 1.00" in result.output, result.output
    (large,), (kernel,) = data["runs"], data["suite"]["kernels"]
    assert large["registers"] <= 20 and large["peak_bytes"] < 1 << 30 and large["size"] == 200
    assert kernel["kernel"] == "saxpy" and 0 < kernel["seconds"] < 5 and kernel["ratio"] > 0
    start = data["start_up"]
    assert 0 < start["start"] < start["seconds"] and start["ratio"] == start["seconds"] / start["numpy"]
    text = page.read_text()
    assert text.startswith("before") and text.endswith("after\n") and "old" not in text
    assert "| exponent |" in text and "| saxpy |" in text and "at worst" in text and "the start of the process" in text


@pytest.mark.full
def test_without_ptxas_ours_is_measured_alone(monkeypatch, once):
    monkeypatch.setattr("caesura.sim.bench.ptxas._installed", lambda: None)
    result = invoke("--kernel", "vecadd")
    assert result.exit_code in (0, 1) and "nothing to compare with" in result.output and "vecadd" in result.output
    assert "caesura[ptxas]" in result.output and len(KERNELS) > 1 and "saxpy" not in result.output


def test_a_program_that_is_not_there_is_refused(tmp_path):
    result = invoke("--kernel", "vecadd", "--ptxas", tmp_path)
    assert result.exit_code == 2 and "no ptxas" in result.output
