"""Cells that the tables of several reports have."""

__all__ = ["percent"]


def percent(share: float) -> str:
    """Return a share of one as a cell."""
    return f"{100 * share:.1f} %"
