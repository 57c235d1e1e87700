"""What a preemption mechanism does is asked of its capabilities: its name is compared only in their table."""

import ast

import pytest
from amaranth.hdl import Const, Module
from amaranth.sim import Simulator

from caesura.hw.arch.image.context import CAPABILITIES, Capability, Mechanism, has, lacks
from support.checkout import PARTS, ROOT

TABLE = ROOT / "hw" / "arch" / "image" / "context.py"


def is_name(node: ast.AST) -> bool:
    """Whether an expression is a mechanism by its name: `Mechanism.LIVE`, `context.Mechanism.LIVE`."""
    return isinstance(node, ast.Attribute) and node.attr in Mechanism.__members__ and (
        isinstance(node.value, ast.Name) and node.value.id == "Mechanism"
        or isinstance(node.value, ast.Attribute) and node.value.attr == "Mechanism")


def comparisons(text: str) -> list[int]:
    """Return the lines that compare with a mechanism's name, look one up by it or choose by it."""
    found = []
    for node in ast.walk(ast.parse(text)):
        judged: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            judged = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            judged = [node.value]
        elif isinstance(node, ast.Dict):
            judged = [key for key in node.keys if key]
        elif isinstance(node, ast.Subscript):
            judged = [node.slice]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in (
                "matches", "Case"):
            judged = [*node.args]
        if any(is_name(part) for each in judged for part in ast.walk(each)):
            found.append(node.lineno)
    return found


def test_names_are_compared_in_the_table_only():
    files = [path for part in PARTS for path in (ROOT / part).rglob("*.py") if path != TABLE]
    assert {str(path.relative_to(ROOT)): lines for path in files if (lines := comparisons(path.read_text()))} == {}
    assert comparisons(TABLE.read_text())


@pytest.mark.parametrize("text", [
    "a is Mechanism.LIVE", "a != Mechanism.LIVE_CP", "a in (Mechanism.LIVE, b)", "{context.Mechanism.OCCUPIED: 1}",
    "f(a.matches(Mechanism.LIVE))", "with m.Case(Mechanism.LIVE): pass", "table[Mechanism.LIVE]",
    "match a:\n    case Mechanism.LIVE: pass"])
def test_a_comparison_is_found(text):
    assert comparisons(text)


def test_a_choice_is_no_comparison():
    assert comparisons("preempt(a, Mechanism.LIVE) if a is not None and a.has(Capability.COMPRESSES) else 0") == []


def test_every_mechanism_has_a_row():
    assert list(CAPABILITIES) == list(Mechanism)


@pytest.mark.parametrize("capability", Capability)
def test_hardware_and_models_see_the_same(capability):
    pairs = [(each, has(Const(each, 4), capability), lacks(Const(each, 4), capability)) for each in Mechanism]

    async def judge(ctx):
        await ctx.delay(1e-9)
        for mechanism, yes, no in pairs:
            assert (ctx.get(yes), ctx.get(no)) == (mechanism.has(capability), not mechanism.has(capability))
    simulator = Simulator(Module())
    simulator.add_testbench(judge)
    simulator.run()
