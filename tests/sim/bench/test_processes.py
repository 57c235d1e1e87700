"""Tasks here and in processes of their own: results by index, progress, failures."""

import pytest

from caesura.sim.bench.processes import perform
from support.sim.tasks import halved


def performed(tasks, jobs, died=None):
    """Return what tasks give by index, and what was said."""
    said = []
    return dict(perform(halved, tasks, jobs, said.append, lambda task: f"task {task}", died)), said


def test_tasks_here_run_in_their_order_and_say_what_they_do():
    assert performed([4, 6], 1) == ({0: 2, 1: 3}, ["1 of 2: halving 4", "2 of 2: halving 6"])


def test_processes_give_the_same_and_their_end_is_told():
    found, said = performed([4, 6, 8], 2)
    assert found == {0: 2, 1: 3, 2: 4}
    assert [line.split(":")[0] for line in said] == ["1 of 3", "2 of 3", "3 of 3"]
    assert {line.split(": ")[1] for line in said} == {"task 4", "task 6", "task 8"}


def test_a_failure_is_raised_or_what_the_caller_makes_of_it():
    with pytest.raises(ValueError, match="5 is odd"):
        performed([5, 6], 2)
    assert performed([5, 6], 2, died=lambda task, error: -task)[0] == {0: -5, 1: 3}
