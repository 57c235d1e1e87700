"""The bitmap of shared lines, and the list of lines that a `RecordWriter` has fetched."""

from amaranth.hdl import Const, Mux, Signal
from amaranth.lib import stream

from ...arch.image.context import Capability, lacks
from ...interfaces.payloads import rows_per_line
from ...lib.bits import popcount, spread, window
from .line_fetch import GROUP
from .record import Record

__all__ = ["LineStates"]


class LineStates:
    """Writes the whole bitmap, then lists the lines, a word of the bitmap at a time.

    Parameters
    ----------
    record : Record
    lines : stream of line_fetch.line_item
        Lines to be fetched.
    lines_valid, lines_dirty : Signal(shared_lines)
        Vectors: lines that hold something; that are not in the base.
    """

    def __init__(self, record: Record, lines: stream.Interface, lines_valid: Signal,
                 lines_dirty: Signal):
        self.record, self.lines = record, lines
        self.lines_valid, self.lines_dirty = lines_valid, lines_dirty

    def build(self):
        """Build both states."""
        record, g, item = self.record, self.record.geometry, self.lines.payload
        m, accepted = record.m, record.accepted
        first_line = Signal(range(g.shared_lines + 1))  # of the group, in the SM
        lines_left = Signal(range(g.shared_lines + 1))  # from there to the TB's end
        saved = Signal(GROUP)
        written = Signal(GROUP)  # lines that are valid
        dirty = Signal(GROUP)
        total = Signal.like(record.lines_listed)
        last_group = Signal()
        # Lines that stay are not in this image; an eviction saves just those.
        absent = record.lines_stay ^ record.evict if g.in_place else Const(0)
        m.d.comb += [
            first_line.eq(record.row.first_line + record.group * GROUP),
            lines_left.eq(accepted.lines - record.group * GROUP),
            last_group.eq(lines_left <= GROUP),
            written.eq(window(m, self.lines_valid, first_line, GROUP)),
            dirty.eq(window(m, self.lines_dirty, first_line, GROUP)),
            saved.eq(Mux(last_group, (Const(1, 1) << lines_left[:6]) - 1, ~Const(0, GROUP))
                     & (written | spread(
                         lacks(accepted.options.mechanism, Capability.SAVES_LIVE_ONLY), GROUP))
                     & ~spread(record.restarting | absent, GROUP)
                     & ~(written & ~dirty & record.increment.replicate(GROUP))),
            total.eq(record.lines_listed + popcount(saved)),
        ]
        # The whole bitmap comes before the lines in the stream.
        with m.State("BITMAP"):
            with m.If(record.emit(saved, 1, last=last_group, rows=total * rows_per_line(g))):
                m.d.sync += [record.lines_listed.eq(total),
                             record.group.eq(Mux(last_group, 0, record.group + 1))]
                with m.If(last_group):
                    m.next = "LINES"
        with m.State("LINES"):
            m.d.comb += [item.line.eq(first_line), item.mask.eq(saved), item.valid.eq(written),
                         self.lines.valid.eq(saved.any())]
            with m.If(self.lines.ready | ~saved.any()):
                m.d.sync += record.group.eq(record.group + 1)
                with m.If(last_group):
                    m.next = "END"
