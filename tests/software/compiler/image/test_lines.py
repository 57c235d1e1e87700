"""Lines of CUDA beside lines of PTX: read from `.loc`, kept in images, named by messages."""

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caesura.software.compiler import CompileError, ImageError, compile_ptx, listing
from caesura.software.compiler.codegen.assemble import AssemblerError, assemble
from caesura.software.compiler.codegen.disassemble import disassemble
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from caesura.software.compiler.image.origin_table import (
    OriginRow,
    origin_rows,
    origins_of_rows,
    packed_origins,
    unpacked_origins,
)
from caesura.software.compiler.origins import MOST_LEVELS, Origin
from caesura.software.compiler.ptx.lines import read_lines
from caesura.software.compiler.ptx.parser import parse

DATA = Path(__file__).parents[1] / "data"
NORMS = (DATA / "norms.ptx").read_text()
"""What nvcc makes of `norms.cu`; the command is in that file."""
CALL = Origin("norms.cu", 9, 5)
DISTANCE = "_Z8distancePKfS0_i"
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"


def image():
    return compile_ptx(NORMS, "norms.ptx")["norms"]


def line_of(text, fragment):
    return next(k for k, line in enumerate(text.split("\n"), 1) if fragment in line)


@pytest.mark.parametrize(("fragment", "origin"), [
    ("ld.param.u64 \t%rd15", Origin("norms.cu", 4)),
    ("mad.lo.s32", Origin("norms.cu", 6, 5)),
    ("setp.lt.s32", Origin("distance.cuh", 11, 5, DISTANCE, CALL)),
    ("fma.rn.f32 \t%f15", Origin("distance.cuh", 12, 9, DISTANCE, CALL)),
    ("st.global.f32", CALL),
    ("ret;", Origin("norms.cu", 10, 1)),
    (".visible .entry", None)])
def test_each_line_of_ptx_has_the_place_nvcc_gives(fragment, origin):
    assert read_lines(NORMS).at(line_of(NORMS, fragment)) == origin


def test_each_instruction_has_the_place_of_its_line():
    made, table = image(), read_lines(NORMS)
    assert any(made.origin_numbers)
    assert [made.origin(pc) for pc in range(len(made.code))] == [table.at(line) for line in made.lines]


def test_code_and_lines_are_those_without_the_directives():
    plain = "\n".join("" if ".loc" in line else line for line in NORMS.split("\n"))
    without = compile_ptx(plain, "norms.ptx")["norms"]
    assert without.origins == () == without.origin_numbers
    assert dataclasses.replace(image(), origins=(), origin_numbers=()) == without


def test_an_image_without_places_is_stored_as_before_there_were_any():
    plain = dataclasses.replace(image(), origins=(), origin_numbers=())
    assert b"origin" not in write_elf([plain])
    assert b"origin" in write_elf([image()])


def test_images_keep_places_in_elf_files_and_assembly():
    made = image()
    assert read_elf(write_elf([made]))["norms"] == made
    assert assemble(disassemble(made))[0] == made


def test_a_listing_names_the_place_in_front_of_its_instructions():
    text = listing(image())
    assert "# distance.cuh:12:9, inlined at norms.cu:9:5\nL28:" in text


def test_a_place_holds_to_the_end_of_its_function():
    text = NORMS + "\n.visible .entry other()\n{\n\tret;\n}\n"
    images = compile_ptx(text, "two.ptx")
    assert images["other"].origins == ()
    assert images["norms"].origins


def test_a_message_names_both_lines():
    wrong = NORMS.replace("fma.rn.f32 \t%f15,", "fma.rn.f16 \t%f15,")
    with pytest.raises(CompileError) as caught:
        compile_ptx(wrong, "norms.ptx")
    line = line_of(wrong, "fma.rn.f16")
    assert str(caught.value).startswith(f"norms.ptx:{line}:2 (distance.cuh:12:9, inlined at norms.cu:9:5): ")


def test_a_syntax_error_names_both_lines():
    wrong = NORMS.replace("st.global.f32 \t[%rd26], %f34;", "st.global.f32 \t[%rd26], %f34 %f34;")
    with pytest.raises(CompileError, match=r"norms\.ptx:\d+:\d+ \(norms\.cu:9:5\): syntax error"):
        parse(wrong, "norms.ptx")


def test_a_message_without_a_place_is_as_before():
    with pytest.raises(CompileError, match=r"^a\.ptx:6:1: "):
        compile_ptx(HEAD + "wmma.load;\nret;\n}", "a.ptx")


def test_calls_nest_as_deep_as_they_are_recorded():
    body = HEAD + ".loc 1 50 3\nbar.sync 0;\n.loc 2 40 3, function_name $S, inlined_at 1 50 3\nbar.sync 0;\n" \
        ".loc 3 30 3, function_name $S+6, inlined_at 2 40 3\nbar.sync 0;\nret;\n}\n" \
        '.file 1 "a.cu"\n.file 2 "b.cuh", 17, 3\n.file 3 "dir/c.cuh"\n' \
        ".section .debug_str {\n$S: .b8 111,117,116,101,0x72,0,105,110\n.b8 110,101,114,0\n}\n"
    origin = read_lines(body).at(line_of(body, "function_name $S+6") + 1)
    assert str(origin) == "dir/c.cuh:30:3, inlined at b.cuh:40:3, inlined at a.cu:50:3"
    assert [place.function for place in origin.chain()] == ["inner", "outer", ""]
    assert origin.short == "c.cuh:30"


def test_the_levels_of_inlining_that_are_kept_are_limited():
    levels = "".join(f".loc 1 {k + 1} 1, function_name $S, inlined_at 1 {k} 1\n" for k in range(1, 200))
    body = HEAD + ".loc 1 1 1\n" + levels + 'ret;\n}\n.file 1 "a.cu"\n'
    made = compile_ptx(body, "a.ptx")["k"]
    assert all(len(list(origin.chain())) <= MOST_LEVELS for origin in made.origins)
    assert made.origin(0).line == 200
    assert read_elf(write_elf([made]))["k"] == made


@pytest.mark.parametrize("directive", [
    ".loc", ".loc 1", ".loc x y z", ".loc 7 5 5", ".loc 1 0 0", ".loc 1 99999999999999999999 1", ".loc 1 4000000000 1",
    ".loc 1 -5 1", ".loc " + "1" * 100_000, ".loc 1 5 " + "9" * 100_000, ".loc 1 5 1, " + "inlined_at " * 20_000,
    ".loc 1 5 1, function_name $none, inlined_at 9 9 9", ".loc\t1\t5\t1, function_name $S+99999999, inlined_at 1 3 3",
    "// .loc 1 77 1", "/* .loc 1 77 1\n */", '.pragma ".loc 1 77 1";'])
def test_odd_directives_say_nothing_and_stop_nothing(directive):
    body = HEAD + f'{directive}\nret;\n}}\n.file 1 "a.cu"\n.file 1 "b.cu"\n.file\n.file 2 a.cu\n.file 3 "' \
        + "x" * 10_000 + '"\n.section .debug_str { $S: .b8 65,0 }\n'
    made = compile_ptx(body, "a.ptx")["k"]
    assert all(origin.file == "a.cu" and origin.line == 5 for origin in made.origins)


def test_a_name_with_control_characters_is_escaped():
    body = HEAD + '.loc 1 5 1\nret;\n}\n.file 1 "a\x1b[31m\x7f.cu"\n'
    assert compile_ptx(body, "a.ptx")["k"].origins[0].file == r"a\x1b[31m\x7f.cu"


def test_reading_takes_time_in_proportion_to_the_text():
    def seconds(lines):
        import time
        text = HEAD + "".join(f".loc 1 {k + 1} 1\n// {k}\n" for k in range(lines)) + '}\n.file 1 "a.cu"\n'
        start = time.process_time()
        assert read_lines(text).at(7 + 2 * (lines - 1)).line == lines
        return time.process_time() - start

    few, many = min(seconds(2_000) for _ in range(3)), min(seconds(20_000) for _ in range(3))
    assert many < 40 * few + 0.05


places = st.builds(OriginRow, st.sampled_from(["a.cu", "b c.cuh", 'q"#//;.h']), st.integers(1, 99),
                   st.integers(0, 99), st.sampled_from(["", "f", "_Z1gv"]), st.integers(0, 3))


@given(st.lists(places, max_size=8), st.lists(st.integers(0, 8), min_size=1, max_size=12))
@settings(max_examples=100, deadline=None)
def test_rows_and_places_are_the_same(rows, words):
    rows = [row._replace(caller=min(row.caller, k)) for k, row in enumerate(rows)]
    words = [min(word, len(rows)) for word in words]
    origins, numbers = origins_of_rows(rows, words)
    made = dataclasses.replace(image_of(len(words)), origins=origins, origin_numbers=numbers if origins else ())
    assert origins_of_rows(*origin_rows(made)) == (made.origins, made.origin_numbers)
    assert unpacked_origins(json.loads(json.dumps(packed_origins(made))), len(made.origin_numbers)) == \
        (made.origins, made.origin_numbers)
    assert assemble(disassemble(made))[0] == made
    assert read_elf(write_elf([made]))["k"] == made


def image_of(words):
    return assemble(".kernel k\n.registers 1\n" + " mov.i R0, 1\n" * (words - 1) + " exit\n")[0]


@pytest.mark.parametrize("change", [
    {"words": [1]}, {"words": [99, 0]}, {"words": [-1, 0]}, {"words": ["1", 0]}, {"names": []},
    {"rows": [[0, 0, 0, 1, 0]]}, {"rows": [[0, 5, 0, 1, 1]]}, {"rows": [[0, 5, 0, 7, 0]]}, {"rows": [[0, 5]]},
    {"rows": [[0, "5", 0, 1, 0]]}, {"rows": [[0, 5, -1, 1, 0]]}, {"names": [7, ""]}])
def test_a_record_that_is_no_table_is_refused(change, monkeypatch):
    origin = Origin("a.cu", 5, 1)
    made = dataclasses.replace(image_of(2), origins=(origin,), origin_numbers=(1, 0))
    table = packed_origins(made) | change
    monkeypatch.setattr("caesura.software.compiler.codegen.elf.packed_origins", lambda _: table)
    with pytest.raises(ImageError, match="bad kernel record"):
        read_elf(write_elf([made]))


@pytest.mark.parametrize("text", [".loc 1", ".origin a.cu 1 1 - 0", '.origin "a.cu" 0 1 - 0', '.origin "a.cu" 1 1 - 1',
                                  '.origin "a.cu" 1', ".origin 5 1 1 - 0", '.origin "" 1 1 - 0'])
def test_wrong_places_in_assembly_are_refused(text):
    with pytest.raises(AssemblerError):
        assemble(f".kernel k\n{text}\n exit\n")
