"""``caesura bench contexts``: its figures are those of single stops counted by hand; one failure loses nothing else."""

import dataclasses
import functools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.words import decode
from caesura.sim.bench import contexts
from caesura.sim.bench.contexts import PAPER, averages, read_result, run
from caesura.sim.report.contexts import BEGIN, END, markdown, picture, print_report, update_markdown
from caesura.sim.report.markdown import split_markdown
from caesura.sim.scenario import CompiledJob, shipped_work
from caesura.software.compiler.codegen.disassemble import code_labels, instruction_text
from caesura.software.kernels import reduction_job
from support.hw.preempt.images import encode, following
from support.sim.tiny_launch import tiny_launch
from support.sim.tiny_run import TINY, work

SAMPLES = 8
DOCUMENT = Path(__file__).parents[3] / "docs" / "contexts.md"
KINDS = ("uniform", "strided", "low", "random")


def broken():
    """Return the small job with a result that cannot come out."""
    wrong = work()
    wrong.job.expected["steps"] += 1
    return wrong


def deadly():
    """Return the small job with a judge that ends its process."""
    last = work()
    end: Any = functools.partial(exec, "import os; os._exit(1)")
    return CompiledJob(last.image, dataclasses.replace(last.job, judge=end))


def sums():
    """Return block sums in shared memory, with barriers in a loop."""
    return CompiledJob(shipped_work("reduction", TINY, "tiny").image, reduction_job(3, 6, 1, threads=32))


def measured(*named, jobs=1, samples=SAMPLES, **options):
    works = [(name, made, TINY) for name, made in named or [("good", work())]]
    return run("tiny", "tiny", samples=samples, seed=3, jobs=jobs, works=works, **options)


@pytest.fixture(scope="module")
def result():
    return measured()


def kind_of(values, lanes, group):
    """Return the pattern of a register, looked at lane by lane."""
    values = [int(v) for v in values[:lanes]]
    steps = [{(b - a) % 2 ** 32 for a, b in zip(part, part[1:], strict=False)}
             for part in (values[k:k + group] for k in range(0, lanes, group))]
    if all(found <= {0} for found in steps):
        return "uniform"
    return "strided" if all(len(found) <= 1 for found in steps) else "random"


WORDS = {"uniform": 1, "strided": 2, "random": TINY.warp_size}


def steps_of(values, launched, live):
    """Return the class of a register of `tiny` and its words by each step; looked at lane by lane.

    A warp is one group of lanes; those that have not exited are its first ones.
    """
    assert live & live + 1 == 0
    counted = [int(v) for k, v in enumerate(values) if live >> k & 1]
    paper, kind = (kind_of(values, lanes.bit_count(), TINY.warp_size) for lanes in (launched, live))
    low = 1 + -(-max((v ^ counted[0]).bit_length() for v in counted) // 4)
    of_steps = {"paper": WORDS[paper], "lanes": WORDS[kind], "widths": WORDS[kind], "low_bits": min(WORDS[kind], low)}
    return "low" if kind != "uniform" and low <= min(WORDS[kind], TINY.warp_size - 1) else kind, of_steps


@pytest.mark.full
def test_a_row_is_what_single_stops_hold(result):
    shown = set()
    for here, row in ((work(), result["runs"][0]), (sums(), measured(("sums", sums()))["runs"][0])):
        live, uniforms, kinds, warps = 0, 0, Counter(), 0
        other = {step: [] for step in contexts.STEPS}
        histories: dict[tuple[int, int], dict[int, list]] = {}
        for at in row["moments"]:
            device, launch = tiny_launch(here, at, "golden")
            assert device.preempt(launch, Mechanism.LIVE, patience="unlimited")
            for block, warp in ((tb, warp) for tb in device.context(launch) for warp in tb.warps):
                warps += 1
                uniforms += len(warp.uniforms)
                of_tb = histories.setdefault((at, block.launch_id), {})
                for register, values in warp.registers.items():
                    own = encode(TINY, values.tolist(), warp.live_lanes)
                    other["follows"].append(4 * len(following(TINY, own, of_tb.setdefault(register, []))[1]))
                for values in warp.registers.values():
                    kind, words = steps_of(values, warp.launched_lanes, warp.live_lanes)
                    kinds[kind] += 1
                    live += TINY.vector_bytes
                    for step, count in words.items():
                        other[step].append(4 * count)
        assert len(row["moments"]) == row["samples"] == SAMPLES and row["warps"] == warps > SAMPLES
        size = row["bytes"]
        assert size["occupied"] == here.image.registers * TINY.vector_bytes == row["registers"] * TINY.vector_bytes
        assert size["live"] == pytest.approx(live / warps)
        assert size["compressed"] == pytest.approx(sum(other["low_bits"]) / warps)
        assert size["followed"] == pytest.approx(sum(other["follows"]) / warps)
        assert 0 < size["followed_metadata"] <= size["metadata"]
        named = {name for word in here.image.code for name in re.findall(r"\bU\d+", instruction_text(
            decode(word), code_labels(here.image), here.image.registers)) if not decode(word).op.name.startswith("pp")}
        assert row["as_vectors"] == pytest.approx({
            "occupied": size["occupied"] + len(named) * TINY.vector_bytes,
            "live": size["live"] + uniforms / warps * TINY.vector_bytes,
            "compressed": size["compressed"] + uniforms / warps * 4})
        assert named and uniforms
        assert row["classes"] == pytest.approx({kind: kinds[kind] / sum(kinds.values()) for kind in KINDS})
        assert size["metadata"] > 0 and 0 < row["standard_error"] < 0.2
        assert row["encodings"] == pytest.approx({step: sum(each) / warps for step, each in other.items()})
        shown |= {kind for kind in KINDS if kinds[kind]}
    assert shown == set(KINDS), "the jobs show every class"
    steps = result["runs"][0]["encodings"]
    assert steps["paper"] > steps["lanes"] > steps["low_bits"], "lanes have exited"


@pytest.mark.full
def test_moments_depend_on_the_seed_and_the_kernel(result):
    other, = run("tiny", "tiny", samples=SAMPLES, seed=4, works=[("good", work(), TINY)])["runs"]
    named, = measured(("other", work()))["runs"]
    assert len({tuple(row["moments"]) for row in (*result["runs"], other, named)}) == 3
    assert measured() == result


def test_averages_are_over_kernels():
    def row(occupied, live, compressed, classes):
        return {"bytes": {"occupied": occupied, "live": live, "compressed": compressed, "metadata": 1,
                          "followed": compressed / 2, "followed_metadata": 0.5},
                "as_vectors": {"occupied": 2 * occupied, "live": live, "compressed": 2 * compressed},
                "encodings": dict(zip(contexts.STEPS, (2 * compressed, compressed, compressed / 2, 0, 0), strict=True)),
                "classes": classes and dict(zip(KINDS, classes, strict=True))}

    mean = averages([row(100, 50, 10, (1, 0, 0, 0)), row(1000, 200, 40, (0.5, 0.25, 0.05, 0.2)), row(10, 5, 5, None),
                     {"error": "x"}, {"bytes": None}])
    assert mean is not None
    assert mean.pop("saved_by_encodings") == pytest.approx({
        "paper": 1 - 1.28 / 3, "lanes": 1 - 0.64 / 3, "widths": 1 - 0.32 / 3, "low_bits": 1, "follows": 1})
    assert mean == pytest.approx({
        "kernels": 3, "saved_by_liveness": 0.6, "saved_by_both": 1 - 0.64 / 3, "uniform": 0.75, "strided": 0.125,
        "low": 0.025, "random": 0.1, "saved_by_liveness_geometric": 1 - 0.05 ** (1 / 3),
        "saved_by_both_geometric": 1 - 0.002 ** (1 / 3), "saved_with_metadata": 1 - 0.751 / 3,
        "saved_with_metadata_geometric": 1 - (0.11 * 0.041 * 0.6) ** (1 / 3),
        "saved_by_tb": 1 - 0.32 / 3, "saved_by_tb_with_metadata": 1 - 0.3755 / 3,
        "saved_by_tb_geometric": 1 - 0.00025 ** (1 / 3),
        "saved_by_tb_with_metadata_geometric": 1 - (0.055 * 0.0205 * 0.3) ** (1 / 3),
        "saved_by_liveness_as_vectors": 0.8, "saved_by_both_as_vectors": 1 - 0.64 / 3})
    assert averages([{"error": "x"}]) is None
    assert averages([row(8, 0, 0, None)]) == {
        "kernels": 1, "saved_by_liveness": 1, "saved_by_both": 1, "saved_by_liveness_geometric": 1,
        "saved_by_both_geometric": 1, "saved_with_metadata": 0.875, "saved_with_metadata_geometric": 0.875,
        "saved_by_tb": 1, "saved_by_tb_geometric": 1, "saved_by_tb_with_metadata": 0.9375,
        "saved_by_tb_with_metadata_geometric": 0.9375, "saved_by_liveness_as_vectors": 1, "saved_by_both_as_vectors": 1,
        "saved_by_encodings": dict.fromkeys(contexts.STEPS, 1)}


@pytest.fixture(scope="module")
def both():
    """What one process measures where a kernel fails and another does not."""
    return measured(("bad", broken()), ("good", work()))


def test_a_failure_loses_no_other_kernel(result, both, capsys):
    bad, good = both["runs"]
    assert bad == {"kernel": "bad", "error": "AssertionError: collatz without any preemption: steps wrong"}
    assert [good] == result["runs"] and result["met"] and not both["met"]
    print_report(both)
    printed = capsys.readouterr().out
    assert "bad: AssertionError" in printed and "NOT every kernel" in printed


@pytest.mark.full
def test_processes_measure_the_same(both):
    assert measured(("bad", broken()), ("good", work()), jobs=2) == both


@pytest.mark.full
def test_a_process_that_dies_is_a_failure_and_the_rest_can_go_on(tmp_path):
    path = tmp_path / "c.json"
    first = measured(("dead", deadly()), ("good", work()), jobs=2, json_file=path)
    assert "error" in first["runs"][0] and not first["met"] and read_result(path) == first
    again = measured(("dead", work()), ("good", work()), json_file=path, resume=read_result(path))
    assert again["met"] and again == read_result(path)


@pytest.mark.full
def test_a_run_goes_on_where_it_stopped(result, tmp_path, monkeypatch):
    path = tmp_path / "c.json"
    once = contexts.measure

    def interrupted(task, progress):
        if task.name == "second":
            raise KeyboardInterrupt
        return once(task, progress)

    monkeypatch.setattr(contexts, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        measured(("good", work()), ("second", work()), json_file=path)
    partial = read_result(path)
    assert partial and partial["runs"] == result["runs"] and not partial["met"]
    monkeypatch.setattr(contexts, "measure", once)

    stopped = []
    monkeypatch.setattr(contexts, "_Stops", lambda *a, kind=contexts._Stops: stopped.append(a) or kind(*a))
    whole = measured(("good", work()), ("second", work()), json_file=path, resume=partial)
    assert len(stopped) == 1 and whole["met"] and whole == measured(("good", work()), ("second", work()))
    assert [p.name for p in tmp_path.iterdir()] == ["c.json"]
    stopped.clear()
    measured(("good", work(points=False)), resume=whole)
    assert len(stopped) == 1, "other code is measured anew"
    with pytest.raises(ValueError, match="samples 8, not 9"):
        measured(samples=9, resume=whole)


def test_a_kernel_without_points_has_no_context(capsys):
    plain = measured(("plain", work(points=False)), samples=2)
    row, = plain["runs"]
    assert row["drawn"] == 2 * contexts.ROUNDS and row["samples"] == 0 and row["bytes"] is None and plain["met"]
    print_report(plain)
    assert "plain: ends before a preemption point" in capsys.readouterr().out


@pytest.mark.parametrize("options", [{"samples": 0}, {"jobs": 0}])
def test_numbers_that_cannot_be(options):
    with pytest.raises(ValueError, match="samples and jobs must be 1 or more"):
        run("tiny", **options)


def test_the_paper_stands_beside(result, tmp_path):
    row = result["runs"][0] | {"kernel": PAPER["kernel"]}
    text = markdown(result | {"runs": [row], "mean_of_table_ii": result["mean"]})
    assert ("| Lin et al. | BP_1 | - | 1,664 | 656 | 64 | - | 60.6 % | 96.2 % | - | - | - | - | 47.4 % | 52.6 % | - "
            "| 0.0 % |" in text)
    assert "| Lin et al. | 23 | 34.3 % | 91.5 % |" in text and "| all measured | 1 |" in text
    path = tmp_path / "x.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    update_markdown(path, result)
    update_markdown(path, result)
    assert path.read_text() == f"before\n{BEGIN}\n\n{markdown(result)}\n{END}\nafter\n"


def test_the_document_has_the_marks():
    head, tail = split_markdown(DOCUMENT, BEGIN, END)
    assert head.startswith("# Register contexts") and "34.3 %" in DOCUMENT.read_text()


@pytest.mark.full
def test_a_picture_shows_kernels_and_the_paper(result, tmp_path):
    path = tmp_path / "c.svg"
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        picture(result | {"runs": [*result["runs"], {"kernel": "bad", "error": "x"}]}, path)
    text = path.read_text()
    assert all(word in text for word in (">good<", ">live+cp<", "65.7%", "8.5%", *(f">{kind}<" for kind in KINDS)))
    assert ">bad<" not in text


@pytest.mark.full
def test_the_command_measures_writes_and_goes_on(tmp_path):
    path, document = tmp_path / "c.json", tmp_path / "x.md"
    document.write_text(f"{BEGIN}{END}")
    arguments = ["bench", "contexts", "--kernel", PAPER["kernel"], "--size", "tiny", "--samples", "3",
                 "--json", str(path)]
    done = CliRunner().invoke(main, [*arguments, "--picture", str(tmp_path / "c.png"), "--markdown", str(document)])
    assert done.exit_code == 0, done.output
    result = json.loads(path.read_text())
    row, = result["runs"]
    assert row["samples"] == 3 and row["classes"]["random"] == 0 and result["mean"] == result["mean_of_table_ii"]
    assert sum(row["classes"].values()) == pytest.approx(1)
    assert "BP_1" in done.output and "BP_1" in document.read_text() and (tmp_path / "c.png").stat().st_size > 5000
    more = CliRunner().invoke(main, [*arguments, "--resume", "--kernel", "relu"])
    assert more.exit_code == 0 and row in json.loads(path.read_text())["runs"]
    assert np.isclose(json.loads(path.read_text())["mean"]["kernels"], 2)
    other = CliRunner().invoke(main, [*arguments, "--resume", "--seed", "2"])
    assert other.exit_code == 2 and "seed 1, not 2" in other.output and "Traceback" not in other.output


def test_the_command_refuses_before_it_measures(tmp_path, monkeypatch):
    monkeypatch.setattr(contexts, "run", None)
    path = tmp_path / "x.json"
    for text in ("no JSON", "[]", "{}"):
        path.write_text(text)
        done = CliRunner().invoke(main, ["bench", "contexts", "--json", str(path), "--resume"])
        assert done.exit_code == 2 and "is not what `caesura bench contexts --json` writes" in done.output
    for arguments, words in ((["--resume"], "--resume needs --json"), (["--kernel", "nothing"], "nothing"),
                             (["--picture", str(tmp_path / "x.txt")], ".svg"), (["--samples", "0"], "samples"),
                             (["--markdown", str(path)], "x.json must have one line")):
        done = CliRunner().invoke(main, ["bench", "contexts", *arguments])
        assert done.exit_code == 2 and words in done.output and "Traceback" not in done.output
