"""Entries of thread blocks (TBs) in the context control block (CCB) of their kernel. With its entry
a TB has a save area and local memory, from launch to end, on the SM or preempted."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import ADDRESS_BITS, SEGMENT_BYTES, Geometry
from ..interfaces.payloads import below, kernel_info, unusable_entries
from ..interfaces.preemption import adoption, entry_event
from ..lib.bits import encode, lowest

__all__ = ["EntryAllocator", "entry_request"]


def entry_request(g: Geometry) -> data.StructLayout:
    """A TB of `kernel` that needs an entry, one of the lowest `entries` of a machine with spare
    ones; a `restored` one has it already, and its local memory at `address`."""
    info = kernel_info(g).members
    return data.StructLayout({
        "valid": 1, "kernel": below(g.kernel_slots), "restored": 1,
        "entry": below(g.context_entries), "address": ADDRESS_BITS, "warps": info["warps"],
        "local_base": info["local_base"], "local_bytes": info["local_bytes"],
        **({"entries": info["entries"]} if g.spare_entries else {})})


class EntryAllocator(wiring.Component):
    """Finds the lowest free entry of a kernel for a fresh TB, and where its local memory lies.

    Each kernel has `context_entries` entries, and as many regions of local memory of
    `arch.tb_footprint.local_region_bytes` each, the first at `local_base`; region k belongs to
    entry k. As many entries as TB slots are enough if no TB of a kernel is launched while any is
    preempted. On a machine with more entries a kernel says how many it may use; 0 stands for as
    many as there are TB slots. A fresh TB gets no entry beyond these. Entries do not depend on the
    number of a TB's slot. An entry belongs to its TB until the TB has ended, so that no other TB
    writes over an image that waits to be resumed.

    An answer takes a cycle for each bit of the number of warps, and one for each region up to the
    entry's. (A kernel without local memory takes none.) Sizes and addresses are added up rather
    than multiplied.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    request : entry_request, in
        Begins a search; one that runs is dropped.
    done, found : Signal, out
        The answer, held until the next request. Not `found`: no entry is free, or the local memory
        of a restored TB is not that of its entry.
    entry : Signal, out
        The entry found.
    address : Signal, out
        Address of the entry's region; `local_base` itself if the kernel has no local memory.
    take : Signal, in
        The entry found has its TB.
    ended : preemption.entry_event, in
        A TB has ended, and its entry becomes free. A TB that was saved keeps its own.
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew; all its entries are free.
    adopted : preemption.adoption, in
        A kernel is taken over from memory: the entries of its saved TBs are taken.
    owned : array of Signal(context_entries), out
        Vector per kernel: entries that are not free. Exists only with `Geometry.watches`.
    """

    request: data.View
    done: Signal
    found: Signal
    entry: Signal
    address: Signal
    take: Signal
    ended: data.View
    start: Signal
    adopted: data.View
    owned: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "request": In(entry_request(g)),
            "done": Out(1),
            "found": Out(1),
            "entry": Out(below(g.context_entries)),
            "address": Out(ADDRESS_BITS),
            "take": In(1),
            "ended": In(entry_event(g)),
            "start": In(g.kernel_slots),
            "adopted": In(adoption(g)),
            **({"owned": Out(data.ArrayLayout(g.context_entries, g.kernel_slots))}
               if g.watches else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        kernel = Signal(below(g.kernel_slots))  # the kernel of the request
        chosen = Signal(g.context_entries)  # the entry, if any is free
        used = Signal(g.context_entries)  # entries of the requesting kernel that are not free
        owned = [Signal(g.context_entries, name=f"owned_{k}") for k in range(g.kernel_slots)]
        with m.Switch(self.request.kernel):
            for k, mask in enumerate(owned):
                with m.Case(k):
                    m.d.comb += used.eq(mask)
        barred = (used | unusable_entries(g, self.request.entries) if g.spare_entries
                  else used)
        with m.If(self.request.valid):
            m.d.sync += [kernel.eq(self.request.kernel), chosen.eq(Mux(
                self.request.restored, Const(1) << self.request.entry, lowest(~barred)))]
        m.d.comb += self.entry.eq(encode(chosen))
        self._search(m, chosen, barred)
        if g.watches:
            m.d.comb += [self.owned[k].eq(mask) for k, mask in enumerate(owned)]
        for k, mask in enumerate(owned):
            given = Mux(self.take & (kernel == k), chosen, 0)
            back = Mux(self.ended.valid & (self.ended.kernel == k), Const(1) << self.ended.entry, 0)
            with m.If(self.adopted.valid & (self.adopted.kernel == k)):
                m.d.sync += mask.eq(self.adopted.saved)
            with m.Else():
                m.d.sync += mask.eq(Mux(self.start[k], 0, (mask | given) & ~back))
        return m

    def _search(self, m: Module, chosen: Value, barred: Value):
        """Add up the size of a region, then step over the regions to that of the entry."""
        request = self.request
        size = Signal(ADDRESS_BITS)  # of a region, added up bit by bit
        part = Signal(ADDRESS_BITS)  # size of as many warps as the lowest bit of `warps` stands for
        warps = Signal(len(request.warps))
        saved = Signal(ADDRESS_BITS)  # address of a `restored` TB's region
        restored = Signal()
        region = Signal(self.geometry.context_entries)  # the region at `address`
        sizing = Signal()  # the size is added up
        walking = Signal()  # the regions are stepped over
        lane_bits, line_bits = exact_log2(self.geometry.warp_size), exact_log2(SEGMENT_BYTES)
        with m.If(request.valid):
            m.d.sync += [
                region.eq(1), size.eq(0), self.address.eq(request.local_base),
                part.eq(request.local_bytes << lane_bits),
                warps.eq(request.warps), saved.eq(request.address), restored.eq(request.restored),
                sizing.eq(request.local_bytes != 0), walking.eq(0),
                self.done.eq(request.local_bytes == 0),
                self.found.eq(request.restored | ~barred.all())]
        with m.Elif(sizing):
            m.d.sync += [part.eq(part << 1), warps.eq(warps >> 1)]
            with m.If(warps[0]):
                m.d.sync += size.eq(size + part)
            with m.If(~warps.any()):
                m.d.sync += [size.eq(Cat(Const(0, line_bits),
                                         (size + (SEGMENT_BYTES - 1))[line_bits:])),
                             sizing.eq(0), walking.eq(1)]
        with m.Elif(walking):
            with m.If((region & chosen).any() | ~self.found):
                m.d.sync += [walking.eq(0), self.done.eq(1),
                             self.found.eq(self.found & (~restored | (self.address == saved)))]
            with m.Else():
                m.d.sync += [region.eq(region << 1), self.address.eq(self.address + size)]
