"""Tasks for processes of their own, which find it by its name: none is of a test."""

import os
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["halved", "slept"]


def halved(number: int, progress: Callable[[str], None]) -> int:
    """Return half of an even number."""
    progress(f"halving {number}")
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def slept(folder: str, progress: Callable[[str], None]) -> None:
    """Leave a file in a folder whose name is the number of this process, and sleep for minutes."""
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(300)
