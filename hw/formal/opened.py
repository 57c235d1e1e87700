"""A block with access to its inner signals, for proofs by induction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from amaranth.asserts import AnySeq  # pyright: ignore[reportAttributeAccessIssue]
from amaranth.hdl import Elaboratable, Fragment, Module, Signal, Value
from amaranth.hdl._ast import Switch
from amaranth.lib import wiring

__all__ = ["Opened", "free"]


class Opened(Elaboratable):
    """An elaborated component, which replaces the component in a module.

    Parameters
    ----------
    component : wiring.Component

    Attributes
    ----------
    component : wiring.Component
        The block, with its ports.
    """

    def __init__(self, component: wiring.Component):
        self.component: Any = component
        self._fragment: Any = Fragment.get(component, None)
        ports = (Value.cast(value) for *_, value in component.signature.flatten(component))
        self._ports = {id(value) for value in ports}

    def elaborate(self, platform: Any):
        return self._fragment

    def signal(self, path: str, shape: Any = None) -> Any:
        """Return an inner signal that is not a port.

        Parameters
        ----------
        path : str
            Name of the signal, behind the names of its submodules, with dots: ``fifo.level``.
        shape : ShapeCastable, optional
            Shape of the result, if it has fields.

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

    def at(self, state: str, name: str = "fsm") -> Value:
        """Return whether the state machine of the block is in a state.

        Raises
        ------
        KeyError
            If there is no such machine, or state.
        """
        machine = self._fragment.generated[name]
        return machine.state == machine.encoding[state]

    def cut(self, path: str, shape: Any = None, value: Value | None = None) -> Any:
        """Remove the driver of an inner signal, and return the signal; it may have any value.

        Facts proved of the block then hold for any driver. With `value` they hold if the driver is
        `value`, which is free in the case that the proof examines. Other parameters are those of
        `signal`.
        """
        *parts, _ = path.split(".")
        signal, fragment = Value.cast(self.signal(path)), self._inside(parts)
        for domain, statements in fragment.statements.items():
            fragment.statements[domain] = _without(statements, signal)
        fragment.add_statements("comb", signal.eq(AnySeq(len(signal)) if value is None else value))
        return signal if shape is None else shape(signal)

    def _inside(self, parts: list[str]) -> Any:
        """Return the fragment of a submodule."""
        fragment = self._fragment
        for part in parts:
            named = [sub for sub, name, _ in fragment.subfragments if name == part]
            if len(named) != 1:
                raise KeyError(f"{type(self.component).__name__} has no submodule {part!r}")
            fragment = named[0]
        return fragment


def _signals(fragment: Any) -> Iterator[Signal]:
    """Yield the signals that a fragment itself drives or reads."""
    for statements in fragment.statements.values():
        for statement in statements:
            yield from statement._lhs_signals()
            yield from statement._rhs_signals()


def _without(statements: Any, signal: Value) -> Any:
    """Return the statements without those that drive this signal alone."""
    kept, switch = [], cast(Any, Switch)  # the stubs are those of an older one
    for each in statements:
        driven = {id(one) for one in each._lhs_signals()}
        if id(signal) not in driven:
            kept.append(each)
        elif isinstance(each, switch):
            kept.append(switch(each.test, [(patterns, _without(inner, signal), place)
                                           for patterns, inner, place in each.cases],
                               src_loc=each.src_loc))
        elif driven != {id(signal)}:
            raise KeyError(f"{signal!r} is driven together with others")
    return type(statements)(kept)


def free(m: Module, component: wiring.Component) -> None:
    """Give every input of a component any value in any cycle."""
    for _, member, value in component.signature.flatten(component):
        signal = Value.cast(value)
        if member.flow is wiring.In and isinstance(signal, Signal):
            m.d.comb += signal.eq(AnySeq(len(signal)))
