"""The place of a thread block (TB): registers, shared memory, warp slots and an entry."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import ADDRESS_BITS, REGISTER_BANKS, Geometry
from ..interfaces.payloads import below, kernel_info, line_range, physical, unusable_entries
from ..interfaces.preemption import admission, adoption, entry_event
from ..interfaces.staying import staying_report
from ..lib.bits import encode, lowest
from .allocator import AllocationTable, allocation
from .entry_allocator import EntryAllocator
from .footprint import footprint
from .warp_slots import WarpSlots

__all__ = ["PlaceSearch", "place_found", "table_searches", "tb_needs"]


def tb_needs(g: Geometry) -> data.StructLayout:
    """The needs of a TB of a kernel: members of `kernel_info` and its footprint."""
    names = ("registers", "warps", "threads", "shared_bytes", "local_base", "local_bytes",
             *(("entries",) if g.spare_entries else ()))
    return data.StructLayout({**{name: kernel_info(g).members[name] for name in names},
                              **footprint(g).members})


def place_found(g: Geometry) -> data.StructLayout:
    """The place of a TB: its TB slot, its first register and line, its warp slots as a vector and
    by warp, its entry and the address of its local memory."""
    return data.StructLayout({
        "tb": below(g.tb_slots), "base": physical(g), "first_line": range(g.shared_lines + 1),
        "warps": g.warps,
        "slots": data.ArrayLayout(below(g.warps), g.max_block_warps),
        "entry": below(g.context_entries), "local_base": ADDRESS_BITS})


def table_searches() -> data.StructLayout:
    """How far the search in each allocation table is, and whether what is needed fits."""
    search = data.StructLayout({"done": 1, "fits": 1})
    return data.StructLayout({"registers": search, "lines": search})


class PlaceSearch(wiring.Component):
    """Searches for the four parts of a place at the same time, and takes them.

    A search takes ``max(warps, ranges + 1)`` cycles and a few, or as long as `EntryAllocator` does.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    kernels : array of kernel_info, in
        The kernel slots.
    needs : tb_needs, in; current : admission, in; restored : Signal, in
        The TB that needs a place. A restored one has its entry, and may have its registers or its
        lines of shared memory already.
    occupied, warps_taken : Signal, in
        Vectors: TB slots and warp slots that are in use.
    attempt : Signal, in
        A search begins.
    enter : Signal, in
        The TB takes the place that was found.
    found : Signal, out
        All parts are found.
    room_missing : Signal, out
        There are too few registers or lines in a row.
    entry_missing : Signal, out
        No entry is free, or the local memory of a restored TB is not the one of its entry.
    place : place_found, out
        The place.
    clear_lines : line_range, out
        The shared-memory lines of the TB become invalid and clean, as it enters.
    registers, lines : arrays of allocation, out; searches : table_searches, out
        The allocation tables, and their searches.
    remove : Signal(tb_slots), in
        Vector: the TB leaves the SM; its registers and shared memory become free.
    staying : staying_report, in
        Registers and lines of preempted TBs that stay on the SM.
    ended : entry_event, in; start : Signal(kernel_slots), in; adopted : adoption, in
        Described in `EntryAllocator`.
    crowded : Signal(kernel_slots), out
        Vector: kernels of which no entry is free. Exists only with `Geometry.watches`.
    """

    kernels: data.View
    needs: data.View
    current: data.View
    restored: Signal
    occupied: Signal
    warps_taken: Signal
    attempt: Signal
    enter: Signal
    found: Signal
    room_missing: Signal
    entry_missing: Signal
    place: data.View
    clear_lines: data.View
    registers: data.View
    lines: data.View
    searches: data.View
    remove: Signal
    staying: data.View
    ended: data.View
    start: Signal
    adopted: data.View
    crowded: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernels": In(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
            "needs": In(tb_needs(g)), "current": In(admission(g)), "restored": In(1),
            "occupied": In(g.tb_slots), "warps_taken": In(g.warps), "attempt": In(1),
            "enter": In(1), "found": Out(1), "room_missing": Out(1), "entry_missing": Out(1),
            "place": Out(place_found(g)), "clear_lines": Out(line_range(g)),
            **{name: Out(data.ArrayLayout(allocation(units, g.tb_slots << g.in_place),
                                          2 * g.tb_slots))
               for name, units in (("registers", g.register_rows), ("lines", g.shared_lines))},
            "searches": Out(table_searches()), "remove": In(g.tb_slots),
            "staying": In(staying_report(g)), "ended": In(entry_event(g)),
            "start": In(g.kernel_slots), "adopted": In(adoption(g)),
            **({"crowded": Out(g.kernel_slots)} if g.watches else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, current, needs, place = self.geometry, self.current, self.needs, self.place
        owners, ranges = g.tb_slots << g.in_place, 2 * g.tb_slots
        m.submodules.registers = registers = AllocationTable(g.register_rows, owners, ranges)
        m.submodules.shared = shared = AllocationTable(g.shared_lines, owners, ranges)
        m.submodules.warp_slots = warps = WarpSlots(g)
        m.submodules.entries = entries = EntryAllocator(g)
        registers_kept = current.registers & self.restored if g.in_place else Const(0)
        lines_kept = current.lines & self.restored if g.in_place else Const(0)
        tb = Signal(below(g.tb_slots))
        with m.If(self.attempt):
            m.d.sync += tb.eq(encode(lowest(~self.occupied)))
        self._allocate(m, registers, Mux(registers_kept, 0, needs.rows),
                       self.staying.move_registers, tb)
        self._allocate(m, shared, Mux(lines_kept, 0, needs.lines), self.staying.move_lines, tb)
        self._entry(m, entries)
        m.d.comb += [
            warps.occupied.eq(self.warps_taken), warps.pick.valid.eq(self.attempt),
            warps.pick.count.eq(needs.warps),
            self.found.eq(registers.done & shared.done & warps.done & entries.done
                          & entries.found),
            self.room_missing.eq(registers.done & ~registers.fits | shared.done & ~shared.fits),
            self.entry_missing.eq(entries.done & ~entries.found),
            place.tb.eq(tb), place.base.eq(Mux(registers_kept, current.base, Cat(
                Const(0, exact_log2(REGISTER_BANKS)), registers.start))),
            place.first_line.eq(Mux(lines_kept, current.first_line, shared.start)),
            self.clear_lines.valid.eq(self.enter & (needs.lines != 0) & ~lines_kept),
            self.clear_lines.first.eq(shared.start), self.clear_lines.count.eq(needs.lines),
            place.warps.eq(warps.mask),
            place.slots.eq(warps.slots), place.entry.eq(entries.entry),
            place.local_base.eq(entries.address),
            self.registers.eq(registers.table), self.lines.eq(shared.table),
            *(search[name].eq(getattr(table, name)) for name in ("done", "fits")
              for search, table in ((self.searches.registers, registers),
                                    (self.searches.lines, shared))),
        ]
        return m

    def _allocate(self, m: Module, table: AllocationTable, size: Value, move: data.View, tb: Value):
        """Search for a range of a table, and take it."""
        m.d.comb += [
            table.request.valid.eq(self.attempt), table.request.size.eq(size),
            table.insert.valid.eq(self.enter), table.insert.owner.eq(tb),
            table.insert.start.eq(table.start), table.insert.size.eq(size),
            table.release.eq(self.remove),
        ]
        if self.geometry.in_place:
            m.d.comb += [table.release.eq(self.remove | self.staying.release), table.move.eq(move)]

    def _entry(self, m: Module, entries: EntryAllocator):
        """Search for an entry, and take it."""
        g, request = self.geometry, entries.request
        m.d.comb += [
            request.valid.eq(self.attempt), request.kernel.eq(self.current.kernel),
            request.restored.eq(self.restored), request.entry.eq(self.current.entry),
            request.address.eq(self.current.local_base),
            *(request[name].eq(self.needs[name])
              for name in ("warps", "local_base", "local_bytes",
                           *(("entries",) if g.spare_entries else ()))),
            entries.take.eq(self.enter), entries.ended.eq(self.ended),
            entries.start.eq(self.start), entries.adopted.eq(self.adopted),
        ]
        if g.watches:
            for k in range(g.kernel_slots):
                used = entries.owned[k]
                if g.spare_entries:
                    used = used | unusable_entries(g, self.kernels[k].entries)
                m.d.comb += self.crowded[k].eq(used.all())
