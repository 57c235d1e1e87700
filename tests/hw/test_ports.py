"""Every port of every public block is in its docstring, under ``Attributes``."""

import ast
import re

import pytest

from support.checkout import ROOT

FOLDER = ROOT / "hw"
NAMES = re.compile(r"(\w+(?:, \w+)*)(?: : .*)?")


def documented(docstring):
    """Return the names that begin an entry of the section ``Attributes``; entries of one line are parted by ``;``."""
    section = re.search(r"^Attributes\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", docstring, re.DOTALL | re.MULTILINE)
    lines = section[1].split("\n") if section else []
    entries = [entry.strip() for line in lines if line and not line.startswith(" ") for entry in line.split(";")]
    return {name for entry in entries if (found := NAMES.fullmatch(entry)) for name in found[1].split(", ")}


def keys(node):
    """Return the names in the dictionary, or union of dictionaries, that is given to ``super().__init__``."""
    if isinstance(node, ast.BinOp):
        return keys(node.left) | keys(node.right)
    if not isinstance(node, ast.Dict):
        return set()
    return {key.value for key in node.keys if isinstance(key, ast.Constant)}.union(
        *(keys(value) for key, value in zip(node.keys, node.values, strict=True) if key is None))


def ports(block):
    """Return the ports that a component declares, or the members of a signature."""
    declared = {node.target.id for node in block.body if isinstance(node, ast.AnnAssign)}
    for node in ast.walk(block):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__":
            declared.update(*map(keys, node.args))
    return declared


def blocks(text):
    """Yield the public components and signatures of a module."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and {
                "wiring.Component", "wiring.Signature"} & set(map(ast.unparse, node.bases)):
            yield node


def undocumented(text):
    """Return the ports of a module's public blocks that no docstring names, as ``Block.port``."""
    return [f"{block.name}.{port}" for block in blocks(text)
            for port in sorted(ports(block) - documented(ast.get_docstring(block) or ""))]


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_port_is_documented(path):
    assert undocumented(path.read_text()) == []


BLOCK = '''
class Adder(wiring.Component):
    """Adds.

    Parameters
    ----------
    width : int
        Bits of
        a, b : each.

    Attributes
    ----------
    a, b : Signal, in
        Terms.
        carry : Signal, in
    total : Signal, out; busy : Signal, out

    Raises
    ------
    overflow : never
    """

    a: Signal
    b: Signal
    carry: Signal

    def __init__(self, width):
        super().__init__({"total": Out(width), "busy": Out(1), "overflow": Out(1), **{"b": In(width)}}
                         | {"mode": In(data.StructLayout({"kind": 1}))})
'''


def test_ports_without_an_entry_are_noticed():
    """A word of an explanation, or of another section, is none."""
    assert undocumented(BLOCK) == ["Adder.carry", "Adder.mode", "Adder.overflow"]


def test_private_blocks_and_other_classes_need_none():
    assert undocumented(BLOCK.replace("class Adder", "class _Adder")) == []
    assert undocumented(BLOCK.replace("wiring.Component", "Protocol")) == []
