"""Faults planted in the hardware: a line of a block's source is replaced for a while."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType

__all__ = ["Fault", "planted"]


@dataclass(frozen=True)
class Fault:
    """A fault: `wrong` replaces `right`, which the source of `module` has once."""

    module: ModuleType
    right: str
    wrong: str


@contextlib.contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """Give every function of a module the code with a fault, for all importers of the module.

    Raises
    ------
    ValueError
        If the line is not there once, or does nothing.
    """
    source = inspect.getsource(fault.module)
    if source.count(fault.right) != 1:
        raise ValueError(f"{fault.module.__name__} has {fault.right!r} {source.count(fault.right)} times")
    namespace = dict(vars(fault.module))
    exec(compile(source.replace(fault.right, fault.wrong), fault.module.__name__, "exec"), namespace)
    old, new = _functions(vars(fault.module), fault.module.__name__), _functions(namespace, fault.module.__name__)
    changed = [name for name in old if old[name].__code__ != new[name].__code__]
    if not changed:
        raise ValueError(f"{fault.wrong!r} changes nothing in {fault.module.__name__}")
    kept = {name: old[name].__code__ for name in changed}
    try:
        for name in changed:
            old[name].__code__ = new[name].__code__
        yield
    finally:
        for name, code in kept.items():
            old[name].__code__ = code


def _functions(namespace: dict, module: str) -> dict[str, FunctionType]:
    """Return the functions of a module and of its classes by name."""
    found = {}
    for name, value in namespace.items():
        if inspect.isfunction(value) and value.__module__ == module:
            found[name] = value
        if inspect.isclass(value) and value.__module__ == module:
            found |= {f"{name}.{inner}": function for inner, function in vars(value).items()
                      if inspect.isfunction(function)}
    return found
