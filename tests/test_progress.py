"""The display of what goes on: one live line on a terminal, plain lines elsewhere, one display for everything."""

import io
import threading
import time

import pytest
from rich.console import Console

from caesura import progress
from caesura.progress import Display, clock, display, quiet, report, watched


class Kernel:
    """A launch of 12 thread blocks, and the device it runs on."""

    observer = None

    def __init__(self, done=0):
        self.done = done

    def peek_progress(self):
        return self.done, 12


def plain(every=60.0):
    """A display on something that is no terminal, and what it wrote."""
    out = io.StringIO()
    return Display(Console(file=out, width=200), every), out


def terminal(width=60):
    """A display on a terminal, and what it wrote."""
    out = io.StringIO()
    return Display(Console(file=out, width=width, force_terminal=True, legacy_windows=False)), out


@pytest.mark.parametrize("seconds, text", [(0, "0 s"), (59.4, "59 s"), (59.6, "1:00"), (80, "1:20"), (7205, "2:00:05")])
def test_times_are_written_as_people_read_them(seconds, text):
    assert clock(seconds) == text


@pytest.mark.timeout(20)
@pytest.mark.parametrize("make", [plain, terminal])
def test_a_long_step_leaves_a_line_with_its_time_and_a_short_one_none(make, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown, out = make()
    with shown.shown():
        for text, seconds in (("elaborating", 75), ("a moment", 1.9), ("compiling", 2.1)):
            shown(text)
            now[0] += seconds
    lines = out.getvalue()
    assert "elaborating: 1:15" in lines and "compiling: 2 s" in lines and "a moment:" not in lines


@pytest.mark.timeout(20)
def test_without_a_terminal_a_line_comes_now_and_then_with_how_far_it_is():
    shown, out = plain(every=0.05)
    with shown.shown():
        shown("compiling", "3 of 38 files")
        time.sleep(0.3)
    lines = out.getvalue().splitlines()
    assert 1 <= len(lines) <= 6 and set(lines) == {"[0 s] compiling: 3 of 38 files"}


@pytest.mark.timeout(20)
def test_without_a_terminal_quick_work_writes_nothing():
    shown, out = plain()
    with shown.shown():
        shown("a step")
        shown("another")
    assert out.getvalue() == ""


@pytest.mark.timeout(20)
def test_a_live_line_fits_the_terminal_and_goes_in_the_end():
    shown, out = terminal(width=30)
    with shown.shown():
        shown("compiling the simulator of a geometry with a long name", "3 of 38 files")
        time.sleep(0.3)
    text = out.getvalue()
    assert "   0 s  compiling the simulat…" in text
    assert text.count("\n") == 1 and text.endswith("\n\x1b[?25h\r\x1b[1A\x1b[2K")  # left, and taken back


@pytest.mark.timeout(20)
def test_lines_left_while_the_live_line_is_drawn_by_its_thread_do_not_block(monkeypatch):
    monkeypatch.setattr(progress, "WORTH_SECONDS", 0.0)
    shown, out = terminal()
    with shown.shown():
        end = time.monotonic() + 0.6
        count = 0
        while time.monotonic() < end:
            shown(f"step {count}")
            count += 1
    assert out.getvalue().count("step 0: 0 s") == 1 and count > 10


def test_a_running_kernel_shows_cycles_thread_blocks_speed_and_time_left(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown, _ = plain()
    shown("pathfinder: running")
    kernel = Kernel(done=2)
    shown.observe(kernel, 1000)
    assert str(shown._step) == "pathfinder: running: cycle 1,000, 2 of 12 thread blocks done"
    kernel.done, now[0] = 6, 2.0
    shown.observe(kernel, 91_000)
    assert str(shown._step) == ("pathfinder: running: cycle 91,000, 6 of 12 thread blocks done, 45,000 cycles/s, "
                                "about 3 s left")
    shown.observe(Kernel(), 200_000)  # of another launch nothing is known yet
    assert str(shown._step) == "pathfinder: running: cycle 200,000, 0 of 12 thread blocks done"
    shown.observe(None, 200_000)
    assert str(shown._step) == "pathfinder: running: cycle 200,000"


def test_a_display_inside_another_is_the_same_and_shows_devices_made_meanwhile():
    device = Kernel()
    assert watched(device) is device and device.observer is None
    with display() as outer, display() as inner:
        assert inner is outer
        report("a step")
        assert str(outer._step) == "a step"
        assert watched(device).observer == outer.observe
    assert progress._current.get() is None
    report("nobody looks")


def test_another_thread_has_a_display_of_its_own():
    found = []
    with display():
        thread = threading.Thread(target=lambda: found.append(progress._current.get()))
        thread.start()
        thread.join()
    assert found == [None] and quiet("x", "y") is None
