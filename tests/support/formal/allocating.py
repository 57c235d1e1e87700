"""Allocation tables never overlap and never leak: the proofs follow any one unit, entry or slot."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.dispatch import allocator, entry_allocator, warp_slots
from caesura.hw.dispatch.allocator import AllocationTable
from caesura.hw.dispatch.entry_allocator import EntryAllocator
from caesura.hw.dispatch.warp_slots import WarpSlots
from caesura.hw.formal.opened import Opened, free

from .faults import Fault
from .harness import Harness
from .property import Property

__all__ = ["UnitHasOneOwner", "EntryHasOneTb", "SlotsAreFree", "PROPERTIES"]


class UnitHasOneOwner(Harness):
    """A unit of a resource is in at most one range.

    From the insertion of a range with the unit until the release of its owner, moves followed, it is in exactly one
    range.

    Given: a range is inserted where the last search has found room for it, once; an owner has one range; there is a
    free entry.
    """

    def __init__(self, capacity: int, owners: int, entries: int):
        super().__init__()
        self.capacity, self.owners, self.entries = capacity, owners, entries

    def state(self, m):
        table = AllocationTable(self.capacity, self.owners, self.entries)
        m.submodules.dut = dut = Opened(table)
        free(m, table)
        rows = [table.table[k] for k in range(self.entries)]
        insert, move = table.insert, table.move
        size = Signal.like(Value.cast(insert.size))  # that was asked for
        unused = Signal()  # the answer has not been used
        with m.If(table.request.valid):
            m.d.sync += [size.eq(table.request.size), unused.eq(1)]
        with m.Elif(insert.valid):
            m.d.sync += unused.eq(0)
        self.given(
            m, it_is_inserted_where_there_is_room=~insert.valid | unused & table.done & table.fits
            & (insert.start == table.start) & (insert.size == size),
            an_owner_has_one_range=~self._owned(rows, insert) & (~move.valid | ~self._owned(
                rows, move, "to") & ~(insert.valid & (insert.owner == move.to))),
            there_is_a_free_entry=~Cat(row.valid for row in rows).all() | ~insert.valid,
            owners=(insert.owner < self.owners) & (move.owner < self.owners) & (move.to < self.owners),
            no_more_is_asked_for_than_there_is=table.request.size <= self.capacity)

        unit = self.something(m, range(self.capacity))
        taken, owner = Signal(), Signal.like(Value.cast(insert.owner))
        within = [row.valid & (row.start <= unit) & (unit < row.start + row.size) for row in rows]
        moved = move.valid & (owner == move.owner)
        with m.If(insert.valid & (insert.start <= unit) & (unit < insert.start + insert.size)):
            m.d.sync += [taken.eq(1), owner.eq(insert.owner)]
        with m.Elif(taken & moved):
            m.d.sync += owner.eq(move.to)
        with m.Elif(table.release.bit_select(owner, 1)):
            m.d.sync += taken.eq(0)
        once = Cat(within)
        room = (table.start <= unit) & (unit < table.start + size)
        self.claim(
            m, a_unit_is_in_one_range=~(once & (once - 1))[:self.entries].any(),
            it_is_in_one_if_somebody_has_it=once.any() == taken,
            it_is_its_owners=Cat(~inside | (row.owner == owner)
                                 for row, inside in zip(rows, within, strict=True)).all(),
            what_is_found_is_free=~(unused & table.done & table.fits & room) | ~taken,
            ranges_end_in_the_resource=Cat(
                ~row.valid | (row.start + row.size <= self.capacity) for row in rows).all(),
            answers_end_in_the_resource=~(unused & table.done & table.fits) | (
                table.start + size <= self.capacity),
            it_looks_for_what_was_asked=~unused | (dut.signal("size") == size),
            it_has_an_answer_or_looks_for_one=~unused | (table.done != dut.signal("searching")))

    @staticmethod
    def _owned(rows, of, name="owner"):
        """Return whether a range belongs to the owner of an insertion or a move."""
        return of.valid & Cat(row.valid & (row.owner == of[name]) for row in rows).any()


class EntryHasOneTb(Harness):
    """An entry of a kernel is never given to a fresh TB while another has it; it is said that there is none only if all
    are taken; and the local memory of the entry found is its own: as many regions behind `local_base` as its number.

    Given: an entry is taken once for each answer; a kernel for which one is looked for is not adopted or started
    meanwhile; numbers are those of the machine.
    """

    def __init__(self, g: Geometry):
        super().__init__()
        self.geometry = g

    def state(self, m):
        g = self.geometry
        block = EntryAllocator(g)
        m.submodules.dut = dut = Opened(block)
        free(m, block)
        asked = Signal.like(Value.cast(block.request))
        request = block.request.shape()(asked)  # the last one
        unused, full = Signal(), Signal()
        kernel, entry = self.something(m, range(g.kernel_slots)), self.something(m, range(g.tb_slots))
        taken = Signal()
        with m.If(block.request.valid):
            m.d.sync += [asked.eq(Value.cast(block.request)), unused.eq(1), full.eq(taken)]
        with m.Elif(block.take):
            m.d.sync += unused.eq(0)
        looked = Signal(g.kernel_slots)
        m.d.comb += looked.eq(Mux(unused & ~request.restored, 1 << request.kernel, 0) | Mux(
            block.request.valid & ~block.request.restored, 1 << block.request.kernel, 0))
        adopts = block.adopted.valid & (block.adopted.kernel == kernel)
        self.given(
            m, an_answer_is_taken_once=~block.take | unused & block.done & block.found,
            a_kernel_that_asks_is_not_begun=~(looked & block.start).any() & ~(
                block.adopted.valid & looked.bit_select(block.adopted.kernel, 1)),
            numbers_are_those_of_the_machine=(block.request.kernel < g.kernel_slots)
            & (block.request.entry < g.tb_slots) & (block.request.warps <= g.max_block_warps)
            & (block.ended.entry < g.tb_slots),
            nobody_takes_and_asks=~(block.take & block.request.valid))
        ended = block.ended.valid & (block.ended.kernel == kernel) & (block.ended.entry == entry)
        given = block.take & (request.kernel == kernel) & (block.entry == entry)
        with m.If(adopts):
            m.d.sync += taken.eq(block.adopted.saved.bit_select(entry, 1))
        with m.Elif(block.start.bit_select(kernel, 1) | ended):
            m.d.sync += taken.eq(0)
        with m.Elif(given):
            m.d.sync += taken.eq(1)
        owned = Cat(dut.signal(f"owned_{k}") for k in range(g.kernel_slots)).word_select(kernel, g.tb_slots)
        fresh = unused & ~request.restored & (request.kernel == kernel)
        self.claim(
            m, what_is_given_is_free=~(given & ~request.restored) | ~taken,
            it_is_full_only_if_all_are_taken=~(fresh & block.done & ~block.found) | full,
            an_entry_is_taken_if_a_tb_has_it=owned.bit_select(entry, 1) == taken)
        self._inner(m, dut, request, unused, taken, fresh, entry, full)

    def _inner(self, m, dut, request, unused, taken, fresh, entry, full):
        """Return the invariants for induction, and the region."""
        g, block = self.geometry, dut.component
        chosen, region, size = dut.signal("chosen"), dut.signal("region"), dut.signal("size")
        sizing, walking = dut.signal("sizing"), dut.signal("walking")
        at = [(request.local_base + size * k)[:32] for k in range(g.tb_slots)]
        place = Cat(~region[k] | (block.address == address) for k, address in enumerate(at)).all()
        self.claim(
            m, one_kernel_asks=~unused | ((dut.signal("kernel") == request.kernel)
                                          & (dut.signal("restored") == request.restored)),
            one_is_wanted=~unused | ((chosen == 0) & ~block.found) | ((chosen == (Const(1) << block.entry)[:g.tb_slots])
                                            & (block.entry < g.tb_slots)),
            what_is_wanted_is_free=~(fresh & chosen.bit_select(entry, 1)) | ~taken,
            what_is_found_is_wanted=~(unused & block.found) | chosen.any(),
            one_is_found_if_one_is_wanted=~fresh | (block.found == chosen.any()),
            nothing_is_wanted_if_all_are_taken=~(fresh & ~chosen.any()) | full,
            one_thing_at_a_time=~unused | (sizing + walking + block.done == 1),
            none_is_looked_for_without_local_memory=~(unused & (sizing | walking)) | (request.local_bytes != 0),
            it_begins_with_the_first=~(unused & sizing) | (region == 1) & (block.address == request.local_base),
            then_it_steps_over_regions=~(unused & walking) | place,
            no_region_is_left_out=~(unused & walking) | (
                region.any() & ~(region & (region - 1))[:g.tb_slots].any()
                & ~(chosen & (region - 1))[:g.tb_slots].any()),
            an_entry_has_a_region_of_its_own=~(unused & block.done & block.found) | ~chosen.bit_select(entry, 1)
            | Mux(request.local_bytes == 0, block.address == request.local_base,
                  Cat((entry != k) | (block.address == address) for k, address in enumerate(at)).all()))


class SlotsAreFree(Harness):
    """The slots collected are as many as were asked for, each free, and no two are one.

    Given: nobody else takes slots meanwhile, and there are enough.
    """

    def __init__(self, g: Geometry):
        super().__init__()
        self.geometry = g

    def state(self, m):
        g = self.geometry
        slots = WarpSlots(g)
        m.submodules.dut = dut = Opened(slots)
        free(m, slots)
        asked = Signal()
        count = Signal.like(Value.cast(slots.pick.count))
        before, slot = Signal(g.warps), self.something(m, range(g.warps))
        picked = dut.signal("picked")
        m.d.sync += before.eq(slots.occupied)
        with m.If(slots.pick.valid):
            m.d.sync += [asked.eq(1), count.eq(slots.pick.count)]
        left = ~(slots.occupied | slots.mask)
        self.given(m, nobody_else_takes_slots=~asked | ~(slots.occupied & ~before).any(),
                   there_are_enough=slots.done | left.any(),
                   no_more_than_a_tb_has=slots.pick.count <= g.max_block_warps)
        listed = Cat((slots.slots[k] == slot) & (picked > k) for k in range(g.max_block_warps))
        self.claim(
            m, what_is_collected_is_free=~asked | ~(slots.mask & slots.occupied).any(),
            a_slot_is_listed_once=~(listed & (listed - 1))[:g.max_block_warps].any(),
            and_only_if_it_is_collected=listed.any() == slots.mask.bit_select(slot, 1),
            as_many_as_were_asked_for=~(asked & slots.done) | (picked == count),
            no_more=(picked <= dut.signal("count")) & (dut.signal("count") <= g.max_block_warps)
            & (~asked | (dut.signal("count") == count)))


_UNITS = ("A unit of the resource is in at most one range, and in one exactly from the insertion of a range with it to "
          "the release of its owner, moves followed (rows of registers and lines of shared memory)")
_ENTRIES = ("An entry of a kernel is never given to a second thread block; it is said that none is free only if none "
            "is; the local memory of an entry is the region with its number")
_SLOTS = "Warp slots of a thread block are free, as many as it needs, and no two are one"
_UNIT_FAULTS = (
    Fault(allocator, "& (self.start < ends[i])", "& (self.start + 1 < ends[i])"),
    Fault(allocator, "with m.If((end > self.capacity) | ~overlaps.any()):", "with m.If(end > 0):"),
    Fault(allocator, "m.d.sync += entry.valid.eq(0)", "m.d.sync += entry.valid.eq(~self.release[0])"),
    Fault(allocator, "m.d.sync += entry.owner.eq(self.move.to)", "m.d.sync += entry.valid.eq(0)"),
)
_ENTRY_FAULTS = (
    Fault(entry_allocator, "(mask | given) & ~back", "given & ~back"),
    Fault(entry_allocator, "(mask | given) & ~back", "mask | given"),
    Fault(entry_allocator, "self.found.eq(request.restored | ~barred.all())", "self.found.eq(1)"),
    Fault(entry_allocator, "with m.If((region & chosen).any() | ~self.found):", "with m.If(1):"),
)
_SLOT_FAULTS = (
    Fault(warp_slots, "choice.eq(lowest(~(self.occupied | self.mask)))", "choice.eq(lowest(~self.occupied))"),
    Fault(warp_slots, "choice.eq(lowest(~(self.occupied | self.mask)))", "choice.eq(lowest(~self.mask))"),
)

PROPERTIES = (
    *(Property(f"allocation-table/{capacity}x{entries}", _UNITS, lambda of=(capacity, owners, entries):
               UnitHasOneOwner(*of), faults=_UNIT_FAULTS if capacity == 8 else ())
      for capacity, owners, entries in ((8, 4, 4), (16, 4, 4), (16, 4, 8))),
    *(Property(f"entry-allocator/{name}", _ENTRIES, lambda name=name: EntryHasOneTb(preset(name)),
               faults=_ENTRY_FAULTS if name == "tiny" else (), fault_depth=16)
      for name in ("tiny", "ecp5")),
    *(Property(f"warp-slots/{name}", _SLOTS, lambda name=name: SlotsAreFree(preset(name)),
               faults=_SLOT_FAULTS if name == "tiny" else ()) for name in ("tiny", "ecp5")),
)
