"""The stateful elements of a design as its author named them: flip-flops, memories, registers of their read ports."""

import ast
import functools
import itertools
import linecache
import sys
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Any
from unittest import mock

from amaranth import tracer
from amaranth.hdl import Fragment, Instance
from amaranth.hdl._mem import MemoryInstance


@functools.cache
def _function(file: str, line: int) -> str:
    """Return the innermost function around a line."""
    around = [node for node in ast.walk(ast.parse("".join(linecache.getlines(file))))
              if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or line)]
    return max(around, key=lambda node: node.lineno).name if around else ""


@functools.cache
def _targets(file: str) -> dict[tuple[int, int], str]:
    """Return the name that each element of the tuple assignments of a file is given, by the element's position."""
    names = {}
    for node in ast.walk(ast.parse("".join(linecache.getlines(file)))):
        if (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)
                and isinstance(node.value, ast.Tuple)):
            for target, value in zip(node.targets[0].elts, node.value.elts, strict=True):
                names[value.lineno, value.col_offset] = target.attr if isinstance(target, ast.Attribute) else (
                    ast.unparse(target))
    return names


def _assigned(frame: FrameType, default):
    """Return the name in ``a, b = Signal(), Signal()``, where Amaranth finds none."""
    positions = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return _targets(frame.f_code.co_filename).get((positions[0] or 0, positions[2] or 0), default)


def elaborate(component) -> Fragment:
    """Elaborate a component; every signal has the name of the variable it was assigned to."""
    find = tracer.get_var_name

    def get_var_name(depth=2, default=None):
        try:
            return find(depth + 1)
        except tracer.NameNotFound:  # pyright: ignore[reportAttributeAccessIssue] - the stubs lack it
            return _assigned(sys._getframe(depth), default)

    with mock.patch.object(tracer, "get_var_name", get_var_name):
        return Fragment.get(component, None)


def elements(fragment: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the name of every stateful element, as `hw.arch.state` writes it.

    Where several flip-flops of a block have one name, ``@`` and the function that makes them follow it.
    """
    if isinstance(fragment, Instance):
        raise TypeError(f"{'.'.join(path)}: an instance may hold any state")
    if isinstance(fragment, MemoryInstance):
        memory = f"{'.'.join(path)}[]"
        yield memory
        ports: Any = fragment._read_ports  # pyright: ignore[reportAttributeAccessIssue] - the stubs lack it
        clocked = [port for port in ports if port._domain != "comb"]
        yield from (f"{memory}.read{k}" for k, _ in enumerate(clocked))
        return
    signals: dict[int, Any] = {}
    for domain, statements in fragment.statements.items():
        if domain != "comb":
            signals |= {id(signal): signal for each in statements for signal in each._lhs_signals()}
    shared = Counter(signal.name for signal in signals.values())
    for signal in signals.values():
        maker = f"@{_function(*signal.src_loc)}" if shared[signal.name] > 1 else ""
        yield ".".join((*path, signal.name + maker))
    for number, (part, name, _) in enumerate(fragment.subfragments):
        yield from elements(part, (*path, name or f"unnamed{number}"))
