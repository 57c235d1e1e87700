"""The command line: reports, JSON, and a clear message with exit code 2 (a fault: 3) for every user's mistake."""

import json

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.software.kernels import KERNELS, kernel
from support.keys import read_json


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def refused(result, *words):
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.output, result.output


def test_kernels_lists_everything_that_ships():
    rows = read_json("kernels", run("kernels", "--json").stdout)["kernels"]
    assert {row["name"] for row in rows} == set(KERNELS)
    assert all(row["registers"] > 0 and row["instructions"] > 0 for row in rows)
    assert run("kernels").exit_code == 0


def test_compile_writes_an_image_that_disassembles_and_assembles_to_the_same(tmp_path):
    image = tmp_path / "vecadd.elf"
    compiled = run("compile", kernel("vecadd").ptx_path, "-o", image, "--json")
    assert compiled.exit_code == 0, compiled.output
    words = read_json("compile", compiled.stdout)["kernels"][0]["words"]
    assert read_json("disasm", run("disasm", image, "--json").stdout)["kernels"][0]["words"] == words
    text = run("disasm", image)
    assert text.exit_code == 0 and "ld.global.b32" in text.output


@pytest.mark.parametrize(("old", "new", "words"), [
    ("add.s32", "div.rz.f32", ["div.rz.f32", "vecadd.ptx:"]),
    (".param .u32 vecadd_param_3", ".param .f16x2 vecadd_param_3", ["f16x2"]),
    (".visible .entry", ".alias a, b;\n.visible .entry", [".alias"]),
    ("ret;", "ret", []),
])
def test_ptx_that_cannot_be_compiled_is_refused_with_its_place(tmp_path, old, new, words):
    source = kernel("vecadd").ptx_path.read_text()
    assert old in source
    path = tmp_path / "vecadd.ptx"
    path.write_text(source.replace(old, new))
    refused(run("compile", path), *words, "vecadd.ptx")


def test_file_that_is_no_ptx_is_refused(tmp_path):
    path = tmp_path / "k.ptx"
    text = kernel("vecadd").ptx_path.read_text()
    latin = text.replace("ret;", "r\xe9t;").encode("latin-1")
    for content, word in ((b"", "no kernel"), (b"\0\1\2", "not a text file"), (latin, "k.ptx:"),
                          (text.encode("utf-16"), "not a text file"), (text[:-40].encode(), "end of")):
        path.write_bytes(content)
        refused(run("compile", path, "-o", tmp_path / "k.elf"), word, "k.ptx")
        assert not (tmp_path / "k.elf").exists()
    path.write_bytes("\ufeff// caf\xe9\r\n".encode() + text.replace("\n", "\r\n").encode())
    assert run("compile", path).exit_code == 0


def test_output_that_cannot_be_written_is_named(tmp_path):
    result = run("compile", kernel("vecadd").ptx_path, "-o", tmp_path / "none" / "k.elf")
    refused(result, "none/k.elf", "there is no folder", "create it first")
    assert "Errno" not in result.output


def test_numbers_out_of_range_are_refused():
    refused(run("preempt", "vecadd", "--backend", "golden", "--seed", "-1"), "--seed", "-1")
    refused(run("preempt", "vecadd", "--backend", "golden", "--at", "101", "--max-cycles", "100"), "--at", "101", "100")


def test_largest_preset_holds_two_contexts_that_fill_it():
    arguments = ["preempt", "hostile", "--with", "hostile", "--preset", "gtx980", "--backend", "golden"]
    result = run(*arguments, "--at", "200", "--mechanism", "occupied", "--json")
    assert result.exit_code == 0, result.output
    assert read_json("preempt", result.stdout)["preemptions"][0]["preempt"]["tbs"] > 0


def test_register_budget_too_small_is_refused():
    refused(run("compile", kernel("pathfinder").ptx_path, "--registers", "1"), "needs at least")


def test_corrupt_image_is_refused(tmp_path):
    image = tmp_path / "k.elf"
    run("compile", kernel("vecadd").ptx_path, "-o", image)
    whole = image.read_bytes()
    for broken in (b"", b"not an image at all", whole[:200], whole[:-40], bytes([*whole[:64], 0xFF, *whole[65:]])):
        image.write_bytes(broken)
        refused(run("disasm", image), "k.elf")


def test_flipped_bits_of_an_image_never_pass_unnoticed(tmp_path):
    image = tmp_path / "k.elf"
    run("compile", kernel("vecadd").ptx_path, "-o", image)
    whole = bytearray(image.read_bytes())
    before = read_json("disasm", run("disasm", image, "--json").stdout)
    for position in range(0, len(whole), 97):
        broken = bytearray(whole)
        broken[position] ^= 0x10
        image.write_bytes(broken)
        result = run("disasm", image, "--json")
        assert "Traceback" not in result.output
        assert result.exit_code == 2 or json.loads(result.stdout) == before, position


def test_assembler_errors_name_the_line(tmp_path):
    source = tmp_path / "k.s"
    source.write_text(".kernel k\n  iadd R1, R2\n")
    refused(run("asm", source, "-o", tmp_path / "k.elf"), "k.s:2")


def test_unknown_names_are_refused():
    refused(run("preempt", "nosuch", "--backend", "golden"), "nosuch", "vecadd")
    refused(run("preempt", "vecadd", "--with", "nosuch", "--backend", "golden"), "nosuch")
    refused(run("preempt", "vecadd", "--preset", "gtx9000"), "gtx9000")
    refused(run("preempt", "vecadd", "--mechanism", "magic"), "magic")


def test_tb_that_does_not_fit_the_sm_is_refused():
    refused(run("preempt", "bfs", "--preset", "ecp5", "--backend", "golden", "--at", "10"), "bfs", "threads")


def test_kernel_that_never_ends_says_where_each_warp_stands():
    result = run("preempt", "pathfinder", "--backend", "golden", "--max-cycles", "500")
    refused(result, "has not finished after", "TB 0 warp 0", "PC")


def test_preempt_reports_and_agrees_with_its_json():
    arguments = ["preempt", "pathfinder", "--with", "reduction", "--at", "400", "--backend", "golden", "--size", "tiny"]
    report = run(*arguments)
    assert report.exit_code == 0, report.output
    assert "correct" in report.output and "drain" in report.output and "restore" in report.output
    data = read_json("preempt", run(*arguments, "--json").stdout)
    (row,) = data["preemptions"]
    assert data["correct"] is True and (row["at"], row["with"], row["mechanism"]) == (400, "reduction", "live")
    assert row["preempt"]["data_bytes"] == sum(tb["data_bytes"] for tb in row["saved_tbs"])
    assert row["preempt"]["occupied_bytes"] >= row["preempt"]["data_bytes"] > 0
