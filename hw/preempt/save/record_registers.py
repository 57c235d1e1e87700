"""The registers that a `RecordWriter` has fetched for a warp, and its predicates and uniform
registers that are to be saved."""

from amaranth.hdl import Cat, Mux, Signal, Value
from amaranth.lib import data, stream

from ...arch.geometry import MAX_REGISTERS, PC_NONE, PREDICATES, UNIFORMS
from ...arch.image.context import Capability, lacks
from ...arch.isa.liveness import LIVE_BITS, LIVE_REST
from ...interfaces.port import Port
from ...lib.bits import popcount, spread
from .record import Record

__all__ = ["MaskPorts", "RegisterStates"]


class MaskPorts:
    """The ports to the `StayingMasks` (`RecordWriter`)."""

    def __init__(self, write: data.View, select: data.View, mask: Signal):
        self.write, self.select, self.mask = write, select, mask


class RegisterStates:
    """Lists the registers of the warp in hand.

    Parameters
    ----------
    record : Record
    view : View
        Control state of the warp that is saved.
    flags : RegisterFlagsPort
        Its valid and dirty registers and its predicates.
    uniforms_written : Signal(UNIFORMS)
        Vector: uniform registers that it has written.
    items : stream of register_fetch.register_item
        Registers to be fetched.
    masks : MaskPorts

    Attributes
    ----------
    live_scalars : Signal
        Vector: live predicates, then uniform registers.
    """

    def __init__(self, record: Record, view: data.View, flags: Port, uniforms_written: Signal,
                 items: stream.Interface, masks: MaskPorts):
        self.record, self.view, self.flags = record, view, flags
        self.uniforms_written, self.items, self.masks = uniforms_written, items, masks
        self.live_scalars = Signal(PREDICATES + UNIFORMS)

    def _live(self):
        """Return which registers are live, and which of them a whole image has."""
        record, view = self.record, self.view
        m, accepted = record.m, record.accepted
        saves_all = lacks(accepted.options.mechanism, Capability.SAVES_LIVE_ONLY)
        vector_empty = Signal()  # the live vector says nothing
        live_bits = Signal(LIVE_BITS)
        live = Signal(MAX_REGISTERS)
        whole_image = Signal(MAX_REGISTERS)
        m.d.comb += [
            vector_empty.eq(view.between | saves_all),
            live_bits.eq(view.live_vector | accepted.allocated
                         | vector_empty.replicate(LIVE_BITS)),
            self.live_scalars.eq(Cat(live_bits[LIVE_BITS - 1 - number]
                                     for number in range(len(self.live_scalars)))),
            live.eq(Cat(view.live_vector[:LIVE_REST],
                        view.live_vector[LIVE_REST].replicate(MAX_REGISTERS - LIVE_REST))
                    | view.between.replicate(MAX_REGISTERS)),
            whole_image.eq(accepted.allocated & (
                live & (self.flags.valid | accepted.options.scramble.replicate(MAX_REGISTERS))
                | spread(saves_all, MAX_REGISTERS))),
        ]
        return whole_image

    def build_view(self):
        """Build the state that looks at the warp in hand."""
        record, view, flags = self.record, self.view, self.flags
        m, options = record.m, record.accepted.options
        whole_image = self._live()
        count = len(self.live_scalars)
        scalars_saved = ((self.live_scalars | options.scramble.replicate(count))
                         & ~record.restarting.replicate(count))
        uniforms = self.uniforms_written & scalars_saved[PREDICATES:]
        # Register what is saved of the warp; the next state offers its registers.
        with m.State("VIEW"):
            m.d.sync += [
                record.valid_registers.eq(flags.valid),
                record.predicates.eq(flags.predicates_written & scalars_saved[:PREDICATES]),
                record.uniforms.eq(uniforms), record.all_uniforms.eq(uniforms),
                record.header_written.eq(0), record.saved_registers.eq(whole_image),
                record.lanes_exited.eq(view.live != view.launched),
                record.entry_below.pc.eq(PC_NONE), record.entry_below.reconv.eq(PC_NONE)]
            with m.If(record.increment):  # what is clean is in the base
                m.d.sync += record.saved_registers.eq(
                    whole_image & ~(flags.valid & ~flags.dirty))
            with m.If(record.restarting):
                m.d.sync += record.saved_registers.eq(0)
            if record.geometry.in_place:
                self._stay(whole_image)
            m.next = "ITEM"

    def _stay(self, whole_image: Value):
        """Have a warp remembered if something of its TB stays, with the registers that stay; or
        save registers that have stayed."""
        record, masks, view = self.record, self.masks, self.view
        m, accepted = record.m, record.accepted
        with m.If(record.evict):
            m.d.sync += [
                record.valid_registers.eq(masks.mask), record.predicates.eq(0),
                record.uniforms.eq(0), record.all_uniforms.eq(0),
                record.saved_registers.eq(Mux(record.registers_stay, Mux(
                    lacks(accepted.options.mechanism, Capability.SAVES_LIVE_ONLY)
                    | accepted.options.scramble, accepted.allocated, masks.mask), 0))]
        with m.Elif(record.registers_stay | record.lines_stay):
            m.d.comb += masks.write.valid.eq(1)
            with m.If(record.registers_stay):
                m.d.sync += record.saved_registers.eq(0)
        m.d.comb += [
            masks.write.of.row.eq(record.staying_row), masks.write.of.warp.eq(view.block_warp),
            masks.write.mask.eq(whole_image & self.flags.valid),
            masks.select.row.eq(record.staying_row), masks.select.warp.eq(record.warp),
        ]

    def list_registers(self) -> Value:
        """Offer the registers of the warp in hand; return whether they are taken, if it has any."""
        record, view, item = self.record, self.view, self.items.payload
        m, options = record.m, record.accepted.options
        count, any_saved = popcount(record.saved_registers), record.saved_registers.any()
        m.d.comb += [
            item.warp.eq(record.warp), item.base.eq(view.base),
            item.mask.eq(record.saved_registers), item.valid.eq(record.valid_registers),
            item.raw.eq(lacks(options.mechanism, Capability.COMPRESSES)),
            item.counted.eq(view.live), item.scramble.eq(options.scramble),
            item.of.record.eq(record.records), item.opens.eq(record.items == 0),
            item.of.bank.eq(record.bank), item.stays.eq(record.evicting),
            self.items.valid.eq(any_saved)]
        m.d.sync += record.register_count.eq(count)
        listed = self.items.ready | ~any_saved
        with m.If(listed):
            m.d.sync += [
                record.registers_listed.eq(record.registers_listed + count),
                record.records.eq(record.records + 1),
                record.items.eq(record.items + any_saved),
                record.records_with_item.eq(
                    record.records_with_item | (any_saved << record.records))]
        return listed
