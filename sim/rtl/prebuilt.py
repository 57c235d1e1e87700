"""SystemVerilog that comes with the package, so that a first run need not wait for Amaranth and Yosys.

`sim.rtl.write_prebuilt` (``make verilog``) writes that of the presets into the folder ``prebuilt`` beside this file:
``sm-<digest>.sv.xz``, the digest being that of the geometry and of our hardware sources. A release has these files; the
repository has not, since each change of the hardware would replace all of them. A file of other sources is never found,
so a stale one does no harm; the next run of the command removes it.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from pathlib import Path

from caesura.cache import digest
from caesura.hw.arch.geometry import Geometry

__all__ = ["PREBUILT", "prebuilt_path", "prebuilt_text"]

PREBUILT = Path(__file__).resolve().parent / "prebuilt"


def prebuilt_path(g: Geometry, sources: Sequence[str]) -> Path:
    """Return where the SystemVerilog of an SM is, if it came with the package."""
    return PREBUILT / f"sm-{digest([repr(g), *sources])}.sv.xz"


def prebuilt_text(g: Geometry, sources: Sequence[str]) -> str | None:
    """Return the SystemVerilog of an SM that came with the package, None if there is none of these sources."""
    try:
        return lzma.decompress(prebuilt_path(g, sources).read_bytes()).decode()
    except (FileNotFoundError, lzma.LZMAError, EOFError, UnicodeDecodeError):
        return None
