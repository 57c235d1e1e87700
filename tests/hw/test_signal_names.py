"""Every signal has a name: in the sources, where Amaranth finds it, and in the exported design.

Amaranth names a signal by the variable that its constructor is assigned to. In a tuple, a list or an argument there is
none, and the signal is called ``$signal`` in waveforms and in SystemVerilog.
"""

import ast
import re
from pathlib import Path

import pytest

from caesura import hw
from caesura.hw.arch.geometry import PRESETS, preset
from caesura.hw.sm import Sm
from caesura.progress import quiet
from caesura.sim.rtl.design import design_text
from support.selection import quick

SOURCES = Path(hw.__file__).resolve().parent
NAMELESS = re.compile(r"^.* \\\$[A-Za-z].*$", re.MULTILINE)
"""A declaration with a name of Amaranth's own; expressions are numbers (``\\$123``)."""
WITHOUT_BITS = re.compile(r"^.*\[-1:0\].*$", re.MULTILINE)


def _named(node: ast.AST) -> list[ast.expr]:
    """Return what a statement or expression assigns to one variable or attribute."""
    match node:
        case ast.Assign(targets, value) if all(isinstance(each, ast.Name | ast.Attribute) for each in targets):
            return [value]
        case ast.AnnAssign(value=ast.Call() as value) | ast.NamedExpr(value=value):
            return [value]
    return []


def _makes_signals(node: ast.Call) -> bool:
    """Whether a call makes a signal or a memory port and gives it no name."""
    match node.func:
        case ast.Name("Signal") | ast.Attribute(ast.Name("Signal"), "like"):
            return not any(keyword.arg == "name" for keyword in node.keywords)
        case ast.Attribute(_, "read_port" | "write_port"):
            return True
    return False


def nameless(source: str) -> list[int]:
    """Return the lines of signals and memory ports that are neither assigned by themselves nor given a name."""
    nodes = list(ast.walk(ast.parse(source)))
    named = {id(value) for node in nodes for value in _named(node)}
    return sorted(node.lineno for node in nodes
                  if isinstance(node, ast.Call) and _makes_signals(node) and id(node) not in named)


def anonymous_submodules(source: str) -> list[int]:
    """Return the lines where a submodule is added without a name."""
    return [node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.AugAssign)
            and isinstance(node.target, ast.Attribute) and node.target.attr == "submodules"]


def test_every_signal_is_assigned_by_itself_or_given_a_name():
    found = [f"{path.relative_to(SOURCES.parent)}:{line}" for path in sorted(SOURCES.rglob("*.py"))
             for line in nameless(path.read_text())]
    assert found == []


def test_every_submodule_has_a_name():
    found = [f"{path.relative_to(SOURCES.parent)}:{line}" for path in sorted(SOURCES.rglob("*.py"))
             for line in anonymous_submodules(path.read_text())]
    assert found == []


@pytest.mark.parametrize("source, lines", [
    ("a = Signal()\nself.b: Signal = Signal.like(a)\nif (c := Signal(2)):\n  pass\nm.d = d = Signal()", []),
    ("[Signal(8, name=f'part_{k}') for k in range(4)]", []),
    ("a, b = Signal(), Signal()", [1, 1]),
    ("a, b = c, Signal.like(c)", [1]),
    ("self.a, b = (\n  Signal(),\n  memory.read_port())", [2, 3]),
    ("parts = [Signal(8) for k in range(4)]", [1]),
    ("made = f(Signal())", [1]),
    ("read = memory.read_port()\nports = [memory.write_port()]", [2]),
])
def test_the_rule_finds_what_amaranth_would_not_name(source, lines):
    assert nameless(source) == lines


def test_an_anonymous_submodule_is_found():
    assert anonymous_submodules("m.submodules.a = A()\nm.submodules += A()") == [2]


@pytest.mark.parametrize("name", quick(PRESETS, ["tiny"]))
def test_exported_design_has_no_nameless_signal_and_none_without_bits(name):
    text = design_text(preset(name), Sm, quiet)
    assert NAMELESS.findall(text) == []
    assert WITHOUT_BITS.findall(text) == []
