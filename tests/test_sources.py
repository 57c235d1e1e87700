"""What a `depends_on` mark names is all that the test imports, so that no change of a source leaves a stale mark."""

import ast
import functools
from pathlib import Path

import pytest
from checkout import ROOT, short, source

MARKED = sorted(path for path in ROOT.glob("tests/**/test_*.py") if "mark.depends_on(" in path.read_text()
                and path != Path(__file__).resolve())


def named(path: Path) -> list[str]:
    """Return the paths that the mark of a test file names."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
             and isinstance(node.func, ast.Attribute) and node.func.attr == "depends_on"]
    return [ast.literal_eval(argument) for argument in calls[0].args]


@functools.cache
def imports(path: Path) -> frozenset[Path]:
    """Return the project's own modules that a file names in its imports, wherever they stand."""
    package = ("caesura", *short(path).parts[:-1])
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = (*(package[:len(package) - node.level + 1] if node.level else ()), *(node.module or "").split("."))
            base = tuple(filter(None, base))
            names.update({base, *((*base, alias.name) for alias in node.names)})
    files = {source("/".join(name[1:])) for name in names if name[:1] == ("caesura",) and len(name) > 1}
    return frozenset(
        file for stem in files for file in (stem.with_suffix(".py"), stem / "__init__.py") if file.exists())


def closure(path: Path) -> set[Path]:
    """Return the modules that importing a file brings in, in turn."""
    found, left = set(), [path]
    while left:
        new = imports(left.pop()) - found
        found |= new
        left += new
    return found


@pytest.mark.parametrize("path", MARKED, ids=lambda path: path.stem)
def test_marks_name_every_source(path):
    names = [source(name) for name in named(path)]
    missing = [str(short(file)) for file in closure(path) if not any(
        name in (file, *file.parents) for name in names)]
    assert missing == []


def test_a_source_in_turn_is_found():
    """The special functions use a piece of the f32 lane, the judge of binary64 that of binary32."""
    found = closure(source("tests/hw/core/units/test_sfu.py")) | closure(source("tests/hw/core/units/test_f64_unit.py"))
    assert {source("hw/core/units/floating/parts.py"), source("sim/testing/binary32/__init__.py")} <= found
    assert len(MARKED) >= 6
