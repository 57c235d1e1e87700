"""Whether a fault can be seen at all: the block with and without it side by side, from reset, for any inputs.

::

    inputs --+--> netlist, mutsel = 0 ----> outputs --+
             |                                        +--> differ, while the inputs kept to what the block asks for
             +--> netlist, mutsel = fault --> outputs +

Yosys makes an and-inverter graph of both, ABC (which Yosys contains) merges what is equal by induction (``scorr``) and
decides the rest by property-directed reachability (``pdr``). *Proved* holds for runs of any length.
"""

from __future__ import annotations

import enum
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import ClockSignal, Const, Instance, Module, ResetSignal, ShapeCastable, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from caesura import webassembly
from caesura.hw.export import verilog
from caesura.hw.export.ports import Port, ports_of
from caesura.sim.cocotb.build import TOP

from .planting import SELECT, SELECT_BITS, Mutated

__all__ = ["ANYTHING", "Contract", "Verdict", "equivalent"]

_GRAPH = """read_rtlil block.il
read_rtlil miter.il
hierarchy -top miter
proc
flatten
opt_clean
memory_map
opt -full -nodffe -nosdff
techmap
opt -full -nodffe -nosdff
dffunmap
simplemap
aigmap
opt_clean
setundef -zero
write_aiger -zinit miter.aig
design -reset
read_rtlil one.il
abc -script +read_aiger,miter.aig;strash;{steps}write_status,status;
"""
_ONE = """module \\one
  wire input 1 \\a
  wire output 2 \\y
  cell $_NOT_ $1
    connect \\A \\a
    connect \\Y \\y
  end
end
"""
"""A design for the pass that calls ABC, which then reads another one."""
_ENABLES = {"payload": "valid", "write_data": "write"}
"""Outputs that say something only while another is high, by the last part of their names."""


class Verdict(enum.Enum):
    """The verdict on a fault."""

    PROVED = "proved equivalent"
    DIFFERS = "differs"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Contract:
    """The rules for a block's inputs, and the bits of its outputs that have a meaning, from its docstring.

    Attributes
    ----------
    given : callable
        Takes the ports, by their names in the netlist; returns values that are true in every cycle.
    matters : dict
        Functions by names of outputs; each takes the value of the port and all ports, and returns the meaningful part.
        A stream's payload never has a meaning while ``valid`` is low, nor a `HostPort`'s word while ``write`` is.
    constant : tuple of str
        Inputs that have any value, but the same one in the whole run.
    """

    given: Callable[[SimpleNamespace], Sequence[Any]] = lambda ports: ()
    matters: dict[str, Callable[[Any, SimpleNamespace], Any]] | None = None
    constant: tuple[str, ...] = ()


ANYTHING = Contract()
"""Any inputs; all outputs matter."""


class _Miter(wiring.Component):
    """The block twice; `bad` if an output differs that matters, and the inputs have kept to the contract so far."""

    def __init__(self, ports: Sequence[Port], contract: Contract, number: int):
        self._ports, self._contract, self._number = ports, contract, number
        super().__init__({"bad": Out(1)} | {f"in_{k}": In(port.width) for k, port in enumerate(ports)
                                            if not port.output})

    def elaborate(self, platform):
        m = Module()
        inputs = {port.inner: getattr(self, f"in_{k}") for k, port in enumerate(self._ports) if not port.output}
        sides = [self._side(m, inputs, name, number) for name, number in (("good", 0), ("faulty", self._number))]
        kept = Signal()
        broken = Signal()
        differ = Signal()
        given = self._contract.given(sides[0])
        m.d.comb += kept.eq(~broken)
        for each in [*given, *self._constant(m, inputs)]:
            with m.If(~Value.cast(each).any()):
                m.d.comb += kept.eq(0)
        with m.If(~kept):
            m.d.sync += broken.eq(1)
        for port in self._ports:
            if port.output:
                first, second = (self._seen(port, side) for side in sides)
                with m.If(first != second):
                    m.d.comb += differ.eq(1)
        m.d.comb += self.bad.eq(differ & kept)  # pyright: ignore
        return m

    def _constant(self, m: Module, inputs: dict[str, Any]) -> list[Value]:
        """Return which of the constant inputs have the value that they had in the first cycle."""
        later = Signal()
        m.d.sync += later.eq(1)
        same = []
        for name in self._contract.constant:
            held = Signal.like(inputs[name], name=f"{name}_held")
            with m.If(~later):
                m.d.sync += held.eq(inputs[name])
            same.append(~later | (held == inputs[name]))
        return same

    def _side(self, m: Module, inputs: dict[str, Any], name: str, number: int) -> SimpleNamespace:
        """Put the block in with a fault chosen; return its ports as what they are."""
        values = {port.inner: inputs[port.inner] if not port.output else Signal(port.width, name=f"{name}_{port.inner}")
                  for port in self._ports}
        m.submodules[name] = Instance(
            f"{TOP}__netlist", ("i", "clk", ClockSignal()), ("i", "rst", ResetSignal()),
            ("i", SELECT, Const(number, SELECT_BITS)),
            *(("o" if port.output else "i", port.inner, values[port.inner]) for port in self._ports))
        return SimpleNamespace(**{
            port.inner: port.shape(values[port.inner]) if isinstance(port.shape, ShapeCastable)  # pyright: ignore
            else values[port.inner] for port in self._ports})

    def _seen(self, port: Port, side: SimpleNamespace) -> Value:
        """Return what an output says."""
        value = getattr(side, port.inner)
        matters = (self._contract.matters or {}).get(port.inner)
        told = Value.cast(value if matters is None else matters(value, side))
        name = port.path[-1]
        if name not in _ENABLES:
            return told
        enable = getattr(side, f"{port.inner.removesuffix(name)}{_ENABLES[name]}")
        return told & Value.cast(enable).replicate(len(told))


def equivalent(component: wiring.Component, mutated: Mutated, number: int, contract: Contract = ANYTHING,
               seconds: int = 30) -> Verdict:
    """Return whether a fault changes what a block does.

    Parameters
    ----------
    component : wiring.Component
        The block, without faults.
    mutated : Mutated
    number : int
        Number of the fault.
    contract : Contract
    seconds : int
        That reachability may take; after three times as many, for all together, it is `Verdict.UNDECIDED`.

    Raises
    ------
    ExportError
        If Yosys is missing or fails.
    """
    miter = verilog.rtlil_text(_Miter(ports_of(component), contract, number), name="miter")
    steps = f"scorr;write_aiger,reduced.aig;pdr,-T,{seconds};"
    with tempfile.TemporaryDirectory(prefix="caesura-miter-") as name:
        folder = Path(name)
        for file, text in (("block.il", mutated.rtlil.replace("attribute \\top 1\n", "")), ("miter.il", miter),
                           ("one.il", _ONE), ("s.ys", _GRAPH.format(steps=steps))):
            (folder / file).write_text(text)
        # When ABC has read another design, Yosys does not find its own again and fails: the status is what counts.
        try:
            done = subprocess.run(webassembly.command(*verilog.YOSYS, "-q", "-s", "s.ys"), cwd=folder,
                                  capture_output=True, text=True, timeout=3 * seconds)
        except subprocess.TimeoutExpired:
            return Verdict.UNDECIDED
        if not (folder / "miter.aig").exists() or not (folder / "miter.aig").stat().st_size:
            raise verilog.ExportError(f"Yosys failed:\n{(done.stdout + done.stderr).strip()[-2000:]}")
        status = folder / "status"
        word = status.read_text().split()[0] if status.exists() else ""
        if _never(folder / "reduced.aig"):
            return Verdict.PROVED
    return {"snl_UNSAT": Verdict.PROVED, "snl_SAT": Verdict.DIFFERS}.get(word, Verdict.UNDECIDED)


def _never(graph: Path) -> bool:
    """Return whether the only output of an and-inverter graph (AIGER, binary) is the constant 0: then ABC has nothing
    left to prove, and says nothing."""
    if not graph.exists():
        return False
    lines = graph.read_bytes().split(b"\n")
    latches = int(lines[0].split()[3])  # each has a line before that of the output
    return lines[1 + latches] == b"0"
