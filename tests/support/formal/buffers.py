"""The two-entry buffers of the buses: payloads leave one as they came, in order."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value

from caesura.hw.formal.axi_rules import stays
from caesura.hw.formal.opened import Opened, free
from caesura.hw.lib import skid_buffer
from caesura.hw.lib.skid_buffer import SkidBuffer

from .faults import Fault
from .harness import Harness
from .property import Property

__all__ = ["PROPERTIES", "SkidKeepsOrder", "entries"]


def entries(opened: Opened, name: str = "") -> tuple[tuple[Value, Value], ...]:
    """Return whether an entry of a `SkidBuffer` holds something, and what, the older entry first.

    Parameters
    ----------
    opened : Opened
        The buffer, or the block with it.
    name : str
        The buffer in the block.
    """
    if not name:
        output = opened.component.output
        return (output.valid, Value.cast(output.payload)), (opened.signal("full"), opened.signal("spare"))
    return tuple((opened.signal(f"{name}.{valid}"), Value.cast(opened.signal(f"{name}.{payload}")))
                 for valid, payload in (("output__valid", "output__payload"), ("full", "spare")))


class SkidKeepsOrder(Harness):
    """Any one payload that comes is the one that leaves after those before it; none is lost, and none comes twice."""

    WIDTH = 3

    def state(self, m: Module):
        m.submodules.dut = opened = Opened(SkidBuffer(self.WIDTH))
        dut = opened.component
        free(m, dut)
        (shown, first), (full, second) = entries(opened)
        comes, leaves = dut.input.valid & dut.input.ready, dut.output.valid & dut.output.ready
        held, ahead = Signal(2), Signal(2)
        followed = Signal()
        value = Signal(self.WIDTH)
        chosen = self.anything(m, 1)
        m.d.sync += held.eq(held + comes - leaves)
        with m.If(followed & leaves):
            m.d.sync += [ahead.eq(ahead - 1), followed.eq(ahead != 0)]
        with m.Elif(~followed & comes & chosen):
            m.d.sync += [followed.eq(1), ahead.eq(held - leaves), value.eq(dut.input.payload)]
        self.claim(
            m, an_offer_stays=stays(m, dut.output.valid, dut.output.ready, dut.output.payload),
            as_many_leave_as_come=held == shown + full, the_older_entry_is_shown=~full | shown,
            what_is_followed_is_held=~followed | (ahead < held),
            it_is_what_came=~followed | (value == Mux(ahead == 0, first, second)))


PROPERTIES = (Property(
    "skid-buffer/order", "What leaves is what has come, in its order, each once; what is offered stays as it is until "
    "it is taken", SkidKeepsOrder, 2, faults=(
        Fault(skid_buffer, "m.d.comb += self.input.ready.eq(~full)", "m.d.comb += self.input.ready.eq(1)"),
        Fault(skid_buffer, "with m.If(~full):", "with m.If(1):"),
        Fault(skid_buffer, "self.output.valid.eq(full | self.input.valid)", "self.output.valid.eq(self.input.valid)"),
        Fault(skid_buffer, "m.d.sync += full.eq(full | self.input.valid)", "m.d.sync += full.eq(self.input.valid)"),
    )),)
