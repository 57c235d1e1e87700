"""The bitmap of shared lines, and which line's rows come next (`StreamParser`)."""

from amaranth.hdl import Const, Mux, Signal
from amaranth.lib.memory import Memory

from ...arch.image.encodings import Encoding
from .parse import Parse

__all__ = ["GROUP", "LineStates"]

GROUP = 32
"""Lines of a bitmap word."""


class LineStates:
    """Keeps the bitmap, whose words all come before the lines.

    Parameters
    ----------
    parse : Parse
    """

    def __init__(self, parse: Parse):
        self.parse = parse
        parse.m.submodules.bitmap = self._bitmap = Memory(
            shape=GROUP, depth=-(-parse.geometry.shared_lines // GROUP), init=[])
        self._read = self._bitmap.read_port(domain="comb")
        parse.m.d.comb += self._read.addr.eq(parse.group)

    def next_group(self):
        """Go on with the next bitmap word."""
        parse = self.parse
        m = parse.m
        m.d.comb += parse.next_targets.eq(self._read.data)
        m.d.sync += parse.group.eq(parse.group + 1)
        parse.aim()
        m.next = "GROUP"
        with m.If(parse.group * GROUP >= parse.accepted.lines):
            m.next = "FINISH"
        with m.Elif(self._read.data.any()):
            m.next = "DATA"

    def build_group(self):
        """Build the state between the rows of two bitmap words."""
        with self.parse.m.State("GROUP"):
            self.next_group()

    def build_bitmap(self):
        """Build the state that keeps the bitmap; one with a bit beyond the last line is wrong."""
        parse = self.parse
        m, lines, word = parse.m, parse.accepted.lines, parse.words[0]
        write = self._bitmap.write_port()
        lines_left = Signal.like(lines)
        allowed_bits = Signal(GROUP)
        m.d.comb += [
            lines_left.eq(lines - parse.group * GROUP),
            allowed_bits.eq(Mux(lines_left < GROUP, (Const(1, 1) << lines_left[:5]) - 1,
                                ~Const(0, GROUP))),
            write.addr.eq(parse.group), write.data.eq(word),
        ]
        with m.State("BITMAP"):
            _, words_taken = parse.need(1)
            m.d.comb += write.en.eq(words_taken)
            with m.If(words_taken):
                m.d.sync += parse.group.eq(parse.group + 1)
                with m.If(lines_left <= GROUP):
                    m.d.sync += [parse.group.eq(0), parse.shared.eq(1),
                                 parse.code.eq(Encoding.RANDOM)]
                    m.next = "GROUP"
                with m.If((word & ~allowed_bits).any()):
                    m.next = "SKIP"
