"""What a `depends_on` mark names is all of the package that the test imports, so no change leaves a stale mark.

The test's own file and the support it imports count without being named.
"""

import ast
from pathlib import Path

import pytest

from support.checkout import ROOT, short, source
from support.sources import SUPPORT, closure, support

MARKED = sorted(path for path in ROOT.glob("tests/**/test_*.py") if "mark.depends_on(" in path.read_text()
                and path != Path(__file__).resolve())


def named(path: Path) -> list[str]:
    """Return the paths that the mark of a test file names."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
             and isinstance(node.func, ast.Attribute) and node.func.attr == "depends_on"]
    return [ast.literal_eval(argument) for argument in calls[0].args]


@pytest.mark.parametrize("path", MARKED, ids=lambda path: path.stem)
def test_marks_name_every_source(path):
    names = [source(name) for name in named(path)]
    missing = [str(short(file)) for file in closure(path) if SUPPORT not in file.parents and not any(
        name in (file, *file.parents) for name in names)]
    assert missing == []


def test_a_source_in_turn_is_found():
    """The special functions use a piece of the f32 lane, the judge of binary64 that of binary32."""
    found = closure(source("tests/hw/core/units/test_sfu.py")) | closure(source("tests/hw/core/units/test_f64_unit.py"))
    assert {source("hw/core/units/floating/parts.py"), source("sim/testing/binary32/__init__.py")} <= found
    assert len(MARKED) >= 6


def test_support_in_turn_is_found():
    """Of the bench the machine it looks into, and what that is made of; of a module the data it reads."""
    names = {file.name for file in support(source("tests/hw/preempt/test_gang.py"))}
    assert {"preempt_images.py", "preempt_machine.py", "register_samples.py", "simulation.py"} <= names
    assert "execute_bench.py" not in names
    assert "trace_processor.js" in {file.name for file in support(source("tests/sim/report/test_timeline.py"))}
