"""The comment at the head of an exported file: what the block is, its parameters and its timing."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Shape

from ..arch.geometry import Geometry
from .catalogue import Block

__all__ = ["header", "sections"]


def sections(docstring: str) -> dict[str, str]:
    """Return the sections of a numpydoc docstring by title; the text before the first is ``""``."""
    found = {"": []}
    lines = inspect.cleandoc(docstring).splitlines()
    title = ""
    for number, line in enumerate(lines):
        under = lines[number + 1] if number + 1 < len(lines) else ""
        if line and set(under) == {"-"} and len(under) == len(line):
            title = line
            found[title] = []
        elif not (line and set(line) == {"-"}):
            found[title].append(line)
    return {title: "\n".join(body).strip() for title, body in found.items()}


def header(of: Block, g: Geometry, values: Mapping[str, Any]) -> str:
    """Return the comment.

    Parameters
    ----------
    of : Block
    g : Geometry
    values : dict
        Parameters besides the geometry.
    """
    parts = sections(of.component.__doc__ or of.name)
    named = ", ".join(f"{field.name}={getattr(g, field.name)}" for field in dataclasses.fields(g)
                      if field.name != "name")
    own = "".join(f"\n  {name} = {_value(value)}" for name, value in values.items())
    text = [f"{of.name}: {parts['']}", f"Parameters of this file\n\n  geometry {g.name}: {named}{own}"]
    text += [f"{title}\n\n{_indented(parts[title])}" for title in ("Timing", "Attributes")
             if title in parts]
    return _comment("\n\n".join(text).replace("Attributes\n", "Ports\n"))


def _value(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"{Shape.cast(value).width} bits"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())


def _comment(text: str) -> str:
    lines = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        while len(line) > 97 and (cut := line.rfind(" ", len(indent) + 1, 97)) > 0:
            lines.append(line[:cut])
            line = f"{indent}{line[cut + 1:]}"
        lines.append(line)
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)
