"""Builds a board's bitstream with Yosys, nextpnr and ecppack, all as WebAssembly (YoWASP).

::

    Ulx3s --platform of amaranth-boards--> RTLIL, pins --Yosys--> cells --nextpnr--> timing --ecppack--> bitstream
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from caesura.cache import cache_directory, digest, read_packed, write_atomically, write_packed
from caesura.errors import InputError
from caesura.hw.arch.board_protocol import Identity
from caesura.hw.arch.geometry import Geometry
from caesura.hw.board import ulx3s
from caesura.hw.export import verilog
from caesura.progress import Progress, quiet
from caesura.sim.synth import tools
from caesura.sim.synth.critical_path import critical_path
from caesura.sim.synth.measure import lanes, parts_of, script, without
from caesura.sim.synth.targets import TARGETS

__all__ = ["AIM_MHZ", "BOARDS", "CLOCK_MHZ", "LEFT_OUT", "MEMORY_BYTES", "build_bitstream"]

BOARDS = ("ulx3s",)
CLOCK_MHZ = 12.5
"""Default clock."""
AIM_MHZ = 50.0
"""Clock that a board should reach. Reports give the distance from it."""
MEMORY_BYTES = 128 << 10
"""Default memory on the chip."""
LEFT_OUT = {"preemption": "machine.control.engine", "machine": "machine"}
"""Parts of a board's block that can be left out."""
_TARGET = TARGETS["ecp5"]
_OPTIONS = ("--85k", "--package", "CABGA381", "--speed", "6", "--router", "router2")
"""Options of nextpnr for the board's device."""
_FORMAT = "1"
"""Version of the data that the cache keeps of a build."""


def build_bitstream(geometry: Geometry, out: Path, *, clock_mhz: float = CLOCK_MHZ, memory_bytes: int = MEMORY_BYTES,
                    baud: int = ulx3s.BAUD, seed: int = 1, left_out: str | None = None, place: bool = True,
                    progress: Progress = quiet) -> dict:
    """Build the bitstream of a ULX3S, if the device has room for it.

    ``cache_directory() / "board"`` keeps cells, timing and bitstream, by a hash of their sources.

    Parameters
    ----------
    geometry : Geometry
    out : Path
        File to which the bitstream is written.
    clock_mhz : float
        Clock. If the board cannot make it, the nearest clock below is used.
    memory_bytes : int
        Memory on the chip, a multiple of 4096 bytes.
    baud : int
        Rate of the serial line.
    seed : int
        Seed of the placer.
    left_out : str, optional
        Part of `LEFT_OUT` that is left out. Without ``preemption``, kernels run but cannot be preempted. Without
        ``machine``, only the line and the memory remain.
    place : bool
        Place and route; without it, only cells are counted.
    progress : callable

    Returns
    -------
    dict
        Keys are documented in `docs/keys.md`.

    Raises
    ------
    InputError
        If the clock, the memory or the line cannot be had.
    ToolError
        If amaranth-boards or a program is missing, or fails.
    """
    if memory_bytes <= 0 or memory_bytes % 4096:
        raise InputError(f"memory must be a positive multiple of 4096 bytes, not {memory_bytes}")
    placer = dataclasses.replace(_TARGET.placer, options=_OPTIONS) if _TARGET.placer else None
    assert placer is not None
    if place:
        tools.check_placer(placer)
    clock = ulx3s.board_clock(clock_mhz)
    design = ulx3s.Ulx3s(Identity("ulx3s", geometry, memory_bytes, round(clock * 1e6)), baud)
    progress(f"elaborating the board with {geometry.name}")
    text, pins = _elaborated(design, left_out)
    steps = script(_TARGET, lanes(text))
    kept = cache_directory() / "board" / digest([_FORMAT, text, steps, *tools.versions(None)])
    placed = cache_directory() / "board" / digest([kept.name, pins, str(seed), *_OPTIONS, *tools.versions(placer)])
    result = {"board": "ulx3s", "device": _TARGET.device, "geometry": geometry.name, "left_out": left_out,
              "memory_bytes": memory_bytes, "baud": baud, "clock": clock, "aim": AIM_MHZ, "seed": seed,
              "available": _TARGET.available}
    with tempfile.TemporaryDirectory(prefix="caesura-board-") as name:
        folder = Path(name)
        row = _map(text, steps, kept, folder, progress)
        lacking = _TARGET.lacking(row)
        timing: dict[str, Any] = {"mhz": None, "path": None}
        if place and not lacking:
            timing = _place(kept, placed, pins, seed, placer, folder, progress)
            shutil.copyfile(placed.with_suffix(".bit"), out)
    met = timing["mhz"] is not None and timing["mhz"] >= clock
    return result | row | {"lacking": lacking} | timing | {
        "met": met, "bitstream": str(out) if timing["mhz"] is not None else None}


def _elaborated(whole: ulx3s.Ulx3s, left_out: str | None) -> tuple[str, str]:
    """Return the RTLIL of a board, identical modules merged, and its pins and clocks."""
    files = ulx3s.platform().build(whole, name="top", do_build=False).files
    text, pins = ((file.decode() if isinstance(file, bytes) else file) for file in (files["top.il"], files["top.lpf"]))
    text = verilog.merge_identical_modules(text)
    return without(text, [LEFT_OUT[left_out]] if left_out else []), pins


def _map(text: str, steps: str, kept: Path, folder: Path, progress: Progress) -> dict:
    """Return the cells of the design, and leave its netlist in the cache."""
    row, netlist = kept.with_suffix(".json"), kept.with_suffix(".netlist.gz")
    if row.exists() and netlist.exists():
        return json.loads(row.read_text())
    (folder / "d.il").write_text(text)
    tools.yosys(steps, folder, progress, "synthesising the board")
    made = (folder / "d.json").read_text()
    found = json.loads(made)
    cells: dict[str, int] = {}
    for cell in found["modules"]["top"]["cells"].values():
        cells[cell["type"]] = cells.get(cell["type"], 0) + 1
    counted = _TARGET.count(cells) | {"parts": parts_of(found, _TARGET)}
    write_packed(netlist, made)
    write_atomically(row, json.dumps(counted))
    return counted


def _place(kept: Path, placed: Path, pins: str, seed: int, placer: Any, folder: Path, progress: Progress) -> dict:
    """Return the timing of a design, and leave its bitstream in the cache."""
    timing, bitstream = placed.with_suffix(".json"), placed.with_suffix(".bit")
    if timing.exists() and bitstream.exists():
        return json.loads(timing.read_text())
    (folder / "d.json").write_text(read_packed(kept.with_suffix(".netlist.gz")) or "")
    (folder / "top.lpf").write_text(pins)
    tools.nextpnr(placer, ["--json", "d.json", "--lpf", "top.lpf", "--textcfg", "top.config", "--seed", str(seed),
                           "--timing-allow-fail", "--report", "report.json"], folder, progress, "placing the board")
    tools.ecppack(placer, ["--compress", "top.config", "top.bit"], folder, progress, "packing the bitstream")
    report = json.loads((folder / "report.json").read_text())
    clocks = [clock["achieved"] for clock in report["fmax"].values()]
    found = {"mhz": round(min(clocks), 2) if clocks else None, "path": critical_path(report)}
    write_atomically(bitstream, (folder / "top.bit").read_bytes())
    write_atomically(timing, json.dumps(found))
    return found
