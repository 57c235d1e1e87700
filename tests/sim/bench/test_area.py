"""Area of a block: counted by Yosys, multiplied by its instances, remembered by netlist."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.geometry import preset
from caesura.hw.preempt.compress.decompressor import Decompressor
from caesura.sim.bench.area import AVAILABLE, RESOURCES, area, markdown_table, print_report, run


class Square(wiring.Component):
    """Registered product of two 16-bit numbers: one multiplier, no logic."""

    a: Signal
    b: Signal
    o: Signal

    def __init__(self):
        super().__init__({"a": In(16), "b": In(16), "o": Out(32)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.a * self.b)
        return m


class Squares(Square):
    """Three of them in a row."""

    def elaborate(self, platform):
        m = Module()
        last = self.a
        for k in range(3):
            m.submodules[f"part_{k}"] = part = Square()
            m.d.comb += [part.a.eq(last), part.b.eq(self.b)]
            last = part.o[:16]
        m.d.comb += self.o.eq(last)
        return m


def test_instances_count_as_often_as_they_are_there(monkeypatch, tmp_path):
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path))
    one, three = area(Square()), area(Squares())
    assert one["multipliers"] == 1 and three["multipliers"] == 3
    assert one["flip-flops"] == 32
    assert len(list((tmp_path / "area").iterdir())) == 2
    monkeypatch.setattr("caesura.hw.export.run_yosys", None)
    assert area(Squares()) == three


def test_report_has_every_column_next_to_what_the_device_has(capsys):
    g = preset("tiny").replace(lanes=4)
    result = run(g, ["decompressor"])
    assert result["lanes"] == 4 and result["met"]
    (row,) = result["blocks"]
    assert row == {"block": "decompressor"} | area(Decompressor(g)) and row["LUT4"] > 50
    print_report(result)
    printed = capsys.readouterr().out
    assert f"{row['LUT4']:,}" in printed and f"{AVAILABLE['LUT4']:,}" in printed
    table = markdown_table(result).splitlines()
    assert len(table) == 4 and all(column in table[0] for column in RESOURCES)
