"""The tests of blocks on exported SystemVerilog: each output is in each cycle what Amaranth's simulator says."""

import pytest

from support.checkout import ROOT
from support.coverage.runs import LONG, Replay

FOLDER = ROOT / "tests" / "hw" / "preempt"
FILES = sorted(str(file.relative_to(FOLDER)) for file in FOLDER.rglob("test_*.py"))


def test_there_are_such_tests():
    assert len(FILES) > 30


def test_there_are_such_long_ones():
    for name in LONG.read_text().splitlines():
        file, _, test = name.partition("::")
        assert f"\ndef {test.partition('[')[0]}(" in (FOLDER / file).read_text(), name


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("tests", FILES)
def test_the_netlist_does_what_the_source_says(tests):
    Replay(tests).points()
