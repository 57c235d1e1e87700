"""Passes on small texts: IR in, IR out."""

import textwrap
from collections.abc import Callable

from caesura.software.compiler.ir.kernel import Kernel
from caesura.software.compiler.ir.spec import verify
from caesura.software.compiler.ir.text import parse, show


def clean(text: str) -> str:
    """A kernel's text from its blocks."""
    return "kernel k\n" + textwrap.dedent(text).strip("\n") + "\n"


def check(apply: Callable[[Kernel], object], before: str, after: str, stage: str = "narrow"):
    """Apply a pass to a text and compare."""
    kernel = parse(clean(before))
    apply(kernel)
    verify(kernel, stage)
    assert show(kernel) == clean(after)


def straight(apply: Callable[[Kernel], object], before: str, after: str, stage: str = "narrow"):
    """Do the same as `check` for one block whose operations are separated by semicolons."""
    def block(lines: str) -> str:
        return "entry:\n" + "".join(f"  {line}\n" for line in lines.split("; ") if line) + "  end\n"
    check(apply, block(before), block(after), stage)
