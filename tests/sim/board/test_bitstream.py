"""The bitstream of a board: the flow ends in one, what does not fit is said, by one command."""


import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.errors import InputError
from caesura.hw.arch.geometry import preset
from caesura.sim.board import bitstream
from caesura.sim.report.board import print_board
from caesura.sim.synth.targets import COLUMNS
from support.keys import read_json

TINY = preset("tiny")
RESULT = {"board": "ulx3s", "device": "LFE5U-85", "geometry": "tiny", "left_out": None, "memory_bytes": 1 << 17,
          "baud": 500_000, "clock": 12.5, "aim": 50.0, "seed": 1, "available": dict.fromkeys(COLUMNS, 1000),
          **dict.fromkeys(COLUMNS, 900), "parts": {}, "lacking": {}, "mhz": None, "path": None, "met": False,
          "bitstream": None}
PATH = {"start": "a.b", "end": "c", "ns": 20.0, "routing": 9.0, "harness": False,
        "steps": [{"near": "a.b", "cells": 2, "ns": 20.0}]}


def test_what_does_not_fit_is_said(capsys):
    print_board(RESULT | {"lacking": {"LUT": (100_000, 83_640)}})
    assert "it does not fit: 100,000 of 83,640 (LUT, carry and distributed RAM included); there is no bitstream" in (
        capsys.readouterr().out)


@pytest.mark.parametrize("mhz, met, told", [
    (13.0, True, "13.0 MHz, 12.5 MHz asked for: met; the aim is 50 MHz: missed"),
    (9.0, False, "9.0 MHz, 12.5 MHz asked for: MISSED"), (60.0, True, "the aim is 50 MHz: met")])
def test_timing_is_said_next_to_what_was_asked_for(capsys, mhz, met, told):
    print_board(RESULT | {"mhz": mhz, "met": met, "path": PATH, "bitstream": "x.bit"})
    out = capsys.readouterr().out
    assert told in out and "a.b -> c: 20.0 ns, 9.0 of them routing" in out and "written: x.bit" in out


@pytest.mark.parametrize("memory", [0, -4096, 5000])
def test_memory_that_cannot_be(memory, tmp_path):
    with pytest.raises(InputError, match="memory must be a positive multiple of 4096 bytes"):
        bitstream.build_bitstream(TINY, tmp_path / "x.bit", memory_bytes=memory)


@pytest.mark.parametrize("arguments, message", [
    (["--board", "ulx4s"], "there is no 'ulx4s'"), (["--clock", "1"], "not in the range"),
    (["--baud", "4000000"], "a line of 4000000 baud cannot be made of a clock of 12.5 MHz"),
    (["--leave-out", "sm"], "there is no 'sm'"), (["-o", "nowhere/x.bit"], "nowhere")])
def test_what_cannot_be_asked_for(arguments, message):
    result = CliRunner().invoke(main, ["board", "build", "--preset", "tiny", *arguments])
    assert result.exit_code == 2 and message in result.output + str(result.exception)


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_the_flow_ends_in_a_bitstream(tmp_path):
    """Of a board without its SM; the same again is not made again."""
    out = tmp_path / "shell.bit"
    arguments = ["board", "build", "--preset", "tiny", "--leave-out", "machine", "--memory", "16", "--clock", "25",
                 "-o", str(out), "--json", "-"]
    results = []
    for _ in range(2):
        run = CliRunner().invoke(main, arguments)
        assert run.exit_code == 0, run.output
        results.append(read_json("board build", run.stdout))
    first, second = results
    assert first == second and first["met"] and first["mhz"] >= 25 and not first["lacking"]
    assert 500 < first["LUT"] < 5000 and first["block RAM"] >= 8
    data = out.read_bytes()
    assert data[:2] == b"\xFF\x00" and b"Part: LFE5U-85F-6CABGA381" in data[:200] and len(data) > 50_000
