"""Vector register file: four banks, one read and one write port each."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import REGISTER_BANKS, Geometry
from ...interfaces.payloads import below, physical
from .overdue import Overdue

__all__ = ["RegisterFile", "BANK_BITS", "bank_row", "row_of", "select_bank"]

BANK_BITS = exact_log2(REGISTER_BANKS)


def bank_row(g: Geometry):
    """Shape of a row of a bank: one beat of one register."""
    return below(g.register_rows * g.beats)


def row_of(g: Geometry, register: Value, beat: Value):
    """Return the row of a beat of a physical register in its bank."""
    return Cat(beat[:exact_log2(g.beats)], register[BANK_BITS:])


def select_bank(banks: Sequence[Value], bank: Value):
    """Return the word of `bank` out of the four in `banks`, as a two-level choice of wide words."""
    pairs = [Mux(bank[0], banks[k + 1], banks[k]) for k in (0, 2)]
    return Mux(bank[1], pairs[1], pairs[0])


class RegisterFile(wiring.Component):
    """Beats of vector registers, in bank (physical register number mod 4).

    Attributes
    ----------
    reads : in
        Operand collector's read of each bank; `data` follows one cycle later.
    hold : Signal(1), in
        `data` keeps its value in the next cycle; `reads` must not be valid.
    data : out
        Word of each bank last read.
    save_read : in stream
        One beat of register ``base + register``; taken when the bank is otherwise idle.
    overdue : Signal(1), out
        It has waited for `MOST_WAIT` cycles: there should be one without a read.
    save_masked : Signal(1), in
        The register of `save_read` is invalid and reads as zero.
    save_data : out
        Beat that was read, one cycle after the transfer of `save_read`.
    write : in
        Beat written to physical register `register` in the lanes of `mask`; visible to a read in
        the next cycle.
    """

    reads: View
    hold: Signal
    data: View
    save_read: stream.Interface
    overdue: Signal
    save_masked: Signal
    save_data: View
    write: View

    def __init__(self, g: Geometry):
        self.geometry = g
        words = data.ArrayLayout(32, g.lanes)
        super().__init__({
            "reads": In(data.ArrayLayout(data.StructLayout({"valid": 1, "row": bank_row(g)}),
                                         REGISTER_BANKS)),
            "hold": In(1), "data": Out(data.ArrayLayout(words, REGISTER_BANKS)),
            "save_read": In(stream.Signature(data.StructLayout({
                "warp": below(g.warps), "base": physical(g),
                "register": 6, "beat": below(g.beats)}))),
            "overdue": Out(1), "save_masked": In(1),
            "save_data": Out(data.StructLayout({"valid": 1, "data": words})),
            "write": In(data.StructLayout({"valid": 1, "register": physical(g),
                                           "beat": below(g.beats),
                                           "mask": g.lanes, "data": words})),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, write, wanted = self.geometry, self.write, self.save_read.payload
        register = Signal(physical(g))
        save_row = Signal(bank_row(g))
        save_bank = Signal(BANK_BITS)
        busy = Cat(read.valid for read in self.reads)
        m.submodules.overdue = overdue = Overdue()
        m.d.comb += [
            overdue.waits.eq(self.save_read.valid & ~self.save_read.ready),
            self.overdue.eq(overdue.over),
            register.eq(wanted.base + wanted.register),
            save_row.eq(row_of(g, register, wanted.beat)),
            save_bank.eq(register),
            self.save_read.ready.eq(~self.hold & ~busy.bit_select(save_bank, 1)),
        ]
        for bank in range(REGISTER_BANKS):
            m.submodules[f"bank_{bank}"] = memory = Memory(shape=32 * g.lanes,
                                                           depth=g.register_rows * g.beats, init=[])
            read = self.reads[bank]
            port = memory.read_port()
            written = memory.write_port(granularity=32)
            saved = self.save_read.valid & self.save_read.ready & (save_bank == bank)
            m.d.comb += [
                port.addr.eq(Mux(read.valid, read.row, save_row)), port.en.eq(read.valid | saved),
                self.data[bank].eq(port.data),
                written.addr.eq(row_of(g, write.register, write.beat)), written.data.eq(write.data),
            ]
            with m.If(write.valid & (write.register[:BANK_BITS] == bank)):
                m.d.comb += written.en.eq(write.mask)

        saved_bank = Signal(BANK_BITS)
        shown = Signal()
        m.d.sync += [self.save_data.valid.eq(self.save_read.valid & self.save_read.ready),
                     saved_bank.eq(save_bank), shown.eq(~self.save_masked)]
        with m.If(self.save_data.valid & shown):
            m.d.comb += self.save_data.data.eq(select_bank([word.as_value() for word in self.data],
                                                           saved_bank))
        return m
