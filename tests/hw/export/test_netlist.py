"""Netlists of exported blocks: names of parts and their ports, and what becomes of ports that are left out."""

import re

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.export.netlist import netlist
from caesura.hw.export.ports import ports_of
from caesura.hw.preempt.formats.packer import Packer


class Inner(wiring.Component):
    """Adds one."""

    def __init__(self):
        super().__init__({"value": In(8), "sum": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.sum.eq(self.value + 1)
        return m


class Outer(wiring.Component):
    """Inner parts in a row, whose signals have one name; a trace that is the only user of a part."""

    def __init__(self):
        super().__init__({"value": In(8), "value_1": In(8), "sum": Out(8), "trace": Out(8)})

    def elaborate(self, platform):
        m = Module()
        value = self.value
        for number in range(3):
            m.submodules[f"part_{number}"] = part = Inner()
            m.d.comb += part.value.eq(value)
            value = part.sum
        m.submodules.watched = watched = Inner()
        kept = Signal(8, name="kept")
        m.d.sync += kept.eq(watched.sum)
        m.d.comb += [watched.value.eq(self.value_1), self.trace.eq(kept), self.sum.eq(value ^ self.value_1)]
        return m


def modules(text):
    return dict(re.findall(r"^module (\S+)\((.*?)^endmodule", text, re.MULTILINE | re.DOTALL))


def test_names_of_ports_are_words_and_parts_begin_with_the_name_of_the_block():
    outer = Outer()
    found = modules(netlist(outer, "block", ports_of(outer, observe=True)))
    assert list(found)[0] == "block__netlist" and set(found) == {"block__netlist", "block__part_0"}
    for text in found.values():
        assert "$" not in "".join(re.findall(r"^  (?:input|output) .*", text, re.MULTILINE))
    assert re.search(r"\.value *\(value_1\)", found["block__netlist"])


def test_what_is_decided_is_an_assignment_unless_places_are_asked_for():
    """Icarus 11 may run `always_comb` for ever; what is counted are branches."""
    packer = Packer(4)
    plain, located = (netlist(packer, "block", ports_of(packer), located=located) for located in (False, True))
    assert "always_comb" not in plain and not re.search(r"\bcase", plain) and " ? " in plain
    assert "always_comb" in located and "(* src" in located


def test_ports_that_are_left_out_are_not_led_out():
    made = [Outer(), Outer()]
    seen, plain = (netlist(outer, "block", ports_of(outer, observe=observe))
                   for outer, observe in zip(made, (True, False), strict=True))
    assert "output [7:0] trace;" in seen and "output [7:0] trace;" not in plain
