"""Tests beside a model (`support.hw.lockstep`) on a netlist, without Amaranth's simulator in between.

Such a test gives inputs that do not depend on what the block answers. So the netlist is set, run and read directly,
with the comparisons of `cosimulation` in the same cycles, and without its cost.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from amaranth.hdl import Signal, Value
from amaranth.hdl._ast import Operator, Slice

from caesura.hw.export.ports import ports_of
from support.hw.lockstep import lockstep, signal_named

from .cosimulation import Substitute, TooLongError, port_signals

__all__ = ["replaying"]


class _Place(NamedTuple):
    """Where the bits of a signal lie, or of a part of one.

    Attributes
    ----------
    port : int
        Number of the port.
    start, width : int
        Bits.
    shape : object
        Shape of the part, which says how a structure is encoded.
    """

    port: int
    start: int
    width: int
    shape: Any

    @property
    def mask(self) -> int:
        """The bits of the part, from 0."""
        return (1 << self.width) - 1

    def bits(self, given: Any) -> int:
        """Return a value of the part as a number."""
        if isinstance(given, int):
            return int(given) & self.mask
        return Value.cast(self.shape.const(given)).value & self.mask  # pyright: ignore


def _within(value: Value) -> tuple[Signal, int]:
    """Return the signal of which a value is a part, and its first bit."""
    if isinstance(value, Signal):
        return value, 0
    if isinstance(value, Operator) and value.operator in ("u", "s"):  # pyright: ignore
        return _within(value.operands[0])  # pyright: ignore
    if isinstance(value, Slice):
        signal, start = _within(value.value)
        return signal, start + value.start
    raise TypeError(f"{value!r} is no part of a signal")


def replaying(substitute: Substitute) -> Callable[[Any, Iterable[tuple[dict[str, Any], dict[str, Any]]]], None]:
    """Return what tests are to be given in the place of `lockstep`."""
    def replayed(dut: Any, cycles: Iterable[tuple[dict[str, Any], dict[str, Any]]]) -> None:
        if not substitute.stands_for(dut):
            return lockstep(dut, cycles)
        ports, signals = ports_of(dut), port_signals(dut)
        numbers = {id(signal): number for number, signal in enumerate(signals)}

        @functools.cache
        def place(name: str) -> _Place:
            part = signal_named(dut, name)
            signal, start = _within(Value.cast(part))
            return _Place(numbers[id(signal)], start, len(Value.cast(part)), part.shape())

        substitute.ran.append(0)
        given = [signal.init for signal in signals]
        with substitute.netlist.running() as model:
            model.set(len(ports), substitute.fault)
            for number, port in enumerate(ports):
                if not port.output:
                    model.set(number, given[number])
            for cycle, (inputs, outputs) in enumerate(cycles):
                for name, value in inputs.items():
                    where = place(name)
                    given[where.port] &= ~(where.mask << where.start)
                    given[where.port] |= where.bits(value) << where.start
                    model.set(where.port, given[where.port])
                model.settle()
                for name, wanted in outputs.items():
                    where = place(name)
                    seen = model.get(where.port) >> where.start & where.mask
                    assert seen == where.bits(wanted), f"in cycle {cycle} {name} is {seen:#x}, not {wanted}"
                model.edge()
                substitute.ran[-1] += 1
                if substitute.ran[-1] > substitute.limit:
                    raise TooLongError(f"not at an end after {substitute.limit} cycles")
        return None

    return replayed
