"""What `caesura bench events` reports of two measurements."""

import json

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.sim.bench import events

THEIRS = events.Speed(ready=2.0, cycles=300, seconds=3.0, memory=b"as it is")


def bench(monkeypatch: pytest.MonkeyPatch, ours: events.Speed, *options: str):
    monkeypatch.setattr(events, "measure", lambda g, engine: THEIRS if engine == "amaranth" else ours)
    return CliRunner().invoke(main, ["bench", "events", *options])


def test_rates_and_their_ratio(monkeypatch):
    ours = events.Speed(ready=1.0, cycles=300, seconds=0.5, memory=b"as it is")
    result = json.loads(bench(monkeypatch, ours, "--json").output)
    assert (result["ratio"], result["ready_ratio"], result["same"], result["met"]) == (6.0, 0.5, True, True)
    assert result["engines"]["events"] == {"ready": 1.0, "cycles": 300, "seconds": 0.5, "cycles_per_second": 600}
    done = bench(monkeypatch, ours)
    assert done.exit_code == 0 and "6.0 (goal: 4); the same cycles and memory" in done.output


@pytest.mark.parametrize("ours", [events.Speed(1.0, 301, 0.5, b"as it is"), events.Speed(1.0, 300, 0.5, b"not so")])
def test_another_result_fails_the_benchmark(monkeypatch, ours):
    done = bench(monkeypatch, ours)
    assert done.exit_code == 1 and "DIFFERENT" in done.output


def test_too_slow_fails_it(monkeypatch):
    assert bench(monkeypatch, events.Speed(1.0, 300, 1.0, b"as it is")).exit_code == 1
