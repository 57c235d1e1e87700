"""What a long test that has passed depends on."""

import pytest

from support.checkout import PARTS, ROOT, short, source
from support.sources import LEAVES, closure, imports, unused


def test_no_other_room_imports_a_leaf():
    """Nor by a name in a text: the command line, benches and blocks do, and are leaves."""
    modules = [file for part in PARTS for file in source(part).rglob("*.py")
               if not any(room in file.parents for room in LEAVES)]
    assert len(modules) > 300
    for module in modules:
        found = [short(file) for file in closure(module) if any(room in file.parents for room in LEAVES)]
        assert not found, short(module)
    named = {str(short(module)) for module in modules if "import_module" in module.read_text()}
    assert named == {"sim/__init__.py", "software/compiler/__init__.py", "software/driver/board/line.py"}, "or a leaf"


def test_all_leaves_are_there():
    assert all(any(room.rglob("*.py")) for room in LEAVES)


@pytest.mark.parametrize("name, without", [
    ("system/test_yield.py", True), ("hw/preempt/test_engine.py", True),
    ("system/test_check_bounds.py", False), ("cocotb/test_packer.py", False), ("sim/bench/test_area.py", False),
    ("test_packaging.py", False)])
def test_a_test_without_leaves_is_known(name, without):
    assert unused(ROOT / "tests" / name) == (frozenset(LEAVES) if without else frozenset())


def test_imports_of_functions_count():
    assert source("sim/golden/transport.py") in closure(source("sim/testing/launch.py")) | imports(
        ROOT / "tests" / "support" / "sim" / "yield_campaign.py")
