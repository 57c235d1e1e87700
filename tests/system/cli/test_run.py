"""`caesura run`: a user's kernel with arguments, results and preemptions from a job file."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import Way
from caesura.sim import open_device
from caesura.sim.scenario import interrupt, shipped_work, start_job
from caesura.software.driver import Device, KernelFault
from caesura.software.kernels import kernel
from support.keys import read_json

ROOT = Path(__file__).resolve().parents[3]
WINDOW_SUM = ROOT / "examples" / "window_sum.ptx"
ARGUMENTS = """
[[argument]]
init = "arange"
dtype = "s32"
shape = 3016
[[argument]]
name = "out"
init = "zeros"
dtype = "s32"
shape = 3000
output = true
expected = { init = "arange", start = 136, step = 17 }
[[argument]]
value = 3000
[[argument]]
value = 8
"""
JOB = "grid = 12\nblock = 256\nshared = 1088\n" + ARGUMENTS
SEVERAL = JOB + """
[[preempt]]
every = 300
times = 2
scramble = true
[[preempt]]
at = 600
mechanism = "occupied"
with = "reduction"
size = "tiny"
gang = true
  [[preempt.preempt]]
  at = 50
  scramble = true
    [[preempt.preempt.preempt]]
    at = 40
    mechanism = "live+cp"
    with = "vecadd"
    size = "tiny"
[[preempt]]
at = 10_000_000
"""
FAULTY = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry faulty(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %r1, 1;
    @%p1 bra DONE;
    st.global.u32 [%rd2+2], %r1;
DONE:
    ret;
}
"""


def run(*arguments):
    return CliRunner().invoke(main, ["run", *(str(a) for a in arguments)])


@pytest.fixture
def job(tmp_path):
    def write(text):
        path = tmp_path / "my.toml"
        path.write_text(text)
        return path
    return write


def data(result, code=0):
    assert result.exit_code == code, result.output
    return read_json("run", result.stdout)


def test_the_example_of_the_documentation_is_the_one_that_ships_and_runs(tmp_path):
    shown = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "jobs.md").read_text(), re.DOTALL)
    path = ROOT / "examples" / "window_sum.toml"
    assert shown == [path.read_text()]
    report = run(WINDOW_SUM, "--job", path, "--backend", "golden", "--output", tmp_path / "a" / "b")
    assert report.exit_code == 0, report.output
    for word in ("window_sum", "gtx480", "12 TBs", "live", "occupied", "reduction", "as expected", "correct"):
        assert word in report.output, report.output
    assert (np.load(tmp_path / "a" / "b" / "out.npy") == 17 * np.arange(8, 3008)).all()


def test_preemptions_change_neither_results_nor_instructions(job):
    alone = data(run(WINDOW_SUM, "--job", job(JOB), "--backend", "golden", "--json"))
    assert alone["cycles"] == alone["run_cycles"] > 600 and alone["tbs"] == 12 and not alone["preemptions"]
    result = data(run(WINDOW_SUM, "--job", job(SEVERAL), "--backend", "golden", "--json"))
    judge_several(result)
    assert result["instructions"] == alone["instructions"]
    assert result["run_cycles"] < alone["cycles"] < result["cycles"]


def judge_several(result):
    """Check what SEVERAL asks for: two of a series, one at the cycle of the second, its neighbour preempted twice."""
    rows = result["preemptions"]
    assert [(p["at"], p["with"], p["mechanism"], p["scramble"], p["gang"]) for p in rows] == [
        (300, "hostile", "live", True, False), (600, "hostile", "live", True, False),
        (600, "reduction", "occupied", False, True)]
    assert [p["rest_cycles"] for p in rows[:2]] == [300, 0]
    assert rows[2]["rest_cycles"] == result["run_cycles"] - 600
    inner = rows[2]["preemptions"][0]
    assert (inner["at"], inner["with"], inner["preempt"]["tbs"]) == (50, "hostile", 2)
    innermost = inner["preemptions"][0]
    assert (innermost["at"], innermost["with"], innermost["mechanism"]) == (40, "vecadd", "live+cp")
    assert all(p["correct"] and p["preempt"]["tbs"] for p in [*rows, inner, innermost])
    assert result["missed"] == [10_000_000] and result["correct"]
    assert result["arrays"][0]["name"] == "out" and result["arrays"][0]["wrong"] == 0
    assert sum(p["other_cycles"] for p in rows) < result["cycles"] - result["run_cycles"]


@pytest.mark.full
def test_several_preemptions_on_the_rtl(job):
    path = job(SEVERAL)
    result = data(run(WINDOW_SUM, "--job", path, "--json"))
    judge_several(result)
    report = run(WINDOW_SUM, "--job", path)
    assert "finished before anything could be saved at cycle 10,000,000" in report.output
    assert "correct" in report.output
    alone = data(run(WINDOW_SUM, "--job", job(JOB), "--json"))
    assert alone["correct"] and alone["cycles"] - alone["run_cycles"] < 20
    stopped = sum(p["preempt"]["warps"] for p in result["preemptions"])
    assert 0 <= result["instructions"] - alone["instructions"] <= 3 * stopped


def test_a_series_without_end_ends_with_the_kernel(job):
    path = job(JOB + "[[preempt]]\nevery = 1000\nwith = 'vecadd'\nsize = 'tiny'")
    result = data(run(WINDOW_SUM, "--job", path, "--backend", "golden", "--json"))
    count = len(result["preemptions"])
    assert [p["at"] for p in result["preemptions"]] == [1000 * (k + 1) for k in range(count)]
    assert count > 5 and result["missed"] == [] and result["run_cycles"] <= 1000 * (count + 1)
    assert all(p["rest_cycles"] == 1000 for p in result["preemptions"][:-1])


def test_a_kernel_that_ends_while_it_is_stopped_counts_as_missed(job):
    path = job("""grid = 2
        block = 32
        backend = "golden"
        [[argument]]
        init = "arange"
        dtype = "s32"
        shape = 64
        [[argument]]
        init = "arange"
        dtype = "s32"
        shape = 64
        [[argument]]
        init = "zeros"
        dtype = "s32"
        shape = 64
        expected = { init = "arange", step = 2 }
        [[argument]]
        value = 64
        [[preempt]]
        at = 3
        patience = "unlimited"
        """)
    result = data(run(kernel("vecadd").ptx_path, "--job", path, "--json"))
    assert (result["preemptions"], result["missed"], result["run_cycles"]) == ([], [3], 3)
    report = run(kernel("vecadd").ptx_path, "--job", path)
    assert "before anything could be saved at cycle 3" in report.output


def test_grace_and_restart(job):
    """From a job file and from the command line, which goes before; what is not idempotent is named."""
    text = "[[preempt]]\nat = 500\ngrace = \"unlimited\"\n[[preempt]]\nat = 900\nrestart = true\n"
    given = (WINDOW_SUM, "--job", job(JOB + text), "--backend", "golden")
    drained, restarted = (row["preempt"] for row in data(run(*given, "--json"))["preemptions"])
    assert (drained["grace"], drained["tbs"], drained["restart"]) == ("unlimited", 0, False)
    assert drained["grace_cycles"] > 0 == restarted["grace_cycles"]
    assert restarted["restart"] and restarted["tbs"] and not restarted["data_bytes"]
    def command(*words):
        return CliRunner().invoke(main, [*words, "--backend", "golden"])

    first, _ = (row["preempt"] for row in data(run(*given, "--grace", "7", "--json"))["preemptions"])
    assert (first["grace"], first["grace_cycles"]) == (7, 7)
    assert "grace" in command("preempt", "pathfinder", "--grace", "9").output
    refused = command("preempt", "histogram", "--restart")
    assert refused.exit_code == 2 and "cannot begin anew: the atomic at" in refused.output


def test_checkpoints_and_increments(job):
    """From a job file and from the command line, which goes before."""
    text = "[[preempt]]\nat = 500\ncheckpoint = 200\n[[preempt]]\nat = 900\nincremental = true\n"
    given = (WINDOW_SUM, "--job", job(JOB + text), "--backend", "golden", "--mechanism", "occupied", "--json")
    first, second = data(run(*given))["preemptions"]
    (base,) = first["checkpoints"]
    assert base["checkpoint"] and not base["incremental"] and base["tbs"] == first["preempt"]["tbs"] > 0
    assert first["preempt"]["incremental"] and not first["preempt"]["checkpoint"]
    assert first["preempt"]["registers"] < base["registers"]
    assert not second["checkpoints"] and second["preempt"]["incremental"]
    announced = data(run(*given, "--announced", "300"))["preemptions"]
    assert [len(row["checkpoints"]) for row in announced] == [1, 1]
    assert all(row["preempt"]["incremental"] for row in announced)
    report = run("pathfinder", "--at", "900", "--checkpoint", "100", "--backend", "golden").output
    assert "checkpoint before" in report and "base" in report
    both = run("pathfinder", "--at", "900", "--checkpoint", "100", "--announced", "100", "--backend", "golden")
    assert both.exit_code == 2 and "one of --checkpoint and --announced" in both.output


def test_in_place(job):
    """From a job file and from the command line: what stays and what leaves is told; a machine without it is refused
    before anything runs."""
    given = (WINDOW_SUM, "--job", job(JOB + "[[preempt]]\nat = 500\nin_place = true\n"), "--backend", "golden")
    (found,) = data(run(*given, "--json"))["preemptions"]
    assert found["preempt"]["in_place"] and found["correct"] and not found["preempt"]["registers"]
    assert found["saved_tbs"] and all(tb["registers_stay"] for tb in found["saved_tbs"])
    assert (found["evicted_tbs"], found["evicted_bytes"]) == (0, 0), "there is room beside it"
    shown = run("hotspot", "--at", "900", "--in-place", "--backend", "golden", "--json")
    (found,) = data(shown)["preemptions"]
    assert 0 < found["evicted_tbs"] <= found["preempt"]["tbs"] and found["evicted_bytes"]
    shown = run("pathfinder", "--at", "900", "--in-place", "--backend", "golden").output
    assert "in place at cycle 900: registers of 6 TBs and shared memory of 6 stayed on the SM; 0 TBs evicted" in shown
    plain = data(run("pathfinder", "--at", "900", "--backend", "golden", "--json"))["preemptions"][0]
    assert (plain["preempt"]["in_place"], plain["evicted_tbs"], plain["evicted_bytes"]) == (False, 0, 0)
    refused = run(*given, "--preset", "gtx980")
    assert refused.exit_code == 2 and "(gtx980) keeps nothing in place" in refused.output
    for option in ("--restart", "--incremental", ("--checkpoint", "100"), ("--announced", "100")):
        words = (option,) if isinstance(option, str) else option
        both = run("pathfinder", "--at", "900", "--in-place", *words, "--backend", "golden")
        assert both.exit_code == 2 and f"{words[0]} does not go with --in-place" in both.output
    text = "[[preempt]]\nat = 500\nin_place = true\nincremental = true\n"
    both = run(WINDOW_SUM, "--job", job(JOB + text), "--backend", "golden")
    assert both.exit_code == 2 and "'in_place'" in both.output and "'incremental'" in both.output


def test_room_is_made_for_a_newcomer(job):
    """Of what is in the way of the kernel that comes, registers say, nothing stays; what is not stays. Alone, in-place
    keeps all, and has to give it up when the other comes."""
    given = ("hotspot", "--at", "3000", "--with", "gaussian", "--backend", "golden", "--json")
    alone, named = (data(run(*given, option))["preemptions"][0] for option in ("--in-place", "--newcomer"))
    stay = [[sum(tb[what] for tb in found["saved_tbs"]) for what in ("registers_stay", "lines_stay")]
            for found in (alone, named)]
    assert stay == [[6, 6], [3, 6]] and alone["evicted_tbs"] and not named["evicted_tbs"]
    assert named["correct"] and named["preempt"]["in_place"]
    text = "[[preempt]]\nat = 500\nwith = 'vecadd'\nsize = 'tiny'\nnewcomer = true\n"
    (found,) = data(run(WINDOW_SUM, "--job", job(JOB + text), "--backend", "golden", "--json"))["preemptions"]
    assert found["preempt"]["in_place"] and found["correct"]
    both = run(WINDOW_SUM, "--job", job(JOB + text + "restart = true\n"), "--backend", "golden")
    assert both.exit_code == 2 and "'newcomer'" in both.output and "'restart'" in both.output
    both = run(*given, "--newcomer", "--incremental")
    assert both.exit_code == 2 and "--incremental does not go with --newcomer" in both.output
    refused = run(*given, "--newcomer", "--preset", "gtx980")
    assert refused.exit_code == 2 and "(gtx980) keeps nothing in place" in refused.output


def test_an_announcement_before_the_start_and_one_after_the_end(job):
    text = "[[preempt]]\nat = 40\nannounced = 5000\n[[preempt]]\nat = 100000000\nannounced = 99999990\n"
    result = data(run(WINDOW_SUM, "--job", job(JOB + text), "--backend", "golden", "--json"))
    assert result["missed"] == [100_000_000] and len(result["preemptions"]) == 1


def test_scramble_and_gang_reach_the_device(job, monkeypatch):
    told = []
    preempt, resume = Device.preempt, Device.resume
    monkeypatch.setattr(Device, "preempt", lambda *a, **k: told.append(a[2].scramble) or preempt(*a, **k))
    monkeypatch.setattr(Device, "resume", lambda *a, **k: told.append(k["gang"]) or resume(*a, **k))
    text = "[[preempt]]\nat = 500\nscramble = true\n[[preempt]]\nat = 600\ngang = true\n"
    data(run(WINDOW_SUM, "--job", job(JOB + text), "--backend", "golden", "--json"))
    assert told == [True, False, False, True]


def test_what_runs_meanwhile_leaves_no_memory_behind():
    device = open_device("golden", "gtx480")
    work, other = shipped_work("pathfinder", device.geometry, "tiny"), shipped_work("vecadd", device.geometry, "tiny")
    launch, _ = start_job(device, device.load([work.image])["pathfinder"], work.job)
    neighbour, used = device.load([other.image])["vecadd"], device.heap.used()
    device.advance(100)
    result = interrupt(device, launch, neighbour, other.job, 100, Way())
    assert result.correct and result.preempt and result.preempt.tbs == 2 and device.heap.used() == used


def test_files_in_and_out_and_wrong_results(job, tmp_path):
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-2**31, 2**31, 500, dtype=np.int64).astype(np.int32) for _ in range(2))
    want = a + b
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    np.save(tmp_path / "want.npy", want)
    path = job("""grid = 2
        block = 256
        preset = "tiny"
        backend = "golden"
        [[argument]]
        file = "a.npy"
        [[argument]]
        file = "b.npy"
        [[argument]]
        init = "full"
        value = -1
        dtype = "s32"
        shape = 500
        expected = "want.npy"
        output = true
        [[argument]]
        value = 500
        """)
    command = (kernel("vecadd").ptx_path, "--job", path, "--json", "--output", tmp_path / "out")
    assert run(*command).exit_code == 2  # 256 threads do not fit the preset
    result = data(run(*command, "--preset", "gtx480"))
    assert result["written"] == [str(tmp_path / "out" / "vecadd_param_2.npy")] and result["preset"] == "gtx480"
    assert (np.load(result["written"][0]) == want).all()
    want[[123, 400]] ^= 0x10, 0x400
    np.save(tmp_path / "want.npy", want)
    row = data(run(*command, "--preset", "gtx480"), 1)["arrays"][0]
    assert (row["wrong"], row["first_wrong"], row["max_error"]) == (2, [123], 0x400)
    assert (row["got"], row["expected"]) == (int((a + b)[123]), int(want[123]))
    report = run(*command[:3], "--preset", "gtx480")
    assert report.exit_code == 1 and "2 of 500 elements wrong" in report.output and "[123]" in report.output
    assert "WRONG" in report.output


def test_a_fault_names_the_line_of_the_ptx(job, tmp_path):
    source = tmp_path / "faulty.ptx"
    source.write_text(FAULTY)
    path = job("grid = 3\nblock = 8\npreset = 'tiny'\n[[argument]]\ninit = 'zeros'\ndtype = 's32'\nshape = 4\n"
               "[[preempt]]\nat = 1")
    line = FAULTY.splitlines().index("    st.global.u32 [%rd2+2], %r1;") + 1
    for backend in ("golden", "rtl"):
        result = run(source, "--job", path, "--backend", backend)
        assert result.exit_code == 3 and "Traceback" not in result.output
        assert "MISALIGNED" in result.output and f"{source}:{line}" in result.output


@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_a_fault_is_told_even_if_the_kernel_ended_before_anyone_waited(tmp_path, backend):
    source = tmp_path / "faulty.ptx"
    source.write_text(FAULTY)
    device = open_device(backend, "tiny")
    launch = device.load_ptx(source)["faulty"](3, 8, [device.array(np.zeros(4, np.int32))])
    device.advance(5000)
    assert device.preempt(launch, Mechanism.LIVE) is None
    with pytest.raises(KernelFault, match="MISALIGNED"):
        device.wait(launch)


@pytest.mark.parametrize(("text", "options", "words"), [
    (JOB.replace("grid", "gird"), (), ["my.toml", "'gird'", "'grid'"]),
    ("entry = 'sum'\n" + JOB, (), ["my.toml", "'entry'", "window_sum"]),
    (JOB[:JOB.rindex("[[")], (), ["my.toml", "takes 4", "3 given"]),
    (JOB.replace("value = 8", "value = 5_000_000_000"), (), ["my.toml", "5000000000", "does not fit"]),
    (JOB.replace("block = 256", "block = 2048"), (), ["my.toml", "2048 threads"]),
    (JOB.replace("1088", "100000"), (), ["my.toml", "shared memory"]),
    (JOB.replace("output = true", ""), ("--output", "/nonexistent"), ["--output", "output = true"]),
    (JOB, ("--max-cycles", "500"), ["my.toml: the limit of 500 cycles for the whole run has passed; raise it with "
                                    "--max-cycles (max_cycles), unless the kernel never ends\n", "TB 0 warp 0"]),
    (JOB + "[[preempt]]\nevery = 1\n", ("--max-cycles", "50000"), ["my.toml", "limit of 50,000 cycles"]),
    (JOB + "".join(f"[[preempt{'.preempt' * depth}]]\nat = 20\n" for depth in range(4)), (),
     ["my.toml", "4 kernel slots"]),
])
def test_mistakes_are_refused_with_one_message(job, text, options, words):
    result = run(WINDOW_SUM, "--job", job(text), "--backend", "golden", *options)
    assert result.exit_code == 2 and "Traceback" not in result.output, result.output
    for word in words:
        assert word in result.output, result.output


def test_files_that_are_not_there_are_refused(job, tmp_path):
    for arguments in ((tmp_path / "no.ptx", "--job", job(JOB)), (WINDOW_SUM, "--job", tmp_path / "no.toml")):
        result = run(*arguments)
        assert result.exit_code == 2 and "no." in result.output
