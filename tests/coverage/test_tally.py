"""From points to rooms: a line is covered if in one module of one run all of its branches were taken."""

import pytest

from support.coverage.points import Point
from support.coverage.tally import ReasonError, explained, rooms, totals

PACKER, ENGINE, OTHER = "hw/preempt/formats/packer.py", "hw/preempt/engine.py", "hw/lib/bits.py"


def branch(line: int, count: int, *, sv: int = 1, module: str = "top", file: str = PACKER, what: str = "if 1",
           statements: bool = True) -> Point:
    """Return a branch."""
    return Point(module, sv, what, False, ((file, line),), statements, count)


def test_all_branches_of_a_line_have_to_be_taken():
    found = rooms([[branch(1, 2), branch(1, 0, sv=2), branch(5, 1, sv=3)]])
    assert found["formats"].covered == {(PACKER, 5)} and found["formats"].missed == {(PACKER, 1)}
    assert found["formats"].branches == [2, 3]


def test_but_one_run_is_enough():
    assert rooms([[branch(1, 0)], [branch(1, 3)]])["formats"].lines == [1, 1]
    assert not rooms([[branch(1, 3), branch(1, 0, sv=2)], [branch(1, 0), branch(1, 3, sv=2)]])["formats"].covered


def test_and_one_module():
    assert rooms([[branch(1, 0, module="a"), branch(1, 1, module="b")]])["formats"].lines == [1, 1]


def test_instances_of_a_module_count_as_one():
    found = rooms([[branch(1, 0), branch(1, 4)]])["formats"]
    assert found.lines == [1, 1] and found.branches == [1, 1]


def test_a_condition_that_does_not_hold_is_a_branch_and_no_line():
    found = rooms([[branch(1, 1), branch(1, 0, what="else 2", statements=False)]])["formats"]
    assert found.lines == [1, 1] and found.branches == [1, 2]


def test_rooms_are_folders_and_other_parts_are_left_out():
    found = rooms([[branch(1, 1), branch(1, 1, file=ENGINE, sv=2), branch(1, 1, file=OTHER, sv=3)]])
    assert list(found) == ["engine", "formats"]
    assert totals(found.values()) == {"lines": [2, 2], "branches": [2, 2], "toggles": [0, 0]}


def test_toggles_are_no_lines():
    point = Point("top", 3, "a[0]:0->1", True, ((PACKER, 9),), False, 0)
    found = rooms([[point]])["formats"]
    assert found.toggles == [0, 1] and found.lines == [0, 0]


def test_each_missed_line_is_told_with_its_reason():
    found = rooms([[branch(1, 0), branch(3, 0, sv=2)]])
    first, third = explained(found, {})
    assert first[0] == third[0] == PACKER and not first[2]
    told = explained(found, {PACKER: {first[1]: "because"}})
    assert told == [(*first[:2], "because"), third]


def test_a_reason_for_a_covered_line_is_refused():
    with pytest.raises(ReasonError, match=r"packer\.py has no line 'm = Module\(\)' that is not covered"):
        explained(rooms([[branch(1, 0)]]), {PACKER: {"m = Module()": "because"}})
