"""Amount of state of the SM: bits of flip-flops and of memories, as Yosys counts them before any optimisation."""

from __future__ import annotations

import json
import re

from caesura.hw.arch.geometry import Geometry
from caesura.hw.export import verilog
from caesura.hw.sm import Sm

from .recording import StateBits

__all__ = ["counted", "state_bits"]

SCRIPT = ("read_rtlil d.il; hierarchy -top top; proc -nomux -norom -noopt; "
          "tee -o stat.json stat -json -width -top top")
"""Script of Yosys. Memories stay memories, so that it counts their bits."""
_FLIP_FLOP = re.compile(r"\$\w*dff\w*_(\d+)")
"""A cell with its width, as ``stat -width`` names it."""


def state_bits(g: Geometry) -> StateBits:
    """Elaborate the SM of a geometry and return the amount of its state.

    Raises
    ------
    ExportError
        If Yosys is missing or fails.
    """
    return StateBits(g.name, *map(str, counted(verilog.rtlil_text(Sm(g), reset=False))))


def counted(text: str) -> tuple[int, int]:
    """Return the bits of flip-flops and of memories of an RTLIL text, counting every instance of a module."""
    found = json.loads(verilog.run_yosys(text, SCRIPT, "stat.json"))["design"]
    cells = found["num_cells_by_type"].items()
    flip_flops = sum(int(match[1]) * count for name, count in cells if (match := _FLIP_FLOP.fullmatch(name)))
    return flip_flops, found["num_memory_bits"]
