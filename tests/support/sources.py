"""Which of the project's modules a Python file imports, and which a test does without."""

import ast
import functools
from pathlib import Path

from .checkout import ROOT

__all__ = ["LEAVES", "SHARED", "SUPPORT", "closure", "imports", "in_leaf", "support", "unused"]

SUPPORT, SHARED = ROOT / "tests" / "support", ROOT / "src"
LEAVES = tuple(ROOT / room for room in (
    "hw/board", "hw/formal", "sim/bench", "sim/board", "sim/cocotb", "sim/model", "sim/oracle", "sim/report",
    "sim/synth", "src/caesura/cli", "software/report", "software/sched"))
"""Rooms that no other room imports."""


@functools.cache
def imports(path: Path) -> frozenset[Path]:
    """Return the modules of the package and of `support` that a file names in its imports, wherever they stand, and
    those of `support` that it names in a string, which it starts as programs."""
    folder = path.relative_to(ROOT).parts[:-1]
    home = folder[1:] if {SHARED, SUPPORT} & {*path.parents} else ("caesura", *folder)
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = (*(home[:len(home) + 1 - node.level] if node.level else ()), *(node.module or "").split("."))
            base = tuple(filter(None, base))
            names.update({base, *((*base, alias.name) for alias in node.names)})
        elif isinstance(node, ast.Constant) and str(node.value).startswith("support."):
            names.add(tuple(str(node.value).split(".")))
    roots = {"caesura": (ROOT, ROOT / "src" / "caesura"), "support": (SUPPORT,)}
    files = {root.joinpath(*name[1:]) for name in names if len(name) > 1 for root in roots.get(name[0], ())}
    return frozenset(
        file for stem in files for file in (stem.with_suffix(".py"), stem / "__init__.py") if file.exists())


def closure(path: Path) -> set[Path]:
    """Return the modules that importing a file brings in, in turn.

    What `src` has in common imports the parts for type checkers alone, so nothing is followed from there.
    """
    found, left = set(), [path]
    while left:
        file = left.pop()
        if SHARED not in file.parents or in_leaf(file):
            new = imports(file) - found
            found |= new
            left += new
    return found


def in_leaf(file: Path) -> bool:
    """Return whether a module lies in a room that no other room imports."""
    return any(room in file.parents for room in LEAVES)


@functools.cache
def unused(path: Path) -> frozenset[Path]:
    """Return the rooms that change nothing for a test file: all `LEAVES`, or none if it imports one of them, or starts
    programs."""
    modules = closure(path)
    used = any(map(in_leaf, modules))
    starts = any("subprocess" in file.read_text() for file in (path, *modules) if ROOT / "tests" in file.parents)
    return frozenset() if used or starts else frozenset(LEAVES)


@functools.cache
def support(path: Path) -> frozenset[Path]:
    """Return the files of `support` that a file uses, in turn: the modules it imports, and the data beside them."""
    modules, left = set(), [path]
    while left:
        new = {file for file in imports(left.pop()) if SUPPORT in file.parents} - modules
        modules |= new
        left += new
    return frozenset(modules).union(file for module in modules for file in module.parent.glob(f"{module.stem}.*"))
