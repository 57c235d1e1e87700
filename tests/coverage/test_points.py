"""What Verilator counts is told of the right lines of Python."""

import pytest

from support.checkout import ROOT
from support.coverage.points import places, points

HERE = f"{ROOT}/hw/preempt/formats/packer.py"
TEXT = f"""module top(a);
  (* src = "{HERE}:7" *)
  input [3:0] a;
  wire [3:0] a;
  wire other;
  (* src = "/elsewhere/stream.py:1" *)
  wire valid;
  assign \\$1  = a ? (* src = "{HERE}:11" *) b : c;
  always_comb begin
    x = d;
    (* src = "{HERE}:20|{HERE}:21;{HERE}:22;{HERE}:23" *)
    if (a) begin
      x = e;
      (* src = "{HERE}:30" *)
      if (f) begin
        x = g;
      end
      x = i;
    end else if (h) begin
      x = e;
    end else begin
      x = f;
    end
    (* src = "{HERE}:94" *)
    if (rst) begin
      x = 0;
    end
  end
  always_comb begin
    y = 0;
    (* src = "{HERE}:40;;{HERE}:42" *)
    casez (a)
      1'h0:
          y = 1;
      1'h1:
          begin
          end
      default:
          y = 2;
    endcase
  end
endmodule
"""


def line_of(text: str, nth: int = 0) -> int:
    """Return the number of the n-th line that is this text."""
    return [number for number, line in enumerate(TEXT.splitlines(), 1) if line.strip() == text][nth]


def packer(*lines: int) -> tuple:
    """Return places in the file of the text."""
    return tuple(("hw/preempt/formats/packer.py", line) for line in lines)


@pytest.mark.parametrize("text, nth, expected", [
    ("input [3:0] a;", 0, (7,)), ("wire [3:0] a;", 0, (7,)), ("wire other;", 0, ()), ("wire valid;", 0, ()),
    ("x = d;", 0, ()), ("x = e;", 0, (20, 21)), ("x = g;", 0, (30,)), ("x = i;", 0, (20, 21)),
    ("x = e;", 1, (22,)), ("x = f;", 0, (23,)), ("y = 0;", 0, ()), ("y = 1;", 0, (40,)), ("begin", 0, ()),
    ("y = 2;", 0, (42,))])
def test_a_line_comes_from_the_statements_of_its_branch(text, nth, expected):
    assert places(TEXT)[0][line_of(text, nth)] == packer(*expected)


def test_a_multiplexer_has_its_own_place():
    assert places(TEXT)[0][8] == packer(11)


def test_the_branch_of_a_reset_is_known():
    assert places(TEXT)[1] == {line_of("if (rst) begin")}


def counted(line: int, what: str, count: int, page: str = "v_branch/top", span: str | None = None) -> str:
    """Return a line of coverage.dat."""
    fields = {"f": "top.sv", "l": line, "n": 3, "t": "x", "page": page, "o": what, "h": "top.netlist"}
    if span is not None:
        fields["S"] = span
    return "C '" + "".join(f"\x01{key}\x02{value}" for key, value in fields.items()) + f"' {count}"


def test_points_are_branches_and_toggles():
    taken, chain = line_of("if (a) begin"), line_of("end else if (h) begin")
    found = list(points(TEXT, [
        "# SystemC::Coverage-3", counted(8, "cond_then", 5, span="8"),
        counted(taken, "elsif", 3, span=f"{taken}-{taken + 1}"), counted(chain, "else", 0),
        counted(9, "block", 9, "v_line/top", span="9-10"), counted(line_of("if (rst) begin"), "if", 2, span="24-25"),
        counted(3, "a[2]:0->1", 0, "v_toggle/top"), counted(5, "other:0->1", 4, "v_toggle/top"),
        counted(3, "__024[2]:0->1", 0, "v_toggle/top")]))
    assert [(each.line, each.toggle, each.places, each.statements, each.count) for each in found] == [
        (8, False, packer(11), True, 5), (taken, False, packer(20, 21), True, 3),
        (chain, False, packer(22), False, 0), (3, True, packer(7), False, 0)]


def test_what_is_no_line_of_coverage_is_refused():
    with pytest.raises(ValueError, match=r"not a line of coverage\.dat: 'C 12'"):
        list(points(TEXT, ["C 12"]))
