"""Valid and dirty bits of vector registers: one row of bits for each warp slot.

`valid` masks reads to zero, so that nothing of a former owner can be read; `dirty` selects what a
checkpoint saves (docs/sm.md, Valid and dirty bits). The rows stand in small memories read
combinationally. Clearing a warp takes one cycle for all its registers. It sets the warp's bit in
`fresh`, and a fresh warp's rows read as zero until its first write. A bit in `tidy` does the same
for dirty bits alone. Both rows of a warp whose registers have stayed on the SM while it was away
are loaded at once (Lin et al. III-A).
"""

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import MAX_REGISTERS, Geometry
from ...interfaces.payloads import below, register_flags, warp_event

__all__ = ["ValidDirty"]


class ValidDirty(wiring.Component):
    """Valid and dirty bit of each register of each warp slot; every read is combinational.

    Attributes
    ----------
    clear : in
        Makes all registers of `warp` invalid and clean from the next cycle. The warp must not be
        written in the same cycle.
    clean : Signal(warps), in
        Vector: makes all registers of warps clean from the next cycle; likewise.
    write : in
        Sets the valid and the dirty bit of a register from the next cycle.
    load : stream of payloads.register_flags, in
        Makes of the registers of `warp` those in `valid`, and no others, valid and dirty from the
        next cycle; taken in cycles without a `write`. The warp is not cleared in the same cycle.
        Only with `Geometry.in_place`.
    write_valid : Signal(1), out
        Valid bit of ``write.register`` of ``write.warp``, whether or not ``write.valid``.
    read_warp, read_row : in, out
        Valid bits of a warp, for the operand collector.
    save_warp, save_row : in, out
        Valid bits of a warp, for the save port.
    flags_select, flags_valid, flags_dirty : in, out
        Valid and dirty bits of a warp, for the preemption unit.
    """

    clear: data.View
    clean: Signal
    write: data.View
    load: stream.Interface
    write_valid: Signal
    read_warp: Signal
    read_row: Signal
    save_warp: Signal
    save_row: Signal
    flags_select: Signal
    flags_valid: Signal
    flags_dirty: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        warp = below(g.warps)
        super().__init__({
            "clear": In(warp_event(g)), "clean": In(g.warps),
            "write": In(data.StructLayout({"valid": 1, "warp": warp, "register": 6})),
            "load": In(stream.Signature(register_flags(g))), "write_valid": Out(1),
            "read_warp": In(warp), "read_row": Out(MAX_REGISTERS),
            "save_warp": In(warp), "save_row": Out(MAX_REGISTERS),
            "flags_select": In(warp), "flags_valid": Out(MAX_REGISTERS),
            "flags_dirty": Out(MAX_REGISTERS),
        })

    def elaborate(self, platform: Any):
        m = Module()
        warps = self.geometry.warps
        fresh = Signal(warps, init=(1 << warps) - 1)
        tidy = Signal(warps)
        bit = Signal(MAX_REGISTERS)
        old_valid = Signal(MAX_REGISTERS)
        old_dirty = Signal(MAX_REGISTERS)
        m.d.comb += bit.eq(Const(1, 1) << self.write.register)
        loads = Signal()
        if self.geometry.in_place:
            m.d.comb += [self.load.ready.eq(~self.write.valid),
                         loads.eq(self.load.valid & self.load.ready)]

        for name, readers, old, none in (
            ("valid", ((self.read_warp, self.read_row), (self.save_warp, self.save_row),
                       (self.flags_select, self.flags_valid)), old_valid, fresh),
            ("dirty", ((self.flags_select, self.flags_dirty),), old_dirty, fresh | tidy),
        ):
            m.submodules[name] = rows = Memory(shape=MAX_REGISTERS, depth=warps, init=[])
            for warp, row in (*readers, (self.write.warp, old)):
                port = rows.read_port(domain="comb")
                m.d.comb += [port.addr.eq(warp),
                             row.eq(Mux(none.bit_select(warp, 1), 0, port.data))]
            port = rows.write_port()
            m.d.comb += [port.addr.eq(Mux(loads, self.load.payload.warp, self.write.warp)),
                         port.data.eq(Mux(loads, self.load.payload.valid, old | bit)),
                         port.en.eq(self.write.valid | loads)]

        m.d.comb += self.write_valid.eq((old_valid & bit).any())
        cleared = Signal(warps)
        written = Signal(warps)
        m.d.comb += [cleared.eq(self.clear.valid << self.clear.warp),
                     written.eq(self.write.valid << self.write.warp
                                | loads << self.load.payload.warp)]
        m.d.sync += [fresh.eq(fresh & ~written | cleared), tidy.eq(tidy & ~written | self.clean)]
        return m
