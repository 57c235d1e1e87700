"""Which cases of a test are quick."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

__all__ = ["quick"]


def named(words: Collection[str], names: Collection[str]) -> list[str]:
    """Return the names that have one of some words in them, all if there is no word.

    Raises
    ------
    SystemExit
        If there are none.
    """
    found = [name for name in names if not words or any(word in name for word in words)]
    if not found:
        raise SystemExit(f"nothing has {' or '.join(words)} in its name; there are {', '.join(names)}")
    return found


def quick(cases: Iterable[Any], chosen: Collection[Any]) -> list:
    """Return cases as parameters: `make test` runs the chosen ones, `make test-full` all.

    Parameters
    ----------
    cases : iterable
        Each a value, or a tuple of one for each parameter.
    chosen : collection
        Of the cases.
    """
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)),
                         marks=() if case in chosen else pytest.mark.full) for case in cases]
