"""Where reports are printed: as wide as the terminal; in a file, and where nobody says, as wide as the report likes."""

from __future__ import annotations

import os
import sys

from rich.console import Console

__all__ = ["report_console"]


def report_console(width: int | None = None, *, markup: bool = True, soft_wrap: bool = False) -> Console:
    """Return a console for standard output; rich looks at ``NO_COLOR`` and ``FORCE_COLOR`` itself.

    Parameters
    ----------
    width : int, optional
        Columns where neither a terminal nor ``COLUMNS`` says how many there are.
    markup, soft_wrap : bool
        As of `rich.console.Console`.
    """
    known = sys.stdout is not None and sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return Console(width=None if known else width, highlight=False, markup=markup, soft_wrap=soft_wrap)
