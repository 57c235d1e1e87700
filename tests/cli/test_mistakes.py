"""Mistakes as they are made: each ends with one line and exit code 2, before any long work."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.software.compiler import save_elf
from caesura.software.kernels import kernel
from support.selection import quick

ROOT = Path(__file__).parents[2]
VECADD = kernel("vecadd").ptx_path
JOB = "grid = 1\nblock = 32\n"
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


def run(*arguments, **options):
    return CliRunner().invoke(main, [str(a) for a in arguments], **options)


def refused(done, *words):
    assert done.exit_code == 2 and done.stdout == "", (done.exit_code, done.output)
    last = done.stderr.strip("\n").split("\n")[-1]
    assert "Traceback" not in done.stderr and len(last) < 1000 and last.isprintable(), done.stderr
    for word in words:
        assert word in last, done.stderr


def chain(levels, calls):
    """Return PTX in which each of `levels` functions calls the next `calls` times."""
    call = "    call.uni (x), f{n}, (x);\n"
    text = HEAD
    for n in reversed(range(levels)):
        body = (calls * call.format(n=n + 1)) if n + 1 < levels else "    st.global.u32 [0], x;\n"
        text += (f".func (.reg .u32 r) f{n}(.reg .u32 a)\n{{\n    .reg .u32 x;\n    mov.u32 x, a;\n{body}"
                 "    mov.u32 r, x;\n    ret;\n}\n")
    return text + f".visible .entry k()\n{{\n    .reg .u32 x;\n    mov.u32 x, 1;\n{call.format(n=0)}    ret;\n}}\n"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("levels", "calls", "words"), [
    pytest.param(40, 2, ["too many instructions", "every call is inlined"], marks=pytest.mark.full),
    (200, 1, ["more than 64 calls deep"])])
def test_calls_that_double_or_go_deep_end_soon(tmp_path, levels, calls, words):
    path = tmp_path / "k.ptx"
    path.write_text(chain(levels, calls))
    refused(run("compile", path), str(path), *words)


def test_calls_within_the_limits_are_compiled(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(chain(4, 2))
    assert run("compile", path).exit_code == 0


LOOPING = """.kernel k
.registers {registers}
.predicates 1
.stack {stack}
    s2r R0, tid.x
    s2r R1, ntid.x
    setp.eq P0, R0, R1
    @P0 bra done, {meet}
    bar.pp.0 {{{live}}}
    st.shared.b32 [R0], R1
done:
    exit
"""
GOOD = {"registers": 2, "stack": 3, "meet": "done", "live": "R0-R1"}


@pytest.mark.parametrize(("change", "words"), [
    ({"live": "R0"}, ["does not save R1"]), ({"registers": 1}, ["register R1", "allocates 1"]),
    ({"stack": 1}, ["SIMT stack may need"]), ({"meet": "none"}, ["reconvergence point"])])
def test_wrong_code_is_refused_by_asm_and_loader_unless_unchecked(tmp_path, change, words):
    source, image = tmp_path / "k.s", tmp_path / "k.elf"
    source.write_text(LOOPING.format(**GOOD))
    assert run("asm", source, "-o", image).exit_code == 0
    source.write_text(LOOPING.format(**GOOD | change))
    image.unlink()
    refused(run("asm", source, "-o", image), *words, "--no-check")
    assert not image.exists()
    assert run("asm", source, "-o", image, "--no-check").exit_code == 0
    refused(run("disasm", image), str(image), *words, "--no-check")
    refused(run("explain", image), *words)
    assert run("disasm", image, "--no-check").exit_code == 0


@pytest.mark.parametrize(("text", "words"), [
    ("x = " + "[" * 50_000, []), ("x = " + "[" * 2000 + "]" * 2000, []),
    ("a." * 20_000 + "a = 1", ["nested too deeply"]), ("'a' . " * 20_000 + "a = 1", ["nested too deeply"]),
    (f"grid = {'9' * 5000}", []), (f"grid = 1\nblock = {'9' * 400}", ["block"]),
    (JOB + f"[[argument]]\nname = 'a'\nvalue = 1\natol = {'9' * 400}", ["atol"]),
    (JOB + "[[argument]]\ninit = 'zeros'\ndtype = 'u8'\nshape = 4\nexpected = { init = 'zeros' }\n"
     f"atol = {'9' * 400}", ["atol"]),
    (f"{'k' * 30_000} = 1", ["no such key"])])
@pytest.mark.parametrize("option", ["--job", "--geometry"])
def test_job_files_and_geometries_that_go_to_extremes(tmp_path, text, words, option):
    path = tmp_path / "x.toml"
    path.write_text(text)
    arguments = [VECADD, "--job", path] if option == "--job" else ["vecadd", "--geometry", path]
    refused(run("run", *arguments, "--backend", "golden"), str(path), *(words if option == "--job" else ()))


@pytest.mark.parametrize("shape", ["(99999999999999,)", "(1 << 60, 4)", "(-1,)", "(4611686018427387904, 4)", "()" * 99])
def test_arrays_of_absurd_shapes_are_refused(tmp_path, shape):
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(16))
    job = tmp_path / "x.toml"
    job.write_text(f"{JOB}[[argument]]\nfile = 'a.npy'\n")
    refused(run("run", VECADD, "--job", job, "--backend", "golden"), "a.npy")


def started(*arguments, encoding=None, **environment):
    """Run the command in a process of its own."""
    return subprocess.run([sys.executable, "-m", "caesura.cli", *map(str, arguments)], text=True, check=False,
                          encoding=encoding, capture_output=True, timeout=120, env=os.environ | environment)


@pytest.mark.parametrize("words", quick([["collatz"], ["lud_diagonal", "--preset", "tiny", "--size", "tiny"]],
                                        [["lud_diagonal", "--preset", "tiny", "--size", "tiny"]]), ids=lambda x: x[0])
def test_without_a_compiler_a_run_says_what_to_install(tmp_path, words):
    done = started("run", *words, PATH=str(tmp_path), CAESURA_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "g++" in done.stderr.strip().split("\n")[-1] and "install" in done.stderr


def test_memory_that_is_limited_ends_in_one_line(tmp_path):
    job = tmp_path / "x.toml"
    job.write_text(f"{JOB}[[argument]]\ninit = 'full'\nvalue = 1\ndtype = 'u8'\nshape = 2000000000\n")
    program = ("import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, (1500 << 20,) * 2);"
               "runpy.run_module('caesura.cli', run_name='__main__')")
    done = subprocess.run([sys.executable, "-c", program, "run", str(VECADD), "--job", str(job), "--backend", "golden"],
                          capture_output=True, text=True, timeout=120, check=False,
                          env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1 and "memory" in done.stderr


@pytest.mark.parametrize("command", [
    ["run", "vecadd", "--backend", "golden", "--output"], ["run", "vecadd", "--timeline"], ["run", "vecadd", "--vcd"],
    ["run", "vecadd", "--backend", "golden", "--json"], ["explain", VECADD, "--html"], ["compile", VECADD, "-o"],
    ["kernels", "--json"], ["bench", "limits", "--json"], ["bench", "mechanisms", "--picture"]])
def test_files_that_cannot_be_written_are_refused_before_the_run(tmp_path, command, monkeypatch):
    monkeypatch.setattr("caesura.sim.open_device", None)  # nothing runs
    (tmp_path / "file").write_text("")
    refused(run(*command, tmp_path / "file" / "x.svg"), "cannot be written", command[-1])
    if command[-1] != "--output":
        refused(run(*command, tmp_path / "none" / "x.svg"), "there is no folder", "create it first")
        refused(run(*command, tmp_path), "it is a folder")
        refused(run(*command, tmp_path / ("n" * 300)), "too long")


@pytest.mark.parametrize(("command", "words"), [
    (["compile", "k.ptx", "-o", "k.ptx"], ["'-o'", "SOURCE"]), (["compile", "k.ptx", "-o", "link"], ["'-o'", "SOURCE"]),
    (["asm", "k.s", "-o", "k.s"], ["'-o'", "SOURCE"]), (["explain", "k.ptx", "--html", "k.ptx"], ["--html", "FILE"]),
    (["compile", "k.ptx", "--json", "./k.ptx"], ["--json", "SOURCE"]),
    (["compile", "k.ptx", "-o", "new", "--json", "new"], ["--json", "--output"]),
    (["run", "k.ptx", "--job", "x.toml", "--json", "x.toml"], ["--json", "--job"]),
    (["run", "k.ptx", "--job", "x.toml", "--timeline", "k.ptx"], ["--timeline", "KERNEL|FILE"]),
    (["run", "vecadd", "--with", "k.ptx", "--with-job", "x.toml", "--json", "k.ptx"], ["--json", "is --with too"]),
    (["kernels", "--geometry", "x.toml", "--json", "x.toml"], ["--json", "is --geometry too"])])
def test_no_output_replaces_an_input_or_another_output(tmp_path, monkeypatch, command, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.ptx").write_bytes(VECADD.read_bytes())
    for name in ("k.s", "x.toml"):
        (tmp_path / name).write_text("base = 'tiny'\n")
    (tmp_path / "link").symlink_to("k.ptx")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    refused(run(*command), command[-1].removeprefix("./"), "would be lost", *words)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", [["compile", VECADD, "--json"], ["compile", VECADD, "-o"],
                                     ["explain", VECADD, "--html"]])
def test_a_file_with_no_room_is_named(command):
    done = run(*command, "/dev/full")
    assert done.exit_code == 2 and done.stderr == "caesura: /dev/full: No space left on device\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    refused(run("compile", VECADD, "-o", tmp_path / "k.elf"), "cannot be written")


@pytest.mark.parametrize(("name", "source"), [
    ("a\u3000b\u00a0.ptx", "a\u3000b\u00a0.ptx"), (os.fsdecode(b"k\xe9.ptx"), "k\\xe9.ptx"),
    ("a\nb.ptx", "a\\x0ab.ptx"), ("a\u2028b.ptx", "a\\u2028b.ptx")])
def test_files_may_have_any_name(tmp_path, name, source):
    folder = tmp_path / "\u3000"
    folder.mkdir()
    path, image, text = folder / name, tmp_path / "k.elf", folder / f"{name}.s"
    path.write_bytes(VECADD.read_bytes())
    assert run("compile", path, "-o", image).exit_code == 0
    shown = run("explain", image, "--json")
    assert json.loads(shown.stdout)["kernels"][0]["source"] == str(folder / source)
    text.write_text(run("disasm", "--asm", image).stdout)
    assert run("asm", text, "-o", image).exit_code == 0 == run("disasm", image).exit_code


@pytest.mark.parametrize("option", ["--patience", "--grace"])
def test_numbers_of_thousands_of_digits_are_refused(option):
    refused(run("preempt", "vecadd", "--backend", "golden", option, "9" * 5000), option, "is wanted")


@pytest.mark.full
def test_what_standard_output_cannot_encode_is_escaped(tmp_path):
    path, job = tmp_path / "\u00e9.ptx", tmp_path / "x.toml"
    path.write_bytes(VECADD.read_bytes())
    latin = started("explain", path, PYTHONIOENCODING="latin1", encoding="latin1")
    assert latin.returncode == 0 and "\u00e9.ptx" in latin.stdout and "\\u2588" in latin.stdout, latin.stderr
    page = started("explain", path, "--html", "-", PYTHONIOENCODING="ascii", encoding="utf-8")
    assert page.returncode == 0 and page.stdout.endswith("</html>\n") and not page.stdout.isascii(), page.stderr
    job.write_text(JOB + "".join(f"[[argument]]\nname = '{c}'\ninit = 'zeros'\ndtype = 's32'\nshape = 4\n"
                                 "expected = { init = 'zeros' }\n" for c in "ab\u03b1")
                   + "[[argument]]\nvalue = 4\n", encoding="utf-8")
    done = started("run", path, "--job", job, "--backend", "golden", PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and "\\u03b1: as expected" in done.stdout, done.stderr


def test_a_run_without_standard_output_has_a_verdict():
    command = [sys.executable, "-m", "caesura.cli", "run", "vecadd", "--backend", "golden", "--size", "tiny"]
    subprocess.run(command, capture_output=True, timeout=120, check=True)  # builds the back end, which it says
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize(("command", "words"), [
    (["run", "k.elf", "--job", "x.toml", "--eviction-check"], ["k.elf", "--eviction-check", "PTX"]),
    (["run", "vecadd", "--backend", "golden", "--baud", "9600"], ["--baud", "--board"]),
    (["cache", "--clean", "--older", "nan"], ["--older", "nan"]), (["board", "build", "--clock", "nan"], ["--clock"])])
def test_options_that_would_do_nothing_or_too_much_are_refused(tmp_path, monkeypatch, command, words):
    monkeypatch.setattr("caesura.sim.job.device_opener", None)
    monkeypatch.chdir(tmp_path)
    save_elf(tmp_path / "k.elf", [kernel("vecadd").image()])
    (tmp_path / "x.toml").write_text(JOB + "backend = 'golden'\n" + 3 * "[[argument]]\nvalue = 0\n"
                                     + "[[argument]]\nvalue = 4\n")
    (tmp_path / "cache" / "kernels").mkdir(parents=True)
    (tmp_path / "cache" / "kernels" / "x.elf").write_text("")
    refused(run(*command, env={"CAESURA_CACHE": str(tmp_path / "cache")}), *words)
    assert (tmp_path / "cache" / "kernels" / "x.elf").exists()


BARE = ["--geometry", ROOT / "examples" / "bare_unit.toml"]


@pytest.mark.parametrize(("options", "words"), [
    ([*BARE, "--mechanism", "live+tb"], ["'live+tb'", "(bare_unit)", "tb_compressor = false"]),
    ([*BARE, "--grace", "5"], ["--grace", "(bare_unit)", "grace = false"]),
    ([*BARE, "--restart"], ["--restart", "restart = false"]),
    ([*BARE, "--incremental"], ["--incremental", "checkpoints = false"]),
    ([*BARE, "--checkpoint", "0"], ["--checkpoint", "checkpoints = false"]),
    ([*BARE, "--announced", "9"], ["--announced", "checkpoints = false"]),
    ([*BARE, "--in-place"], ["--in-place", "in_place = false"]),
    ([*BARE, "--newcomer"], ["--newcomer", "in_place = false"]),
    ([*BARE, "--routines", "live"], ["--routines", "traps = false"]),
    (["--trap"], ["--trap", "has no preemption routines", "--routines"]),
    (["--trap", "--mechanism", "occupied"], ["'occupied'", "--trap"]),
    (["--trap", "--restart"], ["--restart", "--trap"]),
    (["--patience", "5", "--mechanism", "occupied"], ["'occupied'", "patience"])])
@pytest.mark.parametrize("command", [["run", "--at", "40000"], ["preempt"]])
def test_options_of_a_preempt_are_judged_before_anything_runs(options, words, command, monkeypatch):
    monkeypatch.setattr("caesura.sim.job.device_opener", None)
    refused(run(*command, "vecadd", "--backend", "golden", *options), *words)


def test_a_kernel_that_cannot_begin_anew_is_not_restarted(monkeypatch):
    monkeypatch.setattr("caesura.sim.job.device_opener", None)
    refused(run("run", "histogram", "--backend", "golden", "--at", "40000", "--restart"), "--restart", "'histogram",
            "cannot begin anew")


def test_options_of_a_preempt_in_a_job_file_are_judged_too(tmp_path, monkeypatch):
    monkeypatch.setattr("caesura.sim.job.device_opener", None)
    job = tmp_path / "x.toml"
    job.write_text(f"{JOB}geometry = '{BARE[1]}'\n" + 3 * "[[argument]]\ninit = 'zeros'\ndtype = 's32'\nshape = 4\n"
                   + "[[argument]]\nvalue = 4\n[[preempt]]\nat = 9\n[[preempt.preempt]]\nat = 7\ngrace = 1\n")
    refused(run("run", VECADD, "--job", job, "--backend", "golden"), str(job),
            ": this machine (bare_unit) gives no grace", "leave grace out")


SHUFFLE = HEAD + """
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<5>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
    mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2; ret;
}
"""


@pytest.mark.parametrize(("preset", "warnings"), [("tiny", 1), ("gtx480", 0)])
def test_kernels_that_exchange_data_in_narrow_warps_are_warned_of(tmp_path, preset, warnings):
    ptx, job = tmp_path / "k.ptx", tmp_path / "x.toml"
    ptx.write_text(SHUFFLE)
    job.write_text("grid = 1\nblock = 8\n[[argument]]\ninit = 'zeros'\ndtype = 's32'\nshape = 8\n")
    done = run("run", ptx, "--job", job, "--backend", "golden", "--preset", preset)
    assert done.exit_code == 0 and done.stderr.count("\n") == warnings, done.output
    if warnings:
        assert "warning: kernel 'k'" in done.stderr and "8 threads" in done.stderr and "(tiny)" in done.stderr


def test_json_is_the_same_everywhere(tmp_path):
    file = tmp_path / "k.json"
    for command in (["kernels", "--preset", "tiny"], ["compile", VECADD], ["explain", VECADD], ["cache"],
                    ["run", "collatz", "--backend", "golden"]):
        bare, dash, beside = run(*command, "--json"), run(*command, "--json", "-"), run(*command, "--json", file)
        assert [done.exit_code for done in (bare, dash, beside)] == [0, 0, 0], bare.output
        data = json.loads(file.read_text())
        assert next(iter(data.items())) == ("schema", 1) and beside.stdout and not beside.stdout.startswith("{")
        for text in (bare.stdout, dash.stdout):
            assert list(json.loads(text)) == list(data)


def test_json_alone_before_the_argument_is_not_given_the_argument(tmp_path):
    before = VECADD.read_bytes()
    done = run("compile", "--json", VECADD)
    assert done.exit_code == 0 and json.loads(done.stdout)["kernels"] and VECADD.read_bytes() == before
    refused(run("compile", "--json"), "Missing argument")


@pytest.mark.parametrize(("command", "words"), [
    (["run", "vecadd", "--preset", "gtx48"], ["did you mean 'gtx480'"]),
    (["preempt", "vecadd", "--mechanism", "life"], ["did you mean 'live'"]),
    (["run", "vecad"], ["did you mean 'vecadd'"]),
    (["bench", "code", "--kernel", "vecad"], ["did you mean 'vecadd'"]), (["comple", "x"], ["did you mean 'compile'"]),
    (["run", "vecadd", "--bakend", "golden"], ["--backend"])])
def test_what_was_probably_meant_is_told(command, words):
    refused(run(*command), *words)


def commands(group, path=()):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield from commands(command, (*path, name)) if hasattr(command, "list_commands") else [((*path, name), command)]


@pytest.mark.parametrize("path", [path for path, _ in commands(main)], ids=" ".join)
def test_help_of_each_command_has_an_example_that_it_takes(path):
    text = run(*path, "--help").stdout
    line = text[text.index("Example"):].split("\n")[1].strip()
    assert line.startswith(" ".join(("caesura", *path)))


@pytest.mark.parametrize(("environment", "coloured"), [
    ({"FORCE_COLOR": "1"}, True), ({"NO_COLOR": "1"}, False), ({}, False)])
def test_colour_and_width_are_what_the_environment_says(environment, coloured, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for command in (["kernels"], ["explain", VECADD], ["preempt", "collatz", "--backend", "golden"]):
        done = run(*command, env={"COLUMNS": "40", **environment})
        assert done.exit_code == 0 and ("\x1b[" in done.stdout) == coloured, command
        if command[0] == "kernels":  # a listing's lines stay whole, for the terminal to fold
            assert coloured or max(map(len, done.stdout.split("\n"))) <= 40


@pytest.mark.parametrize(("words", "found"), [
    ("caesura pre", "plain,preempt"), ("caesura run --backend g", "plain,golden"), ("caesura run --output o", "dir,o"),
    ("caesura compile -o o", "file,o")])
def test_words_are_completed(words, found):
    environment = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_CAESURA_COMPLETE": "bash_complete"}
    assert CliRunner().invoke(main, env=environment, prog_name="caesura").output.strip() == found
