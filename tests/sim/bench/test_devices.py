"""``caesura bench devices``: what is simulated, and what is made of the times."""

import os

from caesura.progress import quiet
from caesura.sim.bench import devices
from caesura.sim.bench.devices import CYCLES, WARM_UP, print_report, run
from support.sim.queues import DEVICE


def test_a_device_is_full_and_does_not_end():
    device = devices.filled(DEVICE, 2, 1, quiet)
    assert device.cycle >= WARM_UP and len(device.warps()) == 2 * DEVICE.warps
    cycle = device.cycle
    busy, passed = devices.measure(device, 500)
    assert device.cycle == cycle + 500 and busy > 0 and passed > 0
    assert len(device.warps()) == 2 * DEVICE.warps


def test_the_cost_of_an_sm_is_that_of_the_fastest_round(monkeypatch, capsys):
    """Two threads halve the time of what has two SMs; of the first round nothing counts."""
    made, rounds = [], {}

    def measure(device, cycles):
        sms, threads = device
        rounds[device] = rounds.get(device, 0) + 1
        assert cycles == CYCLES // sms
        busy = {1: 2.0, 2: 2.5, 4: 1.0}[sms] * (3 if rounds[device] == 1 else 1)
        return busy, busy / threads

    monkeypatch.setattr(devices, "filled", lambda g, sms, threads, progress: made.append((sms, threads)) or made[-1])
    monkeypatch.setattr(devices, "measure", measure)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    result = run(DEVICE, (1, 2, 4), 2, quiet)
    assert made == [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2)] and set(rounds.values()) == {2}
    assert [row["cost"] for row in result["devices"]] == [1, 1.25, 0.5]
    assert [row["cycles_per_second"] for row in result["devices"]] == [10_000, 4_000, 5_000]
    assert [row["gain_of_threads"] for row in result["devices"]] == [1, 2, 2]
    assert result["worst_cost"] == 1.25 and not result["met"] and run(DEVICE, (1, 4), 2, quiet)["met"]
    print_report(result)
    assert "worst 1.25, limit 1: MISSED" in capsys.readouterr().out
