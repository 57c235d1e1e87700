"""The licence at the head of exported files, and the command that writes them again."""

import shlex
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.geometry import preset
from caesura.hw.export import export_block
from caesura.hw.export.licence import COPYRIGHT, LICENCE, command_line

ROOT = Path(__file__).parents[3]
LINES = f"// SPDX-FileCopyrightText: {COPYRIGHT}\n// SPDX-License-Identifier: {LICENCE}\n// Written by Caesura "


def test_the_notice_is_that_of_the_project():
    assert COPYRIGHT in (ROOT / "LICENSE").read_text().splitlines()
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"] == LICENCE


@pytest.mark.parametrize("words", ["packer words_out=4 lanes=4 --preset tiny --name pack --flat",
                                   "checksum --preset ecp5 --observe"])
def test_the_command_in_a_file_writes_it_again(words, tmp_path):
    first, second = tmp_path / "first.sv", tmp_path / "second.sv"
    assert CliRunner().invoke(main, ["export", *words.split(), "-o", str(first)]).exit_code == 0
    text = first.read_text()
    assert text.startswith(f"{LINES}{version('caesura')}: caesura export {words}\n\n")
    again = shlex.split(text.partition(": caesura ")[2].partition("\n")[0])
    assert CliRunner().invoke(main, [*again, "-o", str(second)]).exit_code == 0
    assert second.read_text() == text


def test_the_package_has_the_notice_too():
    made = export_block("compressor", preset("tiny"))
    assert made.package_text.startswith(f"{LINES}{version('caesura')}\n\n")


def test_a_geometry_of_a_file_is_named():
    assert command_line("sm", preset("tiny").replace(name="mine", lanes=4), {}) \
        == "caesura export sm --geometry mine.toml"
