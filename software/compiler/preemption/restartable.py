"""Whether the thread blocks of a compiled kernel can be dropped and run again (flushing: Chimera)."""

from __future__ import annotations

from dataclasses import dataclass

from caesura.hw.arch.isa.operations import Space

from ..analysis.alias import Addresses
from ..analysis.reaching import use_def_chains
from ..image.kernel_image import KernelImage
from ..image.lift import lift
from ..ir.cfg import graph as flow_graph
from .idempotence import idempotence

__all__ = ["Spoilers", "spoilers", "reason"]

Spoiler = tuple[int, int | None]
"""Addresses of a load and of a store that may overwrite what it reads, or twice that of an atomic, or that of a
``bar.yield`` and None."""


@dataclass(frozen=True)
class Spoilers:
    """What keeps a kernel from being idempotent (`idempotence`), None if nothing does.

    Attributes
    ----------
    always : tuple of int or None
        Whatever it is given.
    apart : tuple of int or None
        If no memory that one of its pointer parameters writes is that of another one.
    written : frozenset of int or None
        Offsets of the pointer parameters through which global memory may be written; None if it may be otherwise.
    """

    always: Spoiler | None
    apart: Spoiler | None
    written: frozenset[int] | None


def spoilers(image: KernelImage) -> Spoilers:
    """Return what keeps the kernel of an image from being idempotent.

    Raises
    ------
    ImageError
        If its code is not well formed.
    """
    lifted = lift(image)
    flow = flow_graph(lifted.kernel)
    definitions = use_def_chains(lifted.kernel, flow)

    def spoiler(restrict: bool) -> Spoiler | None:
        found = idempotence(lifted.kernel, flow, definitions, restrict).spoiler
        if found is None:
            return None
        load, store = (site and lifted.start[site.label] + site.index for site in found)
        assert load is not None
        return load, store

    writes = [access.pointers for access in Addresses(lifted.kernel, definitions).accesses
              if access.space is Space.GLOBAL and access.kind != "load"]
    return Spoilers(spoiler(False), spoiler(True), frozenset().union(*writes) if all(writes) else None)


def reason(spoiler: Spoiler) -> str:
    """Return in words what a spoiler does."""
    load, store = spoiler
    if store is None:
        return f"it yields at {load}: what others write meanwhile they need not write again"
    if load == store:
        return f"the atomic at {store} changes global memory"
    return f"the store at {store} may overwrite what the load at {load} reads"
