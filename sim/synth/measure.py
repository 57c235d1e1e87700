"""Measures a block on an FPGA: its cells, its clock frequency and its critical path."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from caesura.cache import cache_directory, digest, write_atomically
from caesura.hw.export import verilog
from caesura.progress import Progress, quiet

from . import tools
from .critical_path import critical_path
from .harness import Harness
from .names import BLOCK, module_of, source_name, without_brackets
from .targets import COLUMNS, Target

__all__ = ["lanes", "parts_of", "script", "synthesise", "without"]

_TOP = "top"
_PORT = re.compile(r"^  wire(?: width (?P<width>\d+))?(?: signed)? (?P<way>input|output) \d+ +(?P<name>\S+)$",
                   re.MULTILINE)
_MODULE = re.compile(r"^module \\(\S+)\n(.*?)^end\n", re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"^ +cell \\(\S+) \S+$", re.MULTILINE)
_SEVERAL, _LARGE = 4, 20_000
"""Least instances and least characters of RTLIL of a module that is mapped separately."""
_FORMAT = "2"
"""Version of the keys of a kept result."""


def script(target: Target, kept: Sequence[str] = ()) -> str:
    """Return the script of Yosys.

    It maps the block in one piece, except for the modules `kept`. Cells get their names before the block is flattened
    into its harness.
    """
    return (f"read_rtlil d.il; hierarchy -top {_TOP}; "
            f"setattr -mod -set keep_hierarchy 1 {' '.join((f'{_TOP}__{BLOCK}', *kept))}; "
            f"{target.synthesis} -top {_TOP}; autoname; "
            "setattr -mod -unset keep_hierarchy *; flatten; write_json d.json")


def lanes(text: str) -> list[str]:
    """Return the modules of an RTLIL text that are mapped once for all instances: large modules with several instances.

    Lanes register their inputs and outputs, so little is lost at their borders, and much time is saved.
    """
    modules = {name: body for name, body in _MODULE.findall(text)}
    number = dict.fromkeys(modules, 0) | {_TOP: 1}
    for name in modules:  # a module comes before its submodules
        for cell in _CELL.findall(modules[name]):
            if cell in number:
                number[cell] += number[name]
    return [name for name, body in modules.items() if number[name] >= _SEVERAL and len(body) >= _LARGE]


def synthesise(block: wiring.Component, target: Target, *, seed: int = 1, place: bool = True,
               progress: Progress = quiet, name: str = "block") -> dict:
    """Return the cells of a block on an FPGA, and its clock frequency; each distinct netlist is measured once.

    Results are kept in ``cache_directory() / "synth"``.

    Parameters
    ----------
    block : wiring.Component
    target : Target
    seed : int
        Seed of the placer.
    place : bool
        Place and route, if the target has a placer and the device has enough room.
    name : str
        Name of the block in progress messages.

    Returns
    -------
    dict
        A number for each of `COLUMNS`. `lacking` has the columns that the device lacks (`Target.lacking`). `parts` has
        the columns of each submodule with its own cells, by path; a cell counts in the submodule of the nearest named
        signal. `mhz` and `path` (`critical_path`) are None if nothing was placed. `error` is the message of a placer
        that fails, for example if a block fits but the flip-flops around its ports do not.

    Raises
    ------
    SynthesisError
        If a tool is missing or Yosys fails.
    """
    placer = target.placer if place else None
    if placer is not None:
        tools.check_placer(placer)
    progress(f"elaborating {name}")
    text = without_brackets(without(verilog.rtlil_text(Harness(block), name=_TOP), getattr(block, "emptied", ())))
    steps = script(target, lanes(text))
    mapped = _kept([text, steps, *tools.versions(None)])
    row = _read(mapped)
    placed = _kept([text, steps, *tools.versions(placer), str(seed), target.constraints_file.read_text(),
                    *(placer.options if placer else ())])
    timing = _read(placed) if placer else {"mhz": None, "path": None}
    if row is not None and (timing is not None or target.lacking(row)):
        return row | {"lacking": target.lacking(row)} | (timing or {"mhz": None, "path": None})
    with tempfile.TemporaryDirectory(prefix="caesura-synth-") as folder:
        row = _map(text, steps, target, Path(folder), progress, name)
        write_atomically(mapped, json.dumps(row))
        timing = dict[str, Any](mhz=None, path=None)
        if placer is not None and not target.lacking(row):
            try:
                timing = _place(target, Path(folder), seed, progress, name)
                write_atomically(placed, json.dumps(timing))
            except tools.SynthesisError as error:
                timing["error"] = str(error)
    return row | {"lacking": target.lacking(row)} | timing


def without(text: str, paths: Sequence[str]) -> str:
    """Return an RTLIL text in which some submodules of the block are empty; their outputs are 0."""
    for path in paths:
        name = "__".join((_TOP, BLOCK, *path.split(".")))
        head, begin, rest = text.partition(f"\nmodule \\{name}\n")
        if not begin:
            raise ValueError(f"there is no submodule {path}")
        body, end, tail = rest.partition("\nend\n")
        ports = list(_PORT.finditer(body))
        tied = [f"  connect {wire['name']} {wire['width'] or 1}'{'0' * int(wire['width'] or 1)}" for wire in ports
                if wire["way"] == "output"]
        text = f"{head}{begin}" + "\n".join([*(wire[0] for wire in ports), *tied]) + end + tail
    return text


def _kept(parts: list[str]) -> Path:
    return cache_directory() / "synth" / f"{digest([_FORMAT, *parts])}.json"


def _read(path: Path) -> dict | None:
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
        return json.loads(path.read_text())
    return None


def _map(text: str, steps: str, target: Target, folder: Path, progress: Progress, name: str) -> dict:
    """Run Yosys and leave the netlist in the folder."""
    (folder / "d.il").write_text(text)
    tools.yosys(steps, folder, progress, f"synthesising {name} for {target.name}")
    parts = parts_of(json.loads((folder / "d.json").read_text()), target)
    return {column: sum(part[column] for part in parts.values()) for column in COLUMNS} | {"parts": parts}


def parts_of(netlist: dict, target: Target) -> dict[str, dict[str, int]]:
    """Return the cells of each submodule, by column."""
    cells = netlist["modules"][_TOP]["cells"]
    scopes = {source_name(name) for name, cell in cells.items() if cell["type"] == "$scopeinfo"}
    found: dict[str, dict[str, int]] = {}
    for name, cell in cells.items():
        module = module_of(name)
        if module is None or cell["type"] == "$scopeinfo":
            continue
        while module and module not in scopes:  # a field of a structure
            module = module.rpartition(".")[0]
        counted = found.setdefault(module, {})
        counted[cell["type"]] = counted.get(cell["type"], 0) + 1
    parts = {module: target.count(counted) for module, counted in found.items()}
    return {module: counted for module, counted in sorted(parts.items()) if any(counted[name] for name in COLUMNS)}


def _place(target: Target, folder: Path, seed: int, progress: Progress, name: str) -> dict:
    """Run nextpnr on the netlist in the folder."""
    assert target.placer is not None
    shutil.copyfile(target.constraints_file, folder / target.constraints)
    arguments = ["--json", "d.json", target.placer.constraints, target.constraints, "--seed", str(seed),
                 "--timing-allow-fail", "--report", "report.json"]
    tools.nextpnr(target.placer, arguments, folder, progress, f"placing {name} on {target.device}")
    report = json.loads((folder / "report.json").read_text())
    clocks = [clock["achieved"] for clock in report["fmax"].values()]
    return {"mhz": round(min(clocks), 1) if clocks else None, "path": critical_path(report)}
