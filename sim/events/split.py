"""The statements of a module, split by the signals that they drive."""
# What is not public is not in the stubs of Amaranth either.
# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false

from collections.abc import Iterable, Iterator
from typing import Any

from amaranth.hdl._ast import Assign, Switch
from networkx.utils import UnionFind

__all__ = ["leaves", "split"]


def split(statements: Iterable[Any]) -> list[list[Any]]:
    """Return groups of statements that can be executed apart, each with the switches around them.

    Parameters
    ----------
    statements : iterable of amaranth.hdl._ast.Statement
        Of one domain of a module.

    Returns
    -------
    list of list of amaranth.hdl._ast.Statement
        No two groups assign to the same signal. Statements that assign to none, e.g. assertions, are a group.
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
    """Yield the statements that are not switches, those in the cases of switches included."""
    for statement in statements:
        if isinstance(statement, Switch):
            for _, inner, _ in statement.cases:
                yield from leaves(inner)
        else:
            yield statement


def _only(statements: Iterable[Any], wanted: set[int]) -> list[Any]:
    """Return the statements without the assignments that are not wanted; these are given by identity."""
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
    """Return a switch with other statements in its cases; the constructor would check its patterns once more."""
    other = object.__new__(Switch)
    other._test, other._cases, other.src_loc = switch.test, tuple(cases), switch.src_loc
    return other
