"""What `caesura bench golden` measures: both engines compute the same, and the compiled one is the faster."""

import json

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.geometry import preset
from caesura.sim.bench import golden_speed


def test_a_kernel_is_run_on_both_engines_and_compared():
    speed = golden_speed.measure(preset("gtx480"), "pathfinder", "tiny")
    assert speed.correct and speed.instructions > 1000
    assert speed.compiled_seconds > 0 and speed.numpy_seconds > 0


def test_the_report_gives_rates_with_and_without_the_compilers_time(monkeypatch):
    monkeypatch.setattr(golden_speed, "build_seconds", lambda warp_size: 2.0)
    monkeypatch.setattr(golden_speed, "measure", lambda g, name, size: golden_speed.Speed(name, 10**6, 8.0, 0.5, True))
    result = json.loads(CliRunner().invoke(main, ["bench", "golden", "--kernel", "matmul", "--json"]).output)
    (row,) = result["runs"]
    assert (row["numpy_rate"], row["compiled_rate"], row["rate_with_build"], row["ratio"]) \
        == (125_000, 2_000_000, 400_000, 16.0)
    assert result["met"] and result["gpgpu_sim"] == list(golden_speed.GPGPU_SIM)
    text = CliRunner().invoke(main, ["bench", "golden", "--kernel", "matmul"]).output
    assert "2,000,000" in text and "400,000" in text and "g++ takes 2.0 s" in text


def test_an_engine_that_computes_something_else_fails_the_benchmark(monkeypatch):
    monkeypatch.setattr(golden_speed, "build_seconds", lambda warp_size: 2.0)
    monkeypatch.setattr(golden_speed, "measure", lambda g, name, size: golden_speed.Speed(name, 10**6, 8.0, 0.5, False))
    done = CliRunner().invoke(main, ["bench", "golden", "--kernel", "matmul"])
    assert done.exit_code == 1 and "WRONG" in done.output


@pytest.mark.full
def test_the_time_of_a_build_is_processor_time_of_the_compiler():
    assert golden_speed.build_seconds(8) > 0
