"""`caesura run` and `caesura preempt`: the same options for a shipped kernel and for a file with a job."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.cli.preempt import preempt_command
from caesura.cli.run import run_command
from caesura.hw.arch.geometry import PRESETS
from caesura.sim import job as caesura_job
from caesura.software.kernels import KERNELS, kernel
from support.keys import read_json

ROOT = Path(__file__).resolve().parents[3]
VECADD = kernel("vecadd").ptx_path
WINDOW = ROOT / "examples" / "window_sum.ptx"
JOB = """grid = 4
block = 256
shared = 1088
backend = "golden"
[[argument]]
init = "arange"
dtype = "s32"
shape = 1016
[[argument]]
name = "sums"
init = "zeros"
dtype = "s32"
shape = 1000
expected = { init = "arange", start = 136, step = 17 }
output = true
[[argument]]
value = 1000
[[argument]]
value = 8
"""
NARROW = JOB.replace("256", "32").replace("1088", "192").replace("1016", "144").replace("1000", "128")
"""The same for blocks that fit `tiny`."""
GOLDEN = "--backend", "golden"
TWO = """.version 7.0
.target sm_75
.address_size 64
.visible .entry unsupported()
{
    .reg .b16 %h<3>;
    wgmma.fence.sync.aligned;
    ret;
}
.visible .entry unsupported_too()
{
    .reg .b16 %h<3>;
    wgmma.wait_group.sync.aligned 0;
    ret;
}
"""


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def data(*arguments, code=0):
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.output
    return read_json(arguments[0], result.stdout)


def refused(result, *words):
    assert result.exit_code == 2 and "Traceback" not in result.output, result.output
    for word in words:
        assert word in result.output, result.output


@pytest.fixture
def job(tmp_path):
    def write(text=JOB, name="my.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path
    return write


@pytest.fixture
def no_simulator(monkeypatch):
    """Nothing may ask for a machine."""
    def opened(*_, **__):
        raise AssertionError("a back end was opened")

    monkeypatch.setattr("caesura.sim.job.open_device", opened)
    monkeypatch.setattr("caesura.sim.rtl.transport.library", opened)


def test_both_commands_take_the_same_options():
    assert [p.name for p in run_command.params] == [p.name for p in preempt_command.params]
    assert {"at", "other", "mechanism", "gang", "scramble", "timeline", "vcd", "backend", "size", "seed",
            "geometry_path", "preset_name", "kernel", "job_path"} <= {p.name for p in run_command.params}


def test_a_shipped_kernel_runs_undisturbed_unless_told_otherwise():
    alone = data("run", "reduction", *GOLDEN, "--size", "tiny")
    assert alone["correct"] and not alone["preemptions"] and alone["cycles"] == alone["run_cycles"]
    several = data("run", "reduction", *GOLDEN, "--size", "tiny", "--at", "90", "--at", "30", "--at", "60",
                   "--with", "vecadd", "--mechanism", "occupied", "--scramble")
    rows = several["preemptions"]
    assert [(p["at"], p["with"], p["mechanism"], p["scramble"], p["gang"]) for p in rows] == [
        (at, "vecadd", "occupied", True, False) for at in (30, 60, 90)]
    assert several["correct"] and several["instructions"] == alone["instructions"]
    assert data("preempt", "reduction", *GOLDEN, "--size", "tiny", "--at", "90", "--at", "30", "--at", "60", "--with",
                "vecadd", "--mechanism", "occupied", "--scramble")["preemptions"] == rows


def test_preempt_takes_the_middle_unless_told_otherwise(job):
    for what in (("reduction", "--size", "tiny"), (WINDOW, "--job", job())):
        alone = data("run", *what, *GOLDEN)
        (row,) = data("preempt", *what, *GOLDEN)["preemptions"]
        assert (row["at"], row["with"], row["mechanism"]) == (alone["run_cycles"] // 2, "hostile", "live")
        assert row["preempt"]["tbs"] > 0 and row["correct"]


def test_seed_and_size_choose_the_inputs():
    first, again, other = (data("run", "bfs", *GOLDEN, "--size", "tiny", "--seed", seed) for seed in (0, 0, 1))
    assert first == again and first["instructions"] != other["instructions"]
    assert data("run", "bfs", *GOLDEN, "--size", "tiny") == other


def test_options_go_before_the_keys_of_the_job_file(job):
    path = job(JOB + "[[preempt]]\nat = 400\nmechanism = 'occupied'\nwith = 'vecadd'\nsize = 'tiny'\n"
               "[[preempt]]\nevery = 500\ntimes = 1\n")

    def rows(command, *options):
        return [(p["at"], p["mechanism"], p["with"], p["gang"])
                for p in data(command, WINDOW, "--job", path, *options)["preemptions"]]

    for command in ("run", "preempt"):
        assert rows(command) == [(400, "occupied", "vecadd", False), (500, "live", "hostile", False)]
        assert rows(command, "--mechanism", "live+cp", "--gang") == [
            (400, "live+cp", "vecadd", True), (500, "live+cp", "hostile", True)]
        assert rows(command, "--with", "reduction", "--size", "tiny") == [
            (400, "occupied", "reduction", False), (500, "live", "reduction", False)]
        assert rows(command, "--at", "300") == [(300, "live", "hostile", False)]


def test_a_file_runs_while_a_file_is_away(job, tmp_path):
    other = job(JOB.replace("start = 136", "start = 137"), "other.toml")  # expects what is wrong
    command = "run", WINDOW, "--job", job(), "--at", "400", "--with", WINDOW, "--with-job", other
    (row,) = data(*command, code=1)["preemptions"]
    assert row["with"] == str(WINDOW) and row["differences"] == {"window_sum.sums": 1000} and not row["correct"]
    assert "1,000 elements wrong" in run(*command).output
    other.write_text(JOB + "[[preempt]]\nat = 300\nwith = 'reduction'\nsize = 'tiny'\n")
    (row,) = data("run", "reduction", *GOLDEN, "--at", "400", "--with", WINDOW, "--with-job", other)["preemptions"]
    assert row["correct"] and [(p["at"], p["with"]) for p in row["preemptions"]] == [(300, "reduction")]
    (tmp_path / "copy.ptx").write_text(WINDOW.read_text())
    path = job(JOB + "[[preempt]]\nat = 400\nwith = 'copy.ptx'\nwith_job = 'other.toml'\n")
    (row,) = data("run", WINDOW, "--job", path)["preemptions"]
    assert row["with"] == str(tmp_path / "copy.ptx") and len(row["preemptions"]) == 1 and row["correct"]


def test_arrays_that_are_judged_whatever_the_order_of_atomics_are_reported():
    rows = {row["name"]: row for row in data("run", "histogram", *GOLDEN, "--size", "tiny")["arrays"]}
    assert rows["order"]["judged"] and not rows["bins"]["judged"] and not any(r["wrong"] for r in rows.values())
    assert "whatever order atomics" in run("run", "histogram", *GOLDEN, "--size", "tiny").output


def test_results_of_a_shipped_kernel_can_be_written(tmp_path):
    written = data("run", "vecadd", *GOLDEN, "--size", "tiny", "--output", tmp_path / "out")["written"]
    assert written == [str(tmp_path / "out" / "c.npy")]
    assert (np.load(written[0]) == kernel("vecadd").job("tiny").expected["c"]).all()


def test_a_shipped_kernel_runs_with_a_job_of_the_users(job):
    text = "grid = 6\nblock = 32\n" + "[[argument]]\ninit = 'arange'\ndtype = 's32'\nshape = 180\n" * 2 + \
        "[[argument]]\ninit = 'zeros'\ndtype = 's32'\nshape = 180\nexpected = { init = 'arange', step = 2 }\n" + \
        "[[argument]]\nvalue = 180\n"
    assert data("run", "vecadd", "--job", job(text), *GOLDEN)["tbs"] == 6


def test_an_image_runs_like_the_ptx_it_was_made_of(job, tmp_path):
    image = tmp_path / "k.elf"
    assert run("compile", WINDOW, "-o", image).exit_code == 0
    assert data("run", image, "--job", job()) | {"source": ""} == data("run", WINDOW, "--job", job()) | {"source": ""}


NOTHING_EXPECTED = "".join(f"{line}\n" for line in JOB.splitlines() if not line.startswith("expected"))


def test_what_is_compared_with_nothing_has_no_verdict(job):
    found = data("run", WINDOW, "--job", job(NOTHING_EXPECTED))
    assert found["correct"] is None and found["arrays"] == [] and found["uncompared"] == ["sums"]
    told = run("run", WINDOW, "--job", job(NOTHING_EXPECTED))
    assert told.exit_code == 0 and "nothing was compared" in told.output
    assert "written and not compared, since nothing is expected of them: sums" in told.output
    assert data("run", WINDOW, "--job", job())["uncompared"] == []


def test_a_preemption_is_compared_with_the_undisturbed_run(job):
    found = data("preempt", WINDOW, "--job", job(NOTHING_EXPECTED))
    assert found["correct"] is True and found["uncompared"] == [] and len(found["preemptions"]) == 1
    assert [(array["name"], array["undisturbed"], array["wrong"]) for array in found["arrays"]][1] == ("sums", True, 0)
    told = run("preempt", WINDOW, "--job", job(NOTHING_EXPECTED))
    assert "sums: as after the undisturbed run, to the bit (1,000 elements)" in told.output
    assert data("preempt", WINDOW, "--job", job(NOTHING_EXPECTED), "--at", 9)["correct"] is None  # it has no such run


def test_a_difference_from_the_undisturbed_run_is_an_error(job, monkeypatch):
    real, runs = caesura_job.run_task, []

    def run_task(task, *arguments):
        result = real(task, *arguments)
        runs.append(task)
        if len(runs) == 2:
            result.arrays["sums"][7] += 1
        return result

    monkeypatch.setattr(caesura_job, "run_task", run_task)
    told = run("preempt", WINDOW, "--job", job(NOTHING_EXPECTED))
    assert told.exit_code == 1 and "1 of 1,000 elements differ from the undisturbed run; first at [7]" in told.output


def test_a_kernel_that_runs_meanwhile_and_is_not_compared_has_no_verdict(job, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(NOTHING_EXPECTED)
    how = "--at", 9, "--with", WINDOW, "--with-job", other
    found = data("preempt", WINDOW, "--job", job(), *how)
    assert found["correct"] is True and found["preemptions"][0]["correct"] is None
    told = run("preempt", WINDOW, "--job", job(), *how)
    assert "not compared, since nothing is expected of its arrays" in told.output


def test_the_kernel_of_a_file_with_several_is_chosen_and_only_it_is_compiled(job, tmp_path):
    source = tmp_path / "three.ptx"
    text = WINDOW.read_text()
    source.write_text(TWO + text[text.index(".extern"):])
    refused(run("run", source, "--job", job()), "several kernels", "unsupported, unsupported_too, window_sum")
    assert data("run", source, "--job", job(), "--kernel", "window_sum")["correct"]
    assert data("run", source, "--job", job("entry = 'window_sum'\n" + JOB))["correct"]
    refused(run("run", source, "--job", job(), "--kernel", "unsupported"), "three.ptx:7:", "wgmma.fence")
    refused(run("run", source, "--job", job(), "--kernel", "window"), "did you mean 'window_sum'")


def test_one_refused_kernel_leaves_the_others_of_its_file(tmp_path):
    source, image, page = tmp_path / "three.ptx", tmp_path / "k.elf", tmp_path / "k.html"
    source.write_text(TWO + VECADD.read_text()[VECADD.read_text().index(".visible"):])
    messages = [f"{source}:7:5: ", f"{source}:13:5: "]
    done = run("compile", source, "-o", image)
    refused(done, *messages, "vecadd: ")
    assert sum(line.startswith("caesura: ") for line in done.output.splitlines()) == 2
    shown = read_json("disasm", run("disasm", image, "--json").stdout)
    assert list(shown["kernels"][0].items())[0] == ("name", "vecadd")
    found = data("compile", source, code=2)
    assert [k["name"] for k in found["kernels"]] == ["vecadd"]
    assert [(r["name"], r["line"], r["column"]) for r in found["refused"]] == [
        ("unsupported", 7, 5), ("unsupported_too", 13, 5)]
    refused(run("explain", source, "--html", page), *messages, "1 kernel,")
    assert page.exists()
    for command in ("compile", "explain"):
        assert run(command, source, "--kernel", "vecadd").exit_code == 0
        assert data(command, source, "--kernel", "vecadd")["refused"] == []
        refused(run(command, source, "--kernel", "unsupported"), messages[0])
        refused(run(command, source, "--kernel", "vecad"), "no kernel 'vecad'", "did you mean 'vecadd'")


@pytest.mark.parametrize(("arguments", "words"), [
    (["run", "vecad"], ["no file and no shipped kernel 'vecad'", "did you mean 'vecadd'"]),
    (["run", VECADD], ["needs --job"]),
    (["run", "nowhere.ptx", "--job", "JOB"], ["nowhere.ptx: there is no such file"]),
    (["run", "vecadd", "--kernel", "vecadd"], ["--kernel chooses a kernel of a file"]),
    (["run", "vecadd", "--gang"], ["nothing is preempted", "--at"]),
    (["run", "vecadd", "--vcd", "x.vcd"], ["nothing is preempted", "--at"]),
    (["run", "vecadd", "--at", "-1"], ["--at", "-1"]),
    (["run", "vecadd", "--at", "10", "--with", "vecad"], ["--with", "'vecad'", "did you mean 'vecadd'"]),
    (["run", "vecadd", "--at", "10", "--with", VECADD], ["--with-job"]),
    (["run", "vecadd", "--at", "10", "--with", "nowhere.ptx", "--with-job", "JOB"], ["there is no file nowhere.ptx"]),
    (["run", "vecadd", "--at", "10", "--with-job", "JOB"], ["--with-job", "--with"]),
    (["run", VECADD, "--job", "JOB", "--size", "tiny"], ["--size", "job file"]),
    (["run", VECADD, "--job", "JOB", "--output", "out", "--at", "60000000"], ["--at", "beyond the limit"]),
    (["run", "vecadd", "--preset", "tiny", "--geometry", ROOT / "examples" / "small_sm.toml"], ["give one of them"]),
    (["run", "vecadd", "--geometry", "nowhere.toml"], ["nowhere.toml"]),
    (["preempt", "vecadd", "--vcd", "x.vcd", *GOLDEN], ["--vcd needs --backend rtl"]),
])
def test_options_that_do_not_go_together_are_refused(job, no_simulator, arguments, words):
    path = job()
    refused(run(*(path if a == "JOB" else a for a in arguments)), *words)


@pytest.mark.parametrize(("arguments", "words"), [
    (["run", "vecadd", "--preset", "tiny"], ["256 threads", "takes 32"]),
    (["preempt", "bfs", "--preset", "ecp5"], ["512 threads", "takes 256"]),
    (["run", "heartwall", "--preset", "ecp5"], ["8 warps x", "register file of 256"]),
    (["run", "lud_diagonal", "--preset", "tiny", "--at", "5", "--with", "vecadd"], ["'vecadd'", "256 threads"]),
    (["run", "pathfinder", "--geometry", "shared_bytes = 1024"], ["2048 bytes of shared memory", "(my) has 1024"]),
    (["run", "pathfinder", "--geometry", "stack_depth = 2"], ["SIMT stack", "has 2 entries"]),
    (["run", "pathfinder", "--geometry", "kernel_slots = 1", "--at", "5"], ["nest 2 kernels", "1 kernel slots"]),
    (["run", "pathfinder", "--geometry", "regs_per_thread = 8\nregisters = 32"], ["8 warps x", "register file of 32"]),
    (["bench", "mechanisms", "--preset", "tiny"], ["44 of 45 kernels do not fit tiny", "takes 32"]),
    (["bench", "limits", "--preset", "ecp5"], ["7 of 45 kernels do not fit ecp5"]),
])
def test_what_does_not_fit_is_said_before_a_simulator_is_built(tmp_path, no_simulator, arguments, words):
    text = arguments[3] if "--geometry" in arguments else ""
    (tmp_path / "my.toml").write_text(f"base = 'gtx480'\n{text}\n")
    refused(run(*(tmp_path / "my.toml" if text and a == text else a for a in arguments)), *words)


def test_job_files_that_name_one_another_are_refused(job, tmp_path):
    (tmp_path / "copy.ptx").write_text(VECADD.read_text())
    more = "[[preempt]]\nat = 4\nwith = 'copy.ptx'\nwith_job = '{}'\n"
    job(JOB + more.format("one.toml"), "two.toml")
    refused(run("run", VECADD, "--job", job(JOB + more.format("two.toml"), "one.toml")), "one.toml", "away itself")
    for wrong, words in (("with_job = 'no.toml'\nwith = 'copy.ptx'", ["'with_job'", "no file", "no.toml"]),
                         ("with_job = 'two.toml'", ["'with'", "missing"]),
                         ("with_job = 'two.toml'\nwith = 'copy.ptx'\nseed = 4", ["'seed'", "shipped"])):
        refused(run("run", VECADD, "--job", job(f"{JOB}[[preempt]]\nat = 4\n{wrong}\n")), *words)


@pytest.mark.parametrize("changes", [
    "lanes = 4", "lanes = 16", "warp_size = 16\nlanes = 8", "warp_size = 8\nlanes = 4\nsfu_lanes = 1",
    "warps = 11\ntb_slots = 3\nregisters = 256", "shared_bytes = 3072\nstack_depth = 6", "regs_per_thread = 8",
    "bus_bytes = 4\nbytes_per_cycle = 0.5\nkernel_slots = 2\nwindows = 1", "constant_lines = 2",
])
def test_odd_geometries_run_and_preempt(tmp_path, changes):
    path = tmp_path / "odd [1].toml"
    path.write_text(f"base = 'gtx480'\n{changes}\n")
    for name in ("reduction", "pathfinder"):
        result = data("preempt", name, *GOLDEN, "--size", "tiny", "--geometry", path, "--scramble", "--at", "60",
                      "--mechanism", "occupied")
        assert result["correct"] and result["preset"] == "odd [1]" and result["preemptions"][0]["preempt"]["tbs"] > 0
    assert "on odd [1] (golden)" in run("run", "vecadd", *GOLDEN, "--size", "tiny", "--geometry", path).output


def test_the_geometry_of_the_options_goes_before_that_of_the_job_file(job, tmp_path):
    (tmp_path / "sm.toml").write_text("base = 'gtx480'\nwarps = 8\n")
    (tmp_path / "other.toml").write_text("base = 'tiny'\nwarps = 8\nname = 'tiny8'\n")
    plain, own = job(NARROW), job("geometry = 'sm.toml'\n" + NARROW, "own.toml")
    for path, options, name in ((plain, (), "gtx480"), (own, (), "sm"), (own, ("--preset", "ecp5"), "ecp5"),
                                (own, ("--geometry", tmp_path / "other.toml"), "tiny8"),
                                (plain, ("--geometry", tmp_path / "other.toml"), "tiny8")):
        assert data("run", WINDOW, "--job", path, *options)["preset"] == name


def test_kernels_says_what_fits(tmp_path):
    rows = {row["name"]: row for row in data("kernels")["kernels"]}
    assert rows.keys() == KERNELS.keys()
    assert rows["lud_diagonal"]["fits"] == list(PRESETS) and rows["vecadd"]["fits"] == ["gtx480", "gtx980", "ecp5"]
    assert "takes 32" in rows["vecadd"]["refusals"]["tiny"] and "ecp5" in rows["heartwall"]["refusals"]
    path = tmp_path / "roomy.toml"
    path.write_text("base = 'tiny'\nwarp_size = 32\nwarps = 8\nregisters = 256\nshared_bytes = 4096\n"
                    "stack_depth = 16\n")
    rows = {row["name"]: row for row in data("kernels", "--geometry", path)["kernels"]}
    assert rows["vecadd"]["fits"] == ["roomy"] and "512 threads" in rows["bfs"]["refusals"]["roomy"]
    report = run("kernels", "--geometry", path).output
    assert "fits roomy" in report and "yes" in report and "no: 512 threads" in report
    for name in ("vecadd", "bfs"):
        result = run("run", name, *GOLDEN, "--size", "tiny", "--geometry", path)
        assert result.exit_code == (2 if rows[name]["refusals"] else 0), result.output


def test_compile_and_explain_take_a_geometry(tmp_path):
    path = tmp_path / "narrow.toml"
    path.write_text("base = 'gtx480'\nregs_per_thread = 8\n")
    source = kernel("matmul").ptx_path
    assert data("compile", source, "--geometry", path)["kernels"][0]["registers"] <= 8
    assert data("explain", source, "--geometry", path)["preset"] == "narrow"
    refused(run("compile", source, "--geometry", path, "--registers", "9"), "--registers", "8 of narrow")


def test_a_preset_on_the_rtl_is_the_same_by_name_and_as_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("base = 'tiny'\n")
    command = ["run", "lud_diagonal", "--size", "tiny", "--at", "100", "--mechanism", "live+cp", "--scramble"]
    by_name, by_file = data(*command, "--preset", "tiny"), data(*command, "--geometry", path)
    assert by_file == by_name | {"preset": "mine"} and by_name["correct"]
    assert by_name["preemptions"][0]["preempt"]["tbs"] > 0


def test_a_timeline_of_a_kernel_of_the_users_with_several_preemptions(job, tmp_path):
    path = tmp_path / "run.perfetto-trace"
    text = "preset = 'tiny'\n" + NARROW.replace('"golden"', '"rtl"')
    result = data("run", WINDOW, "--job", job(text), "--at", "100", "--at", "600", "--timeline", path)
    assert result["correct"] and len(result["preemptions"]) == 2
    trace = path.read_bytes()
    for word in (b"restore window_sum", b"preempt window_sum", b"hostile"):
        assert word in trace
    alone = tmp_path / "alone.perfetto-trace"
    assert data("run", WINDOW, "--job", job(text), "--timeline", alone)["correct"]
    assert b"window_sum" in alone.read_bytes() and b"hostile" not in alone.read_bytes()


@pytest.mark.parametrize("page", ["cli.md", "geometry.md"])
def test_the_commands_of_the_documentation_run(page, monkeypatch):
    """On the golden model, which has no timelines and no statistics."""
    monkeypatch.chdir(ROOT)
    blocks = (ROOT / "docs" / page).read_text().split("```")[1::2]
    commands = [line.partition("#")[0].split()[1:] for block in blocks for line in block.splitlines()
                if line.startswith("caesura ")]
    assert len(commands) >= 3
    for command in commands:
        if "--timeline" in command:
            del command[(at := command.index("--timeline")):at + 2]
        command = [word for word in command if word != "--statistics"]
        if command[0] in ("run", "preempt") and "golden" not in command:
            command += GOLDEN
        result = run(*command)
        assert result.exit_code == 0, result.output
