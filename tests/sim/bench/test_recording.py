"""A recording: a difference is named by row and column, an interrupted run goes on, a row changes alone."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.export import verilog
from caesura.sim.bench import cycles
from caesura.sim.bench.recording import Difference, Row, StateBits, compare, read_rows, write_rows
from caesura.sim.bench.state_bits import counted

ROWS = [Row("vecadd", outcome="ran", image="ab", cycles="900", beats="cd"),
        Row("vecadd", "live", "1/2", "preempted", at="450", save="100", other="700", restore="120", rest="460",
            contexts="ef", beats="01"),
        Row("bfs", outcome="does not fit: LaunchError")]


class Part(wiring.Component):
    """Two registers, of 16 and 5 bits, and a memory of 1,024."""

    def __init__(self):
        super().__init__({"a": In(16), "o": Out(16)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.rows = rows = memory.Memory(shape=16, depth=64, init=[])
        write, read = rows.write_port(), rows.read_port(domain="comb")
        count = Signal(5)
        m.d.comb += [write.addr.eq(self.a), read.addr.eq(self.a), write.data.eq(self.a), write.en.eq(self.a[0])]
        m.d.sync += [self.o.eq(read.data), count.eq(count + 1)]
        return m


class Parts(Part):
    """Three of them in a row."""

    def elaborate(self, platform):
        m = Module()
        last = self.a
        for k in range(3):
            m.submodules[f"part_{k}"] = part = Part()
            m.d.comb += part.a.eq(last)
            last = part.o
        m.d.comb += self.o.eq(last)
        return m


def test_state_of_every_instance_counts():
    assert counted(verilog.rtlil_text(Part(), reset=False)) == (21, 1024)
    assert counted(verilog.rtlil_text(Parts(), reset=False)) == (63, 3072)


def test_equal_rows_have_no_difference(tmp_path):
    write_rows(tmp_path / "rows.tsv", Row, ROWS)
    assert compare("gtx480", ROWS, read_rows(tmp_path / "rows.tsv", Row)) == []


@pytest.mark.parametrize("number, column, value", [
    (0, "cycles", "901"), (0, "image", "ac"), (0, "beats", "ce"), (1, "save", "101"), (1, "other", "699"),
    (1, "restore", "121"), (1, "rest", "461"), (1, "contexts", "ee"), (1, "beats", "02"), (1, "outcome", "lost"),
    (2, "outcome", "does not fit: CompileError")])
def test_a_planted_difference_is_named(number, column, value):
    changed = [*ROWS]
    changed[number] = ROWS[number]._replace(**{column: value})
    name = " ".join(["gtx480", *(field for field in ROWS[number].key if field != "-")])
    (found,) = compare("gtx480", ROWS, changed)
    assert found == Difference(name, column, getattr(ROWS[number], column), value)
    assert str(found) == f"{name}: {column}: expected {getattr(ROWS[number], column)}, got {value}"


def test_a_row_that_is_missing_or_new_is_named():
    assert [str(d) for d in compare("ecp5", ROWS[:2], ROWS[1:])] == [
        "ecp5 vecadd: row: expected a row, got none", "ecp5 bfs: row: expected none, got a row"]
    bits = StateBits("ecp5", "1000", "20000")
    assert [str(d) for d in compare("-", [bits], [bits._replace(flip_flops="1001")])] == [
        "ecp5: flip_flops: expected 1000, got 1001"]


def test_another_table_is_refused(tmp_path):
    path = tmp_path / "rows.tsv"
    write_rows(path, Row, ROWS)
    with pytest.raises(ValueError, match="rows.tsv is not a table of preset, flip_flops, memories"):
        read_rows(path, StateBits)
    path.write_text(path.read_text() + "vecadd\tlive\n")
    with pytest.raises(ValueError, match="not a table of kernel, mechanism"):
        read_rows(path, Row)


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine that needs no simulator: `cycles` of each kernel, those `asked` for, what is `broken`."""
    class Machine:
        cycles = {"vecadd": "900", "bfs": "800"}
        asked, broken, folder = [], set(), tmp_path / "recorded"

        def measure(self, g, name, other):
            self.asked.append(f"{g.name} {name}")
            if name in self.broken:
                raise KeyboardInterrupt
            assert other.image.name == "vecadd"
            return [Row(name, outcome="ran", cycles=self.cycles[name]), Row(name, "live", "1/2", at="1")]

        def run(self, *arguments):
            return CliRunner().invoke(main, ["bench", "cycles", str(self.folder), *arguments])

    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "cache"))
    made = Machine()
    monkeypatch.setattr(cycles, "measure", made.measure)
    monkeypatch.setattr(cycles, "state_bits", lambda g: StateBits(g.name, "10", "20"))
    monkeypatch.setattr(cycles, "library", lambda g: None)
    monkeypatch.setattr(cycles, "KERNELS", {name: cycles.KERNELS[name] for name in made.cycles})
    return made


def test_what_is_recorded_is_compared_with(machine, monkeypatch):
    refused = machine.run()
    assert refused.exit_code == 2 and "nothing is recorded" in refused.output and not machine.asked
    done = machine.run("--record", "--preset", "tiny", "--preset", "ecp5")
    assert done.exit_code == 0 and "10 rows of tiny, ecp5 recorded" in done.output
    assert (machine.folder / "state.tsv").read_text() == (
        "preset\tflip_flops\tmemories\necp5\t10\t20\ntiny\t10\t20\n")
    assert machine.run("--preset", "tiny").exit_code == 0
    assert machine.asked == ["tiny vecadd", "tiny bfs", "ecp5 vecadd", "ecp5 bfs"]
    monkeypatch.setattr(cycles, "_sources", lambda: "others")
    machine.cycles = machine.cycles | {"bfs": "801"}
    found = machine.run("--preset", "tiny")
    assert found.exit_code == 1 and "tiny bfs: cycles: expected 800, got 801" in found.output
    neighbour = (machine.folder / "neighbour.elf").read_bytes()
    before = (machine.folder / "tiny.tsv").read_text()
    assert machine.run("--preset", "tiny", "--kernel", "bfs", "--record").exit_code == 0
    assert (machine.folder / "tiny.tsv").read_text() == before.replace("800", "801")
    assert (machine.folder / "neighbour.elf").read_bytes() == neighbour
    assert machine.run("--preset", "tiny").exit_code == 0


def test_an_interrupted_run_goes_on(machine):
    machine.broken = {"bfs"}
    assert machine.run("--record", "--preset", "ecp5").exit_code == 130
    assert machine.asked == ["ecp5 vecadd", "ecp5 bfs"] and not (machine.folder / "ecp5.tsv").exists()
    machine.broken = set()
    assert machine.run("--record", "--preset", "ecp5").exit_code == 0
    assert machine.asked == ["ecp5 vecadd", "ecp5 bfs", "ecp5 bfs"]
