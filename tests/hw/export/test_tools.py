"""Exported blocks in other tools: Verilator has nothing to warn of, it and Icarus simulate what the model says."""

import numpy as np
import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.patterns import Pattern
from caesura.hw.export import blocks, export_block
from caesura.hw.preempt.compress.compressor import Compressor
from support.hw.exported import icarus, lint, shifts_in_a_row, verilated
from support.selection import quick

G = preset("tiny")
WIDE = preset("gtx480").replace(bus_bytes=128, bytes_per_cycle=128.0)
SHORT = ("compressor", "packer", "allocation_table", "axi_registers", "register_fetch")
"""Blocks of the short set: structures, arrays, names that are reserved or taken, a bus."""
COUNT = 40

BENCH = """
module bench;
  logic clk = 0;
  logic take = 0;
  logic [255:0] values [0:{count} - 1];
  integer sent = 0, seen = 0, cycles = 0;
  initial $readmemh("values.hex", values);
  always #1 clk = !clk;
  always @(negedge clk) take <= ($random % 3) != 0;
{declarations}
  always @(posedge clk) begin
    cycles <= cycles + 1;
    if (cycles == 2000) $finish;
    if (offer && input_ready) sent <= sent + 1;
    if (output_valid && take) begin
      $display("%0d %064h", {code}, {words});
      seen <= seen + 1;
      if (seen == {count} - 1) $finish;
    end
  end
endmodule
"""
FLAT = """
  logic [1:0] code;
  logic [255:0] words;
  logic input_ready, output_valid;
  wire offer = sent < {count};
  compressor dut (.clk(clk), .rst(1'b0), .pag(6'd8), .input_payload_words(values[sent]),
                  .input_payload_launched(8'hff), .input_payload_raw(1'b0), .input_payload_tag(1'b0),
                  .input_valid(offer), .input_ready(input_ready), .output_payload_words(words),
                  .output_payload_code(code), .output_valid(output_valid), .output_ready(take));
"""
STRUCTURED = """
  compressor_pkg::register_beat_t entering;
  compressor_pkg::encoded_t leaving;
  logic input_ready, output_valid, busy;
  wire offer = sent < {count};
  assign entering.words = values[sent];
  assign entering.launched = '1;
  assign entering.raw = 0;
  assign entering.tag = 0;
  compressor dut (.clk(clk), .rst(1'b0), .pag(6'd8), .input_payload(entering), .input_valid(offer),
                  .input_ready(input_ready), .output_payload(leaving), .output_valid(output_valid),
                  .output_ready(take), .busy(busy));
"""


def registers() -> np.ndarray:
    """Registers of every pattern."""
    random = np.random.default_rng(5)
    made = random.integers(0, 1 << 32, (COUNT, G.warp_size), dtype=np.uint32)
    made[::3] = made[::3, :1]
    made[1::3] = made[1::3, :1] + np.arange(G.warp_size, dtype=np.uint32) * made[1::3, 1:2]
    return made


def hexadecimal(words) -> str:
    return "".join(f"{word:08x}" for word in reversed(words))


@pytest.mark.parametrize("run, flat", quick([(icarus, True), (verilated, True), (verilated, False)],
                                            [(icarus, True)]))
def test_a_simulation_gives_what_the_model_gives(run, flat, tmp_path):
    values = registers()
    (tmp_path / "values.hex").write_text("\n".join(map(hexadecimal, values)))
    declared = (FLAT if flat else STRUCTURED).format(count=COUNT)
    bench = BENCH.format(count=COUNT, declarations=declared, code="code" if flat else "leaving.code",
                         words="words" if flat else "leaving.words")
    lines = [line.split() for line in run(export_block("compressor", G, flat=flat), bench, tmp_path)
             if line[:1].isdigit()]
    codes, words = Compressor(G).compute(values, (1 << G.warp_size) - 1, 8)
    counts = {Pattern.UNIFORM: 1, Pattern.STRIDED: 2}
    assert len(lines) == COUNT and set(codes) == {*counts, Pattern.RANDOM}
    for (code, printed), expected, own in zip(lines, codes, words, strict=True):
        used = 8 * counts.get(Pattern(expected), G.warp_size)
        assert int(code) == expected and printed[-used:] == hexadecimal(own)[-used:]


@pytest.mark.parametrize("name, flat", quick(
    [(name, flat) for name in SHORT for flat in (False, True)],
    [("compressor", False), ("packer", False), ("packer", True), ("allocation_table", True)]))
def test_a_block_is_clean(name, flat, tmp_path):
    made = export_block(name, G, flat=flat)
    assert lint(made, tmp_path) == "" and not shifts_in_a_row(made.text)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("name", [name for name in blocks() if name not in SHORT])
def test_every_other_block_is_clean(name, flat, tmp_path):
    g = G.replace(sms=2) if name == "device" else G
    made = export_block(name, g, flat=flat)
    assert lint(made, tmp_path) == "" and not shifts_in_a_row(made.text)


@pytest.mark.parametrize("name, on", quick(
    [(name, on) for name in ("state_writer", "kernel_record_writer")
     for on in ("tiny", "bus of 4", "gtx480", "bus of 128")],
    [("state_writer", "bus of 4"), ("kernel_record_writer", "bus of 4")]))
def test_simulators_have_nothing_to_get_wrong(name, on):
    """Two shifts in a row, by variables: of these blocks which unpack what may be there or not."""
    geometry = {"tiny": G, "bus of 4": G.replace(bus_bytes=4, bytes_per_cycle=4.0), "gtx480": preset("gtx480"),
                "bus of 128": WIDE}[on]
    assert not shifts_in_a_row(export_block(name, geometry).text)


@pytest.mark.full
def test_a_record_of_one_beat_is_clean(tmp_path):
    """The number of a beat has no bits."""
    assert lint(export_block("kernel_record_writer", WIDE), tmp_path) == ""


def test_two_shifts_in_a_row_are_found():
    text = r"assign \$1  = a >> \$9 ;{0}assign \$2  = \$1  {1} \$8 ;{0}endmodule"
    assert shifts_in_a_row(text.format("\n", ">>")) == [r"\$2"]
    assert not shifts_in_a_row(text.format("\n", "<<")) and not shifts_in_a_row(text.format("\nendmodule\n", ">>"))


def test_the_linter_finds_what_is_wrong(tmp_path):
    made = export_block("packer", G)
    broken = made.text.replace("module packer (", "module packer (\n  input  logic nobody_needs_this,")
    assert "UNUSEDSIGNAL" in lint(type(made)(made.name, broken, made.package, made.package_text), tmp_path)
