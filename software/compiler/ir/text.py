"""The IR as text, for reading and for tests: `show` prints it, `parse` reads it back.

::

    kernel name
    entry:
      %r0 = s2r #4
      %p0 = setp.lt.s %r0, 16
      @!%p0 %r1, %p1 = iaddc %r0, %r2, %p0
      st.global.b32 %r4, %r1 #8
      branch %p0 body other
    body:
      jump other
    other:
      end

``#`` gives the `imm` field. A discarded predicate result is ``_``.
"""

from __future__ import annotations

import re
from typing import Any

from .kernel import Block, Imm, Kernel, Op, Pred, Reg, Terminator

__all__ = ["show", "show_op", "parse"]


def show_op(op: Op) -> str:
    """Return one operation as text."""
    text = f"@{op.guard} " if op.guard is not None else ""
    if op.defs:
        text += ", ".join("_" if d is None else str(d) for d in op.defs) + " = "
    text += op.name
    if op.uses:
        text += " " + ", ".join(map(str, op.uses))
    if op.imm:
        text += f" #{op.imm}"
    return text


def show(kernel: Kernel) -> str:
    """Return a kernel as text."""
    lines = [f"kernel {kernel.name}"]
    for block in kernel.blocks:
        lines.append(f"{block.label}:")
        lines += [f"  {show_op(op)}" for op in block.ops]
        end = block.end
        if end.condition is not None:
            lines.append(f"  branch {end.condition} {' '.join(end.targets)}")
        elif end.targets:
            lines.append(f"  jump {end.targets[0]}")
        else:
            lines.append("  end")
    return "\n".join(lines) + "\n"


_REG = re.compile(r"%([rwpu])(\d+)|([RPU])(\d+)")


def _use(text: str) -> Any:
    text = text.strip()
    negated = text.startswith("!")
    body = text.removeprefix("!")
    if body == "true":
        return Pred(None, negated)
    match = _REG.fullmatch(body)
    if match is None:
        return Imm(int(body, 0) & 0xFFFF_FFFF_FFFF_FFFF if int(body, 0) >= 0 else int(body, 0) & 0xFFFF_FFFF)
    reg = Reg(match[1] or match[3], int(match[2] or match[4]))
    return Pred(reg, negated) if reg.kind in "pP" else reg


def _op(text: str) -> Op:
    guard = None
    if text.startswith("@"):
        word, text = text[1:].split(None, 1)
        guard = _use(word)
    defs = ()
    if " = " in text:
        left, text = text.split(" = ", 1)
        parts = [part.strip() for part in left.split(",")]
        defs = tuple(None if part == "_" else _plain(_use(part)) for part in parts)
    text, _, imm = text.partition("#")
    name, _, rest = text.strip().partition(" ")
    uses = tuple(_use(part) for part in rest.split(",")) if rest.strip() else ()
    return Op(name, defs, uses, guard, int(imm, 0) if imm else 0)


def _plain(use: Any) -> Reg | None:
    return use.reg if isinstance(use, Pred) else use


def parse(text: str) -> Kernel:
    """Read a kernel from the text form.

    Raises
    ------
    ValueError
        If a line is not of the form.
    """
    kernel = Kernel("k")
    block = None
    for line in text.splitlines():
        line = line.strip()
        if not line:
            continue
        word, _, rest = line.partition(" ")
        if word == "kernel":
            kernel.name = rest
        elif line.endswith(":"):
            block = Block(line[:-1])
            kernel.blocks.append(block)
        elif block is None:
            raise ValueError(f"operation before the first block: {line!r}")
        elif word == "branch":
            condition, taken, other = rest.split()
            block.end = Terminator((taken, other), _use(condition))
        elif word == "jump":
            block.end = Terminator((rest,))
        elif word == "end":
            block.end = Terminator()
        else:
            block.ops.append(_op(line))
    for op in kernel.ops():
        for reg in (*op.written(), *op.read()):
            kernel.reserve(reg)
    return kernel
