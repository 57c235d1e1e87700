"""Admission: finds room for a TB, fresh or restored, and makes it resident."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.dispatch_ports import GridPort
from ..interfaces.gpu_ports import tb_claim, tb_grant
from ..interfaces.payloads import below, kernel_info, line_range, physical
from ..interfaces.port import Port
from ..interfaces.preemption import admission, admitted, adoption, entry_event
from ..interfaces.staying import staying_report
from .allocator import allocation
from .footprint import footprint
from .place_search import PlaceSearch, tb_needs
from .room_maker import RoomMaker
from .tb_table import RoomPort
from .waiting_kernels import WaitingKernels, attempt_failure

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
    `full`. A fresh TB without room gives way to the other kernels; its kernel is tried again when a
    TB has left the SM. Parts of preempted TBs that stay on the SM are evicted if that makes room
    for either (Lin et al. III-A; `CheapestFit`). Parts of `stuck` kernels are not, since memory has
    refused to evict them. A kernel is `hopeless` if only such parts are in the way of a TB of it,
    and no TB on the SM could make room. When `stuck` changes all try again. An attempt takes
    ``max(warps, ranges + 1)`` cycles and a few, or as long as `EntryAllocator` does. A restored TB
    whose local memory is not that of its entry is answered as `bad`.

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
        On one of several SMs: a fresh TB has room; the answer says which TB it is.
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
        Parts of preempted TBs that stay. A restored TB may have its registers or lines already.
    evict : Signal(tb_slots), out
        Vector: rows of the staying table that are in the way, each until it is evicted.
    stuck : Signal(kernel_slots), in; hopeless : Signal(kernel_slots), out
        Vectors: kernels of which nothing can be evicted; kernels of which a TB has found no room
        since a TB left or entered the SM or `stuck` changed, and can find none. Both exist only
        with `Geometry.in_place`.
    registers, lines : arrays of allocation, out
        The allocated ranges. Only with `Geometry.in_place`.
    clear_lines : struct, out
        The shared-memory lines of the new TB become invalid and clean.
    fresh : stream, out
        A fresh TB; transferred once its warps run.
    blocked, crowded : Signal(kernel_slots), out
        Vectors: kernels of which a fresh TB has found no room since a TB left the SM; kernels of
        which no entry is free. Both exist only with `Geometry.watches`.
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
        m.submodules.waiting = waiting = WaitingKernels(g)
        m.submodules.places = places = PlaceSearch(g)
        current = Signal(admission(g))  # the TB of the attempt
        restored = Signal()  # it is a restored one
        failure = Signal(attempt_failure(g))
        room_changed = Signal()
        maker = None
        if g.in_place:
            m.submodules.room_maker = maker = RoomMaker(g)
            self._make_room(m, maker, places, failure)
            m.d.comb += room_changed.eq(maker.room_changed)
        else:
            m.d.comb += room_changed.eq(self.remove.any())
        m.d.comb += [
            waiting.eligible.eq(self.eligible), waiting.start.eq(self.start),
            waiting.room_changed.eq(room_changed), waiting.failure.eq(failure),
            waiting.failure.valid.eq(failure.valid & ~restored),
            self.grid.request.eq(waiting.request), failure.kernel.eq(current.kernel),
        ]
        if g.watches:
            m.d.comb += [self.blocked.eq(waiting.blocked), self.crowded.eq(places.crowded)]
        self._search(m, places, current, restored)
        self._enter(m, places, current, restored)
        self._attempt(m, places, maker, current, restored, failure, room_changed)
        return m

    def _attempt(self, m: Module, places: PlaceSearch, maker: RoomMaker | None, current: data.View,
                 restored: Signal, failure: data.View, room_changed: Value):
        """Try to give one TB after the other a place."""
        room, needs = self.room, places.needs
        # The counts tell of many TBs that there is no room, without a search.
        slots_free = (~room.occupied).any() & (self.geometry.warps - room.warp_count >= needs.warps)
        cancelled = ~restored & ~self.eligible.bit_select(current.kernel, 1)
        room_freed = Signal()  # something has left the SM during the attempt
        with m.If(room_changed):
            m.d.sync += room_freed.eq(1)
        m.d.comb += [self.launching.valid.eq(1), self.launching.kernel.eq(current.kernel)]
        with m.FSM():
            # Restored TBs go before fresh ones.
            with m.State("IDLE"):
                m.d.comb += [self.admit.ready.eq(1), self.launching.valid.eq(0)]
                m.d.sync += [restored.eq(self.admit.valid), current.eq(self.grid.next)]
                with m.If(self.admit.valid):
                    m.d.sync += current.eq(self.admit.payload)
                with m.If(self.admit.valid | self.grid.next_valid):
                    m.next = "CHECK"
            with m.State("CHECK"):
                if maker is not None:
                    m.d.comb += maker.attempt.eq(1)
                with m.If(~room_changed):
                    m.d.sync += room_freed.eq(0)
                m.d.comb += places.attempt.eq(slots_free & ~cancelled)
                with m.If(cancelled):
                    m.next = "IDLE"
                with m.Elif(slots_free):
                    m.next = "SEARCH"
                with m.Else():
                    m.next = "FULL"
            with m.State("SEARCH"):
                with m.If(cancelled):
                    m.next = "IDLE"
                with m.Elif(places.entry_missing & restored):
                    m.next = "REFUSE"
                with m.Elif(places.room_missing | places.entry_missing):
                    m.next = "FULL"
                    if maker is not None:
                        with m.If(places.room_missing & ~places.entry_missing
                                  & self.staying.evictable.any()):
                            m.d.comb += maker.begin.eq(1)
                            m.next = "MAKE_ROOM"
                with m.Elif(places.found):
                    m.next = "ENTER"
            # Evictions are only asked for: the TB is tried again when they have made room.
            if maker is not None:
                with m.State("MAKE_ROOM"):
                    m.d.comb += maker.active.eq(1)
                    with m.If(maker.done):
                        m.next = "FULL"
            # A TB that has left the SM meanwhile may have left too late for the search.
            with m.State("FULL"):
                m.next = "IDLE"
                with m.If(room_freed):
                    m.next = "CHECK"
                with m.Else():
                    m.d.comb += failure.valid.eq(1)
                    with m.If(restored):
                        m.d.comb += [self.admitted.valid.eq(1), self.admitted.full.eq(1)]
            with m.State("ENTER"):
                if self.geometry.has_uncore:
                    self._claim(m, places, restored, current)
                else:
                    m.d.comb += [places.enter.eq(1), self.grid.advance.valid.eq(~restored)]
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

    def _claim(self, m: Module, places: PlaceSearch, restored: Value, current: data.View):
        """Enter a restored TB, or the fresh one that is granted, if one is."""
        granted = self.grant.valid & ~self.grant.none
        m.d.comb += [self.claim.valid.eq(~restored), self.claim.kernel.eq(current.kernel),
                     places.enter.eq(restored | granted),
                     self.grid.advance.valid.eq(~restored & granted)]
        with m.If(restored):
            m.next = "ANSWER"
        with m.Elif(self.grant.valid):
            m.next = "IDLE"
            with m.If(granted):
                m.next = "LAUNCH"

    def _make_room(self, m: Module, maker: RoomMaker, places: PlaceSearch, failure: data.View):
        """Connect what finds out what has to be evicted."""
        m.d.comb += [
            *(maker.size[name].eq(places.needs[name])
              for name in footprint(self.geometry).members),
            maker.registers.eq(places.registers), maker.lines.eq(places.lines),
            maker.searches.eq(places.searches), maker.staying.eq(self.staying),
            maker.stuck.eq(self.stuck), maker.enter.eq(places.enter), maker.failure.eq(failure),
            maker.occupied.eq(self.room.occupied), maker.remove.eq(self.remove),
            self.evict.eq(maker.evict), self.hopeless.eq(maker.hopeless),
            self.registers.eq(places.registers), self.lines.eq(places.lines),
        ]

    def _search(self, m: Module, places: PlaceSearch, current: data.View, restored: Value):
        """Connect the search for a place."""
        g, needs = self.geometry, places.needs
        m.d.comb += [
            places.current.eq(current), places.restored.eq(restored),
            places.occupied.eq(self.room.occupied), places.warps_taken.eq(self.room.warps_taken),
            *(getattr(places, name).eq(getattr(self, name))
              for name in ("kernels", "remove", "staying", "ended", "start", "adopted")),
        ]
        with m.Switch(current.kernel):
            for k in range(g.kernel_slots):
                with m.Case(k):
                    sizes = footprint(g).members
                    m.d.comb += [needs[name].eq(self.footprints[k][name] if name in sizes
                                                else self.kernels[k][name])
                                 for name in tb_needs(g).members]

    def _enter(self, m: Module, places: PlaceSearch, current: data.View, restored: Value):
        """Tell the table, the engine and the launcher of the place."""
        place, needs, fresh = places.place, places.needs, self.fresh.payload
        insert, row = self.room.insert, self.room.insert.row
        m.d.comb += [
            insert.valid.eq(places.enter), insert.tb.eq(place.tb), insert.warps.eq(needs.warps),
            insert.shared_bytes.eq(needs.shared_bytes), row.kernel.eq(current.kernel),
            *self._identity(row, current, restored),
            *(row[name].eq(place[name])
              for name in ("base", "first_line", "warps", "local_base", "entry")),
            row.lines.eq(needs.lines), self.clear_lines.eq(places.clear_lines),
            self.grid.advance.kernel.eq(current.kernel),
            *(self.admitted[name].eq(place[name])
              for name in ("tb", "base", "first_line", "slots")),
            *(fresh[name].eq(needs[name]) for name in ("registers", "warps", "threads")),
            *(fresh[name].eq(place[name]) for name in ("tb", "base", "slots")),
            fresh.kernel.eq(current.kernel),
        ]

    def _identity(self, row: data.View, current: data.View, restored: Value):
        """Statements that say which TB it is."""
        if not self.geometry.has_uncore:
            return [row[name].eq(current[name])
                    for name in ("launch_id", "ctaid_x", "ctaid_y", "ctaid_z")]
        grant = self.grant
        return [row.launch_id.eq(Mux(restored, current.launch_id, grant.launch_id)),
                *(row[f"ctaid_{name}"].eq(Mux(restored, current[f"ctaid_{name}"],
                                              grant.place[name])) for name in "xyz")]
