"""RTLIL with the lines of Python that each branch comes from.

Amaranth's own writer gives the place in the source to cells and wires, but not to assignments under
a condition. The netlist computes the same with and without.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]
from amaranth.hdl import _ast, _ir

__all__ = ["convert_fragment"]


def convert_fragment(fragment: Any, ports: Any, name: str) -> tuple[str, Any]:
    """Do the work of `rtlil.convert_fragment`, and add ``src`` attributes.

    A switch's attribute lists the lines for each of its branches, with semicolons between branches
    and bars between lines. They are the lines of the statements in that branch, but in no branch
    inside it.
    """
    name_map: Any = _ast.SignalDict()  # pyright: ignore[reportAttributeAccessIssue]
    netlist: Any = _ir.build_netlist(fragment, ports=ports, name=name)
    empty = rtlil.EmptyModuleChecker(netlist)
    design = rtlil.Design()
    for number, module in enumerate(netlist.modules):
        if not empty.is_empty(number):
            builder = design.module(".".join(module.name), src_loc=module.src_loc)
            if number == 0:
                builder.attribute("top", 1)
            _Emitter(builder, netlist, module, name_map, empty_checker=empty).emit()
    return str(design), name_map


class _Emitter(rtlil.ModuleEmitter):
    """Amaranth's emitter; the switches of its processes get attributes afterwards."""

    def emit_assignment_list(self, cell_idx: int, cell: Any) -> None:
        super().emit_assignment_list(cell_idx, cell)
        process = list(self.builder.contents.values())[-1]
        places = (assignment.src_loc for assignment in cell.assignments)
        _locate(process.contents[1:], places)  # the first holds where no branch is taken


def _locate(contents: list[Any], places: Iterator[Any]) -> str:
    """Give the switches in a branch their attributes; return the lines of its own statements.

    `places` holds the lines of all assignments, in the order in which they were written.
    """
    mine: set[str] = set()
    for each in contents:
        if isinstance(each, rtlil.Assignment):
            mine.add(str(rtlil._src(next(places))))
            continue
        each.lines = [_locate(case.contents, places) for case in each.cases]
        each.__class__ = _Switch
    return "|".join(sorted(mine))


class _Switch(rtlil.Switch):
    """A switch that knows the lines of each of its branches."""

    lines: list[str]

    def emit(self, line: Any) -> None:
        line(f'attribute \\src "{";".join(self.lines)}"')
        super().emit(line)
