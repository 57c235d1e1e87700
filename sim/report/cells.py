"""Cells of the tables of several reports."""

__all__ = ["percent"]


def percent(share: float) -> str:
    """Return a share as a cell."""
    return f"{100 * share:.1f} %"
