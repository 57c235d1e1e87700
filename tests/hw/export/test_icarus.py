"""Icarus takes every exported block, with one port for each field, and simulates what Verilator does."""

import dataclasses
import re

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.export import Exported, blocks, export_block
from support.hw.exported import elaborated, icarus, stirred, verilated
from support.selection import quick

G = preset("tiny")
SHORT = ["packer", "group_decoder"]
CYCLES = 400
LARGE = {"sm": 60, "device": 60, "control_unit": 150, "preemption_unit": 150, "preempt_engine": 150}
"""Cycles of what Icarus takes long for."""


def exported(name: str) -> Exported:
    return export_block(name, G.replace(sms=2) if name == "device" else G, flat=True)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", quick([*blocks()], SHORT))
def test_a_block_is_taken(name, tmp_path):
    said = elaborated(exported(name), tmp_path, "-Wall", "-s", name).splitlines()
    assert [line for line in said if "error" in line or "implicit" in line] == []


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", quick([*blocks()], SHORT))
def test_a_block_does_the_same_in_icarus_and_in_verilator(name, tmp_path):
    """Random inputs: all outputs are the same after each cycle. What a memory has read is unknown until it has read."""
    made, cycles = exported(name), LARGE.get(name, CYCLES)
    bench = stirred(made, cycles, tmp_path)
    in_icarus, in_verilator = ([line for line in run(made, bench, tmp_path) if line.startswith("= ")]
                               for run in (icarus, verilated))
    assert len(in_icarus) == len(in_verilator) == cycles and len({*in_icarus}) > 1
    for cycle, (one, other) in enumerate(zip(in_icarus, in_verilator, strict=True)):
        assert cycle < cycles // 4 or re.fullmatch("= [0-9a-f]+", one), f"cycle {cycle}: unknown"
        assert all(p in (q, "x", "X") for p, q in zip(one, other, strict=True)), f"cycle {cycle}: {one}, {other}"


def test_a_difference_is_seen(tmp_path):
    made = exported("packer")
    bench = stirred(made, CYCLES, tmp_path)
    wrong = made.text.replace(".beat_ready (beat_ready)", ".beat_ready (!beat_ready)")
    assert wrong != made.text
    assert icarus(made, bench, tmp_path) != icarus(dataclasses.replace(made, text=wrong), bench, tmp_path)


def test_a_block_with_an_error_is_not(tmp_path):
    made = exported("packer")
    wrong = made.text.replace("\nendmodule", "\nassign nothing.of_this = name;\nendmodule", 1)
    with pytest.raises(AssertionError, match="nothing"):
        elaborated(dataclasses.replace(made, text=wrong), tmp_path)
