"""Common parts of the benches of proofs."""

from __future__ import annotations

from typing import Any

from amaranth.asserts import AnyConst, AnySeq  # pyright: ignore[reportAttributeAccessIssue]
from amaranth.hdl import Assert, Assume, Const, Module, Shape, Signal, Value
from amaranth.lib import wiring

__all__ = ["Harness", "assume"]


def assume(holds: Value) -> Any:
    """Return the statement that something holds."""
    return Assume(Value.cast(holds).any(), "given")


class Harness(wiring.Component):
    """A bench without ports: it contains blocks, gives them any inputs, and asserts properties."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        self.state(m)
        return m

    def state(self, m: Module) -> None:
        """Put blocks, assumptions and assertions into a module."""
        raise NotImplementedError

    @staticmethod
    def claim(m: Module, **claims: Any) -> None:
        """Assert each, under its name."""
        for name, holds in claims.items():
            wire = Signal(name=f"claim_{name}")
            m.d.comb += [wire.eq(Value.cast(holds).any()), Assert(wire, name)]

    @staticmethod
    def given(m: Module, **assumptions: Any) -> None:
        """Assume each, under its name."""
        for name, holds in assumptions.items():
            wire = Signal(name=f"given_{name}")
            m.d.comb += [wire.eq(Value.cast(holds).any()), Assume(wire, name)]

    @staticmethod
    def anything(m: Module, shape: Any) -> Any:
        """Return any value, another one in each cycle; of a range, those in it."""
        if not Shape.cast(shape).width:
            return Const(0, 0)
        wire = Signal(shape, name="anything")
        m.d.comb += Value.cast(wire).eq(AnySeq(len(Value.cast(wire))))
        if isinstance(shape, range):
            m.d.comb += assume(wire < shape.stop)
        return wire

    @staticmethod
    def something(m: Module, shape: Any) -> Any:
        """Return any value, the same in each cycle; of a range, one in it."""
        wire = Signal(shape, name="something")
        m.d.comb += Value.cast(wire).eq(AnyConst(len(Value.cast(wire))))
        if isinstance(shape, range):
            m.d.comb += assume(wire < shape.stop)
        return wire
