"""In-place context switching (Lin et al. III-A, Fig. 4): what of preempted thread blocks (TBs) stays on the SM, what
has to leave for a newcomer, and what is in the way of others later."""

from __future__ import annotations

from typing import NamedTuple

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Capability, Mechanism
from caesura.hw.arch.room import cheapest_fit, make_room
from caesura.hw.arch.tb_footprint import tb_footprint

from .context_image import wanted
from .state.kernel import Descriptor, Kernel
from .state.resource import Resource
from .state.sm import Sm
from .state.staying import Stay, Staying
from .state.thread_block import ThreadBlock

__all__ = ["Newcomer", "newcomer", "decide", "staying", "in_the_way"]


class Newcomer(NamedTuple):
    """For whom a preempt makes room.

    Attributes
    ----------
    sizes : dict of Resource to int
        Sizes of the resources of a TB.
    tbs : int
        How many are to find room, of at most as many as there are TB slots.
    """

    sizes: dict[Resource, int]
    tbs: int


def newcomer(g: Geometry, descriptor: Descriptor, tbs: int) -> Newcomer | None:
    """Return who some TBs of a kernel are as newcomers, None if one can never fit."""
    footprint = tb_footprint(g, descriptor.grid, descriptor.threads, descriptor.registers, descriptor.warps,
                             descriptor.shared_bytes)
    return Newcomer(dict(zip(Resource, footprint, strict=True)), tbs) if footprint else None


def decide(sm: Sm, kernel: Kernel, guest: Newcomer | None) -> dict[int, Stay]:
    """Return what is to stay of the TBs of a kernel that are being preempted, by entry.

    TBs that are in the way of a newcomer lose their range of that resource. As many TBs of it as there is room for in
    both resources are placed; the ranges of others that stay count as free.
    """
    chosen = [tb for tb in sm.resident(kernel) if tb.stopping]
    movable = [*chosen, *(row.tb for row in sm.stays())]
    leave = {resource: frozenset[int]() for resource in Resource}
    if guest is not None:
        def room(resource: Resource, tbs: int) -> tuple[int, frozenset[int]]:
            return make_room(resource.capacity(sm.g), sm.ranges(resource, movable), guest.sizes[resource], tbs)

        tbs = min(room(resource, min(guest.tbs, sm.g.tb_slots))[0] for resource in Resource)
        leave = {resource: room(resource, tbs)[1] for resource in Resource}
    return {tb.entry: Stay(k not in leave[Resource.REGISTERS], k not in leave[Resource.LINES] and kernel.lines > 0)
            for k, tb in enumerate(chosen)}


def staying(tb: ThreadBlock, stay: Stay, mechanism: Mechanism, scramble: bool, crc: int) -> Staying:
    """Return what stays of a stopped TB, which has been saved without it; as of `Staying`."""
    live_only = mechanism.has(Capability.SAVES_LIVE_ONLY)
    masks = {warp.index: sum(1 << r for r in wanted(warp, live_only).registers) & warp.valid
             for warp in tb.warps if warp.live}
    return Staying(tb, stay, mechanism, scramble, masks, crc)


def in_the_way(sm: Sm, kernel: Kernel, back: Staying | None = None) -> list[Staying]:
    """Return what has to be evicted for a TB of `kernel` to find room, in the order of its rows; nothing if it finds
    none even so. What stays of the TB itself, `back`, is not looked for, and in no way of the rest."""
    rows = sm.stays()
    movable, owners = [row.tb for row in rows], set[int]()
    for resource in sm.lacking(kernel, back):
        fit = cheapest_fit(resource.capacity(sm.g), sm.ranges(resource, movable), resource.size(kernel))
        if fit is None:
            return []
        owners |= fit.owners
    return [rows[k] for k in sorted(owners)]
