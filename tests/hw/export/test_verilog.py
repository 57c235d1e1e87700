"""SystemVerilog export: names, merging of identical modules, caching, errors."""

import re
import sys

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from caesura import webassembly
from caesura.hw.export import verilog


class Cell(wiring.Component):
    """Adds `step` to its input."""

    def __init__(self, step):
        self.step = step
        super().__init__({"value": In(8), "sum": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.sum.eq(self.value + self.step)
        return m


class Lane(wiring.Component):
    """Two cells in a row."""

    def __init__(self, step):
        self.step = step
        super().__init__({"value": In(8), "sum": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.first = first = Cell(self.step)
        m.submodules.second = second = Cell(self.step)
        m.d.comb += [first.value.eq(self.value), second.value.eq(first.sum), self.sum.eq(second.sum)]
        return m


class Lanes(wiring.Component):
    """Lanes with the given steps side by side, and a memory."""

    def __init__(self, steps):
        self.steps = steps
        super().__init__({"bus": Out(wiring.Signature({"value": In(8 * len(steps)), "sum": Out(8 * len(steps))})),
                          "select": In(4), "row": Out(16)})

    def elaborate(self, platform):
        m = Module()
        for k, step in enumerate(self.steps):
            m.submodules[f"lane_{k}"] = lane = Lane(step)
            m.d.comb += [lane.value.eq(self.bus.value.word_select(k, 8)),
                         self.bus.sum.word_select(k, 8).eq(lane.sum)]
        m.submodules.rows = rows = memory.Memory(shape=16, depth=16, init=[])
        read, write = rows.read_port(), rows.write_port()
        m.d.comb += [read.addr.eq(self.select), self.row.eq(read.data),
                     write.addr.eq(self.select), write.data.eq(self.bus.value), write.en.eq(self.select == 3)]
        return m


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def modules(text):
    return re.findall(r"^module (\w+)", text, re.MULTILINE)


def test_equal_lanes_become_one_module_and_different_ones_stay():
    text = verilog.systemverilog(Lanes([1, 1, 2, 1]), name="lanes")
    assert modules(text) == ["lanes", "lanes__lane_0", "lanes__lane_0__first", "lanes__lane_2", "lanes__lane_2__first"]
    assert len(re.findall(r"^  lanes__lane_0 lane_[013]", text, re.MULTILINE)) == 3
    assert len(re.findall(r"^  lanes__lane_2 lane_2", text, re.MULTILINE)) == 1


def test_merged_design_is_smaller_than_the_sum_of_its_lanes():
    few, many = (len(verilog.rtlil_text(Lanes([1] * n))) for n in (2, 32))
    assert many < 5 * few


def test_ports_have_plain_names_and_the_clock_comes_first_class():
    text = verilog.systemverilog(Lanes([1, 1]))
    ports = set(re.findall(r"^  (?:input|output) (?:\[\S+\] )?(\w+);", text.split("endmodule")[0], re.MULTILINE))
    assert ports == {"clk", "rst", "bus_value", "bus_sum", "select", "row"}


def test_design_without_reset_has_no_reset_port():
    text = verilog.systemverilog(Lanes([1]), reset=False)
    assert not re.search(r"\brst\b", text) and "clk" in text


def test_memory_is_filled_by_a_loop():
    text = verilog.systemverilog(Lanes([1]))
    assert re.search(r"for \(int row = 0; row < 16; row\+\+\)\n +\w+\[row\] = 16'h0000;", text)


def test_bits_of_a_signal_that_are_set_apart_are_no_rows_of_a_memory():
    class Bits(wiring.Component):
        def __init__(self):
            super().__init__({"on": In(1), "out": Out(3)})

        def elaborate(self, platform):
            m = Module()
            with m.If(self.on):
                m.d.comb += [self.out[0].eq(1), self.out[2].eq(1)]
            return m

    text = verilog.systemverilog(Bits())
    assert "out[0] = 1'h1" in text and "out[2] = 1'h1" in text and "for (" not in text


@pytest.mark.parametrize("depth", [1, 2])
def test_no_wire_is_without_bits(depth):
    """A memory of one row has an address without bits, which Verilog would take for one of two."""
    class Rows(wiring.Component):
        def __init__(self):
            super().__init__({"value": In(8), "row": Out(8)})

        def elaborate(self, platform):
            m = Module()
            m.submodules.rows = rows = memory.Memory(shape=8, depth=depth, init=[])
            read = rows.read_port()
            write = rows.write_port()
            number = Signal(range(depth))
            m.d.sync += number.eq(number + 1)
            m.d.comb += [read.addr.eq(number), self.row.eq(read.data), read.en.eq(1),
                         write.addr.eq(number), write.data.eq(self.value), write.en.eq(1)]
            return m

    text = verilog.systemverilog(Rows())
    assert "-1:0" not in text and " row" in text
    assert bool(re.search(r"^ *(wire|reg|logic) number\b", text, re.MULTILINE)) == (depth > 1)


def test_colliding_port_names_are_refused():
    class Clash(wiring.Component):
        def __init__(self):
            super().__init__({"a_b": In(1), "a": In(wiring.Signature({"b": In(1)})), "c": Out(1)})

        def elaborate(self, platform):
            m = Module()
            m.d.comb += self.c.eq(self.a_b ^ self.a.b ^ Signal())
            return m

    with pytest.raises(ValueError, match="'a_b'"):
        verilog.rtlil_text(Clash())


def test_second_export_comes_from_the_cache(own_cache, monkeypatch):
    first = verilog.systemverilog(Lanes([3]))
    assert [path.suffix for path in (own_cache / "sv").iterdir()] == [".gz"]
    monkeypatch.setattr(verilog, "run_yosys", lambda *_: pytest.fail("Yosys ran again"))
    assert verilog.systemverilog(Lanes([3])) == first


def test_a_signal_that_ends_yosys_is_named(tmp_path, monkeypatch):
    script = tmp_path / "dying.py"
    script.write_text("import os, signal; os.kill(os.getpid(), signal.SIGBUS)")
    monkeypatch.setattr(webassembly, "_COMMAND", (sys.executable, str(script)))
    with pytest.raises(verilog.ExportError, match="Yosys failed:\nSIGBUS ended it, and so did the second try"):
        verilog.run_yosys("", "", "d.sv")


def test_yosys_that_fails_and_says_nothing_has_a_message(tmp_path, monkeypatch):
    script = tmp_path / "silent.py"
    script.write_text("")
    monkeypatch.setattr(webassembly, "_COMMAND", (sys.executable, str(script)))
    with pytest.raises(verilog.ExportError, match="Yosys failed:\nexit status 0, and d.sv is not there"):
        verilog.run_yosys("", "", "d.sv")


def test_what_yosys_refuses_is_reported():
    with pytest.raises(verilog.ExportError, match="Yosys failed:\n.*ERROR"):
        verilog.run_yosys("module \\top\n  cell $nonsense\nend\n", verilog.YOSYS_SCRIPT, "d.sv")
