"""The kernels that ship, with input generators and numpy references."""

from __future__ import annotations

from collections.abc import Iterable

from caesura.errors import InputError
from caesura.software.names import alternatives

from . import ctxback, examples, rodinia
from .job import ShippedKernel

__all__ = ["KERNELS", "by_name", "kernel"]


def by_name(kernels: Iterable[ShippedKernel]) -> dict[str, ShippedKernel]:
    """Return kernels by name.

    Raises
    ------
    ValueError
        If two kernels have the same name.
    """
    found: dict[str, ShippedKernel] = {}
    for k in kernels:
        if k.name in found:
            raise InputError(f"two kernels are named {k.name!r}: in {found[k.name].folder} and in {k.folder}")
        found[k.name] = k
    return found


KERNELS: dict[str, ShippedKernel] = by_name((*examples.KERNELS, *rodinia.KERNELS, *ctxback.KERNELS))
"""Every shipped kernel by name."""


def kernel(name: str) -> ShippedKernel:
    """Return a shipped kernel.

    Raises
    ------
    ValueError
        If there is no kernel of that name.
    """
    try:
        return KERNELS[name]
    except KeyError:
        raise InputError(f"no kernel {name!r}; {alternatives(name, KERNELS)}") from None
