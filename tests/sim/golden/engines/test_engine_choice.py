"""Which engine executes: what is asked for, what is in the cache, what pays; without a compiler numpy."""

import contextlib
import time
from pathlib import Path

import pytest

from caesura.cache import whole
from caesura.errors import InputError, ToolError
from caesura.hw.arch.geometry import preset
from caesura.sim.golden.native import build
from caesura.sim.golden.native import engine as choice
from caesura.sim.golden.native.engine import Engine
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.workloads.random_native import random_program
from support.sim.engines import machine_state
from support.sim.launch import Bench, argument_words

TINY = preset("tiny")


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """Make a cache of one's own, with spaces in its path."""
    folder = tmp_path / "a cache"
    monkeypatch.setenv("CAESURA_CACHE", str(folder))
    monkeypatch.setattr(build, "FLAGS", tuple("-O0" if flag == "-O3" else flag for flag in build.FLAGS))
    return folder / "golden"


@pytest.fixture
def no_compiler(monkeypatch):
    monkeypatch.setattr(build, "compiler", lambda: None)
    monkeypatch.setattr(choice, "compiler", lambda: None)


def started(kind):
    transport = GoldenTransport(TINY, 1 << 18, engine=kind)
    bench = Bench(transport)
    program = random_program(TINY, 1, statements=60, tbs=6)
    output = bench.allocate(program.output_bytes)
    bench.load(0, program.image, program.grid, program.block,
               argument_words(program.image, output, bench.store(program.inputs)))
    bench.start(0)
    return bench


def executes(transport):
    return "numpy" if transport.machine.engine.library is None else "compiled"


def test_without_a_compiler_numpy_executes_and_compiled_is_refused_in_one_line(empty_cache, no_compiler, monkeypatch):
    monkeypatch.setattr(choice, "BUILD_AFTER", 0.0)
    bench = started("auto")
    bench.finish(0)
    assert executes(bench.transport) == "numpy" and not any(empty_cache.glob("*.so"))
    with pytest.raises(ToolError, match=r"^g\+\+ missing, .* apt-get install g\+\+`$"):
        started("compiled")


def test_a_compiler_that_fails_leaves_numpy_executing(empty_cache, monkeypatch, tmp_path):
    monkeypatch.setattr(choice, "BUILD_AFTER", 0.0)
    monkeypatch.setattr(build, "SOURCES", ("missing.cpp",))
    bench = started("auto")
    chosen = bench.transport.machine.engine
    bench.transport.advance(choice.FEW_CYCLES)
    assert chosen._build is not None
    chosen._build._process.wait()
    bench.finish(0)
    assert executes(bench.transport) == "numpy" and chosen._given_up
    with pytest.raises(ToolError, match=r"(?s)does not compile:\n.*missing.cpp"):
        started("compiled")
    assert not any(path.is_dir() for path in empty_cache.iterdir())


def test_a_run_that_turns_out_long_changes_engine_in_its_middle_and_computes_the_same(empty_cache, monkeypatch):
    monkeypatch.setattr(choice, "BUILD_AFTER", 0.0)
    plain, other = started("numpy"), started("auto")
    assert executes(other.transport) == "numpy"
    for bench in (plain, other):
        bench.transport.advance(500)
    other.transport.machine.engine._build._process.wait()
    other.transport.advance(300), plain.transport.advance(300)
    assert executes(other.transport) == "compiled" and executes(plain.transport) == "numpy"
    assert machine_state(plain.transport.machine) == machine_state(other.transport.machine)
    plain.finish(0), other.finish(0)
    assert machine_state(plain.transport.machine) == machine_state(other.transport.machine)


def test_one_process_builds_and_others_take_what_it_has_built(empty_cache):
    first, second = (build.Build(TINY.warp_size, unless_elsewhere=True) for _ in range(2))
    assert second.elsewhere and not first.elsewhere
    chosen = Engine("auto", TINY.warp_size)
    assert chosen._begin() is None and chosen.library is None
    path = first.finish()
    assert chosen._begin() is None and chosen.library is not None
    assert build.build(TINY.warp_size) == (path, 0.0)


def test_nobody_waits_for_a_program_at_rest(empty_cache, monkeypatch):
    """It holds the lock, and does not put what it has built into the cache."""
    resting = build.Build(TINY.warp_size, unless_elsewhere=True)
    path, seconds = build.build(TINY.warp_size)
    assert seconds > 0 and whole(path)
    path.unlink()
    monkeypatch.setattr(build, "PATIENCE", 0.0)
    assert not build.Build(TINY.warp_size, unless_elsewhere=True).elsewhere and not resting.elsewhere


def test_a_build_that_is_abandoned_ends_with_all_it_has_started(empty_cache, monkeypatch, tmp_path):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nsleep 600\nexit 1\n")
    slow.chmod(0o755)
    monkeypatch.setattr(build, "compiler", lambda: str(slow))
    begun = build.Build(TINY.warp_size, unless_elsewhere=True)
    session = begun._process.pid
    while len(processes(session)) < 2:  # as g++ starts the compiler proper
        assert begun.running
    del begun
    deadline = time.monotonic() + 30
    while processes(session):
        assert time.monotonic() < deadline
    assert [path.suffix for path in empty_cache.iterdir()] == [".lock"]


def processes(session):
    """Return the processes of a session that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(stat.parent.name)
    return found


def test_short_runs_build_nothing(empty_cache):
    bench = started("auto")
    bench.transport.advance(50)
    assert bench.transport.machine.engine._build is None


def test_what_is_in_the_cache_is_used_at_once_unless_it_is_damaged(empty_cache):
    path, seconds = build.build(TINY.warp_size)
    assert seconds > 0 and build.build(TINY.warp_size) == (path, 0.0) and path.parent == empty_cache
    assert Engine("auto", TINY.warp_size).library is not None and Engine("numpy", TINY.warp_size).library is None
    damaged = path.read_bytes()[:-100]
    path.unlink()  # a library in use is not changed in its place
    path.write_bytes(damaged)
    assert Engine("auto", TINY.warp_size).library is None
    assert Engine("compiled", TINY.warp_size).library is not None and whole(path)


def test_unknown_engines_are_refused():
    with pytest.raises(InputError, match="no engine 'fast' of the golden model; there are auto, numpy, compiled"):
        started("fast")
