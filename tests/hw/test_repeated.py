"""What is used several times is a signal.

Amaranth writes an expression wherever it is used, and ``expression.replicate(n)`` n times. An expression of such
expressions grows without bound: the record writer once took 3 MB of the 8 MB of SystemVerilog of the smallest SM, and
everything that reads them (Yosys, Verilator, the simulator of tests) took its time over it. A signal in between, or
`spread` in place of `replicate`, is all it needs.
"""

import re
from collections.abc import Iterator

import pytest

from caesura.hw.arch.geometry import PRESETS, preset
from caesura.hw.sm import Sm
from caesura.progress import quiet
from caesura.sim.rtl.design import design_text
from support.selection import quick

MODULE = re.compile(r"^module (\S+?)\(.*?^endmodule", re.MULTILINE | re.DOTALL)
EXPRESSION = re.compile(r"^ *assign (\\\$\d+) += (.*);$", re.MULTILINE)
"""A part of an expression: Yosys gives each a number."""
NUMBER = re.compile(r"\\\$\d+(?= )")
FEW = 100
"""Parts of a module that are none too many, however often they are repeated."""
MOST = 4
"""Times that the parts of a module are there, on average."""


def parts(module: str) -> tuple[int, int]:
    """Return of how many parts the expressions of a module are made, and how many of these differ."""
    expressions = dict(EXPRESSION.findall(module))
    shapes: dict[str, int] = {}  # of a part the number of what it computes, the same for all that are the same
    distinct: dict[str, int] = {}

    def shape(name: str) -> str:
        if name not in expressions:
            return name
        if name not in shapes:
            shapes[name] = -1  # in case of a loop
            text = NUMBER.sub(lambda found: shape(found[0]), expressions[name])
            shapes[name] = distinct.setdefault(text, len(distinct))
        return f"#{shapes[name]}"

    for name in expressions:
        shape(name)
    return len(expressions), len(distinct)


def repeated(text: str) -> Iterator[str]:
    """Yield the modules whose expressions repeat too much, with their numbers of parts."""
    for module in MODULE.finditer(text):
        all_parts, distinct = parts(module[0])
        if all_parts >= FEW and all_parts > MOST * distinct:
            yield f"{module[1]}: {all_parts} parts of expressions, {distinct} different ones"


@pytest.mark.parametrize("name", quick(PRESETS, ["tiny"]))
def test_no_module_repeats_its_expressions(name):
    assert list(repeated(design_text(preset(name), Sm, quiet))) == []


def test_repeated_parts_are_found_through_those_that_they_are_made_of():
    lines = "".join(f"  assign \\${3 * k}  = a + b;\n  assign \\${3 * k + 1}  = \\${3 * k}  * c;\n"
                    f"  assign y{k} = \\${3 * k + 1} ;\n" for k in range(FEW))
    text = f"module m(a);\n{lines}endmodule\nmodule n(a);\n  assign \\$1  = a + b;\nendmodule\n"
    assert list(repeated(text)) == [f"m: {2 * FEW} parts of expressions, 2 different ones"]
    assert list(repeated(text.replace("* c", "* c[1]", 1).replace("module m(", "module other("))) == [
        f"other: {2 * FEW} parts of expressions, 3 different ones"]
