"""Values that travel beside a pipeline."""

from typing import Any

from amaranth.hdl import Module, Signal

__all__ = ["delayed"]


def delayed(m: Module, name: str, value: Any, cycles: int) -> Any:
    """Return `value` (a signal or view) after `cycles` registers, named ``<name>_1``, ``<name>_2``,
    ..."""
    for cycle in range(cycles):
        later = Signal(value.shape(), name=f"{name}_{cycle + 1}")
        m.d.sync += later.eq(value)
        value = later
    return value
