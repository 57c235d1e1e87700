"""``caesura explain --flashback``: the same facts as text and as data, and mistakes in one line."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.software.kernels.opencl import KERNELS as OPENCL
from support.keys import read_json

WINDOW_SUM = str(Path(__file__).parents[2] / "examples/window_sum.ptx")


def explain(*options: str):
    return CliRunner().invoke(main, ["explain", WINDOW_SUM, *options])


@pytest.mark.parametrize("objective", ["size", "latency"])
def test_each_instruction_is_told_as_text_and_as_data(objective):
    done = explain("--flashback", objective, "--json")
    assert done.exit_code == 0, done.output
    (kernel,) = read_json("explain flashback", done.output)["kernels"]
    facts, means = kernel["instructions"], kernel["mean_bytes"]
    assert (kernel["name"], kernel["objective"], kernel["window"]) == ("window_sum", objective, 256)
    assert [fact["pc"] for fact in facts] == list(range(len(facts))) and len(facts) > 50
    assert means["live"] >= means["strict"] >= means["relaxed"] >= means["reverting"]
    assert all(fact["bytes"] <= fact["live_bytes"] for fact in facts)
    done = explain("--flashback", objective)
    assert done.exit_code == 0, done.output
    rows = done.output.splitlines()[-len(facts):]
    for fact, row in zip(facts, rows, strict=True):
        assert row.split()[0] == str(fact["pc"]) and f"{fact['live_bytes']:,}" in row and f"{fact['bytes']:,}" in row
        assert ("again" in row) == bool(fact["again"])


def test_page_has_a_row_for_each_instruction(tmp_path):
    page = tmp_path / "page.html"
    done = explain("--flashback", "size", "--html", str(page))
    assert done.exit_code == 0 and done.output.strip().endswith(f"instructions -> {page}")
    text = page.read_text()
    assert text.count('<div class="r" id="k0-') == int(done.output.split(",")[1].split()[0]) > 50
    assert "src=" not in text and "http" not in text.replace("http-equiv", "")
    both = explain("--flashback", "size", "--html", "-", "--json")
    assert both.exit_code == 2 and "both write to standard output" in both.output


def test_amdgpu_assembly_is_told_too(tmp_path):
    path = next(kernel.assembly for kernel in OPENCL if kernel.name == "relu")
    done = CliRunner().invoke(main, ["explain", str(path), "--flashback", "latency", "--json"])
    assert done.exit_code == 0, done.output
    result = read_json("explain flashback", done.output)
    (kernel,) = result["kernels"]
    assert (result["preset"], kernel["name"], kernel["occupied_bytes"]) == ("gfx906", "relu", 3200)
    saved = {register for fact in kernel["instructions"] for register in fact["saved"]}
    assert {register[0] for register in saved} >= {"v", "s"} and max(fact["depth"] for fact in kernel["instructions"])
    page = tmp_path / "page.html"
    assert CliRunner().invoke(main, ["explain", str(path), "--flashback", "size", "--html", str(page)]).exit_code == 0
    assert "<b>global_store_dword</b>" in page.read_text()


def test_mistakes_with_amdgpu_assembly_are_told_in_one_line(tmp_path):
    path = next(kernel.assembly for kernel in OPENCL if kernel.name == "relu")
    for options, message in (((), "is AMDGPU assembly: say --flashback"),
                             (("--flashback", "size", "--interval", "20"), "is AMDGPU assembly: say --flashback"),
                             (("--flashback", "size", "--kernel", "rleu"), "did you mean 'relu'")):
        done = CliRunner().invoke(main, ["explain", str(path), *options])
        assert done.exit_code != 0 and "Traceback" not in done.output, done.output
        assert message in done.output or message in str(done.exception)
    wrong = tmp_path / "wrong.s"
    wrong.write_text(path.read_text().replace("s_endpgm", "s_dance 7", 1))
    line = next(number for number, text in enumerate(wrong.read_text().split("\n"), 1) if "s_dance" in text)
    done = CliRunner().invoke(main, ["explain", str(wrong), "--flashback", "size", "--json"])
    assert done.exit_code == 2 and f"wrong.s:{line}:" in done.output


def test_a_shorter_window_reaches_less_far():
    def reach(*options: str) -> int:
        (kernel,) = read_json("explain flashback", explain("--flashback", "size", "--json", *options).output)["kernels"]
        return max(fact["pc"] - fact["flashback"] for fact in kernel["instructions"])

    assert reach("--window", "0") == 0 < reach("--window", "4") <= 4 < reach()


def test_mistakes_are_told_in_one_line():
    for options in (("--flashback", "speed"), ("--flashback", "size", "--window", "-1")):
        done = explain(*options)
        assert done.exit_code == 2 and "Traceback" not in done.output
