"""Names that were asked for and are not there: what to say instead."""

from __future__ import annotations

import difflib
from collections.abc import Collection

__all__ = ["alternatives"]

_SHOWN = 60
"""Most names of a message; more than all kernels that ship."""
_SHORT = 8
"""Names that are listed even where one of them was probably meant."""


def alternatives(name: str, known: Collection[str]) -> str:
    """Return the end of a message about an unknown name: the one that was probably meant, or those there are."""
    close = difflib.get_close_matches(name, known, 1)
    if close and len(known) > _SHORT:
        return f"did you mean {close[0]!r}?"
    meant = f"did you mean {close[0]!r}? There are " if close else "there are "
    listed = list(known)[:_SHOWN]
    return meant + ", ".join(listed) + (f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else "")
