"""The register maps for readers and tools: a table, and for each SystemRDL file a page, a C header and Python.

`registers.rdl` is the map of an SM. `gpu_registers.rdl` is the map of the further registers of a device with several
SMs, from 0x2000 on.
"""

from __future__ import annotations

import re
from pathlib import Path

from rich.table import Table
from systemrdl.compiler import RDLCompiler
from systemrdl.node import RootNode

from caesura.extras import require
from caesura.hw.arch.geometry import WORD_BYTES
from caesura.hw.arch.registers import GPU_RDL_PATH, RDL_PATH, Register, device_register_map

from .console import report_console

__all__ = ["as_json", "print_registers", "write_access_layer", "write_header", "write_page"]


def _access(register: Register) -> str:
    if register.clear_on_one:
        return "read, write 1 to clear"
    return ", ".join(word for word, may in (("read", register.readable), ("write", register.writable)) if may)


def _bits(low: int, width: int) -> str:
    return f"{low + width - 1}:{low}" if width > 1 else f"{low}"


def as_json() -> dict:
    """Return the map; keys are documented in `docs/keys.md`."""
    return {"bytes": WORD_BYTES + max(register.address for register in device_register_map().values()), "registers": [
        {"path": path, "address": register.address, "access": _access(register), "description": register.description,
         "reset": register.reset, "combine": register.combine.value, "last": register.last, "where": register.where,
         "fields": [
             {"name": field.name, "low": field.low, "width": field.width, "reset": field.reset,
              "description": field.description} for field in register.fields.values()]}
        for path, register in device_register_map().items()]}


def print_registers() -> None:
    """Print every register once; only the first kernel slot, and the first element of an array, are printed."""
    table = Table("address", "register", "bits", "field", "access", "description", box=None,
                  title="register map; kernel slots are 0x200 bytes apart; from 0x2000 on of several SMs only")
    for path, register in device_register_map().items():
        if any(int(index) for index in re.findall(r"\[(\d+)\]", path)):
            continue
        table.add_row(f"{register.address:#06x}", path, "", "", _access(register), register.description)
        for field in register.fields.values():
            if len(register.fields) > 1 or field.width < 32:
                table.add_row("", "", _bits(field.low, field.width), field.name, "", field.description)
    report_console(160, markup=False).print(table)


def _root(device: bool) -> RootNode:
    compiler = RDLCompiler()
    compiler.compile_file(str(GPU_RDL_PATH if device else RDL_PATH))
    return compiler.elaborate()


def write_page(folder: Path, device: bool = False) -> Path:
    """Write the map of an SM, or of the further registers of a `device`, as a page with PeakRDL; return its first file.

    Raises
    ------
    MissingPackage
        If PeakRDL is not installed.
    """
    exporter = require("peakrdl_html", "a page of the register map", "registers").HTMLExporter()
    root = _root(device)
    exporter.export(root, str(folder), title=root.top.get_property("name"))
    return folder / "index.html"


def write_header(path: Path, device: bool = False) -> None:
    """Write a map as a C header, with PeakRDL; parameters and errors are those of `write_page`."""
    exporter = require("peakrdl_cheader.exporter", "a C header of the register map", "registers").CHeaderExporter()
    exporter.export(_root(device), str(path))


def write_access_layer(folder: Path, device: bool = False) -> Path:
    """Write a map as a Python package that reads and writes registers and their fields by name, with PeakRDL.

    The package is ``caesura_sm``, or ``caesura_gpu``, in `folder`; it needs nothing but Python. Its class, such as
    ``caesura_sm_cls``, takes the functions that read and write a word at an address (docs/export.md). The function
    returns the package's folder. Parameters and errors are those of `write_page`.
    """
    what = "a Python access layer of the registers"
    exporter = require("peakrdl_python", what, "registers").PythonExporter()
    hashes = require("peakrdl_python.systemrdl_node_hashes", what, "registers").NodeHashingMethod
    root = _root(device)
    exporter.export(root.top, str(folder), skip_test_case_generation=True,
                    hashing_method=hashes.SHA256)  # Python's own hashes would make names differ between runs
    return folder / root.top.inst_name
