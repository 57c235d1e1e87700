"""Packages that only some reports need."""

from __future__ import annotations

import importlib
from types import ModuleType

from caesura.errors import ToolError

__all__ = ["MissingPackage", "require"]


class MissingPackage(ToolError, ValueError):
    """A package of an extra is not installed; the message says how to get it."""


def require(module: str, purpose: str, extra: str = "report") -> ModuleType:
    """Import a module of an optional package, which `extra` has.

    Raises
    ------
    MissingPackage
        If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        name = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != name:
            raise
        package = name.replace("_", "-")
        raise MissingPackage(f"{purpose} needs the package {package}; install it with `pip install 'caesura[{extra}]'` "
                             f"or `pip install {package}`") from error
