"""`make prose` finds each habit of speech where it stands, and leaves plain sentences alone."""

import importlib.util
import json
import subprocess
import sys

import pytest

from support.checkout import ROOT

_SPEC = importlib.util.spec_from_file_location("prose", ROOT / "tools" / "prose.py")
prose = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(prose)
LONG, OF, WHAT, VERBLESS, PER, COLONS = prose.RULES
THIRTY = " ".join(["word"] * 30)


def broken(source, suffix, folder):
    """Return the rules that a file breaks, once for each time."""
    file = folder / f"file{suffix}"
    file.write_text(source)
    found = prose.python_texts(file) if suffix == ".py" else prose.page_texts(file)
    return [rule for rule in prose.RULES for text in found for _ in range(prose.RULES[rule](text))]


@pytest.mark.parametrize("rule, bad, good", [
    (LONG, f"It is one {THIRTY}.", f"It is one. {THIRTY}"),
    (OF, "It ends. Of the warps, one issues.", "One of the warps issues. Of course, it ends."),
    (WHAT, "What a warp waits for.", "A warp waits for it. What does it wait for?"),
    (WHAT, "Who waits.", "Whole warps wait."),
    (VERBLESS, "Of the device.", "It belongs to the device."),
    (VERBLESS, "With what is saved.", "With patience, warps stop at points, which saves less and takes longer."),
    (PER, "It holds a bit a lane.", "It holds one bit per lane, and is a lane. It is not a bit, a lane at least."),
    (PER, "It saves 16 bytes a cycle.", "It saves 16 bytes in a cycle. It saves 0. A cycle passes."),
    (COLONS, "It has two: a row: a line.", "It has two: rows. It also has one: a line (`x: y: z`).")])
def test_a_rule_finds_a_sentence_that_breaks_it_and_no_other(rule, bad, good, tmp_path):
    assert broken(f'"""{bad}"""\n', ".py", tmp_path) == [rule]
    prose.python_texts.cache_clear()
    assert broken(f'"""{good}"""\n', ".py", tmp_path) == []


@pytest.mark.parametrize("source", [
    '"""A block."""\n# Of the device.\n',
    '"""A block."""\nx = 1  # of no use\ny = 2  # Of the device.\n',
    'def f(x):\n    """Do it.\n\n    Parameters\n    ----------\n    x : int\n        Of the device.\n    """\n',
    'class C:\n    """One.\n\n    Attributes\n    ----------\n    x : Signal(1), in\n        Of the device.\n    """\n',
    'x = 1\n"""Of the device."""\n',
    'option("--x", help="Of the device.")\n'])
def test_docstrings_notes_comments_and_help_texts_are_read(source, tmp_path):
    assert broken(source, ".py", tmp_path) == [VERBLESS]


@pytest.mark.parametrize("source", [
    "x = '# Of the device.'\n", "x = 1  # type: ignore\n", '"""A block.\n\n::\n\n    a: b: c\n    Of x, y\n"""\n',
    '"""A block.\n\nOf the device.\n"""\n'])
def test_strings_pragmas_and_drawings_are_not_and_later_paragraphs_need_no_verb(source, tmp_path):
    assert broken(source, ".py", tmp_path) == []


TABLE = "====  ======\nName  Use\n====  ======\na      a: b: c\n\nOf x, y\n====  ======\n"


@pytest.mark.parametrize("source", [f'"""A block.\n\n{TABLE}"""\n', f'"""A block:\n{TABLE}\nIt has rows: two.\n"""\n'])
def test_a_simple_table_ends_a_paragraph_and_is_no_prose(source, tmp_path):
    assert broken(source, ".py", tmp_path) == []


def test_what_comes_after_a_simple_table_is_prose(tmp_path):
    assert broken(f'"""A block:\n{TABLE}\nOf x, y.\n"""\n', ".py", tmp_path) == [OF]


def test_pages_are_read_but_for_code_tables_headings_and_addresses(tmp_path):
    page = "# Of all, one\n\n| Of all, one |\n\n```\nOf all, one\n```\n\n* Of all,\n  one.\n\n[one](a:%20b:%20c)\n"
    assert broken(page, ".md", tmp_path) == [OF]
    assert [text.line for text in prose.page_texts(tmp_path / "file.md")] == [9, 12]


def test_a_room_may_have_fewer_than_recorded_and_not_more(tmp_path):
    for part in ("hw/core/units", "docs"):
        (tmp_path / part).mkdir(parents=True)
    (tmp_path / "hw/core/units/lane.py").write_text('"""What a lane does.\n\nIt takes a bit a lane.\n"""\n')
    (tmp_path / "docs" / "page.md").write_text("Of all, one.\n")
    found = prose.counts(tmp_path)
    assert found == {"docs": 1, "hw/core": 2}
    assert [where for _, where in prose.findings(tmp_path, PER)] == ["hw/core/units/lane.py:3: It takes a bit a lane."]
    assert prose.more_than_recorded(found, {"docs": 1, "hw/core": 3}) == []
    assert prose.more_than_recorded(found, {"docs": 1, "hw/core": 1}) == [
        "hw/core: 2 phrases to mend, 1 were recorded; make prose ARGS='--list hw/core' says where"]
    assert len(prose.more_than_recorded(found, {"hw/core": 2})) == 1


def test_the_list_of_a_room_has_what_is_counted_of_it():
    listed = subprocess.run([sys.executable, ROOT / "tools" / "prose.py", "--list", "hw/interfaces"], check=True,
                            capture_output=True, text=True, timeout=120).stdout.splitlines()
    assert len([line for line in listed if line]) == prose.counts(ROOT).get("hw/interfaces", 0)
    assert all(line.startswith("hw/interfaces/") for line in listed if line)


def test_the_record_names_rooms_that_exist():
    recorded = json.loads((ROOT / "tools" / "prose.json").read_text())
    assert [room for room in recorded if not (ROOT / room).is_dir()] == []
