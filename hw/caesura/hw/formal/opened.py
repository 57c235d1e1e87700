"""A block with its inner signals in reach: what a proof by induction has to speak of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.asserts import AnySeq
from amaranth.hdl import Elaboratable, Fragment, Module, Signal, Value
from amaranth.lib import wiring

__all__ = ["Opened", "free"]


class Opened(Elaboratable):
    """An elaborated component; goes into a module in its place.

    Parameters
    ----------
    component : wiring.Component

    Attributes
    ----------
    component : wiring.Component
        Its ports.
    """

    def __init__(self, component: wiring.Component):
        self.component = component
        self._fragment = Fragment.get(component, None)
        ports = (Value.cast(value) for *_, value in component.signature.flatten(component))
        self._ports = {id(value) for value in ports}

    def elaborate(self, platform):
        return self._fragment

    def signal(self, path: str, shape: Any = None) -> Any:
        """Return an inner signal that is not a port.

        Parameters
        ----------
        path : str
            Its name, behind those of the submodules it is in, with dots: ``fifo.level``.
        shape : ShapeCastable, optional
            How to look at it, if it has fields.

        Raises
        ------
        KeyError
            If there is no such signal, or more than one.
        """
        *parts, name = path.split(".")
        found = {id(signal): signal for signal in _signals(self._inside(parts))
                 if signal.name == name and (parts or id(signal) not in self._ports)}
        if len(found) != 1:
            raise KeyError(f"{type(self.component).__name__} has {len(found)} signals {path!r}")
        signal = found.popitem()[1]
        return signal if shape is None else shape(signal)

    def cut(self, path: str, shape: Any = None) -> Any:
        """Take away what drives an inner signal, and return it: it has any value in any cycle.

        What is proved of the block then holds whatever drives it. Parameters are those of `signal`.
        """
        *parts, _ = path.split(".")
        signal, fragment = Value.cast(self.signal(path)), self._inside(parts)
        for domain, statements in fragment.statements.items():
            fragment.statements[domain] = type(statements)(
                each for each in statements if _driven(each) != {id(signal)})
        if any(id(signal) in _driven(each)
               for statements in fragment.statements.values() for each in statements):
            raise KeyError(f"{path!r} is driven together with others")
        fragment.add_statements("comb", signal.eq(AnySeq(len(signal))))
        return signal if shape is None else shape(signal)

    def _inside(self, parts: list[str]) -> Fragment:
        """Return the fragment of a submodule."""
        fragment = self._fragment
        for part in parts:
            named = [sub for sub, name, _ in fragment.subfragments if name == part]
            if len(named) != 1:
                raise KeyError(f"{type(self.component).__name__} has no submodule {part!r}")
            fragment = named[0]
        return fragment


def _signals(fragment: Fragment) -> Iterator[Signal]:
    """Yield the signals that a fragment itself drives or reads."""
    for statements in fragment.statements.values():
        for statement in statements:
            yield from statement._lhs_signals()
            yield from statement._rhs_signals()


def _driven(statement) -> set[int]:
    """Return the identities of the signals that a statement drives."""
    return {id(signal) for signal in statement._lhs_signals()}


def free(m: Module, component: wiring.Component) -> None:
    """Give every input of a component any value in any cycle."""
    for _, member, value in component.signature.flatten(component):
        signal = Value.cast(value)
        if member.flow is wiring.In and isinstance(signal, Signal):
            m.d.comb += signal.eq(AnySeq(len(signal)))
