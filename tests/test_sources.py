"""What a `depends_on` mark names is all of the package that the test imports, so no change leaves a stale mark.

The test's own file, the support it imports and `src` count without being named. Without a mark a test depends on all
of the package but the rooms that it does not import.
"""

import ast
from pathlib import Path

import pytest

from support.checkout import PARTS, ROOT
from support.selection import quick
from support.sources import LEAVES, SHARED, SUPPORT, closure, imports, in_leaf, support, unused

MARKED = sorted(path for path in ROOT.glob("tests/**/test_*.py") if "mark.depends_on(" in path.read_text()
                and path != Path(__file__).resolve())


def named(path: Path) -> list[str]:
    """Return the paths that the mark of a test file names."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
             and isinstance(node.func, ast.Attribute) and node.func.attr == "depends_on"]
    return [ast.literal_eval(argument) for argument in calls[0].args]


@pytest.mark.parametrize("path", quick(MARKED, MARKED[::3]), ids=lambda path: path.stem)
def test_marks_name_every_source(path):
    names = [ROOT / name for name in named(path)]
    missing = [str(file.relative_to(ROOT)) for file in closure(path) if not any(
        name in (file, *file.parents) for name in (*names, SUPPORT, SHARED))]
    assert missing == []


def test_a_source_in_turn_is_found():
    """The special functions use a piece of the f32 lane, the judge of binary64 that of binary32; all use the errors."""
    found = closure(ROOT / "tests/hw/core/units/test_sfu.py") | closure(ROOT / "tests/hw/core/units/test_f64_unit.py")
    assert {ROOT / "hw/core/units/floating/parts.py", ROOT / "tests/support/reference/binary32/__init__.py",
            ROOT / "src/caesura/errors.py"} <= found
    assert len(MARKED) >= 6


def test_support_in_turn_is_found():
    """Of the bench the machine it looks into, and what that is made of; of a module the data it reads."""
    names = {file.name for file in support(ROOT / "tests/hw/preempt/test_gang.py")}
    assert {"images.py", "machine.py", "memory.py", "register_samples.py", "simulation.py", "sm.py"} <= names
    assert "execute_bench.py" not in names
    assert "trace_processor.js" in {file.name for file in support(ROOT / "tests/sim/report/test_timeline.py")}


def test_support_that_is_started_as_a_program_is_found():
    names = {file.name for file in support(ROOT / "tests/coverage/test_benches.py")}
    assert {"run_tests.py", "cosimulation.py", "targets.py"} <= names


def test_no_other_room_imports_a_leaf():
    """Nor by a name in a text: the command line, benches and blocks do, and are leaves."""
    modules = [file for part in PARTS for file in (ROOT / part).rglob("*.py") if not in_leaf(file)]
    assert len(modules) > 300
    for module in modules:
        found = [file.relative_to(ROOT) for file in closure(module) if in_leaf(file)]
        assert not found, module.relative_to(ROOT)
    named = {str(module.relative_to(ROOT)) for module in modules if "import_module" in module.read_text()}
    assert named == {"hw/export/catalogue.py", "hw/export/structures.py", "sim/__init__.py",
                     "software/compiler/__init__.py", "software/driver/machine/board/line.py"}, "which name no leaf"


def test_all_leaves_are_there():
    assert all(any(room.rglob("*.py")) for room in LEAVES)


@pytest.mark.parametrize("name, without", [
    ("system/yields/test_yield.py", True), ("hw/preempt/test_engine.py", True),
    ("system/programs/test_check_bounds.py", False), ("cocotb/test_packer.py", False),
    ("sim/bench/test_area.py", False), ("test_packaging.py", False)])
def test_a_test_without_leaves_is_known(name, without):
    assert unused(ROOT / "tests" / name) == (frozenset(LEAVES) if without else frozenset())


def test_imports_of_functions_count():
    assert ROOT / "sim/golden/transport.py" in closure(ROOT / "tests/support/sim/launch.py") | imports(
        ROOT / "tests" / "support" / "sim" / "yield_campaign.py")
