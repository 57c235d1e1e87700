"""``caesura bench mechanisms``: its figures are those of single preemptions, and what is wrong or missed is said."""

import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.image.encodings import Encoding
from caesura.hw.arch.way import Way
from caesura.sim import open_device
from caesura.sim.bench import mechanisms
from caesura.sim.bench.mechanisms import PAPER, class_shares, run
from caesura.sim.report.markdown import split_markdown
from caesura.sim.report.mechanisms import BEGIN, END, markdown, picture, print_report, update_markdown
from caesura.sim.scenario import run_preemption
from caesura.sim.workloads.everywhere import Campaign
from caesura.software.kernels import KERNELS
from support.sim.tiny_run import TINY, neighbour, work

BOTH = (Mechanism.OCCUPIED, Mechanism.LIVE)
PREEMPTIONS = 4
TABLES = Path(__file__).parents[3] / "docs" / "mechanisms.md"


def measured(jobs=1, preemptions=PREEMPTIONS, **options):
    return run(TINY, mechanisms=BOTH, preemptions=preemptions, seed=3, jobs=jobs,
               works=[(work(), work(points=False))], **options)


@pytest.fixture(scope="module")
def result():
    return measured()


@pytest.fixture
def command(monkeypatch):
    """The command on the small job, and what it was asked for."""
    asked = []

    def small(g, size, kernels, chosen, preemptions, seed, jobs, progress, json_file, resume):
        asked.append((g.name, size, kernels, list(chosen), preemptions, seed, jobs))
        return run(TINY, mechanisms=chosen, preemptions=preemptions, works=[(work(), work(points=False))])

    monkeypatch.setattr(mechanisms, "run", small)
    return asked, lambda *arguments: CliRunner().invoke(main, ["bench", "mechanisms", *map(str, arguments)])


def test_a_fork_measures_what_a_run_of_its_own_does(result):
    assert [row["mechanism"] for row in result["runs"]] == ["occupied", "live"]
    for row, mechanism in zip(result["runs"], BOTH, strict=True):
        assert len(row["moments"]) == len(row["latencies"]) == row["preemptions"] == PREEMPTIONS
        for at, latency in list(zip(row["moments"], row["latencies"], strict=True))[::2]:
            way = Way(mechanism, "unlimited" if mechanism is Mechanism.LIVE else None)
            single = run_preemption(open_device("rtl", TINY), work(), neighbour(), at, way, max_cycles=100_000)
            assert single.correct and single.preempt and single.preempt.save_cycles == latency


@pytest.mark.full
def test_a_row_is_the_mean_of_its_preemptions(result):
    row = measured(preemptions=1)["runs"][1]
    single = run_preemption(open_device("rtl", TINY), work(), neighbour(), row["moments"][0],
                            Way(patience="unlimited"))
    saved, resumed, limit = single.preempt, single.resume, single.save_limit
    assert saved and resumed and limit and saved.warps
    warps = [warp for tb in single.saved_tbs for warp in tb.warps]
    assert row["bytes"] == {
        "warp_occupied": work().image.registers * TINY.vector_bytes,
        "warp_live": single.live_bytes / saved.warps, "warp_written": saved.data_bytes / saved.warps,
        "warp_metadata": sum(warp.metadata_bytes for warp in warps) / saved.warps,
        "sm_occupied": saved.occupied_bytes, "sm_live": single.live_bytes, "sm_written": saved.data_bytes,
        "sm_metadata": saved.metadata_bytes, "tbs": saved.tbs, "warps": saved.warps}
    assert row["latency"] == dict.fromkeys(("median", "p99", "max"), saved.save_cycles)
    assert row["drain"]["median"] == saved.drain_cycles
    assert row["save"] == {"median": limit.cycles, "bus_median": limit.bus_cycles, "limit_median": limit.limit,
                           "worst_share": limit.cycles / limit.limit, "met": limit.met}
    assert row["restore"]["median"] == resumed.restore_cycles
    whole, live = result["runs"]
    assert live["bytes"]["warp_written"] < whole["bytes"]["warp_written"] == whole["bytes"]["warp_occupied"]


def test_averages_and_spreads_are_of_the_values_listed(result):
    for row in result["runs"]:
        ordered = sorted(row["latencies"])
        assert row["latency"] == {"median": sum(ordered[1:3]) / 2, "p99": ordered[-1], "max": ordered[-1]}
        share = 1 - row["bytes"]["warp_written"] / row["bytes"]["warp_occupied"]
        assert result["saved_share"][row["mechanism"]] == pytest.approx(share)


def test_overhead_compares_with_a_kernel_without_points(result):
    row, = result["overhead"]
    assert row["cycles"] != row["cycles_without"] > 1000 and row["correct"]
    assert row["percent"] == pytest.approx(100 * (row["cycles"] / row["cycles_without"] - 1))
    assert row["met"] == (row["percent"] <= 0.5)


@pytest.mark.full
def test_processes_measure_the_same(result):
    assert measured(jobs=2) == result


def failing(mechanism):
    """Return what `measure` is, but that it fails for one mechanism."""
    once = mechanisms.measure

    def measure(task, progress):
        if task.mechanism is mechanism:
            raise ValueError("no luck\nat all")
        return once(task, progress)

    return measure


@pytest.mark.full
def test_a_failure_loses_nothing_else(result, monkeypatch, capsys):
    monkeypatch.setattr(mechanisms, "measure", failing(Mechanism.OCCUPIED))
    found = measured()
    assert found["runs"][0] == {"kernel": "collatz", "mechanism": "occupied", "error": "ValueError: no luck"}
    assert found["runs"][1:] == result["runs"][1:] and found["overhead"] == result["overhead"] and not found["met"]
    print_report(found)
    printed = capsys.readouterr().out
    assert "collatz, occupied: ValueError: no luck" in printed and "NOT everything" in printed
    assert "- collatz, occupied: ValueError: no luck\n" in markdown(found)


@pytest.mark.full
def test_a_run_goes_on_where_it_stopped(result, monkeypatch, tmp_path):
    path = tmp_path / "m.json"
    with monkeypatch.context() as patch:
        patch.setattr(mechanisms, "measure", failing(Mechanism.LIVE))
        measured(json_file=path)
    partial = mechanisms.read_result(path)
    assert partial and not partial["met"] and partial["runs"][0] == result["runs"][0]
    done = []
    once = mechanisms._perform
    monkeypatch.setattr(mechanisms, "_perform", lambda task, progress: done.append(task[0].key) or once(task, progress))
    assert measured(json_file=path, resume=partial) == result == mechanisms.read_result(path)
    assert done == [("collatz", "live")] and [p.name for p in tmp_path.iterdir()] == ["m.json"]
    with pytest.raises(ValueError, match="preemptions 4, not 5"):
        measured(preemptions=5, resume=result)
    done.clear()
    other = run(TINY, mechanisms=BOTH, preemptions=PREEMPTIONS, seed=3, resume=result,
                works=[(work(points=False), work(points=False))])
    assert len(done) == 3 and other["runs"][1]["code"] != result["runs"][1]["code"], "other code is measured anew"


def test_only_its_own_file_is_gone_on_from(command, tmp_path):
    _, invoke = command
    path = tmp_path / "m.json"
    for text in ("no JSON", "{}"):
        path.write_text(text)
        done = invoke("--json", path, "--resume")
        assert done.exit_code == 2 and "is not what `caesura bench mechanisms --json` writes" in done.output
    done = invoke("--resume")
    assert done.exit_code == 2 and "--resume needs --json FILE" in done.output


def test_works_can_go_to_another_process():
    image = work().image
    assert pickle.loads(pickle.dumps(image)) == image
    for k in KERNELS.values():
        job = k.job("tiny")
        there = pickle.loads(pickle.dumps(job))
        arrays = {name: value for name, value in job.arguments.items() if isinstance(value, np.ndarray)} | job.expected
        assert (there.judge is None) == (job.judge is None)
        assert job.judge is None or there.judge(arrays) == job.judge(arrays)


def test_shares_of_classes_are_of_allocated_registers():
    warps: list[Any] = [SimpleNamespace(encodings=dict(enumerate(codes))) for codes in (
        [Encoding.DEAD, Encoding.UNIFORM_8], [Encoding.STRIDED_16, Encoding.UNIFORM_32],
        [Encoding.RANDOM, Encoding.UNIFORM_16], [Encoding.LOW_4, Encoding.LOW_28], [Encoding.DEAD, Encoding.DEAD])]
    tbs: list[Any] = [SimpleNamespace(warps=warps[:1]), SimpleNamespace(warps=warps[1:])]
    shares = class_shares(tbs)
    assert shares == {"dead": 0.3, "uniform": 0.3, "random": 0.1, "strided": 0.1, "low": 0.2}


def test_classes_stand_next_to_the_papers_patterns(result):
    row = result["runs"][1] | {
        "kernel": PAPER["kernel"], "mechanism": "live+cp",
        "classes": {"dead": 0.5, "uniform": 0.25, "strided": 0.125, "low": 0.05, "random": 0.075}}
    text = markdown(result | {"runs": [row], "saved_share": {"live+cp": 0.75}})
    assert "| layerforward | 25.0 % | 12.5 % | 5.0 % | 7.5 % | 50.0 % | 50.0 % | 25.0 % | 10.0 % | 15.0 % |" in text
    assert "| BP of Lin et al. | - | - | - | - | - | 47.4 % | 52.6 % | - | 0.0 % |" in text
    assert "| live+cp | 75.0 % | 91.5 % |" in text


@pytest.mark.full
def test_wrong_memory_is_reported(monkeypatch, capsys):
    monkeypatch.setattr(Campaign, "_wrong", lambda self: 1)
    result = measured(preemptions=1)
    assert not result["correct"] and not result["met"]
    print_report(result)
    assert "WRONG" in capsys.readouterr().out


@pytest.mark.full
def test_a_kernel_that_is_wrong_by_itself_is_reported(monkeypatch):
    broken = work()
    broken.job.expected["steps"] += 1
    result = run(TINY, mechanisms=BOTH, preemptions=1, works=[(broken, broken)])
    assert not result["correct"] and not any(row["correct"] for row in (*result["runs"], *result["overhead"]))
    print_report(result)


@pytest.mark.full
def test_a_kernel_without_points_has_a_latency_and_nothing_to_save():
    plain = work(points=False)
    row, = run(TINY, mechanisms=[Mechanism.LIVE], preemptions=2, works=[(plain, plain)])["runs"]
    assert row["correct"] and row["saved"] == 0 and row["bytes"] is None and row["latency"]["median"] > 500
    assert row["drain"]["max"] <= row["latency"]["max"]


def test_tables_replace_what_is_between_the_marks(result, tmp_path):
    path = tmp_path / "x.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    update_markdown(path, result)
    once = path.read_text()
    update_markdown(path, result)
    assert path.read_text() == once and once.startswith(f"before\n{BEGIN}\n") and once.endswith(f"\n{END}\nafter\n")
    assert "old" not in once and "| collatz | live |" in once
    for text in ("none", BEGIN, f"{END}{BEGIN}", f"{BEGIN}{END}{END}", f"{BEGIN}{BEGIN}{END}"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"x\.md must have one line"):
            update_markdown(path, result)


def test_the_document_has_the_marks():
    head, _ = split_markdown(TABLES, BEGIN, END)
    assert head.startswith("# What a preemption costs")
    assert "| kernel | mechanism |" in TABLES.read_text()


def test_a_picture_shows_kernels_and_mechanisms(result, tmp_path):
    path = tmp_path / "m.svg"
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        picture(result, path)
    text = path.read_text()
    assert all(word in text for word in ("collatz", ">occupied<", ">live<", "bytes a warp", "latency"))
    picture(result, tmp_path / "m.png")
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_writes_everything(command, tmp_path):
    asked, invoke = command
    path = tmp_path / "x.md"
    path.write_text(f"{BEGIN}{END}")
    done = invoke("--kernel", "collatz", "--mechanism", "live", "--preemptions", 2, "--jobs", 2, "--preset", "ecp5",
                  "--json", tmp_path / "m.json", "--picture", tmp_path / "m.svg", "--markdown", path)
    result = json.loads((tmp_path / "m.json").read_text())
    assert done.exit_code == (0 if result["met"] else 1), done.output
    assert asked == [("ecp5", "small", ("collatz",), [Mechanism.LIVE], 2, 1, 2)]
    assert [row["preemptions"] for row in result["runs"]] == [2] and "latency" in done.output
    assert (tmp_path / "m.svg").exists() and "collatz" in path.read_text()
    done = invoke("--mechanism", "live", "--preemptions", 1, "--json", "-")
    assert json.loads(done.stdout)["runs"][0]["mechanism"] == "live"


def test_the_command_refuses_before_it_measures(command, tmp_path):
    asked, invoke = command
    path = tmp_path / "x.md"
    path.write_text("no marks")
    for arguments, words in ((("--picture", tmp_path / "m.txt"), ".svg"), (("--markdown", path), "x.md must have"),
                             (("--kernel", "nothing"), "nothing"), (("--mechanism", "magic"), "live"),
                             (("--preemptions", 0), "preemptions")):
        done = invoke(*arguments)
        assert done.exit_code == 2 and words in done.output and "Traceback" not in done.output
    assert not asked


def test_of_a_hundred_values_one_is_above_the_99th_percentile():
    assert mechanisms.spread(range(100, 0, -1)) == {"median": 50.5, "p99": 99, "max": 100}
    assert mechanisms.spread([]) is None
