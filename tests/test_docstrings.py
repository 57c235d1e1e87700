"""Every module, public class and public function says what a reader needs."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.checkout import PARTS, ROOT

OVERRIDES = {"elaborate"}
"""Methods that mean the same in every class."""
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Yield the public classes and functions of a module or a class, with their names; not those in functions."""
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_") and not is_exempt(node):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from definitions(node.body, f"{prefix}{node.name}.")


def is_exempt(node: Definition) -> bool:
    """Whether what a definition does is said elsewhere: by the getter of a property, or the class it comes from."""
    return node.name in OVERRIDES or any(isinstance(d, ast.Attribute) and d.attr in ("setter", "deleter")
                                         for d in node.decorator_list)


def undocumented(path: Path) -> list[str]:
    """Return ``file:line: name`` of what has no docstring in a file."""
    tree, place = ast.parse(path.read_text()), path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    whole = [f"{place}:1: the module"] if tree.body and not ast.get_docstring(tree) else []
    return whole + [f"{place}:{node.lineno}: {name}" for name, node in definitions(tree.body)
                    if not ast.get_docstring(node)]


@pytest.mark.parametrize("folder", ["src", *PARTS])
def test_everything_public_has_a_docstring(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files and [line for path in files for line in undocumented(path)] == []


def test_what_has_none_is_found(tmp_path):
    file = tmp_path / "bare.py"
    file.write_text("def one(): pass\nclass Two:\n    '''Two.'''\n    @property\n    def three(self): pass\n"
                    "    @three.setter\n    def three(self, value): pass\n    def elaborate(self, platform): pass\n"
                    "def _four():\n    def five(): pass\n")
    assert undocumented(file) == [f"{file}:1: the module", f"{file}:1: one", f"{file}:5: Two.three"]
