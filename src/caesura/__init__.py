"""Caesura: an open, synthesizable, preemptible SIMT core and its software stack.

The names below are imported when they are first used, so that importing the package costs nothing; type checkers read
them in the stub beside this file.
"""

from __future__ import annotations

import importlib
import os

# In a checkout `hw`, `sim` and `software` lie in roots of their own beside `src`; installed, all is in one folder. The
# checkout is found from this file, not from `sys.path`, so that parts of two checkouts never mix.
_CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
__path__ += filter(os.path.isdir, [os.path.join(_CHECKOUT, part, "caesura") for part in ("hw", "sim", "software")])

_PLACES = {
    "Geometry": "caesura.hw.arch.geometry",
    "Mechanism": "caesura.hw.arch.context",
    "compile_ptx": "caesura.software.compiler",
    "open_device": "caesura.sim",
    "preset": "caesura.hw.arch.geometry",
}

__all__ = [*_PLACES, "__version__"]


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
