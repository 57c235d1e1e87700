"""The common parts of benchmarks' pictures: a row per kernel, a width for readable labels, reproducible files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from caesura.errors import InputError
from caesura.extras import require

__all__ = ["FORMATS", "WIDTH", "check_picture", "kernel_rows", "save"]

FORMATS = ".svg", ".png", ".pdf"
WIDTH = 9.0
"""Width in inches, 864 pixels, the text column of a repository's web page, so that labels keep their size."""
_HEAD = 1.6


def check_picture(path: Path) -> None:
    """Check before long measurements that a picture can be drawn into a file.

    Raises
    ------
    extras.MissingPackage
        If the package ``matplotlib`` is not installed.
    ValueError
        If the format is not known.
    """
    require("matplotlib", "a picture")
    if path.suffix not in FORMATS:
        raise InputError(f"{path}: a picture is written as {', '.join(FORMATS)}")


def kernel_rows(names: list[str], row_inches: float) -> tuple[Any, tuple[Any, Any]]:
    """Return a figure and its two panels side by side. They share a row per name, with the first on top."""
    figures: Any = require("matplotlib.figure", "a picture")
    figure = figures.Figure(figsize=(WIDTH, row_inches * len(names) + _HEAD), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.4, -0.6)
    for axes in panels:
        axes.grid(axis="x", alpha=0.3)
        axes.set_axisbelow(True)
    return figure, tuple(panels)


def save(figure: Any, path: Path) -> None:
    """Write a figure; the same figure gives the same bytes."""
    with require("matplotlib", "a picture").rc_context({"svg.hashsalt": "caesura"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
