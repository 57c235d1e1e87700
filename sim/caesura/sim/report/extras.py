"""Packages that only some reports need."""

from __future__ import annotations

import importlib
from types import ModuleType

from caesura.hw.arch.errors import ToolError

__all__ = ["MissingPackage", "require"]


class MissingPackage(ToolError, ValueError):
    """A package of the extra ``report`` is not installed; the message says how to get it."""


def require(module: str, purpose: str) -> ModuleType:
    """Import a module of an optional package.

    Raises
    ------
    MissingPackage
        If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingPackage(f"{purpose} needs the package {package}; install it with `pip install 'caesura[report]'` "
                             f"or `pip install {package}`") from error
