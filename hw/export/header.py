"""The comment at the head of an exported file: the block, its parameters and its timing."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Shape

from ..arch.geometry import Geometry
from .catalogue import Block
from .names import identifier
from .timing import Timing

__all__ = ["header", "sections"]

_BREAK = "\n\n"
_NAMES = re.compile(r"^\w+(?:, \w+)*(?= : )|^\w+(?:, \w+)+$|(?<=; )\w+(?= : )", re.MULTILINE)
"""Names of ports in a section of a docstring."""


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
        Timing of the block.
    """
    parts = sections(of.component.__doc__ or of.name)
    named = ", ".join(f"{field.name}={getattr(g, field.name)}" for field in dataclasses.fields(g)
                      if field.name != "name")
    own = "".join(f"\n  {name} = {_value(value)}" for name, value in values.items())
    text = [f"{of.name}: {parts['']}",
            f"Parameters of this file\n\n  geometry {g.name}: {named}{own}"
            + "".join(f"\n  {name} = {value}" for name, value in _constants(of, g, values))]
    said = parts.get("Timing", "")
    text.append(f"Timing\n\n{_indented(f'{said}{_BREAK * bool(said)}{_found(timing)}')}")
    if "Attributes" in parts:
        text.append(f"Ports\n\n{_indented(_named(parts['Attributes']))}")
    if (inner := getattr(of.component, "INNER", None)) is not None:
        text.append(f"Ports of {inner.__name__}, but for those that became buses\n\n"
                    f"{_indented(_named(sections(inner.__doc__ or '')['Attributes']))}")
    return _comment("\n\n".join(text))


def _found(timing: Timing) -> str:
    """Return the facts of the netlist about the timing."""
    streams = [f"{name} ({'out' if output else 'in'})" for name, output in timing.streams()]
    buses = f"Buses: {', '.join(timing.buses)}, as AXI says{_cut(timing)}." if timing.buses else ""
    lines = [f"Handshake: {', '.join(streams)}; a payload is transferred in each cycle in which "
             "valid and ready are high." if streams else buses or
             "Handshake: none; signals mean what they say in the cycle they are high."]
    lines += [buses] * bool(streams and buses)
    if timing.large:
        return "\n".join([*lines, "Latency: that of its parts, which can be exported."])
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


def _cut(timing: Timing) -> str:
    """Return the facts of the netlist about paths through buses."""
    return "" if timing.bus_paths() else (
        "; no output of theirs follows an input within a cycle, and no other output an input of "
        "theirs")


def _constants(of: Block, g: Geometry, values: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the constants that the text names, with their values.

    They are constants of the block's module, and values that follow from the geometry.
    """
    told = dict.fromkeys(re.findall(r"\b\w+\b", of.component.__doc__ or ""))
    module = vars(sys.modules[of.component.__module__])
    fields = {field.name for field in dataclasses.fields(g)}
    found = {name: module.get(name) if name.isupper() else getattr(g, name, None)
             for name in told if (name.isupper() or "_" in name)
             and name not in fields and name not in values}
    return [(name, value) for name, value in found.items()
            if isinstance(value, int) and not isinstance(value, bool)]


def _named(attributes: str) -> str:
    """Return the notes on ports, with the ports' names in SystemVerilog."""
    def named(found: re.Match) -> str:
        return ", ".join(identifier([name]) for name in found[0].split(", "))

    return _NAMES.sub(named, attributes)


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
