"""The parts of the package: every file is one module, found without symbolic links and only from its own checkout."""

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
import importlib, sys
import caesura, caesura.sim, caesura.hw.arch.geometry, caesura.software.driver

for name in "hw.arch.geometry", "sim.golden.device", "software.driver", "src.caesura.hw", "caesura.src.caesura.hw":
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(error)
ways = [caesura.Geometry, *(vars(module)["Geometry"] for module in [*sys.modules.values()]
                            if "Geometry" in vars(module))]
print(len(ways) > 5, len({*ways}))
"""
"""Imports the parts without the name of the package, then looks for `Geometry` in all modules."""


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


@pytest.mark.parametrize(("option", "told"), [("-P", "No module named"), ("-B", "import caesura.")])
def test_a_class_is_one_class_whichever_way_it_is_found(option, told):
    """Also where the checkout itself is on the path, as the current folder is without ``-P``."""
    *refused, found = python(option, "-c", WAYS, roots=[ROOT / "src"]).splitlines()
    assert found == "True 1" and len(refused) == 5 and all(line.startswith(told) for line in refused[:4])


def test_parts_of_two_checkouts_never_mix(tmp_path):
    """Of the first one on the path all is taken, even if the other's parts come before its own."""
    for name in ("first", "second"):
        shutil.copytree(ROOT / "src", tmp_path / name / "src")
        for part in PARTS:
            (tmp_path / name / part).mkdir()
            (tmp_path / name / part / "__init__.py").touch()
        shutil.copy(ROOT / "pyproject.toml", tmp_path / name)
    roots = [tmp_path / "first" / "src", *(tmp_path / "second" / root for root in (".", "src", *PARTS))]
    said = python("-c", "import caesura.cache, caesura.hw, caesura.sim, caesura.software\n"
                        "print(*(m.__file__ for m in (caesura.cache, caesura.hw, caesura.sim, caesura.software)))",
                  roots=roots)
    assert [str(tmp_path / "first") in file for file in said.split()] == [True] * 4


def test_type_checkers_are_told_the_names_of_the_package():
    (told_only,) = (each for each in ast.parse(Path(str(caesura.__file__)).read_text()).body
                    if isinstance(each, ast.If) and "TYPE_CHECKING" in ast.unparse(each.test))
    told = {(line.module, alias.name) for line in told_only.body if isinstance(line, ast.ImportFrom)
            for alias in line.names}
    assert {name for _, name in told} == {*caesura.__all__} - {"__version__"}
    assert all(getattr(caesura, name) is getattr(importlib.import_module(module), name) for module, name in told)


def test_no_file_is_a_link():
    """A clone on a system without symbolic links holds text files in their place."""
    assert [path for root in (*ROOTS, "tests", "docs", "examples", "tools")
            for path in (ROOT / root).rglob("*") if path.is_symlink()] == []


def test_an_installed_package_takes_nothing_from_around_it(tmp_path):
    """Not from a folder above it that looks like a checkout either."""
    package = tmp_path / "lib" / "site-packages" / "caesura"
    shutil.copytree(ROOT / "src" / "caesura", package)
    for folder in (package, tmp_path, tmp_path / "lib"):
        (folder / "hw").mkdir()
        (folder / "hw" / "__init__.py").touch()
        (folder / "pyproject.toml").touch()
    said = python("-c", "import caesura, caesura.hw; print(*caesura.__path__, caesura.hw.__file__)",
                  roots=[package.parent])
    assert said.split() == [str(package), str(package / "hw" / "__init__.py")]
