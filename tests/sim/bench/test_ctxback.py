"""``caesura bench ctxback``: both instruction sets, tables, picture, and what it refuses."""

import json

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.geometry import PRESETS
from caesura.sim.bench import ctxback
from support.selection import quick

PAGES = "# CTXBack\n{}\n{}\nrest\n"


def bench(*options):
    return CliRunner().invoke(main, ["bench", "ctxback", *map(str, options)])


@pytest.mark.parametrize("isa, kernel", quick([("gfx906", "relu"), ("caesura", "vecadd")], [("caesura", "vecadd")]))
def test_tables_and_picture(isa, kernel, tmp_path):
    page, picture, data = tmp_path / "page.md", tmp_path / "picture.svg", tmp_path / "data.json"
    page.write_text(PAGES.format(*ctxback.marks(isa)))
    done = bench("--isa", isa, "--kernel", kernel, "--markdown", page, "--picture", picture, "--json", data)
    assert done.exit_code == 0, done.output
    result = json.loads(data.read_text())
    assert (result["isa"], result["preset"]) == (isa, None if isa == "gfx906" else "gtx480")
    for row in result["rows"]:
        assert row["kernel"] == kernel and row["occupied"] >= row["live"] >= row["flashback"] >= 0
        assert row["checkpoint"] <= row["live"] and row["combined"] <= row["live"]
    text = page.read_text()
    assert text.count(f"| {kernel} |") == 2 and "*by loops*" in text and text.endswith("rest\n")
    assert "<svg" in picture.read_text()


def test_a_page_that_is_not_there_is_created(tmp_path):
    page = tmp_path / "new.md"
    for _ in range(2):  # and goes on from then on
        done = bench("--isa", "gfx906", "--kernel", "relu", "--markdown", page)
        assert done.exit_code == 0, done.output
        begin, end = ctxback.marks("gfx906")
        text = page.read_text()
        assert text.startswith(begin) and text.rstrip().endswith(end) and text.count("| relu |") == 2


def test_mean_by_loops_counts_instructions_in_loops_ten_times():
    (row,) = [row for row in ctxback.run(PRESETS["gtx480"], ["matmul"])["rows"] if row["objective"] == "size"]
    found = ctxback.flashback(ctxback.programs("caesura", PRESETS["gtx480"])["matmul"](), ctxback.Objective.SIZE)
    weights = [10 ** fact.depth for fact in found.instructions]
    live = sum(weight * fact.live_bytes for weight, fact in zip(weights, found.instructions, strict=True))
    assert max(weights) >= 10 and row["in_loops"]["live"] == pytest.approx(live / sum(weights))


def test_flashback_over_the_least_is_told_by_normalised_sizes_and_by_bytes():
    """The measures differ where two kernels have unlike sizes; the paper takes the first (CTXBack V-A)."""
    result = ctxback.run(PRESETS["gtx480"], ["relu", "dot"], isa="gfx906")
    for objective in ctxback.Objective:
        rows = [row for row in result["rows"] if row["objective"] == objective.value]
        mine, least = ([row[column] for row in rows] for column in ("flashback", "checkpoint"))
        occupied = [row["occupied"] for row in rows]
        shares = [sum(size / whole for size, whole in zip(sizes, occupied, strict=True)) for sizes in (mine, least)]
        assert result["over_least"][objective.value] == pytest.approx(shares[0] / shares[1])
        assert result["over_least_bytes"][objective.value] == pytest.approx(sum(mine) / sum(least))
        assert result["over_least"][objective.value] != pytest.approx(sum(mine) / sum(least), abs=1e-3)
    text = ctxback.markdown(result)
    assert f"latency {result['over_least']['latency']:.3f}; CTXBack 1.09 by latency. Sums of bytes" in text


def test_what_cannot_be_is_told_in_one_line(tmp_path):
    done = bench("--isa", "gfx906", "--kernel", "hotspot")
    assert done.exit_code != 0 and "there is no gfx906 version of hotspot" in f"{done.output}{done.exception}"
    page = tmp_path / "page.md"
    page.write_text("nothing")
    done = bench("--kernel", "vecadd", "--markdown", page)
    assert done.exit_code != 0 and "must have one line" in f"{done.output}{done.exception}"
