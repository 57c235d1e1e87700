"""Icarus takes every exported block, with one port for each field."""

import dataclasses

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.blocks import blocks, export_block
from support.hw.exported import elaborated
from support.selection import quick

G = preset("tiny")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", quick([*blocks()], ["packer", "allocation_table", "axi_master"]))
def test_a_block_is_taken(name, tmp_path):
    g = G.replace(sms=2) if name == "device" else G
    said = elaborated(export_block(name, g, flat=True), tmp_path, "-Wall", "-s", name).splitlines()
    assert [line for line in said if "error" in line or "implicit" in line] == []


def test_a_block_with_an_error_is_not(tmp_path):
    made = export_block("packer", G, flat=True)
    wrong = made.text.replace("\nendmodule", "\nassign nothing.of_this = name;\nendmodule", 1)
    with pytest.raises(AssertionError, match="nothing"):
        elaborated(dataclasses.replace(made, text=wrong), tmp_path)
