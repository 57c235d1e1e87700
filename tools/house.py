"""How the house stands: sizes, types, wiring, repetition and prose of the sources, counted.

``tools/house.py`` prints a table (``make house``); ``tools/house.py --list MEASURE`` says where what is counted stands.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import prose

ROOT = Path(__file__).resolve().parents[1]
PARTS = "hw", "software", "sim", "src"
LONG_FILE, FULL_ROOM, LONG_FUNCTION, MANY_PARAMETERS, REPEATED = 450, 20, 80, 6, 6
Function = ast.FunctionDef | ast.AsyncFunctionDef
Found = list[str]
"""Places, ``file:line: what``."""


@cache
def files(*parts: str) -> tuple[Path, ...]:
    """Return the Python files of some folders."""
    return tuple(sorted(file for part in parts for file in (ROOT / part).rglob("*.py")))


@cache
def tree(file: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(file.read_text())


def place(file: Path, line: int = 1) -> str:
    """Return how a place is printed."""
    return f"{file.relative_to(ROOT)}:{line}"


def functions(*parts: str) -> Iterator[tuple[Path, Function]]:
    """Yield the functions of some folders."""
    for file in files(*parts):
        yield from ((file, node) for node in ast.walk(tree(file)) if isinstance(node, Function))


def parameters(node: Function) -> list[ast.arg]:
    """Return the parameters of a function but for the object or the class."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [arg for arg in every if arg.arg not in ("self", "cls")]


def long_files() -> Found:
    """Return files that are too long, tests included."""
    lines = {file: len(file.read_text().splitlines()) for file in files(*PARTS, "tests")}
    return [f"{place(file)}: {count} lines" for file, count in lines.items() if count > LONG_FILE]


def full_rooms() -> Found:
    """Return folders with too many files."""
    rooms = Counter(file.parent for file in files(*PARTS, "tests") if file.name != "__init__.py")
    return [f"{place(room)}: {count} files" for room, count in sorted(rooms.items()) if count > FULL_ROOM]


def long_functions() -> Found:
    """Return functions that are too long."""
    return [f"{place(file, node.lineno)}: {node.name}, {length} lines" for file, node in functions(*PARTS)
            if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONG_FUNCTION]


def many_parameters(part: str) -> Found:
    """Return functions of a part with too many parameters."""
    return [f"{place(file, node.lineno)}: {node.name}, {count} parameters" for file, node in functions(part)
            if (count := len(parameters(node))) > MANY_PARAMETERS]


def untyped_parameters(part: str) -> Found:
    """Return parameters of a part without a type."""
    return [f"{place(file, node.lineno)}: {node.name}({arg.arg})" for file, node in functions(part)
            for arg in parameters(node) if arg.annotation is None]


def late_attributes() -> Found:
    """Return attributes of hardware that are set in a method, and not in ``__init__``."""
    found = []
    for file in files("hw"):
        for owner in (node for node in ast.walk(tree(file)) if isinstance(node, ast.ClassDef)):
            sets = {method.name: _attributes(method) for method in owner.body if isinstance(method, Function)}
            known = set(sets.pop("__init__", {}))
            late = {name: line for names in sets.values() for name, line in names.items() if name not in known}
            found += [f"{place(file, line)}: {owner.name}.{name}" for name, line in late.items()]
    return found


def _attributes(method: Function) -> dict[str, int]:
    """Return the attributes of the object that a method sets, with their lines."""
    return {node.attr: node.lineno for node in ast.walk(method)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name) and node.value.id == "self"}


def calls(name: str) -> Found:
    """Return calls of a method or function of this name in the hardware."""
    return [place(file, node.lineno) for file in files("hw") for node in ast.walk(tree(file))
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == name]


def repeated_lines() -> Found:
    """Return lines within runs of equal ones, imports and ports apart, that stand in two places or more."""
    runs: dict[tuple[str, ...], list[tuple[Path, int]]] = {}
    for file in files(*PARTS):
        lines = [(number, line.strip()) for number, line in enumerate(file.read_text().splitlines(), 1)
                 if len(line.strip()) > 3 and not line.lstrip().startswith(("from ", "import ", "#"))]
        for first in range(len(lines) - REPEATED + 1):
            run = lines[first:first + REPEATED]
            runs.setdefault(tuple(text for _, text in run), []).extend((file, number) for number, _ in run)
    places = {each for found in runs.values() if len(found) > REPEATED for each in found}
    return [place(*each) for each in sorted(places)]


def broken(rule: str) -> Found:
    """Return phrases of the sources and pages that break a rule of prose."""
    return [where for _, where in prose.findings(ROOT, rule, PARTS)]


MEASURES: dict[str, Callable[[], Found]] = {
    f"files over {LONG_FILE} lines": long_files,
    f"rooms over {FULL_ROOM} files": full_rooms,
    f"functions over {LONG_FUNCTION} lines": long_functions,
    f"functions of hw with over {MANY_PARAMETERS} parameters": lambda: many_parameters("hw"),
    f"functions of software with over {MANY_PARAMETERS} parameters": lambda: many_parameters("software"),
    f"functions of sim with over {MANY_PARAMETERS} parameters": lambda: many_parameters("sim"),
    "parameters of hw without a type": lambda: untyped_parameters("hw"),
    "attributes of hw set outside __init__": late_attributes,
    "calls of .eq in hw": lambda: calls("eq"),
    "calls of connect in hw": lambda: calls("connect"),
    f"lines in repeated runs of {REPEATED}": repeated_lines,
    **{f"prose: {rule}": partial(broken, rule) for rule in prose.RULES},
}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", metavar="MEASURE", help="say where what is counted stands")
    wanted = parser.parse_args().list
    if wanted is not None:
        chosen = [name for name in MEASURES if wanted in name]
        if not chosen:
            sys.exit(f"no measure has {wanted!r} in its name; there are {', '.join(MEASURES)}")
        for name in chosen:
            print(f"{name}:", *MEASURES[name](), sep="\n  ")
        return
    print("| measure | number |\n|---|---:|")
    for name, measure in MEASURES.items():
        print(f"| {name} | {len(measure()):,} |")


if __name__ == "__main__":
    main()
