"""The statements of a module, split by the signals that they drive."""
# The stubs of Amaranth lack its private parts:
# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false

from collections.abc import Iterable, Iterator
from typing import Any

from amaranth.hdl._ast import Assign, Switch
from networkx.utils import UnionFind

__all__ = ["leaves", "split"]


def split(statements: Iterable[Any]) -> list[list[Any]]:
    """Return groups of statements that can be executed separately, each with the switches around them.

    Parameters
    ----------
    statements : iterable of amaranth.hdl._ast.Statement
        Statements of one domain of a module.

    Returns
    -------
    list of list of amaranth.hdl._ast.Statement
        No two groups assign to the same signal. Statements that assign to no signal, such as assertions, are a group.
    """
    together = UnionFind()
    driven: list[tuple[Any, int | None]] = []
    for leaf in leaves(statements):
        if not isinstance(leaf, Assign):
            driven.append((leaf, None))
        elif signals := [id(signal) for signal in leaf._lhs_signals()]:
            together.union(*signals)
            driven.append((leaf, signals[0]))
    groups: dict[Any, set[int]] = {}
    for leaf, signal in driven:
        groups.setdefault(None if signal is None else together[signal], set()).add(id(leaf))
    return [_only(statements, leaves) for leaves in groups.values()]


def leaves(statements: Iterable[Any]) -> Iterator[Any]:
    """Yield all statements but switches, including the statements in the cases of switches."""
    for statement in statements:
        if isinstance(statement, Switch):
            for _, inner, _ in statement.cases:
                yield from leaves(inner)
        else:
            yield statement


def _only(statements: Iterable[Any], wanted: set[int]) -> list[Any]:
    """Return the statements without some assignments, which are given by identity."""
    kept = []
    for statement in statements:
        if isinstance(statement, Switch):
            cases = [(patterns, _only(inner, wanted), where) for patterns, inner, where in statement.cases]
            if any(inner for _, inner, _ in cases):
                kept.append(_switch(statement, cases))
        elif id(statement) in wanted:
            kept.append(statement)
    return kept


def _switch(switch: Switch, cases: list) -> Switch:
    """Return a switch with other statements in its cases. The constructor would check its patterns again."""
    other = object.__new__(Switch)
    other._test, other._cases, other.src_loc = switch.test, tuple(cases), switch.src_loc
    return other
