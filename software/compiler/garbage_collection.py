"""The garbage collector while compiling; most objects live almost to the end, so collections find little."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["collect_seldom"]

_OBJECTS = 50_000
"""Objects created between two collections, rather than Python's 700; some 10 MB."""


@contextlib.contextmanager
def collect_seldom() -> Iterator[None]:
    """Have the collector examine new objects less often, as a context manager or a decorator."""
    before = gc.get_threshold()
    if not 0 < before[0] < _OBJECTS:
        yield
        return
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
