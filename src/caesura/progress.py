"""Progress for a person who waits: one display for everything, on standard error.

On a terminal it is one live line with the step, how far it is and the time it has taken; elsewhere (a file, a pipe, a
notebook) a plain line every ten seconds. A step that took two seconds or more leaves a line with its time. Work
reports to `report`, or to a function it was given; a display inside another is the same one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from caesura.software.driver import Device, Launch

AnyDevice = TypeVar("AnyDevice", bound="Device")

__all__ = ["Display", "Progress", "clock", "display", "quiet", "report", "watched"]

LINE_SECONDS = 10.0
"""Time between two lines where there is no terminal."""
WORTH_SECONDS = 2.0
"""A shorter step leaves no line."""
_FORCING = {"FORCE_COLOR", "TTY_COMPATIBLE"}
"""Variables of the environment that may make a terminal of anything."""


class Progress(Protocol):
    """Called when a step begins, and again with the same text as it goes on."""

    def __call__(self, text: str, detail: str = "") -> None:
        """Say what goes on: the step (another text begins another step), and how far it is."""


def quiet(text: str, detail: str = "") -> None:
    """Show nothing."""


def clock(seconds: float) -> str:
    """Return a time as a person reads it: ``8 s``, ``1:20``, ``2:00:05``."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    if whole < 60:
        return f"{whole} s"
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


class Display:
    """The step that goes on, with its time, on a console.

    Parameters
    ----------
    console : rich.console.Console, optional
        If it is a terminal, the step is a live line at its bottom. That of standard error unless one is given, made
        when something is written: most work is too short for that.
    every : float
        Seconds between two lines elsewhere.
    """

    def __init__(self, console: Console | None = None, every: float = LINE_SECONDS):
        self._given, self._every = console, every
        self._opened = time.monotonic()
        self._step = _Step("", self._opened)  # replaced as a whole: another thread draws it
        self._rate: _Rate | None = None

    def __call__(self, text: str, detail: str = "") -> None:
        """Say what goes on; the `Progress` of this display."""
        if text != self._step.text:
            self._finish()
            self._step = _Step(text, time.monotonic())
        self._step = self._step.at(detail)

    def observe(self, launch: Launch | None, cycle: int) -> None:
        """Show how far a kernel is; the observer of a `Device`."""
        if self._rate is None or self._rate.launch is not launch:
            self._rate = _Rate(launch, cycle)
        self._step = self._step.at(self._rate.describe(cycle))

    def __rich__(self) -> Text:
        """Return the live line."""
        from rich.text import Text

        step = self._step
        line = f"{clock(time.monotonic() - step.begun):>6}  {step}" if step.text else ""
        return Text(line, no_wrap=True, overflow="ellipsis", style="dim")

    @functools.cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return self._given or Console(stderr=True)

    def _is_live(self) -> bool:
        """Whether the console is a terminal; where it can be none it is not made."""
        if self._given is None and not _FORCING & os.environ.keys() and not (sys.stderr and sys.stderr.isatty()):
            return False
        return self._console.is_terminal and not self._console.is_dumb_terminal

    def _finish(self) -> None:
        """End the step; leave a line if it took long."""
        step, now = self._step, time.monotonic()
        self._step, self._rate = _Step("", now), None
        if step.text and now - step.begun >= WORTH_SECONDS:
            self._print(f"{step.text}: {clock(now - step.begun)}")

    def _print(self, line: str) -> None:
        self._console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)

    @contextlib.contextmanager
    def shown(self) -> Iterator[Display]:
        """Show what is reported as long as the context lasts."""
        if self._is_live():
            from rich.live import Live

            with Live(self, console=self._console, refresh_per_second=8, transient=True, redirect_stdout=False):
                yield self
                self._finish()
        else:
            ended = threading.Event()
            ticker = threading.Thread(target=self._tick, args=(ended,), daemon=True)
            ticker.start()
            try:
                yield self
                self._finish()
            finally:
                ended.set()
                ticker.join()

    def _tick(self, ended: threading.Event) -> None:
        """Print a line now and then."""
        while not ended.wait(self._every):
            if self._step.text:
                self._print(f"[{clock(time.monotonic() - self._opened)}] {self._step}")


@dataclass(frozen=True)
class _Step:
    """The present work, its start, and its progress."""

    text: str
    begun: float
    detail: str = ""

    def at(self, detail: str) -> _Step:
        """Return the step as it goes on."""
        return dataclasses.replace(self, detail=detail)

    def __str__(self) -> str:
        return f"{self.text}: {self.detail}" if self.detail else self.text


class _Rate:
    """How far a launch is and how fast, from what is seen of it."""

    def __init__(self, launch: Launch | None, cycle: int):
        self.launch = launch
        self._cycle, self._time = cycle, time.monotonic()
        self._tbs = launch.peek_progress() if launch else None

    def describe(self, cycle: int) -> str:
        """Return the state at a cycle: cycles, thread blocks (TBs), cycles a second, time left."""
        parts = [f"cycle {cycle:,}"]
        tbs = self.launch.peek_progress() if self.launch else None
        if tbs:
            parts.append(f"{tbs[0]:,} of {tbs[1]:,} thread blocks done")
        passed, seconds = cycle - self._cycle, time.monotonic() - self._time
        if passed > 0 and seconds > 0.5:
            parts.append(f"{float(f'{passed / seconds:.2g}'):,.0f} cycles/s")
            if tbs and self._tbs and tbs[0] > self._tbs[0]:
                left = seconds * (tbs[1] - tbs[0]) / (tbs[0] - self._tbs[0])
                parts.append(f"about {clock(left)} left")
        return ", ".join(parts)


_current: ContextVar[Display | None] = ContextVar("caesura_display", default=None)


def report(text: str, detail: str = "") -> None:
    """Pass a step to the display of this thread, if there is one."""
    shown = _current.get()
    if shown is not None:
        shown(text, detail)


def watched(device: AnyDevice) -> AnyDevice:
    """Let the display of this thread, if there is one, show how far the kernels of a device are; return the device."""
    shown = _current.get()
    if shown is not None:
        device.observer = shown.observe
    return device


@contextlib.contextmanager
def display() -> Iterator[Progress]:
    """Yield a function that shows what goes on, on standard error; the one that is shown already, if there is one."""
    shown = _current.get()
    if shown is not None:
        yield shown
        return
    with Display().shown() as shown:
        token = _current.set(shown)
        try:
            yield shown
        finally:
            _current.reset(token)
