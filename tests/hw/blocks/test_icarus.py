"""Icarus takes every exported block, with one port for each field."""

import dataclasses
import shutil
import subprocess

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.blocks import blocks, export_block
from support.hw.exported import SECONDS, written
from support.selection import quick

pytestmark = [pytest.mark.timeout(3600), pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="there is no Icarus (Debian: apt-get install iverilog)")]
G = preset("tiny")
NO_ERROR = ("sorry: constant selects in always_",)
"""What Icarus 11 says of blocks that it simulates all the same."""


def elaborated(made, folder):
    """Return what Icarus says of a block that it makes a simulation of."""
    done = subprocess.run(["iverilog", "-g2012", "-Wall", "-o", "block.vvp", "-s", made.name, *written(made, folder)],
                          cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    said = [line for line in done.stderr.splitlines() if not any(text in line for text in NO_ERROR)]
    assert done.returncode == 0, done.stderr[:2000]
    return [line for line in said if "error" in line or "implicit" in line]


@pytest.mark.parametrize("name", quick([*blocks()], ["packer", "allocation_table", "axi_master"]))
def test_a_block_is_taken(name, tmp_path):
    g = G.replace(sms=2) if name == "device" else G
    assert elaborated(export_block(name, g, flat=True), tmp_path) == []


def test_a_block_with_an_error_is_not(tmp_path):
    made = export_block("packer", G, flat=True)
    wrong = made.text.replace("\nendmodule", "\nassign nothing.of_this = name;\nendmodule", 1)
    with pytest.raises(AssertionError, match="nothing"):
        elaborated(dataclasses.replace(made, text=wrong), tmp_path)
