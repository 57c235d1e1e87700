"""What benchmarks write has the keys that are described, and no others: each runs a small kernel for that."""

import dataclasses
import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.image.context import Mechanism
from caesura.progress import quiet
from caesura.sim.bench import area, contexts, cycles, deadline, devices, kill, limits, machines, speed
from caesura.sim.bench.recording import Difference
from caesura.sim.scenario import CompiledJob
from caesura.sim.synth.targets import COLUMNS
from caesura.software.compiler import CompileOptions
from caesura.software.kernels import hostile, kernel
from support.keys import check_keys, read_json
from support.selection import quick
from support.sim.tiny_run import TINY, work


def small(name, g=TINY, size="small", preemption_points=True, eviction_check=False):
    """Stand for `shipped_work`: shipped kernels have thread blocks that `tiny` has no room for."""
    if name == "hostile":
        return CompiledJob(*hostile(TINY))
    options = CompileOptions(max_registers=TINY.regs_per_thread, preemption_points=preemption_points,
                             eviction_check=eviction_check)
    return dataclasses.replace(work(), image=kernel("collatz").image(options))


CAMPAIGNS = {
    "patience": {"kernels": ["collatz"], "moments": 2}, "estimates": {"kernels": ["collatz"], "moments": 2},
    "checkpoints": {"kernels": ["collatz"], "mechanisms": [Mechanism.LIVE]},
    "traps": {"kernels": ["collatz"], "moments": 1}, "in-place": {"pairs": [("collatz", "relu")]},
    "mechanisms": {"kernels": ["collatz"], "mechanisms": [Mechanism.LIVE, Mechanism.LIVE_CP], "preemptions": 2},
}


@pytest.mark.parametrize("name", quick([*CAMPAIGNS], ["patience", "estimates", "checkpoints", "mechanisms"]))
def test_of_a_campaign(name, monkeypatch):
    module = importlib.import_module(f"caesura.sim.bench.{name.replace('-', '_')}")
    monkeypatch.setattr(module, "shipped_work", small)
    check_keys(f"bench {name}", module.run(TINY, **CAMPAIGNS[name]))
    check_keys(f"bench {name}", module.run(TINY.replace(name="mine"), **CAMPAIGNS[name]))


def test_of_a_campaign_whose_parts_fail(monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("nothing was measured")

    for name in "mechanisms", "contexts":
        module = importlib.import_module(f"caesura.sim.bench.{name}")
        monkeypatch.setattr(module, "measure", fails)
        monkeypatch.setattr(module, "shipped_work", small)
        check_keys(f"bench {name}", module.run(TINY, kernels=["collatz"]))


def test_of_placed_points(monkeypatch):
    points = importlib.import_module("caesura.sim.bench.points")
    shipped = SimpleNamespace(image=lambda options: kernel("collatz").image(options), job=lambda size: work().job)
    monkeypatch.setattr(points, "kernel", lambda name: shipped)
    check_keys("bench points", points.run(TINY, kernels=["collatz"], intervals=[40], moments=2))


def test_of_contexts():
    check_keys("bench contexts", contexts.run(TINY, samples=2, works=[("collatz", work(), TINY)]))


def test_of_limits_and_kills(monkeypatch):
    for module in limits, kill:
        monkeypatch.setattr(module, "shipped_work", small)
    monkeypatch.setattr(limits, "MOMENTS", (0.5,))
    check_keys("bench limits", limits.run(TINY, kernels=["collatz"]))
    queued = {"at": 1, "withdraw": True, "free": 2, "kill": 3, "whole": 4, "killed": 0, "withdrawn": 1, "left": 0,
              "correct": True}
    check_keys("bench kill", kill.run(TINY, kernels=["collatz"], moments=1))
    check_keys("bench kill", kill.judged(TINY, [], [queued]) | {"size": "small"})


def test_of_the_model_of_a_gpu():
    check_keys("bench machines", machines.run(TINY, 1, kernels=["vecadd"]))
    check_keys("bench deadline", deadline.run(TINY, ways=["none", "live+cp"], tbs=20, arrivals=2, every=4000))


def test_of_recorded_cycles(monkeypatch, tmp_path):
    found = [Difference("tiny collatz", "cycles", "1", "2")]
    monkeypatch.setattr(cycles, "perform", lambda *_, **__: [(0, ["row"])])
    monkeypatch.setattr(cycles, "_differences", lambda *_: found)
    for name in "neighbour", "library":
        monkeypatch.setattr(cycles, name, lambda *_: None)
    (tmp_path / cycles.NEIGHBOUR).touch()
    check_keys("bench cycles", cycles.run(tmp_path, ["tiny"], ["collatz"]))


def test_of_simulators(monkeypatch):
    monkeypatch.setattr(devices, "filled", lambda *_: None)
    monkeypatch.setattr(devices, "measure", lambda *_: (1.0, 1.0))
    check_keys("bench devices", devices.run(TINY, (1, 2), 1, quiet))
    monkeypatch.setattr(speed, "simulators", lambda *_: dict.fromkeys(("first", "plain", "optimised"), Path("none")))
    monkeypatch.setattr(speed, "RtlTransport", lambda *_, **__: None)
    monkeypatch.setattr(speed, "code_bytes", lambda _: 1000)
    for name in "measure", "measure_idle":
        monkeypatch.setattr(speed, name, lambda *_: speed.Speed("idle", 100, 10, 0.5))
    check_keys("bench speed", speed.run(TINY, kernels=["vecadd"], rounds=1, progress=quiet))


def test_of_areas(monkeypatch):
    monkeypatch.setattr(area, "synthesise", lambda *_, **__: dict.fromkeys(COLUMNS, 1) | {"parts": {}})
    check_keys("bench area", area.run(TINY))


@pytest.mark.parametrize("name, options", [
    ("bench calibrate", ["--preset", "tiny", "--kernel", "vecadd", "--moments", "1"]),
    ("bench code", ["--kernel", "vecadd"]), ("bench ctxback", ["--kernel", "vecadd"]),
    ("bench gpu", ["--kernel", "vecadd"]), ("bench golden", ["--kernel", "vecadd", "--size", "tiny"]),
    pytest.param("bench compile", ["--kernel", "vecadd", "--size", "200"], marks=pytest.mark.full),
    pytest.param("bench events", ["--preset", "tiny"], marks=pytest.mark.full),
    pytest.param("synth", ["kept_uniforms", "--preset", "tiny"], marks=pytest.mark.full)])
def test_of_a_command(name, options):
    found = read_json(name, CliRunner().invoke(main, [*name.split(), *options, "--json"]).stdout)
    assert next(iter(found)) == "schema"
