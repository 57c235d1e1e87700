"""Waveforms of the preemption engine, read back by a VCD parser: scopes, named states, and the times of the report."""

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from vcd.reader import TokenKind, tokenize

from caesura.cli import main
from caesura.hw.preempt.engine import PreemptEngine
from caesura.sim import scenario
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.trace.waveform import WaveformDevice, annotate, state_names
from support.sim.tiny_run import TINY, neighbour, preempted, work

CYCLE = 1000  # picoseconds
ENGINE = ("TOP", "top", "control", "engine")
BUILDS = pytest.mark.full
"""Of tests that need a simulation of the SM with waveforms, whose build takes minutes."""


def read_vcd(path):
    """Return the timescale, the last time, and each signal's (time, value) changes by path."""
    scopes, paths, changes, now, scale = [], defaultdict(list), defaultdict(list), 0, None
    with open(path, "rb") as file:
        for token in tokenize(file):
            data: Any = token.data
            if token.kind is TokenKind.SCOPE:
                scopes.append(token.scope.ident)
            elif token.kind is TokenKind.UPSCOPE:
                scopes.pop()
            elif token.kind is TokenKind.TIMESCALE:
                scale = str(token.timescale)
            elif token.kind is TokenKind.VAR:
                paths[token.var.id_code].append((*scopes, token.var.reference))
            elif token.kind is TokenKind.CHANGE_TIME:
                now = token.time_change
            elif token.kind in (TokenKind.CHANGE_STRING, TokenKind.CHANGE_SCALAR, TokenKind.CHANGE_VECTOR):
                for path_ in paths[data.id_code]:
                    changes[path_].append((now, data.value))
    return SimpleNamespace(scale=scale, end=now, changes=changes, paths={p for some in paths.values() for p in some})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("waveform") / "engine.vcd"
    device = WaveformDevice(TINY, path)
    result = preempted(device)
    assert not path.with_name("engine.vcd.raw").exists()
    return SimpleNamespace(result=result, vcd=read_vcd(path))


def spans(changes, value, end):
    """Return how long a signal had a value, in cycles, each time."""
    times = [*changes, (end, None)]
    return [(after - time) // CYCLE for (time, now), (after, _) in zip(times, times[1:], strict=False) if now == value]


@BUILDS
def test_the_states_of_the_sequencer_are_named_and_in_order(run):
    states = run.vcd.changes[(*ENGINE, "sequencer", "state")]
    assert [name for _, name in states] == [
        "IDLE", "BOUND", "CHECK", "SAVE", "LEAVING", "SUM", "RECORD", "END", "IDLE", "BOUND", "RESUME", "END", "IDLE"]
    numbers = {name: number for number, name in state_names(PreemptEngine(TINY))[("sequencer",)].items()}
    registers = run.vcd.changes[(*ENGINE, "sequencer", "fsm_state")]
    assert [(time, numbers[name]) for time, name in states] == [(time, int(value, 2) if isinstance(value, str)
                                                                 else value) for time, value in registers]


def test_every_state_machine_of_the_engine_is_found():
    """Those of blocks that are reset at once included."""
    found = state_names(PreemptEngine(TINY))
    parser = "restore", "pipeline", "parser"
    assert set(found) == {
        ("sequencer",), ("restore", "resume"), ("restore", "adopt"), ("restore", "read_ahead"), parser,
        ("save", "record_writer"), ("save", "evict"), ("save", "pipeline", "records"), ("save", "pipeline", "closer")}
    assert set(found[parser].values()) > {"IDLE", "TABLE", "RECORD", "DATA"}


@BUILDS
def test_every_state_machine_of_the_engine_has_named_states(run):
    for block in state_names(PreemptEngine(TINY)):
        assert {(*ENGINE, *block, "state"), (*ENGINE, *block, "fsm_state")} <= run.vcd.paths


@BUILDS
def test_drain_and_save_last_as_reported(run):
    draining = run.vcd.changes[(*ENGINE, "save", "preempt", "draining")]
    assert sum(spans(draining, "1", run.vcd.end)) == run.result.preempt.drain_cycles > 0
    cycles = run.vcd.changes[(*ENGINE, "counters", "counts", "counters.save_cycles")]
    assert max(int(value) for _, value in cycles) == run.result.preempt.save_cycles


@BUILDS
def test_it_runs_from_the_request_to_the_end_of_the_resume(run):
    states = run.vcd.changes[(*ENGINE, "sequencer", "state")]
    begin, end = states[0][0], run.vcd.end
    assert states[1][0] - begin <= 10 * CYCLE and end - states[-1][0] <= 10 * CYCLE
    assert run.vcd.scale == "1 ps" and begin > 0


@BUILDS
def test_it_has_the_engine_and_its_handshake_and_no_other_block(run):
    names = {path[len(ENGINE)] for path in run.vcd.paths if path[:len(ENGINE)] == ENGINE and len(path) == 5}
    stop = {f"core__stop__{name}" for name in ("pending", "stop_now", "stopped", "exited")}
    assert stop | {"command__valid", "command__ready", "core__registers__flags__warp", "core__registers__read__valid",
                   "core__registers__restore_write__valid", "write_port__request__valid"} <= names
    inside = {path[:4] for path in run.vcd.paths if len(path) > 4}
    assert inside == {ENGINE}
    assert {("TOP", "axi_awvalid"), ("TOP", "write_data"), ("TOP", "trace_engine_taken")} <= run.vcd.paths
    assert not any(path[-1].startswith("$") or path[-1].startswith("trace_write") for path in run.vcd.paths)


def test_annotation_keeps_shared_signals_and_names_states():
    text = ["$timescale 1ps $end\n", "$scope module TOP $end\n", "$var wire 1 a trace_write_valid $end\n",
            "$var wire 1 b trace_retire_valid $end\n", "$scope module top $end\n", "$scope module control $end\n",
            "$scope module engine $end\n", "$scope module part$3 $end\n", "$var wire 2 c fsm_state [1:0] $end\n",
            "$var wire 1 b busy $end\n", "$var wire 1 d $12 $end\n", *["$upscope $end\n"] * 5,
            "$enddefinitions $end\n", "#2\n", "1a\n", "0b\n", "b10 c\n", "1d\n", "#5\n", "b11 c\n"]
    lines = list(annotate(text, {("part",): {2: "DRAIN"}}))
    assert lines[5:9] == ["$scope module part $end\n", "$var string 1 ~~~~c state $end\n", text[8], text[9]]
    assert lines[lines.index("$enddefinitions $end\n") + 1:] == [
        "#1000\n", "0b\n", "b10 c\n", "sDRAIN ~~~~c\n", "#2500\n", "b11 c\n", "s3 ~~~~c\n"]
    assert not any("trace_" in line or "$12" in line for line in lines)


def test_what_has_no_waveforms_is_refused(tmp_path):
    with pytest.raises(ValueError, match="waves"):
        RtlTransport(TINY, 1 << 20).open_vcd(tmp_path / "x.vcd")
    done = CliRunner().invoke(main, ["preempt", "collatz", "--backend", "golden", "--vcd", str(tmp_path / "x.vcd")])
    assert done.exit_code == 2 and "golden" in done.output and "Traceback" not in done.output


@BUILDS
def test_the_command_writes_both(tmp_path, monkeypatch):
    monkeypatch.setattr(scenario, "shipped_work", lambda name, *_, **__: neighbour() if name == "hostile" else work())
    vcd, timeline = tmp_path / "engine.vcd", tmp_path / "run.perfetto-trace"
    done = CliRunner().invoke(main, ["preempt", "collatz", "--preset", "tiny", "--at", "500", "--json",
                                     "--vcd", str(vcd), "--timeline", str(timeline)])
    assert done.exit_code == 0, done.output
    assert [name for _, name in read_vcd(vcd).changes[(*ENGINE, "sequencer", "state")]][3] == "SAVE"
    assert timeline.stat().st_size > 1000
