"""The comment at the head of an exported file: what the block is, its parameters and its timing."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Shape

from ..arch.geometry import Geometry
from .catalogue import Block
from .timing import Timing

__all__ = ["header", "sections"]

_BREAK = "\n\n"


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


def header(of: Block, g: Geometry, values: Mapping[str, Any], timing: Timing) -> str:
    """Return the comment.

    Parameters
    ----------
    of : Block
    g : Geometry
    values : dict
        Parameters besides the geometry.
    timing : Timing
        Of the block.
    """
    parts = sections(of.component.__doc__ or of.name)
    named = ", ".join(f"{field.name}={getattr(g, field.name)}" for field in dataclasses.fields(g)
                      if field.name != "name")
    own = "".join(f"\n  {name} = {_value(value)}" for name, value in values.items())
    text = [f"{of.name}: {parts['']}", f"Parameters of this file\n\n  geometry {g.name}: {named}{own}"]
    said = parts.get("Timing", "")
    text.append(f"Timing\n\n{_indented(f'{said}{_BREAK * bool(said)}{_found(timing)}')}")
    if "Attributes" in parts:
        text.append(f"Ports\n\n{_indented(parts['Attributes'])}")
    return _comment("\n\n".join(text))


def _found(timing: Timing) -> str:
    """Return what the netlist says of the timing."""
    streams = [f"{name} ({'out' if output else 'in'})" for name, output in timing.streams()]
    lines = [f"Handshake: {', '.join(streams)}; a payload is transferred in each cycle in which "
             "valid and ready are high." if streams else
             "Handshake: none; signals mean what they say in the cycle they are high."]
    if timing.large:
        return lines[0] + "\nLatency: that of its parts, which can be exported."
    cycles = [f"{into} to {out} {count}" for (into, out), count in timing.latencies().items()]
    if cycles:
        lines.append(f"Latency, in cycles at least: {'; '.join(cycles)}.")
    within = timing.within_cycle()
    lines += [f"Within the cycle: {out} follows {', '.join(inputs)}."
              for out, inputs in within.items() if inputs]
    registered = [out for out, inputs in within.items() if not inputs]
    if registered:
        lines.append(f"From registers alone: {', '.join(registered)}.")
    return "\n".join(lines)


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
