"""Local memory of thread blocks (TBs): who owns which region, from launch to end,
on the SM or preempted."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import ADDRESS_BITS, SEGMENT_BYTES, Geometry
from ..interfaces.payloads import below, kernel_info, tb_event

__all__ = ["LocalRegions", "region_bytes", "region_request"]


def region_bytes(g: Geometry, warps: int, local_bytes: int) -> int:
    """Return the bytes of a TB's region:
    `local_bytes` for each lane of its warps, in whole 128-byte lines."""
    return -(-warps * g.warp_size * local_bytes // SEGMENT_BYTES) * SEGMENT_BYTES


def region_request(g: Geometry) -> data.StructLayout:
    """A TB of `kernel` that needs a region; a `restored` one has it already, at `address`."""
    info = kernel_info(g).members
    return data.StructLayout({
        "valid": 1, "kernel": below(g.kernel_slots), "restored": 1, "address": ADDRESS_BITS,
        "warps": info["warps"], "local_base": info["local_base"],
        "local_bytes": info["local_bytes"]})


class LocalRegions(wiring.Component):
    """Finds the lowest free region of a kernel for a fresh TB, or the number of a restored TB's
    region.

    Each kernel has `tb_slots` regions, the first at `local_base`, of `region_bytes` each. That is
    enough: TBs of a kernel are resident or preempted, and while any is preempted none is launched.
    An answer takes a cycle for each bit of the number of warps and one for each region up to the
    one found (a kernel without local memory: none), since sizes and addresses are added up rather
    than multiplied.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    request : region_request, in
        Begins a search; one that runs is dropped.
    done, found : Signal, out
        The answer, held until the next request. Not `found`: no region is free, or none begins at
        `address`.
    address : Signal, out
        Of the region; `local_base` itself if the kernel has no local memory.
    take : struct, in
        TB slot `tb` gets the region found.
    ended : Signal(tb_slots), in
        At most one bit: this TB has ended, and its region becomes free. A TB that was saved keeps
        its own.
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew; all its regions are free.
    """

    request: data.View
    done: Signal
    found: Signal
    address: Signal
    take: data.View
    ended: Signal
    start: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "request": In(region_request(g)),
            "done": Out(1),
            "found": Out(1),
            "address": Out(ADDRESS_BITS),
            "take": In(tb_event(g)),
            "ended": In(g.tb_slots),
            "start": In(g.kernel_slots),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        kernel = Signal(below(g.kernel_slots))
        region = Signal(g.tb_slots)
        owned = [Signal(g.tb_slots, name=f"owned_{k}") for k in range(g.kernel_slots)]
        taken = Signal(g.tb_slots)
        with m.Switch(kernel):
            for k, mask in enumerate(owned):
                with m.Case(k):
                    m.d.comb += taken.eq(mask)
        self._search(m, kernel, region, taken)
        self._own(m, kernel, region, owned)
        return m

    def _search(self, m: Module, kernel, region, taken):
        """Add up the size of a region, then step over the regions."""
        asked = self.request
        size = Signal(ADDRESS_BITS)  # of a region, added up bit by bit
        part = Signal(ADDRESS_BITS)  # size of as many warps as the lowest bit of `warps` stands for
        warps = Signal(len(asked.warps))
        wanted = Signal(ADDRESS_BITS)  # address of a `restored` TB's region
        restored = Signal()
        sizing = Signal()  # the size is added up
        walking = Signal()  # the regions are stepped over
        fits = Signal()  # this region is the answer
        lane_bits, line_bits = exact_log2(self.geometry.warp_size), exact_log2(SEGMENT_BYTES)
        m.d.comb += fits.eq((restored & (self.address == wanted))
                            | (~restored & ~(taken & region).any()))
        with m.If(asked.valid):
            m.d.sync += [
                kernel.eq(asked.kernel), region.eq(asked.local_bytes != 0), size.eq(0),
                self.address.eq(asked.local_base),
                part.eq(asked.local_bytes << lane_bits),
                warps.eq(asked.warps), wanted.eq(asked.address),
                restored.eq(asked.restored), sizing.eq(asked.local_bytes != 0), walking.eq(0),
                self.done.eq(asked.local_bytes == 0), self.found.eq(1)]
        with m.Elif(sizing):
            m.d.sync += [part.eq(part << 1), warps.eq(warps >> 1)]
            with m.If(warps[0]):
                m.d.sync += size.eq(size + part)
            with m.If(~warps.any()):
                m.d.sync += [size.eq(Cat(Const(0, line_bits),
                                         (size + (SEGMENT_BYTES - 1))[line_bits:])),
                             sizing.eq(0), walking.eq(1)]
        with m.Elif(walking):
            with m.If(fits | region[-1]):
                m.d.sync += [walking.eq(0), self.done.eq(1), self.found.eq(fits)]
            with m.Else():
                m.d.sync += [region.eq(region << 1), self.address.eq(self.address + size)]

    def _own(self, m: Module, kernel, region, owned):
        """Note whose the regions are."""
        g = self.geometry
        owner = data.StructLayout({"kernel": below(g.kernel_slots), "region": g.tb_slots})
        owners = [Signal(owner, name=f"owner_{t}") for t in range(g.tb_slots)]
        for t, mine in enumerate(owners):
            with m.If(self.take.valid & (self.take.tb == t)):
                m.d.sync += [mine.kernel.eq(kernel), mine.region.eq(region)]
        for k, mask in enumerate(owned):
            given = Signal(g.tb_slots, name=f"given_{k}")
            back = Signal(g.tb_slots, name=f"back_{k}")
            with m.If(self.take.valid & (kernel == k)):
                m.d.comb += given.eq(region)
            for t, mine in enumerate(owners):
                with m.If(self.ended[t] & (mine.kernel == k)):
                    m.d.comb += back.eq(mine.region)
            with m.If(self.start[k]):
                m.d.sync += mask.eq(0)
            with m.Else():
                m.d.sync += mask.eq((mask | given) & ~back)
