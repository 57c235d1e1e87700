"""The part of ``caesura bench kill`` that resets packets in a queue."""

import pytest

from caesura.sim.bench.kill import judged
from caesura.sim.bench.queued_resets import PACKETS, queued_rows
from caesura.sim.report.kill import print_report
from support.sim.queues import DEVICE
from support.sim.tiny_run import TINY

MOMENTS = 3


@pytest.fixture(scope="module", params=[pytest.param(MOMENTS, marks=pytest.mark.full)], ids=["moments"])
def rows(request):
    return queued_rows(DEVICE, request.param)


def test_all_packets_are_accounted_for(rows):
    assert len(rows) == 2 * MOMENTS and all(row["correct"] for row in rows)
    for row in rows:
        assert row["whole"] + row["killed"] + row["withdrawn"] + row["left"] == PACKETS and row["killed"] <= 1
        assert bool(row["withdrawn"]) <= row["withdraw"]
    assert sum(row["left"] for row in rows if not row["withdraw"]) and sum(row["withdrawn"] for row in rows)


def test_packets_that_are_withdrawn_are_gone_sooner(rows):
    left, withdrawn = (max(row["free"] for row in rows if row["withdraw"] is which) for which in (False, True))
    assert withdrawn < left < 4000


def test_the_report(rows, capsys):
    print_report(judged(TINY, [], rows) | {"size": "tiny"})
    text = capsys.readouterr().out
    assert "leave by themselves" in text and "are withdrawn" in text and "WRONG" not in text
    bad = [row | {"correct": False} for row in rows]
    assert not judged(TINY, [], bad)["met"]
    print_report(judged(TINY, [], bad) | {"size": "tiny"})
    assert "WRONG" in capsys.readouterr().out
