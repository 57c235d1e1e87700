"""Which cases of a test are quick."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

__all__ = ["quick"]


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
