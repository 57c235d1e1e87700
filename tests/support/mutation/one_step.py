"""Whether a fault of a large block can be seen within a cycle, whatever its state is.

::

    inputs, registers, --+--> netlist, mutsel = 0 ----> outputs, what registers --+
    what memories give   |                              and memories get          +--> equal
                         +--> netlist, mutsel = fault --> the same ---------------+

Registers and memories are cut out of the netlist, so what is left to prove has no time in it, and only what comes
behind the fault. If the two never differ from equal states, they go on in equal states: by induction they never do. The
reverse does not hold: they may differ in a state that the block never has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from caesura.hw.export.verilog import ExportError, run_yosys
from caesura.sim.cocotb.build import TOP

from .equivalence import Verdict
from .planting import SELECT

__all__ = ["OneStep"]

_FLAT = ("read_rtlil d.il; hierarchy -top {top}; proc; flatten; opt_clean -purge; opt_expr; opt_clean -purge; "
         "write_json d.json")
_PROOF = ("read_json d.il; miter -equiv -flatten good faulty miter; hierarchy -top miter; flatten; opt -full; "
          "tee -o proof.txt sat -timeout {seconds} -prove trigger 0 miter")
_PROVED = "SAT proof finished - no model found: SUCCESS!"

Bits = list[Any]
"""Bits of a netlist: numbers of wires, constants as strings."""


class OneStep:
    """A netlist with faults, cut at its registers and memories.

    An output ``x_payload`` does not count while ``x_valid`` is low. A write to a memory counts only where it is
    enabled. Clocks count as outputs.

    Parameters
    ----------
    rtlil : str
        `planting.Mutated.rtlil`.

    Raises
    ------
    ExportError
        If Yosys fails, or there is a register of a kind that is not cut.
    """

    def __init__(self, rtlil: str):
        top = f"{TOP}__netlist"
        netlist = json.loads(run_yosys(rtlil, _FLAT.format(top=top), "d.json"))["modules"][top]
        self._ports, self._cells = netlist["ports"], netlist["cells"]
        wires = [bits for cell in self._cells.values() for bits in cell["connections"].values()]
        wires += [port["bits"] for port in self._ports.values()]
        self._next = 1 + max(bit for bits in wires for bit in bits if isinstance(bit, int))
        self._cut()
        for name, port in self._ports.items():
            valid = self._ports.get(f"{name.removesuffix('payload')}valid")
            if port["direction"] == "output" and name.endswith("_payload") and valid:
                port["bits"] = self._masked(port["bits"], valid["bits"] * len(port["bits"]))

    def equivalent(self, number: int, seconds: int = 120) -> Verdict:
        """Return whether it is proved that a fault changes nothing; else it is undecided."""
        modules = {name: self._chosen(which) for name, which in (("good", 0), ("faulty", number))}
        text = json.dumps({"creator": "caesura", "modules": modules})
        proof = run_yosys(text, _PROOF.format(seconds=seconds), "proof.txt")
        return Verdict.PROVED if _PROVED in proof else Verdict.UNDECIDED

    def _cut(self) -> None:
        """Have registers and memories outside."""
        given: Bits = []
        taken: Bits = []
        for name, cell in list(self._cells.items()):
            kind, pins = cell["type"], cell["connections"]
            if kind == "$dff":
                given += pins["Q"]
                taken += pins["D"] + pins["CLK"]
            elif kind == "$mem_v2":
                given += pins["RD_DATA"]
                taken += self._memory(pins)
            elif any(part in kind for part in ("ff", "latch", "$mem")):
                raise ExportError(f"cell {name} is a {kind}")
            elif kind != "$scopeinfo":
                continue
            del self._cells[name]
        self._ports |= {"given": {"direction": "input", "bits": given}, "taken": {"direction": "output", "bits": taken}}

    def _memory(self, pins: dict[str, Bits]) -> Bits:
        """Return what a memory gets, as far as it counts."""
        ports = len(pins["WR_CLK"])
        enables, addresses = ([pins[name][len(pins[name]) // ports * k:len(pins[name]) // ports * (k + 1)]
                               for k in range(ports)] for name in ("WR_EN", "WR_ADDR"))
        taken = [bit for name in ("RD_CLK", "RD_EN", "RD_SRST", "RD_ARST", "RD_ADDR", "WR_CLK", "WR_EN")
                 for bit in pins[name]]
        taken += self._masked(pins["WR_DATA"], pins["WR_EN"])
        for enable, address in zip(enables, addresses, strict=True):
            written = self._cell("$reduce_or", 1, A=enable)
            taken += self._masked(address, written * len(address))
        return taken

    def _masked(self, bits: Bits, by: Bits) -> Bits:
        return self._cell("$and", len(bits), A=bits, B=by) if bits else []

    def _cell(self, kind: str, width: int, **inputs: Sequence[Any]) -> Bits:
        """Add a cell; return its output."""
        output: Bits = list(range(self._next, self._next + width))
        self._next += width
        pins = inputs | {"Y": output}
        parameters = {f"{pin}_WIDTH": f"{len(bits):032b}" for pin, bits in pins.items()}
        self._cells[f"added${output[0]}"] = {
            "hide_name": 0, "type": kind, "attributes": {}, "connections": pins,
            "parameters": parameters | {f"{pin}_SIGNED": f"{0:032b}" for pin in inputs},
            "port_directions": dict.fromkeys(inputs, "input") | {"Y": "output"}}
        return output

    def _chosen(self, number: int) -> dict[str, Any]:
        """Return the netlist with a fault, 0: none."""
        ports, cells = deepcopy(self._ports), deepcopy(self._cells)
        chosen = {bit: str(number >> k & 1) for k, bit in enumerate(ports.pop(SELECT)["bits"])}
        for port in ports.values():
            port["bits"] = [chosen.get(bit, bit) for bit in port["bits"]]
        for cell in cells.values():
            cell["connections"] = {pin: [chosen.get(bit, bit) for bit in bits]
                                   for pin, bits in cell["connections"].items()}
        return {"attributes": {}, "ports": ports, "cells": cells, "netnames": {}}
