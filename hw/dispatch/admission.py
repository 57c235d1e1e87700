"""Admission: finds room for a TB, fresh or restored, and makes it resident."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import REGISTER_BANKS, Geometry
from ..interfaces.dispatch_ports import GridPort
from ..interfaces.gpu_ports import tb_claim, tb_grant
from ..interfaces.payloads import (
    below,
    kernel_info,
    line_range,
    physical,
    unusable_entries,
)
from ..interfaces.port import Port
from ..interfaces.preemption import admission, admitted, adoption, entry_event
from ..interfaces.staying import staying_report
from ..lib.bits import encode, lowest
from .allocator import AllocationTable, allocation
from .cheapest_fit import CheapestFit
from .entry_allocator import EntryAllocator
from .footprint import footprint
from .tb_table import RoomPort
from .warp_slots import WarpSlots

__all__ = ["Admission", "fresh_tb"]


def fresh_tb(g: Geometry) -> data.StructLayout:
    """A resident TB whose warps are to be initialised; warp k goes into slot ``slots[k]``."""
    return data.StructLayout({
        "tb": below(g.tb_slots), "kernel": below(g.kernel_slots),
        "base": physical(g), "registers": 7,
        "warps": 6, "threads": 11, "slots": data.ArrayLayout(below(g.warps), g.max_block_warps)})


class Admission(wiring.Component):
    """Gives TBs a TB slot, warp slots, registers, shared memory and an entry of the CCB with its
    local memory, one TB at a time.

    A restored TB goes before fresh ones; if there is no room for it, the answer is that the SM is
    `full`. A fresh TB for which there is no room gives way to the other kernels; its kernel is
    tried again when a TB has left the SM. What stays on the SM of preempted TBs is to be evicted if
    that makes room for either (Lin et al. III-A; `CheapestFit`), but of kernels that are `stuck`:
    memory has refused to evict that. A kernel is `hopeless` if that is in the way of a TB of it,
    and no TB is on the SM that could make room. When `stuck` changes all try again. An attempt
    takes ``max(warps, ranges + 1)`` cycles and a few, or as long as `EntryAllocator` does. A
    restored TB whose local memory is not that of its entry is answered as `bad`.

    Attributes
    ----------
    kernels, footprints : arrays, in
        Constant while a kernel is started.
    eligible : Signal(kernel_slots), in
        Vector: kernels of which fresh TBs may be launched. An attempt ends when its kernel no
        longer is.
    grid : GridPort, out
        The grid walker, or the TB supply of one of several SMs.
    claim : tb_claim, out; grant : tb_grant, in
        Of one of several SMs: a fresh TB has room, and which it is.
    admit : stream, in; admitted : struct, out
        Restored TBs; `admitted` answers once the row is in the TB table, or that there is none.
    room : RoomPort, in
        The TB table.
    remove : Signal(tb_slots), in
        Vector: the TB leaves the SM; its registers and shared memory become free.
    ended : preemption.entry_event, in
        A TB has ended; its entry becomes free.
    start : Signal(kernel_slots), in
        Vector: the kernel begins anew; all of its entries are free.
    adopted : preemption.adoption, in
        A kernel is taken over from memory, with its entries.
    staying : staying_report, in
        What stays of preempted TBs. The registers or lines of a restored TB may be there already.
    evict : Signal(tb_slots), out
        Vector: rows of it that are in the way, each until it is evicted.
    stuck : Signal(kernel_slots), in; hopeless : Signal(kernel_slots), out
        With `Geometry.in_place`. Vectors: kernels of which nothing can be evicted; kernels of which
        a TB has found no room since one left the SM, entered it, or `stuck` changed, nor can any.
    registers, lines : arrays of allocation, out
        What is allocated. Only with `Geometry.in_place`.
    clear_lines : struct, out
        The shared-memory lines of the new TB become invalid and clean.
    fresh : stream, out
        A fresh TB; transferred once its warps run.
    blocked, crowded : Signal(kernel_slots), out
        With `Geometry.watches`. Vectors: kernels of which a fresh TB has found no room since a TB
        left the SM; of which no entry is free.
    launching : struct, out
        A TB of `kernel` is being admitted, or a fresh one launched.
    """

    kernels: data.View
    footprints: data.View
    eligible: Signal
    grid: Port
    claim: data.View
    grant: data.View
    admit: stream.Interface
    admitted: data.View
    room: Port
    remove: Signal
    ended: data.View
    start: Signal
    adopted: data.View
    staying: data.View
    evict: Signal
    stuck: Signal
    hopeless: Signal
    registers: data.View
    lines: data.View
    clear_lines: data.View
    fresh: stream.Interface
    blocked: Signal
    crowded: Signal
    launching: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        kernel = below(g.kernel_slots)
        super().__init__({
            "kernels": In(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
            "footprints": In(data.ArrayLayout(footprint(g), g.kernel_slots)),
            "eligible": In(g.kernel_slots),
            "grid": Out(GridPort(g)),
            **({"claim": Out(tb_claim(g)), "grant": In(tb_grant())} if g.has_uncore else {}),
            "admit": In(stream.Signature(admission(g))),
            "admitted": Out(admitted(g)),
            "room": In(RoomPort(g)),
            "remove": In(g.tb_slots),
            "ended": In(entry_event(g)),
            "start": In(g.kernel_slots), "adopted": In(adoption(g)),
            "staying": In(staying_report(g)), "evict": Out(g.tb_slots),
            **{name: Out(data.ArrayLayout(allocation(units, g.tb_slots << g.in_place),
                                          2 * g.tb_slots))
               for name, units in (("registers", g.register_rows), ("lines", g.shared_lines))},
            "clear_lines": Out(line_range(g)),
            "fresh": Out(stream.Signature(fresh_tb(g))),
            **(dict.fromkeys(("blocked", "crowded"), Out(g.kernel_slots)) if g.watches else {}),
            **({"stuck": In(g.kernel_slots), "hopeless": Out(g.kernel_slots)}
               if g.in_place else {}),
            "launching": Out(data.StructLayout({"valid": 1, "kernel": kernel})),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        current = Signal(admission(g))
        restored = Signal()
        needs = self._needs(m, current.kernel)
        attempt = Signal()
        enter = Signal()
        found = Signal()
        failed = Signal()
        lost = Signal()
        tables = self._places(m, current, restored, needs, attempt, enter, found, failed, lost)
        leaving = self.remove.any()
        look = Signal()  # for what can be evicted
        looking = Signal()
        found_out, fits = Const(1), Const(1)
        if g.in_place:
            before = Signal(g.kernel_slots)
            vain = Signal()  # only what is stuck is in the way
            m.d.sync += before.eq(self.stuck)
            leaving = leaving | self.staying.release.any() | (self.stuck != before)
            m.d.comb += [self.registers.eq(tables[0].table), self.lines.eq(tables[1].table)]
            found_out, fits = self._evict(m, needs, look, looking, leaving, *tables)
            with m.If(leaving | enter):
                m.d.sync += self.hopeless.eq(0)
        room = (~self.room.occupied).any() & (g.warps - self.room.warp_count >= needs.warps)
        cancelled = ~restored & ~self.eligible.bit_select(current.kernel, 1)

        blocked = self.blocked if g.watches else Signal(g.kernel_slots, name="blocked")
        freed = Signal()
        m.d.comb += [self.grid.request.eq(self.eligible & ~blocked),
                     self.launching.valid.eq(1), self.launching.kernel.eq(current.kernel)]
        with m.If(leaving):
            m.d.sync += [blocked.eq(0), freed.eq(1)]
        with m.Elif(self.start.any()):  # the slot may have another kernel now
            m.d.sync += blocked.eq(blocked & ~self.start)

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.admit.ready.eq(1), self.launching.valid.eq(0)]
                m.d.sync += [restored.eq(self.admit.valid), current.eq(self.grid.next)]
                with m.If(self.admit.valid):
                    m.d.sync += current.eq(self.admit.payload)
                with m.If(self.admit.valid | self.grid.next_valid):
                    m.next = "CHECK"
            with m.State("CHECK"):
                if g.in_place:
                    m.d.sync += vain.eq(0)
                with m.If(~leaving):
                    m.d.sync += freed.eq(0)
                m.d.comb += attempt.eq(room & ~cancelled)
                with m.If(cancelled):
                    m.next = "IDLE"
                with m.Elif(room):
                    m.next = "SEARCH"
                with m.Else():
                    m.next = "FULL"
            with m.State("SEARCH"):
                with m.If(cancelled):
                    m.next = "IDLE"
                with m.Elif(lost & restored):
                    m.next = "REFUSE"
                with m.Elif(failed | lost):
                    m.next = "FULL"
                    if g.in_place:
                        with m.If(failed & ~lost & self.staying.evictable.any()):
                            m.d.comb += look.eq(1)
                            m.next = "LOOK"
                with m.Elif(found):
                    m.next = "ENTER"
            if g.in_place:
                with m.State("LOOK"):
                    m.d.comb += looking.eq(1)
                    with m.If(found_out):
                        m.d.sync += vain.eq(~fits & ~self.room.occupied.any())
                        m.next = "FULL"
            with m.State("FULL"):
                m.next = "IDLE"
                if g.in_place:
                    with m.If(vain & ~freed & ~leaving):
                        m.d.sync += self.hopeless.eq(self.hopeless | (Const(1) << current.kernel))
                with m.If(freed):
                    m.next = "CHECK"
                with m.Elif(restored):
                    m.d.comb += [self.admitted.valid.eq(1), self.admitted.full.eq(1)]
                with m.Elif(~leaving):
                    m.d.sync += blocked.eq(
                        blocked & ~self.start | (Const(1) << current.kernel))
            with m.State("ENTER"):
                if g.has_uncore:
                    self._claim(m, restored, current, enter)
                else:
                    m.d.comb += [enter.eq(1), self.grid.advance.valid.eq(~restored)]
                    with m.If(restored):
                        m.next = "ANSWER"
                    with m.Else():
                        m.next = "LAUNCH"
            with m.State("ANSWER"):
                m.d.comb += self.admitted.valid.eq(1)
                m.next = "IDLE"
            with m.State("REFUSE"):
                m.d.comb += [self.admitted.valid.eq(1), self.admitted.bad.eq(1)]
                m.next = "IDLE"
            with m.State("LAUNCH"):
                m.d.comb += self.fresh.valid.eq(1)
                with m.If(self.fresh.ready):
                    m.next = "IDLE"
        return m

    def _claim(self, m: Module, restored: Value, current: data.View, enter: Signal):
        """Enter a restored TB, or the fresh one that is granted, if one is."""
        granted = self.grant.valid & ~self.grant.none
        m.d.comb += [self.claim.valid.eq(~restored), self.claim.kernel.eq(current.kernel),
                     enter.eq(restored | granted), self.grid.advance.valid.eq(~restored & granted)]
        with m.If(restored):
            m.next = "ANSWER"
        with m.Elif(self.grant.valid):
            m.next = "IDLE"
            with m.If(granted):
                m.next = "LAUNCH"

    def _needs(self, m: Module, kernel: Value):
        """Select what a TB of `kernel` needs."""
        g = self.geometry
        from_kernel = ("registers", "warps", "threads", "shared_bytes", "local_base", "local_bytes",
                       *(("entries",) if g.spare_entries else ()))
        layout = data.StructLayout({**{name: kernel_info(g).members[name] for name in from_kernel},
                                    **footprint(g).members})
        needs = Signal(layout)
        with m.Switch(kernel):
            for k in range(g.kernel_slots):
                with m.Case(k):
                    m.d.comb += [needs[name].eq(self.kernels[k][name]) for name in from_kernel]
                    m.d.comb += [needs[name].eq(self.footprints[k][name])
                                 for name in footprint(g).members]
        return needs

    def _places(self, m: Module, current: data.View, restored: Value, needs: data.View,
                attempt: Value, enter: Value, found: Signal, failed: Signal, lost: Signal):
        """Search for registers, shared lines, warp slots and an entry after `attempt`;
        take them with `enter`. Returns the tables of the first two."""
        g = self.geometry
        owners = g.tb_slots << g.in_place
        m.submodules.registers = registers = AllocationTable(g.register_rows, owners,
                                                             2 * g.tb_slots)
        m.submodules.shared = shared = AllocationTable(g.shared_lines, owners, 2 * g.tb_slots)
        # They are there already.
        has_registers = current.registers & restored if g.in_place else Const(0)
        has_lines = current.lines & restored if g.in_place else Const(0)
        m.submodules.warp_slots = warps = WarpSlots(g)
        m.submodules.entries = entries = EntryAllocator(g)
        tb = Signal(below(g.tb_slots))
        with m.If(attempt):
            m.d.sync += tb.eq(encode(lowest(~self.room.occupied)))
        for table, size, has, move in (
                (registers, needs.rows, has_registers, self.staying.move_registers),
                (shared, needs.lines, has_lines, self.staying.move_lines)):
            m.d.comb += [
                table.request.valid.eq(attempt), table.request.size.eq(Mux(has, 0, size)),
                table.insert.valid.eq(enter), table.insert.owner.eq(tb),
                table.insert.start.eq(table.start), table.insert.size.eq(Mux(has, 0, size)),
                table.release.eq(self.remove),
            ]
            if g.in_place:
                m.d.comb += [table.release.eq(self.remove | self.staying.release),
                             table.move.eq(move)]
        m.d.comb += [
            entries.request.valid.eq(attempt), entries.request.kernel.eq(current.kernel),
            entries.request.restored.eq(restored), entries.request.entry.eq(current.entry),
            entries.request.address.eq(current.local_base),
            *(entries.request[name].eq(needs[name])
              for name in ("warps", "local_base", "local_bytes",
                           *(("entries",) if g.spare_entries else ()))),
            entries.take.eq(enter), entries.ended.eq(self.ended), entries.start.eq(self.start),
            entries.adopted.eq(self.adopted),
        ]
        if g.watches:
            for k in range(g.kernel_slots):
                taken = entries.taken[k]
                if g.spare_entries:
                    taken = taken | unusable_entries(g, self.kernels[k].entries)
                m.d.comb += self.crowded[k].eq(taken.all())
        base = Mux(has_registers, current.base,
                   Cat(Const(0, exact_log2(REGISTER_BANKS)), registers.start))
        first_line = Mux(has_lines, current.first_line, shared.start)
        row, insert = self.room.insert.row, self.room.insert
        m.d.comb += [
            warps.taken.eq(self.room.warps_taken),
            warps.pick.valid.eq(attempt), warps.pick.count.eq(needs.warps),
            found.eq(registers.done & shared.done & warps.done & entries.done & entries.found),
            failed.eq(registers.done & ~registers.fits | shared.done & ~shared.fits),
            lost.eq(entries.done & ~entries.found),

            insert.valid.eq(enter), insert.tb.eq(tb), insert.warps.eq(needs.warps),
            insert.shared_bytes.eq(needs.shared_bytes), row.kernel.eq(current.kernel),
            *self._identity(row, current, restored), row.base.eq(base),
            row.first_line.eq(first_line),
            row.lines.eq(needs.lines), row.warps.eq(warps.mask), row.local_base.eq(entries.address),
            row.entry.eq(entries.entry),
            self.clear_lines.valid.eq(enter & (needs.lines != 0) & ~has_lines),
            self.clear_lines.first.eq(shared.start),
            self.clear_lines.count.eq(needs.lines), self.grid.advance.kernel.eq(current.kernel),

            self.admitted.tb.eq(tb), self.admitted.base.eq(base),
            self.admitted.first_line.eq(first_line), self.admitted.slots.eq(warps.slots),
            *(self.fresh.payload[name].eq(needs[name])
              for name in ("registers", "warps", "threads")),
            self.fresh.payload.kernel.eq(current.kernel), self.fresh.payload.tb.eq(tb),
            self.fresh.payload.base.eq(base), self.fresh.payload.slots.eq(warps.slots),
        ]
        return registers, shared

    def _identity(self, row: data.View, current: data.View, restored: Value):
        """Statements that say which TB it is."""
        if not self.geometry.has_uncore:
            return [row[name].eq(current[name])
                    for name in ("launch_id", "ctaid_x", "ctaid_y", "ctaid_z")]
        grant = self.grant
        return [row.launch_id.eq(Mux(restored, current.launch_id, grant.launch_id)),
                *(row[f"ctaid_{name}"].eq(Mux(restored, current[f"ctaid_{name}"],
                                              grant.place[name])) for name in "xyz")]

    def _evict(self, m: Module, needs: data.View, look: Value, looking: Value, leaving: Value,
               registers: AllocationTable, shared: AllocationTable):
        """Find what has to be evicted to make room; return whether it is found or cannot be, and
        then whether it is found."""
        g = self.geometry
        movable = Signal(g.tb_slots)
        m.d.comb += movable.eq(self.staying.evictable & ~Cat(
            self.stuck.bit_select(row.what.kernel, 1) for row in self.staying.rows))
        fine, searched = [], []
        wanted = Const(0, g.tb_slots)  # rows
        for name, table, size in (("registers", registers, needs.rows),
                                  ("lines", shared, needs.lines)):
            m.submodules[f"{name}_fit"] = fit = CheapestFit(table.capacity, table.entries)
            m.d.comb += [fit.request.valid.eq(look), fit.request.size.eq(size)]
            short = ~table.fits & table.done  # there is no room for them
            there = Const(0, g.tb_slots)
            for i in range(table.entries):
                entry = table.table[i]
                row = Signal(g.tb_slots, name=f"{name}_row_{i}")
                m.d.comb += [
                    row.eq(Mux(entry.owner >= g.tb_slots, 1 << entry.owner >> g.tb_slots, 0)),
                    fit.taken[i].valid.eq(entry.valid), fit.taken[i].start.eq(entry.start),
                    fit.taken[i].size.eq(entry.size),
                    fit.taken[i].movable.eq((row & movable).any())]
                there = there | Mux(fit.leave[i], row, 0)
            wanted = wanted | Mux(short, there, 0)
            fine.append(~short | fit.fits)
            searched.append(table.done & fit.done)
        done = Signal()
        m.d.comb += done.eq(looking & Cat(searched).all())
        # When something leaves, who wanted room tries again, and may need no eviction any more.
        m.d.sync += self.evict.eq((Mux(leaving, 0, self.evict)
                                   | Mux(done & Cat(fine).all(), wanted, 0)) & movable)
        return done, Cat(fine).all()
