"""A harness around a block, so that the block can be placed by itself.

A block has thousands of port bits, but an FPGA has hundreds of pins. Paths between a pin and a flip-flop do not count
in the clock frequency. So each input comes from a flip-flop of a long shift register, and each output goes to a
flip-flop. Exclusive or folds the outputs to a single bit, four at a time, with a register after each step. So paths
into and out of the block go from register to register with their routing, as between blocks that register their ports.

nextpnr can place without pins (``--out-of-context``), but then ignores all paths through ports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .names import BLOCK, INNER, INPUT, OUTPUT

__all__ = ["Harness", "Reduced"]

FOLD = 4
"""Bits that one look-up table combines by exclusive or."""


def ports(component: wiring.Component, flow: wiring.Flow) -> dict[str, Value]:
    """Return the ports of one direction by name, without constants."""
    return {"_".join(map(str, path)): Value.cast(value)
            for path, member, value in component.signature.flatten(component)
            if member.flow is flow and not isinstance(value, Const)}  # ``ready`` of a stream that is always ready


class Harness(wiring.Component):
    """A block (submodule `block`) between flip-flops, with four pins: the two ports below, ``clk`` and ``rst``.

    Parameters
    ----------
    block : wiring.Component

    Attributes
    ----------
    scan_in : Signal(1), in
        The inputs of the block, one after the other.
    scan_out : Signal(1), out
        The exclusive or of the block's outputs, some cycles later.
    """

    scan_in: Signal
    scan_out: Signal

    def __init__(self, block: wiring.Component):
        self.block = block
        super().__init__({"scan_in": In(1), "scan_out": Out(1)})

    def elaborate(self, platform):
        m = Module()
        block: Any = self.block  # the stubs lack `elaborate` of a component
        m.submodules[BLOCK] = block
        scanned = Cat(self.scan_in)
        for name, port in ports(self.block, wiring.In).items():
            register = Signal(len(port), name=INPUT + name, reset_less=True)
            m.d.sync += register.eq(Cat(scanned[-1], register))
            m.d.comb += port.eq(register)
            scanned = Cat(scanned, register)
        registers = []
        for name, port in ports(self.block, wiring.Out).items():
            registers.append(Signal(len(port), name=OUTPUT + name, reset_less=True))
            m.d.sync += registers[-1].eq(port)
        self._fold(m, Cat(registers))
        return m

    def _fold(self, m: Module, bits: Value) -> None:
        """Fold the outputs of the block to one bit."""
        step = 0
        while len(bits) > 1:
            folded = Signal(-(-len(bits) // FOLD), name=f"folded_{step}", reset_less=True)
            m.d.sync += folded.eq(Cat(bits[low:low + FOLD].xor() for low in range(0, len(bits), FOLD)))
            bits, step = folded, step + 1
        m.d.comb += self.scan_out.eq(bits)


class Reduced(wiring.Component):
    """A block without some ports or submodules, to measure their size.

    Synthesis removes the logic that only they need.

    Parameters
    ----------
    block : wiring.Component
    hidden : sequence of str
        Ports, or prefixes of the names of several (``stop_pending``, ``state``). Inputs keep their reset values, and
        outputs are not connected.
    emptied : sequence of str
        Paths of submodules that are removed; their outputs are 0.
    """

    def __init__(self, block: wiring.Component, hidden: Sequence[str] = (), emptied: Sequence[str] = ()):
        self.block, self.hidden = block, tuple(hidden)
        self.emptied = tuple(f"{INNER}.{path}" for path in emptied)
        super().__init__({name: flow(len(port)) for flow in (wiring.In, wiring.Out)
                          for name, port in self._shown(flow).items()})

    def _shown(self, flow: wiring.Flow) -> dict[str, Value]:
        return {name: port for name, port in ports(self.block, flow).items()
                if not any(f"{name}_".startswith(f"{left_out}_") for left_out in self.hidden)}

    def elaborate(self, platform):
        m = Module()
        block: Any = self.block
        m.submodules[INNER] = block
        m.d.comb += [port.eq(getattr(self, name)) for name, port in self._shown(wiring.In).items()]
        m.d.comb += [getattr(self, name).eq(port) for name, port in self._shown(wiring.Out).items()]
        return m
