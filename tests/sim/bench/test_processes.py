"""Tasks here and in processes of their own: results by index, progress, failures."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from caesura.sim.bench.processes import perform
from support.sim.tasks import halved


def performed(tasks, jobs, died=None):
    """Return what tasks give by index, and what was said."""
    said = []
    return dict(perform(halved, tasks, jobs, said.append, lambda task: f"task {task}", died)), said


def test_tasks_here_run_in_their_order_and_say_what_they_do():
    assert performed([4, 6], 1) == ({0: 2, 1: 3}, ["1 of 2: task 4", "1 of 2: halving 4",
                                                   "2 of 2: task 6", "2 of 2: halving 6"])


def test_processes_give_the_same_and_their_end_is_told():
    found, said = performed([4, 6, 8], 2)
    assert found == {0: 2, 1: 3, 2: 4}
    assert [line.split(":")[0] for line in said] == ["0 of 3 measured", "1 of 3", "2 of 3", "3 of 3"]
    assert {line.split(": ")[1] for line in said[1:]} == {"task 4", "task 6", "task 8"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_goes_on_is_told_before_anything_has_ended_and_counts_what_was_taken_over(jobs):
    """Else a display would still say that a simulator is built."""
    said = []
    for _ in perform(halved, [4, 6], jobs, said.append, lambda task: f"task {task}", taken=3):
        assert said[0] == ("4 of 5: task 4" if jobs == 1 else "3 of 5 measured")
    assert said[-1].startswith("5 of 5")


def sleepers(folder):
    """Return the numbers of the processes that a benchmark has begun to sleep in, once both have."""
    deadline = time.monotonic() + 60
    while len(found := [int(path.name) for path in folder.iterdir() if path.name.isdigit()]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def ended(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="the parent's end is told by Linux")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_their_parent_however_it_ends(how, tmp_path):
    script = tmp_path / "bench.py"
    script.write_text(f"""import click
from caesura.sim.bench.processes import perform
from caesura.cli.errors import Group, terminable
from support.sim.tasks import slept

@click.group(cls=Group)
def tool(): pass

@tool.command()
def bench():
    with terminable():
        list(perform(slept, [{str(tmp_path)!r}] * 2, 2, lambda text: None, str))

if __name__ == "__main__":
    tool()
""")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen(
        [sys.executable, str(script), "bench"], env=environment, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # a background job's ignores it
    try:
        children = sleepers(tmp_path)
        begin = time.monotonic()
        parent.send_signal(how)
        assert parent.wait(timeout=30) == {signal.SIGTERM: 143, signal.SIGKILL: -9, signal.SIGINT: 130}[how]
        while not all(map(ended, children)):
            assert time.monotonic() - begin < 30
            time.sleep(0.05)
    finally:
        with contextlib.suppress(ProcessLookupError):  # what has not ended does not outlive the test
            os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()


def test_a_failure_is_raised_or_what_the_caller_makes_of_it():
    with pytest.raises(ValueError, match="5 is odd"):
        performed([5, 6], 2)
    assert performed([5, 6], 2, died=lambda task, error: -task)[0] == {0: -5, 1: 3}
