"""The text of lines of CUDA in what `caesura explain` shows."""

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.software.compiler.origins import Origin
from caesura.software.report.cuda import CudaSources
from support.keys import read_json

DATA = Path(__file__).parent.parent / "compiler" / "data"
STATEMENT = "sum += square(a[i] - b[i]);"


def explained(path, *options):
    done = CliRunner().invoke(main, ["explain", str(path), *options])
    assert done.exit_code == 0, done.output
    return done.output


def test_text_and_page_show_the_statement_of_each_instruction():
    assert f"distance.cuh:12:9, inlined at norms.cu:9:5  {STATEMENT}\n" in explained(DATA / "norms.ptx")
    page = explained(DATA / "norms.ptx", "--html", "-")
    assert f"<u>distance.cuh:12</u> <q>{STATEMENT}</q> <b>73</b>" in page
    record = json.loads(re.search(r'class="data">(.*?)</script>', page)[1])
    assert ["distance.cuh:12:9, inlined at norms.cu:9:5", STATEMENT] in record["origins"]
    assert record["origins"][record["rows"][30][-1]][1] == STATEMENT


def test_without_the_files_places_are_named_without_text(tmp_path):
    shutil.copy(DATA / "norms.ptx", tmp_path)
    text = explained(tmp_path / "norms.ptx")
    assert "distance.cuh:12:9, inlined at norms.cu:9:5" in text and STATEMENT not in text


def test_images_show_it_too(tmp_path):
    made = CliRunner().invoke(main, ["compile", str(DATA / "norms.ptx"), "-o", str(tmp_path / "norms.elf")])
    assert made.exit_code == 0
    shutil.copy(DATA / "distance.cuh", tmp_path)
    assert STATEMENT in explained(tmp_path / "norms.elf")


def test_json_has_the_chain_of_places():
    rows = read_json("explain", explained(DATA / "norms.ptx", "--json"))["kernels"][0]["instructions"]
    assert rows[30]["origin"] == {
        "file": "distance.cuh", "line": 12, "column": 9, "function": "_Z8distancePKfS0_i",
        "caller": {"file": "norms.cu", "line": 9, "column": 5, "function": "", "caller": None}}


def test_json_of_a_kernel_without_lines_has_none():
    rows = read_json("explain", explained(DATA / "floats.ptx", "--json"))["kernels"][0]["instructions"]
    assert {row["origin"] is None for row in rows} == {True}


def test_compile_names_the_place_of_each_word():
    done = CliRunner().invoke(main, ["compile", str(DATA / "norms.ptx"), "--json"])
    kernel = read_json("compile", done.output)["kernels"][0]
    row = kernel["origins"][kernel["origin_numbers"][30] - 1]
    assert row["file"] == "distance.cuh" and row["line"] == 12
    assert kernel["origins"][row["caller"] - 1]["file"] == "norms.cu"


@pytest.mark.parametrize("file", ["deep/down/a.cu", "/nowhere/deep/a.cu", "C:\\work\\a.cu", "a.cu"])
def test_a_file_is_found_by_its_path_or_beside_the_kernel(tmp_path, file):
    (tmp_path / "a.cu").write_text("first\n  second   line\n")
    assert CudaSources(tmp_path).text(Origin(file, 2)) == "second line"


def test_the_path_that_is_given_comes_first(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.cu").write_text("there\n")
    (tmp_path / "a.cu").write_text("beside\n")
    assert CudaSources(tmp_path).text(Origin("deep/a.cu", 1)) == "there"
    assert CudaSources(tmp_path / "other").text(Origin(str(tmp_path / "deep" / "a.cu"), 1)) == "there"


@pytest.mark.parametrize("file", ["key.pem", "a.cu/", "folder.cu", "x" * 5_000 + ".cu", "\0.cu", "", ".cu", "fifo.cu"])
def test_what_is_no_readable_source_has_no_text(tmp_path, file):
    import os

    (tmp_path / "key.pem").write_text("secret\n")
    (tmp_path / "folder.cu").mkdir()
    os.mkfifo(tmp_path / "fifo.cu")
    assert CudaSources(tmp_path).text(Origin(file, 1)) == ""


def test_odd_text_is_shown_short_and_lines_that_are_missing_not_at_all(tmp_path):
    (tmp_path / "a.cu").write_bytes(b"\xff\xfe broken\n" + b"x" * 1_000_000)
    sources = CudaSources(tmp_path)
    assert "broken" in sources.text(Origin("a.cu", 1))
    assert len(sources.text(Origin("a.cu", 2))) <= 160
    assert sources.text(Origin("a.cu", 3)) == ""
