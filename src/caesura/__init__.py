"""Caesura: an open, synthesizable, preemptible SIMT core and its software stack.

The names below are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib

from .checkout import checkout_root

TYPE_CHECKING = False
if TYPE_CHECKING:  # which type checkers take for true
    from caesura.hw.arch.geometry import Geometry, preset
    from caesura.hw.arch.image.context import Mechanism
    from caesura.hw.arch.way import Way
    from caesura.sim import open_device
    from caesura.software.compiler import compile_ptx

    __version__: str

# `hw`, `sim`, `software` and `constraints` lie beside `src` in a checkout, and beside this file once installed.
if (_root := checkout_root()) is not None:
    __path__.append(_root)

_PLACES = {
    "Geometry": "caesura.hw.arch.geometry",
    "Mechanism": "caesura.hw.arch.image.context",
    "Way": "caesura.hw.arch.way",
    "compile_ptx": "caesura.software.compiler",
    "open_device": "caesura.sim",
    "preset": "caesura.hw.arch.geometry",
}

__all__ = ["Geometry", "Mechanism", "Way", "__version__", "compile_ptx", "open_device", "preset"]


def __getattr__(name: str):
    if name == "__version__":
        value = importlib.import_module("importlib.metadata").version("caesura")
    elif name in _PLACES:
        value = getattr(importlib.import_module(_PLACES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
