"""``caesura export``: files, parameters, names, and one clear message for what is wrong."""

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.export import blocks


def invoke(*arguments):
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


def test_the_list_has_a_line_for_each_block():
    lines = invoke("--list").output.splitlines()
    assert [line.split()[0] for line in lines] == list(blocks())
    assert "[words_out, tag, words_in]" in next(line for line in lines if line.startswith("packer "))


def test_a_block_and_the_package_of_its_types_are_written(tmp_path):
    done = invoke("compressor", "-o", tmp_path / "c.sv", "--name", "squeezer")
    assert done.exit_code == 0 and done.stdout.split() == [str(tmp_path / "squeezer_pkg.sv"), str(tmp_path / "c.sv")]
    text = (tmp_path / "c.sv").read_text()
    assert "module squeezer (" in text and "squeezer_pkg::encoded_t       output_payload" in text
    assert "Latency, in cycles at least: input to output 2." in text and "geometry tiny" in text
    assert "$" not in text.partition("\n);")[0]
    assert "package squeezer_pkg;" in (tmp_path / "squeezer_pkg.sv").read_text()


def test_a_flat_block_is_one_file_with_the_parameters_that_were_given(tmp_path):
    done = invoke("packer", "words_out=4", "--flat", "-o", tmp_path / "p.sv")
    assert done.exit_code == 0 and [path.name for path in tmp_path.iterdir()] == ["p.sv"]
    head = (tmp_path / "p.sv").read_text().partition("\n);")[0]
    assert "words_out = 4" in head and "output logic [127:0] beat_payload_words" in head


@pytest.mark.parametrize("block, told, untold", [
    ("allocation_table", ["release_ : Signal(owners)", "table_ : array"], ["release :"]),
    ("guaranteed_share", ["PERIOD = 256", "burst_beats = 16", "SHARE_BITS = 7"], ["\n//   beats ="]),
    ("checksum", ["ISO-HDLC"], [])])
def test_the_comment_names_ports_as_they_are_and_numbers_with_their_values(block, told, untold, tmp_path):
    assert invoke(block, "--flat", "-o", tmp_path / "x.sv").exit_code == 0
    comment = (tmp_path / "x.sv").read_text().partition("\nmodule ")[0]
    assert all(text in comment for text in told) and not any(text in comment for text in untold), comment


def test_sizes_of_the_sm_are_given_in_the_same_way(tmp_path):
    assert invoke("compressor", "lanes=4", "--flat", "-o", tmp_path / "c.sv").exit_code == 0
    assert "input  logic [127:0] input_payload_words" in (tmp_path / "c.sv").read_text()


@pytest.mark.parametrize("arguments, message", [
    (["compresor"], "there is no block 'compresor'; did you mean 'compressor'?"),
    (["packer", "word_out=4"], "packer has no parameter 'word_out'; did you mean 'words_out'?"),
    (["packer", "words_out=four"], "'words_out=four': write words_out=NUMBER"),
    (["packer", "words_out"], "write words_out=NUMBER"),
    (["packer", "words_out=3"], "packer: "), (["packer", "words_out=-1"], "packer: "),
    (["tb_compressor", "tag=8"], "tb_compressor has no parameter 'tag'"),
    (["compressor", "tag=-1"], "compressor: tag must be 0 to 4096, not -1"),
    (["allocation_table", "in_place=-1"], "'in_place=-1': in_place is 0 or 1"),
    (["allocation_table", "in_place=5"], "'in_place=5': in_place is 0 or 1"),
    (["compressor", "lanes=3"], "lanes"), (["device"], "sms=2"), ([], "name a block"),
    (["packer", "words_out=4", "words_out=2"], "words_out is given twice"),
    (["packer", "--name", ""], "--name is empty"), (["packer", "--list"], "--list lists all blocks"),
    (["packer", "-o", "packer_pkg.sv"], "packer_pkg.sv is the file of the module's types"),
    (["packer", "--name", "2x"], "'2x' cannot be the name of a module"),
    (["packer", "--name", "release"], "'release' cannot be the name of a module"),
    (["packer", "--preset", "huge"], "there is no 'huge'"), (["packer", "-o", "nosuch/x.sv"], "nosuch")])
def test_what_is_wrong_is_told_in_one_line(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = invoke(*arguments)
    assert done.exit_code == 2 and done.stderr.count("\n") == 1 and message in done.stderr, done.output
    assert "Traceback" not in done.output and list(tmp_path.iterdir()) == []


def test_types_of_another_export_are_not_lost(tmp_path):
    """Two modules of one name would share a package; the same file again is what it is now."""
    assert invoke("packer", "words_out=4", "-o", tmp_path / "a.sv").exit_code == 0
    before = (tmp_path / "packer_pkg.sv").read_text()
    done = invoke("packer", "words_out=2", "-o", tmp_path / "b.sv")
    assert done.exit_code == 2 and "--name" in done.stderr and not (tmp_path / "b.sv").exists()
    assert (tmp_path / "packer_pkg.sv").read_text() == before
    assert invoke("packer", "words_out=2", "--name", "narrow", "-o", tmp_path / "b.sv").exit_code == 0
    assert invoke("packer", "words_out=2", "-o", tmp_path / "a.sv").exit_code == 0
    assert (tmp_path / "packer_pkg.sv").read_text() != before


def test_a_package_that_cannot_be_written_is_told_before_anything_is(tmp_path):
    (tmp_path / "packer_pkg.sv").mkdir()
    done = invoke("packer", "-o", tmp_path / "packer.sv")
    assert done.exit_code == 2 and "packer_pkg.sv" in done.stderr and not (tmp_path / "packer.sv").exists()
