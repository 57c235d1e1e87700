"""A written register is never clean and never invalid: the proof follows any one register of one warp."""

from __future__ import annotations

from amaranth.hdl import Mux, Signal

from caesura.hw.arch.geometry import MAX_REGISTERS, Geometry, preset
from caesura.hw.core.execute import valid_dirty
from caesura.hw.core.execute.valid_dirty import ValidDirty
from caesura.hw.formal.opened import free

from .faults import Fault
from .harness import Harness
from .property import Property

__all__ = ["WrittenIsValidAndDirty", "PROPERTIES"]


class WrittenIsValidAndDirty(Harness):
    """Its valid bit is shown from a write, or a load that has it, until its warp is cleared or loaded without it; its
    dirty bit likewise, but for a warp that is made clean. All ports that show them agree, and no other bit is set.

    Given, as the block's docstring says: a warp is not written, or loaded, and cleared or made clean in one cycle.
    """

    def __init__(self, g: Geometry):
        super().__init__()
        self.geometry = g

    def state(self, m):
        g = self.geometry
        m.submodules.dut = bits = ValidDirty(g)
        free(m, bits)
        warp, register = self.something(m, range(g.warps)), self.something(m, range(MAX_REGISTERS))
        write, load = bits.write, bits.load
        clears = bits.clear.valid & (bits.clear.warp == warp)
        cleans = bits.clean.bit_select(warp, 1)
        writes = write.valid & (write.warp == warp)
        loads = load.valid & load.ready & (load.payload.warp == warp) if g.in_place else 0
        self.given(m, a_warp_is_not_written_and_cleared=~((clears | cleans) & (writes | loads)),
                   warps_are_those_of_the_machine=(write.warp < g.warps) & (bits.clear.warp < g.warps)
                   & (load.payload.warp < g.warps))
        for select in (bits.read_warp, bits.save_warp, bits.flags_select):
            m.d.comb += select.eq(warp)

        valid, dirty = Signal(), Signal()
        here = writes & (write.register == register)
        loaded = load.payload.valid.bit_select(register, 1)
        m.d.sync += [valid.eq(Mux(clears, 0, Mux(loads, loaded, valid | here))),
                     dirty.eq(Mux(clears | cleans, 0, Mux(loads, loaded, dirty | here)))]
        shown = [row.bit_select(register, 1) for row in (bits.read_row, bits.save_row, bits.flags_valid)]
        self.claim(
            m, a_written_register_is_valid=~valid | (shown[0] & shown[1] & shown[2]),
            one_that_nobody_wrote_is_not=valid | ~(shown[0] | shown[1] | shown[2]),
            a_written_register_is_dirty=bits.flags_dirty.bit_select(register, 1) == dirty,
            who_writes_it_sees_it=~((write.warp == warp) & (write.register == register)) | (bits.write_valid == valid),
            what_is_dirty_is_valid=~(bits.flags_dirty & ~bits.flags_valid).any(),
            a_load_waits_for_a_write=~(write.valid & load.ready))


_CLAIM = ("A register that was written is valid until its warp is cleared, and dirty until its warp is cleared or made "
          "clean; one that was not written is neither")
_FAULTS = (
    Fault(valid_dirty, "row.eq(Mux(none.bit_select(warp, 1), 0, port.data))", "row.eq(port.data)"),
    Fault(valid_dirty, "tidy.eq(tidy & ~written | self.clean)", "tidy.eq(tidy | self.clean)"),
    Fault(valid_dirty, "fresh.eq(fresh & ~written | cleared)", "fresh.eq(fresh | cleared)"),
    Fault(valid_dirty, "loads, self.load.payload.valid, old | bit", "loads, self.load.payload.valid, bit"),
)

PROPERTIES = tuple(
    Property(f"valid-dirty/{name}", _CLAIM, lambda name=name: WrittenIsValidAndDirty(preset(name)),
             faults=_FAULTS if name == "tiny" else ()) for name in ("tiny", "ecp5", "gtx480"))
