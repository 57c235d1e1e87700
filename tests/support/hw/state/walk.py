"""The stateful elements of an elaborated design: flip-flops, memories, registers of their read ports."""

import ast
import functools
import linecache
from collections import Counter
from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Instance
from amaranth.hdl._mem import MemoryInstance


@functools.cache
def _function(file: str, line: int) -> str:
    """Return the innermost function around a line."""
    around = [node for node in ast.walk(ast.parse("".join(linecache.getlines(file))))
              if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or line)]
    return max(around, key=lambda node: node.lineno).name if around else ""


def elements(fragment: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the name of every stateful element, as `state_list` writes it.

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
