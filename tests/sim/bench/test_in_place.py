"""``caesura bench in-place``: its figures are those of single preempts; what is wrong is said."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.errors import InputError
from caesura.hw.arch.geometry import SEGMENT_BYTES, preset
from caesura.sim import open_device
from caesura.sim.bench import in_place, resumable
from caesura.sim.bench.in_place import CHOSEN, DRAWN, PAIRS, Task, check, drawn, measure, run, summary
from caesura.sim.report import in_place as report
from caesura.sim.scenario import CompiledJob, shipped_work, start_job
from caesura.sim.trace.changes import EVENT, EventKind
from caesura.sim.workloads.newcomer import first_start
from caesura.software.kernels import KERNELS, collatz_job, hostile
from support.sim import tiny_run
from support.sim.tiny_run import TINY


def work():
    """Four thread blocks of two warps, of which two are resident at a time."""
    return CompiledJob(tiny_run.work().image, collatz_job(60, 9, seed=1, threads=16))


NEWCOMERS = {"small": work, "hostile": lambda: CompiledJob(*hostile(TINY.replace(tb_slots=1)))}
"""Another launch of the same kernel, for which there is room beside what stays; a thread block that needs it all."""
TABLE = [
    "layerforward", "adjust_weight", "bfs", "bfs_advance", "find_range_k", "find_k", "initialize_variable",
    "compute_step_factor", "compute_flux", "copy_src_to_components", "fdwt53", "heartwall", "hotspot", "histogram1024",
    "invert_mapping", "gicov", "lud_diagonal", "lud_perimeter", "lud_internal", "reduce", "srad", "pathfinder",
    "compute_cost"]
"""In the order of Lin et al.'s Table II."""


@pytest.fixture(scope="module")
def rows():
    """Rows of the benchmark on the smallest SM, by newcomer."""
    return {name: {"kernel": f"collatz-{name}"} | measure(Task(TINY, work(), ("collatz", name), newcomer()))[0]
            for name, newcomer in NEWCOMERS.items()}


def single(newcomer, at, patience, in_place):
    """Report of a preempt on a machine of its own, and how many thread blocks' registers stayed."""
    with open_device("rtl", TINY) as device:
        kernel, other = (device.load([each.image])[each.image.name] for each in (work(), newcomer))
        for value in newcomer.job.arguments.values():  # as in the benchmark, which has them on the device already
            _ = device.array(value) if isinstance(value, np.ndarray) else None
        launch, _ = start_job(device, kernel, work().job)
        device.advance(at)
        coming, _ = start_job(device, other, newcomer.job)
        found = device.preempt(launch, "live+cp", patience=patience, newcomer=coming if in_place else None)
        return found, device.read(f"kernel[{launch.slot}].registers_stay").bit_count()


@pytest.mark.parametrize("name", NEWCOMERS)
def test_figures_are_those_of_single_preempts(rows, name):
    row = rows[name]
    assert row["correct"] and {"1/4", "1/2"} <= row["moments"].keys()
    each = row["moments"]["1/2"]
    for how, patience in (("", "unlimited"), ("own_", None)):
        for variant in ("complete", "in_place"):
            figures = each[f"{how}{variant}"]
            found, stay = single(NEWCOMERS[name](), each["at"], patience, variant == "in_place")
            assert (figures["tbs"], figures["registers_stay"]) == (found.tbs, stay)
            assert figures["bytes"] == found.saved_bytes
            assert abs(figures["saves"] - found.save_cycles) <= 5
            assert figures["first"] is None or 0 < figures["first"] <= figures["saves"] + 100
            assert how or figures["saves"] < figures["newcomer"] < figures["total"]


def test_what_a_newcomer_does_not_need_stays(rows):
    """Of the hostile one nothing can; of another launch of the same kernel everything, and less is written."""
    for each in rows["hostile"]["moments"].values():
        ours, theirs = each["in_place"], each["complete"]
        assert ours["registers_stay"] == 0 and ours["registers"] == theirs["registers"] > 0
    for each in rows["small"]["moments"].values():
        ours, theirs = each["in_place"], each["complete"]
        assert ours["registers_stay"] == ours["tbs"] == theirs["tbs"] and not ours["registers"] and theirs["registers"]
        assert ours["bytes"] < theirs["bytes"] and not ours["evicted_tbs"]
        assert ours["restored_bytes"] < theirs["restored_bytes"]


def test_means_over_pairs():
    def moment(ours, theirs, first=10):
        figures = {key: 1 for key in ("bytes", "newcomer", "restores", "total")}
        sides = {"in_place": ours, "complete": theirs}
        return {f"{how}{side}": figures | {"saves": saves, "first": first}
                for how in ("", "own_") for side, saves in sides.items()}

    pairs = [*("-".join(pair) for pair in (DRAWN[0], CHOSEN[0])), "a-b"]
    rows = [{"kernel": pairs[0], "moments": {"1/4": moment(50, 100), "1/2": moment(100, 100)}},
            {"kernel": pairs[1], "moments": {"1/4": moment(30, 60, None)}}, {"kernel": pairs[2], "moments": {}}]
    found = summary(rows)
    assert found["drawn"]["pairs"] == 1 and found["drawn"]["saves"] == found["drawn"]["own_saves"] == 0.75
    assert found["chosen"]["saves"] == 0.5 and found["chosen"]["first"] is None
    assert found["all"]["pairs"] == 2 and found["all"]["saves"] == 0.625 and found["all"]["first"] == 1
    assert summary([]) == {}


def test_the_first_start_is_of_a_thread_block_that_came_after_the_request():
    def event(cycle, kind, value=0, slot=0, kernel=0):
        return (cycle, value, 0, kind, slot, kernel, 0, 0, (0, 0, 0))

    events = [event(1, EventKind.INIT, slot=2, kernel=1), event(3, EventKind.ACTIVE, 0b100),
              event(5, EventKind.PREEMPT), event(6, EventKind.INIT, slot=0), event(7, EventKind.ACTIVE, 0b101),
              event(8, EventKind.INIT, slot=1, kernel=1), event(9, EventKind.ACTIVE, 0b100)]
    assert first_start(np.array(events, EVENT), 1) == (5, None)
    events += [event(12, EventKind.ACTIVE, 0b110), event(13, EventKind.ACTIVE, 0b010)]
    assert first_start(np.array(events, EVENT), 1) == (5, 12)


def test_pairs_are_those_of_the_rule():
    """Drawn: as the paper. Chosen: by what the SM is full of, with thread blocks of a kernel that has enough."""
    g = preset("gtx480")
    assert sorted(TABLE) == sorted(name for name, kernel in KERNELS.items() if "Lin et al. Table II" in kernel.source)
    assert len(DRAWN) == 8 and DRAWN == tuple(drawn(8)) and len({*sum(DRAWN, ())}) == 16
    full, needs = {}, {}
    for name in TABLE:
        shipped = shipped_work(name, g)
        threads, tbs = math.prod(shipped.job.block), math.prod(shipped.job.grid)
        warps = -(-threads // g.warp_size)
        rows = -(-warps * shipped.image.registers // 4)
        lines = -(-(shipped.image.shared_bytes + shipped.job.shared_bytes) // SEGMENT_BYTES)
        fit = {"warps": g.warps // warps, "tb_slots": g.tb_slots, "registers": g.register_rows // rows,
               "shared": g.shared_lines // lines if lines else g.tb_slots + 1}
        least = min(fit.values())
        limits = [what for what, count in fit.items() if count == least]
        if len(limits) == 1 and tbs > least:
            full.setdefault(limits[0], name)
        needs[name] = Fraction(least * rows, g.register_rows) + Fraction(least * lines, g.shared_lines)
    extremes = [choose(needs, key=needs.__getitem__) for choose in (min, max)]
    firsts = [full[what] for what in ("warps", "tb_slots", "registers", "shared")]
    assert CHOSEN == (("find_range_k", "histogram1024"), *((a, b) for a in firsts for b in extremes))


@pytest.mark.parametrize("whose", ["_wrong", "_other_wrong"])
def test_a_wrong_result_is_told(monkeypatch, whose):
    monkeypatch.setattr(in_place.PairCampaign, whose, lambda self: 3)
    monkeypatch.setattr(in_place, "MOMENTS", {"1/2": 0.5})
    (row,) = measure(Task(TINY, work(), ("collatz", "collatz"), work()))
    result = {"runs": [{"kernel": "a-b"} | row], "summary": {}, "paper": 0.785}
    assert not row["correct"] and "WRONG" in str(report.tables(result))


def test_what_cannot_be_measured_is_refused():
    strict = TINY.replace(name="strict", in_place=False)
    for refused in (check, run):
        with pytest.raises(InputError, match="'strict' keeps nothing in place"):
            refused(strict)
    with pytest.raises(InputError, match="jobs must be 1 or more"):
        run(TINY, jobs=0)


def test_options_are_refused_in_one_line():
    for arguments, message in (
            (["--preset", "gtx980"], "'gtx980' keeps nothing in place"),
            (["--preset", "tiny", "--pair", "bfs-vecadd"], "do not fit tiny"),
            (["--pair", "hotspot"], "'hotspot': two kernels are wanted, like hotspot-bfs"),
            (["--pair", "hotspot-hotspit"], "there is no 'hotspit'"), (["--resume"], "--resume needs --json FILE")):
        done = CliRunner().invoke(main, ["bench", "in-place", *arguments])
        assert done.exit_code == 2 and message in done.output and len(done.output.splitlines()) == 1, done.output


def test_command_writes_and_goes_on(monkeypatch, tmp_path, rows):
    asked = []

    def small(g, size, pairs, jobs, progress, *, json_file, resume):
        asked.append((g.name, size, pairs, jobs, resume and resume["size"]))
        measured = [*rows.values()]
        return {"preset": g.name, "geometry": None, "size": size, "mechanism": "live+cp", "paper": report.PAPER,
                "summary": summary(measured), "met": True, "runs": measured}

    monkeypatch.setattr(in_place, "run", small)
    target, page = tmp_path / "i.json", tmp_path / "i.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    arguments = ["bench", "in-place", "--preset", "gtx480", "--pair", "vecadd-saxpy", "--json", str(target),
                 "--markdown", str(page)]
    for more in ([], ["--resume"]):
        done = CliRunner().invoke(main, [*arguments, *more])
        assert done.exit_code == 0, done.output
    assert asked == [("gtx480", "small", (("vecadd", "saxpy"),), 1, None),
                     ("gtx480", "small", (("vecadd", "saxpy"),), 1, "small")]
    assert json.loads(target.read_text())["runs"][0]["kernel"] == "collatz-small"
    text = page.read_text()
    assert "collatz-hostile" in text and "0.785" in text and "old" not in text and text.endswith("after\n")


def test_pairs_go_on_in_their_order(monkeypatch, tmp_path):
    """What is measured already is kept; a pair is measured anew when either kernel has changed."""
    done = []
    monkeypatch.setattr(resumable, "library", lambda g: None)
    monkeypatch.setattr(in_place, "measure", lambda task, progress: done.append(task.pair) or [
        {"cycles": 1, "correct": True, "moments": {}}])
    path, wanted = tmp_path / "i.json", [("saxpy", "vecadd"), ("vecadd", "saxpy"), ("saxpy", "vecadd")]
    first = run(preset("gtx480"), pairs=wanted[:1], json_file=path)
    second = run(preset("gtx480"), pairs=wanted, json_file=path, resume=in_place.read_result(path))
    assert done == wanted[:2] and [row["kernel"] for row in second["runs"]] == ["saxpy-vecadd", "vecadd-saxpy"]
    assert first["met"] and second["met"] and first["runs"][0]["code"] != second["runs"][1]["code"]
    assert len(PAIRS) == len({*PAIRS}) == 17
