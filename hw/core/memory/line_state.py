"""Valid and dirty bits of the shared-memory lines."""

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...interfaces.payloads import below, line_range
from ...lib.bits import look_up

__all__ = ["LineState", "look_up_bit"]

GROUP_BITS = 5
GROUP = 1 << GROUP_BITS
"""Lines looked up together."""


class LineState(wiring.Component):
    """Two bits a 128-byte line; a dirty line is always valid.

    Attributes
    ----------
    clear : In
        Lines `first` to ``first + count - 1`` become invalid and clean.
    clean : In
        Lines `first` to ``first + count - 1`` become clean.
    mark : In
        `line` becomes valid and dirty; wins over `clear` and `clean`.
    valid, dirty : Signal(shared_lines), out
        Updated one cycle after `clear`, `clean` and `mark`.
    """

    clear: data.View
    clean: data.View
    mark: data.View
    valid: Signal
    dirty: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "clear": In(line_range(g)), "clean": In(line_range(g)),
            "mark": In(data.StructLayout({"valid": 1, "line": below(g.shared_lines)})),
            "valid": Out(g.shared_lines),
            "dirty": Out(g.shared_lines),
        })

    def elaborate(self, platform: Any):
        m = Module()
        lines = self.geometry.shared_lines
        kept, dirt = self._outside(m, self.clear), self._outside(m, self.clean)
        marked = Signal(lines)
        with m.If(self.mark.valid):
            for group, low in enumerate(range(0, lines, GROUP)):
                m.d.comb += marked[low:low + GROUP].eq(
                    Mux(self.mark.line[GROUP_BITS:] == group,
                        Const(1, GROUP) << self.mark.line[:GROUP_BITS], 0))
        m.d.sync += [self.valid.eq(self.valid & kept | marked),
                     self.dirty.eq(self.dirty & kept & dirt | marked)]
        return m

    def _outside(self, m: Module, span: data.View):
        """Return the vector of the lines that are not in a range."""
        lines = self.geometry.shared_lines
        everything = Const((1 << lines) - 1, lines)
        outside = Signal(lines)
        m.d.comb += outside.eq(everything)
        with m.If(span.valid):
            from_first = Signal(range(lines + 1))
            from_end = Signal(range(lines + 1))
            m.d.comb += [from_first.eq(lines - span.first), from_end.eq(from_first - span.count),
                         outside.eq(~(everything >> from_end) | (everything >> from_first))]
        return outside


def look_up_bit(m: Module, target: Signal, vector: Value, position: Value):
    """Assign ``vector[position]`` to `target`, in two steps (`look_up`)."""
    groups = [vector[low:low + GROUP] for low in range(0, len(vector), GROUP)]
    if len(groups) == 1:
        group = vector
    else:
        group = Signal(GROUP, name=f"{target.name}_group")
        look_up(m, group, groups, position[GROUP_BITS:])
    m.d.comb += target.eq(group.bit_select(position[:GROUP_BITS], 1))
