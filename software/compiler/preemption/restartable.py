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
"""Addresses of a load and of a store that may overwrite its word, twice that of an atomic, or a yield's and None."""


@dataclass(frozen=True)
class Spoilers:
    """The spoilers that keep a kernel from being idempotent (`idempotence`); None if there is none.

    Attributes
    ----------
    always : tuple of int or None
        Spoiler for any parameters.
    apart : tuple of int or None
        Spoiler if no memory that one of its pointer parameters writes is another one's.
    written : frozenset of int or None
        Offsets of the pointer parameters through which global memory may be written; None if other writes are possible.
    """

    always: Spoiler | None
    apart: Spoiler | None
    written: frozenset[int] | None


def spoilers(image: KernelImage) -> Spoilers:
    """Return the spoilers that keep the kernel of an image from being idempotent.

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
    """Return in words the effect of a spoiler."""
    load, store = spoiler
    if store is None:
        return f"it yields at {load}: what others write meanwhile they need not write again"
    if load == store:
        return f"the atomic at {store} changes global memory"
    return f"the store at {store} may overwrite what the load at {load} reads"
