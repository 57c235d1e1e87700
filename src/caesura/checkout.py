"""The checkout that the package runs from, if it does."""

from __future__ import annotations

import os

__all__ = ["checkout_root"]


def checkout_root() -> str | None:
    """Return the root of the checkout whose files the package runs from; None where it is installed.

    It is found from this file, not from `sys.path`, so that parts of two checkouts never mix.
    """
    package = os.path.dirname(os.path.realpath(__file__))
    root, source = os.path.split(os.path.dirname(package))
    found = source == "src" and os.path.isfile(os.path.join(root, "pyproject.toml"))
    return root if found and os.path.isdir(os.path.join(root, "hw")) else None
