"""A task for processes of their own, which find it by its name: not one of a test."""

from collections.abc import Callable

__all__ = ["halved"]


def halved(number: int, progress: Callable[[str], None]) -> int:
    """Return half of an even number."""
    progress(f"halving {number}")
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2
