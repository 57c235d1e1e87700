"""The comparison with ptxas: what is counted, what is written, and what happens without it."""

import json
import stat

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.sim.bench.code import BEGIN, END, LIMIT, judged, markdown, run, update_markdown
from caesura.sim.bench.ptxas import Assembler, MissingAssembler, count_instructions, without_unrolling
from caesura.software.kernels import KERNELS
from caesura.software.kernels.doubles import DOUBLES

LISTING = """\
\t.section\t.text.k,"ax",@progbits
.text.k:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/              @!P0 BRA `(.L_x_1) ;
        /*0020*/                   CALL.REL.NOINC `($k$div) ;
        /*0030*/                   EXIT ;
$k$div:
        /*0040*/                   RET.REL.NODEC R2 `(k) ;
.L_x_2:
        /*0050*/                   BRA `(.L_x_2);
        /*0060*/                   NOP;
        /*0070*/                   NOP;
.L_x_3:
\t.section\t.text.other,"ax",@progbits
.text.other:
        /*0000*/                   EXIT ;
"""


@pytest.fixture
def programs(tmp_path):
    """Programs that report what the tests expect: 12 registers, and the listing above under the name of a kernel."""
    ptxas, nvdisasm = tmp_path / "ptxas", tmp_path / "nvdisasm"
    ptxas.write_text("#!/bin/sh\necho \"ptxas info    : Compiling entry function 'vecadd' for 'sm_75'\" >&2\n"
                     "echo 'ptxas info    : Used 12 registers, 384 bytes cmem[0]' >&2\ncp \"$3\" \"$5\"\n")
    nvdisasm.write_text("#!/bin/sh\ncat <<'EOF'\n" + LISTING.replace("text.k", "text.vecadd") + "EOF\n")
    for program in (ptxas, nvdisasm):
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return ptxas


def test_padding_is_not_counted_but_subroutines_are():
    assert count_instructions(LISTING) == {"k": 5, "other": 1}


def test_every_label_gets_the_pragma():
    text = KERNELS["bfs"].ptx_path.read_text()
    rolled = without_unrolling(text)
    assert rolled.count("nounroll") > text.count("nounroll") and rolled.replace('\n\t.pragma "nounroll";', "") \
        == text.replace('\n\t.pragma "nounroll";', "")


def test_programs_that_are_not_there_are_named(tmp_path):
    with pytest.raises(MissingAssembler, match=r"no ptxas and no nvdisasm in .*caesura\[ptxas\]"):
        Assembler(tmp_path)


def test_a_program_that_fails_is_shown_with_its_message(programs):
    programs.write_text("#!/bin/sh\necho 'ptxas fatal : no such thing' >&2\nexit 1\n")
    with pytest.raises(MissingAssembler, match="ptxas failed: ptxas fatal : no such thing"):
        Assembler(programs).assemble("")


def test_a_kernel_stands_beside_what_ptxas_makes_of_it(programs):
    result = run(["vecadd"], programs)
    row, = result["kernels"]
    assert row["ptxas"]["registers"] == 12 and row["ptxas"]["instructions"] == row["ptxas"]["rolled_instructions"] == 5
    assert row["ptxas"]["ratio"] == pytest.approx(row["instructions"] / 5) == pytest.approx(result["mean"]["ratio"])
    assert row["live"] <= row["registers"] and not result["met"] and result["mean"]["ratio"] > LIMIT
    assert "MISSED" in markdown(result) and "the worst is vecadd" in markdown(result)


def test_the_worst_of_the_f64_heavy_kernels_is_judged_by_itself():
    def row(kernel, ratio, doubles):
        ours = round(100 * ratio)
        return {"kernel": kernel, "registers": 9, "live": 9, "instructions": ours, "points": 0, "seconds": 0.1,
                "doubles": doubles, "ptxas": {"registers": 9, "instructions": 100, "seconds": 0.1, "ratio": ratio,
                                              "rolled_instructions": 100, "rolled_ratio": ratio,
                                              "register_ratio": 1.0}}

    rows = [row("a", 2.0, False), row("b", 0.5, False), row("c", 1.3, True), row("d", 1.5, True)]
    result = judged(rows)
    assert result["mean"]["ratio"] == pytest.approx(1) and not result["met"] and judged(rows[:3])["met"]
    assert result["worst"] == {"shipped": {"kernel": "a", "ratio": 2.0}, "doubles": {"kernel": "d", "ratio": 1.5}}
    page = markdown(result | {"architecture": "sm_75", "limit": LIMIT, "missing": "", "kernels": rows})
    assert "the worst is a with 2.00" in page and "the worst is d with 1.50" in page and page.count("MISSED") == 1


def test_f64_heavy_kernels_are_of_the_right_size(programs):
    """As text; the ratios to ptxas are in docs/code.md."""
    sources = {path.with_suffix(".cu").name for path in DOUBLES.values()}
    assert sources == {path.name for path in next(iter(DOUBLES.values())).parent.glob("*.cu")}
    row, = run(["correlation"])["kernels"]
    assert row["doubles"] and row["instructions"] < 1000


def test_our_columns_are_there_without_it(monkeypatch, tmp_path):
    monkeypatch.setattr("caesura.sim.bench.ptxas._installed", lambda: None)
    page, figures = tmp_path / "page.md", tmp_path / "code.json"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    done = CliRunner().invoke(main, ["bench", "code", "--kernel", "vecadd", "--kernel", "bfs", "--json", str(figures),
                                     "--markdown", str(page)])
    assert done.exit_code == 0 and "pip install 'caesura[ptxas]'" in done.output
    result = json.loads(figures.read_text())
    assert [row["kernel"] for row in result["kernels"]] == ["vecadd", "bfs"]
    assert all(row["ptxas"] is None and row["instructions"] > 10 and row["seconds"] > 0 for row in result["kernels"])
    assert page.read_text().startswith("before\n") and "old" not in page.read_text() and "| bfs |" in page.read_text()


def test_points_are_counted_by_themselves():
    row, = run(["bfs"])["kernels"]
    assert row["points"] == 2 and row["instructions"] > 40


def test_the_page_must_have_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(ValueError, match="begin: caesura bench code"):
        update_markdown(page, {})


@pytest.mark.parametrize("command, module", [("code", "code"), ("compile", "compile_scaling")])
def test_the_marks_are_looked_for_before_anything_is_measured(command, module, tmp_path, monkeypatch):
    def measured(*arguments):
        raise AssertionError("measured")

    monkeypatch.setattr(f"caesura.sim.bench.{module}.run", measured)
    page = tmp_path / "page.md"
    page.write_text("nothing")
    done = CliRunner().invoke(main, ["bench", command, "--markdown", str(page)])
    assert done.exit_code == 2 and "must have one line" in done.output and "Traceback" not in done.output


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_code_of_the_suite_is_within_the_limit():
    try:
        Assembler()
    except MissingAssembler as error:
        pytest.skip(str(error))
    result = run()
    print(result["mean"])
    assert len(result["kernels"]) == len(KERNELS) + len(DOUBLES) and all(row["ptxas"] for row in result["kernels"])
    assert result["worst"]["doubles"]["ratio"] <= LIMIT
    assert result["met"] and result["mean"]["ratio"] <= LIMIT
