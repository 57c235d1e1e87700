"""``caesura explain --flashback``: the same facts as text and as data, and mistakes in one line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from caesura.software.cli import main

WINDOW_SUM = str(Path(__file__).parents[2] / "examples/window_sum.ptx")


def explain(*options: str):
    return CliRunner().invoke(main, ["explain", WINDOW_SUM, *options])


@pytest.mark.parametrize("objective", ["size", "latency"])
def test_each_instruction_is_told_as_text_and_as_data(objective):
    done = explain("--flashback", objective, "--json")
    assert done.exit_code == 0, done.output
    (kernel,) = json.loads(done.output)["kernels"]
    facts, means = kernel["instructions"], kernel["mean_bytes"]
    assert (kernel["name"], kernel["objective"], kernel["window"]) == ("window_sum", objective, 64)
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


def test_a_shorter_window_reaches_less_far():
    def reach(*options: str) -> int:
        (kernel,) = json.loads(explain("--flashback", "size", "--json", *options).output)["kernels"]
        return max(fact["pc"] - fact["flashback"] for fact in kernel["instructions"])

    assert reach("--window", "0") == 0 < reach("--window", "4") <= 4 < reach()


def test_mistakes_are_told_in_one_line():
    for options in (("--flashback", "speed"), ("--flashback", "size", "--window", "-1")):
        done = explain(*options)
        assert done.exit_code == 2 and "Traceback" not in done.output
