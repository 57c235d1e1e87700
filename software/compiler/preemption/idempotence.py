"""Idempotence: code that can be executed again from its start with the same result (de Kruijf et al., PLDI 2012).

A thread cannot read a value again after it has overwritten it: a load and a later store that may touch the same byte
are an *anti-dependence* on memory (`analysis.alias`). Threads are assumed not to race: between a write and another
thread's read stands a barrier, a fence or an atomic. Within a warp, an operation in which its lanes meet serves too.

A **region** of a thread's code is idempotent. A region begins

1. at the start of the kernel,
2. after a barrier or a fence: other threads may have gone on,
3. at an atomic, and after it: to execute it again would change memory again,
4. at a store that would complete an anti-dependence with a load since the region began. The load is of the same thread,
   or of any lane if the lanes have met since (``bar.warp.sync``, which is a ``nop`` here; shuffles, votes, matches).
   For other lanes, offsets from the same address do not count, since lanes have their own.

So an instruction can be executed again from every place where its region may have begun.

A **kernel** is idempotent, so that a TB can be dropped and run again, if

1. it has no atomic on global memory, and
2. no load of global memory may be overwritten by a store of the TB. A later store counts as in case 4. If the kernel
   has barriers or fences, any store counts, and again offsets from the same address do not, and
3. it never yields: other threads do not repeat the writes that the TB waited for.

Shared and local memory do not matter there: a TB begins without contents in either.
"""

from __future__ import annotations

from dataclasses import dataclass

from caesura.hw.arch.isa.operations import Space

from ..analysis.alias import Addresses, MemoryAccess
from ..analysis.dataflow import Analysis, solve
from ..analysis.definitions import Place
from ..analysis.reaching import UseDefChains, use_def_chains
from ..ir.cfg import graph as flow_graph
from ..ir.digraph import DiGraph
from ..ir.kernel import Kernel, Op
from ..ir.spec import is_convergent

__all__ = ["Cut", "Idempotence", "idempotence"]

Loads = tuple[int, int]
"""Loads since a region began, as bits: those whose addresses mean the same as then, and those whose may not."""


@dataclass(frozen=True)
class Cut:
    """The place where a region begins.

    Attributes
    ----------
    site : Place
        First operation of the region.
    reason : str
        ``"start"``, ``"barrier"``, ``"fence"``, ``"atomic"`` or ``"overwrite"`` (case 4).
    load : Place or None
        First load, in layout order, that the store there may overwrite (case 4).
    """

    site: Place
    reason: str
    load: Place | None = None


@dataclass(frozen=True)
class Idempotence:
    """Result of `idempotence`.

    Attributes
    ----------
    cuts : tuple of Cut
        Beginnings of regions, in layout order.
    restarts : dict of str to int
        Cuts, as bits, from which the start of each block is reached without another cut.
    spoiler : tuple of Place or None
        Load and store, or twice the atomic, that keep the whole kernel from being idempotent; or the yield and None.
        None: it is idempotent.
    """

    cuts: tuple[Cut, ...]
    restarts: dict[str, int]
    spoiler: tuple[Place, Place | None] | None


class _Regions:
    """Cuts found while loads are followed; cuts only grow, so the work ends."""

    def __init__(self, kernel: Kernel, addresses: Addresses, restrict: bool, cutting: bool):
        self._blocks = {block.label: block for block in kernel.blocks}
        self._cutting = cutting
        self._loads = [access for access in addresses.accesses if access.kind == "load"]
        self._bit = {load.site: 1 << k for k, load in enumerate(self._loads)}
        self._atomics = {access.site for access in addresses.accesses if access.kind == "atomic"}
        self._stores = {store.site: (fresh, stale) for store, fresh, stale in addresses.conflicts(restrict)}
        self._renewed: dict[Place, int] = {}
        for load in self._loads:
            for site in addresses.origins[load.value]:
                self._renewed[site] = self._renewed.get(site, 0) | self._bit[load.site]
        self.cuts: dict[Place, Cut] = {}
        self.hit: dict[Place, Place] = {}

    def __call__(self, label: str, loads: Loads) -> Loads:
        """Return the loads of the region that is open at the end of a block."""
        fresh, stale = loads
        for index, op in enumerate(self._blocks[label].ops):
            site = Place(label, index)
            if self._cutting and site in self.cuts:
                fresh = stale = 0
            renewed = self._renewed.get(site, 0)
            fresh, stale = fresh & ~renewed, stale | fresh & renewed
            if site in self._stores:
                now, before = self._stores[site]
                found = fresh & now | stale & before
                if found:
                    load = self._loads[(found & -found).bit_length() - 1].site
                    self.hit[site] = load
                    if self._cutting:
                        self.cuts[site] = Cut(site, "overwrite", load)
                        fresh = stale = 0
            fresh |= self._bit.get(site, 0)
            if self._cutting and site in self._atomics:
                self.cuts.setdefault(site, Cut(site, "atomic"))
                self._after(site, "atomic")
                fresh = stale = 0
            elif self._cutting and _orders_threads(op):
                self._after(site, "fence" if op.name == "membar" else "barrier")
                fresh = stale = 0
            elif _lanes_meet(op):
                fresh, stale = 0, stale | fresh
        return fresh, stale

    def _after(self, site: Place, reason: str) -> None:
        following = Place(site.label, site.index + 1)
        self.cuts.setdefault(following, Cut(following, reason))


def _orders_threads(op: Op) -> bool:
    return op.name == "membar" or op.name.startswith("bar.")


def _lanes_meet(op: Op) -> bool:
    return op.name == "nop" or is_convergent(op)


def _either(a: Loads, b: Loads) -> Loads:
    return a[0] | b[0], a[1] | b[1]


def idempotence(kernel: Kernel, graph: DiGraph | None = None, definitions: UseDefChains | None = None,
                restrict: bool = False) -> Idempotence:
    """Find the idempotent regions of `kernel` (stage ``machine``), and whether it is idempotent as a whole.

    Parameters
    ----------
    kernel : Kernel
    graph : DiGraph, optional
        Its control-flow graph, if at hand.
    definitions : UseDefChains, optional
        Its use-def chains, if at hand.
    restrict : bool
        Whether memory reached through different pointer parameters does not overlap.
    """
    graph = flow_graph(kernel) if graph is None else graph
    addresses = Addresses(kernel, use_def_chains(kernel, graph) if definitions is None else definitions)
    regions = _Regions(kernel, addresses, restrict, cutting=True)
    solve(Analysis(True, (0, 0), _either, regions), graph)
    entry = Place(kernel.blocks[0].label, 0)
    regions.cuts.setdefault(entry, Cut(entry, "start"))
    order = {block.label: k for k, block in enumerate(kernel.blocks)}
    cuts = tuple(sorted(regions.cuts.values(), key=lambda cut: (order[cut.site.label], cut.site.index)))
    last = {cut.site.label: 1 << k for k, cut in enumerate(cuts)}
    before, _ = solve(Analysis(True, 0, int.__or__, lambda label, bits: last.get(label, bits)), graph)
    return Idempotence(cuts, before, _spoiler(kernel, graph, addresses, restrict))


def _spoiler(kernel: Kernel, graph: DiGraph, addresses: Addresses, restrict: bool
             ) -> tuple[Place, Place | None] | None:
    """Return the operations that keep the kernel from being idempotent."""
    for block in kernel.blocks:
        for index, op in enumerate(block.ops):
            if op.name == "bar.yield":
                return Place(block.label, index), None
    everywhere = [access for access in addresses.accesses if access.space is Space.GLOBAL]
    for access in everywhere:
        if access.kind == "atomic":
            return access.site, access.site
    if any(map(_orders_threads, kernel.ops())):
        return _any_pair(everywhere, restrict)
    regions = _Regions(kernel, addresses, restrict, cutting=False)
    solve(Analysis(True, (0, 0), _either, regions), graph)
    return next(((regions.hit[a.site], a.site) for a in everywhere if a.site in regions.hit), None)


def _any_pair(accesses: list[MemoryAccess], restrict: bool) -> tuple[Place, Place] | None:
    """Return the first load and store of two threads that may touch the same byte."""
    loads: dict[tuple[frozenset[int], int | None, int], MemoryAccess] = {}
    for access in accesses:
        if access.kind == "load":
            loads.setdefault((access.pointers, None if access.value else access.offset, access.size), access)
    for store in accesses:
        for load in loads.values() if store.kind == "store" else ():
            apart = restrict and load.pointers and store.pointers and not load.pointers & store.pointers
            fixed = not load.value and not store.value and (
                load.offset + load.size <= store.offset or store.offset + store.size <= load.offset)
            if not apart and not fixed:
                return load.site, store.site
    return None
