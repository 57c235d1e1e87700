"""The console of reports. It is as wide as the terminal; without one, the report chooses the width."""

from __future__ import annotations

import os
import sys

from rich.console import Console

__all__ = ["report_console"]


def report_console(width: int | None = None, *, markup: bool = True, soft_wrap: bool = False) -> Console:
    """Return a console for standard output; rich obeys ``NO_COLOR`` and ``FORCE_COLOR`` itself.

    Parameters
    ----------
    width : int, optional
        Number of columns if neither a terminal nor ``COLUMNS`` gives it.
    markup, soft_wrap : bool
        Parameters of `rich.console.Console`.
    """
    known = sys.stdout is not None and sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return Console(width=None if known else width, highlight=False, markup=markup, soft_wrap=soft_wrap)
