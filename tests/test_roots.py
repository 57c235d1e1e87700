"""The roots of the package: every file is one module, found without symbolic links and only from its own checkout."""

import ast
import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import caesura
from support.checkout import PARTS, ROOT

ROOTS = "src", *PARTS
WAYS = """
import importlib.util, sys
import caesura, caesura.sim, caesura.hw.arch.geometry, caesura.software.driver

ways = [caesura.Geometry, *(vars(module)["Geometry"] for module in [*sys.modules.values()]
                            if "Geometry" in vars(module))]
print(len(ways) > 5, len({*ways}), *map(importlib.util.find_spec, ("hw.arch", "sim.golden", "software.driver")))
"""
"""Looks for `Geometry` in all modules, and for the parts by their names without the package's."""


def python(*command, roots):
    """Run Python where the checkout lies, with folders on its path; return what it printed."""
    done = subprocess.run([sys.executable, *map(str, command)], cwd=ROOT, capture_output=True, text=True, timeout=300,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, roots))})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_every_file_is_one_module():
    found = json.loads(python(ROOT / "tests" / "support" / "every_module.py", roots=[ROOT / "src"]))
    files = {Path(file) for file in found["files"].values()} | {ROOT / "src" / "caesura" / "__init__.py"}
    assert len(files) == len(found["files"]) + 1
    present = {path for root in ROOTS for path in (ROOT / root).rglob("*.py") if path.name != "__main__.py"}
    assert files == present


@pytest.mark.parametrize("roots", [
    ["src"], pytest.param(ROOTS, marks=pytest.mark.full), [*PARTS, "src"],
    pytest.param([".", "src"], marks=pytest.mark.full)], ids="-".join)
def test_a_class_is_one_class_whichever_way_it_is_found(roots):
    """Also where the path has the roots in another order, or the checkout itself, whose `hw` is no package."""
    assert python("-c", WAYS, roots=[ROOT / root for root in roots]).split() == ["True", "1", "None", "None", "None"]


def test_parts_of_two_checkouts_never_mix(tmp_path):
    """Of the first one on the path all is taken, even if the other's parts come before its own."""
    for name in ("first", "second"):
        shutil.copytree(ROOT / "src", tmp_path / name / "src")
        for part in PARTS:
            folder = tmp_path / name / part / "caesura" / part
            folder.mkdir(parents=True)
            (folder / "__init__.py").touch()
    roots = [tmp_path / "first" / "src", *(tmp_path / "second" / root for root in ROOTS)]
    said = python("-c", "import caesura.cache, caesura.hw, caesura.sim, caesura.software\n"
                        "print(*(m.__file__ for m in (caesura.cache, caesura.hw, caesura.sim, caesura.software)))",
                  roots=roots)
    assert [str(tmp_path / "first") in file for file in said.split()] == [True] * 4


def test_type_checkers_are_told_the_names_of_the_package():
    stub = ast.parse((ROOT / "src" / "caesura" / "__init__.pyi").read_text())
    told = {(line.module, line.names[0].name) for line in stub.body if isinstance(line, ast.ImportFrom)}
    assert {name for _, name in told} == {*caesura.__all__} - {"__version__"}
    assert all(getattr(caesura, name) is getattr(importlib.import_module(module), name) for module, name in told)


def test_no_file_is_a_link():
    """A clone on a system without symbolic links holds text files in their place."""
    assert [path for root in (*ROOTS, "tests", "docs", "examples", "tools")
            for path in (ROOT / root).rglob("*") if path.is_symlink()] == []
