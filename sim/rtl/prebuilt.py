"""SystemVerilog that comes with the package, so that a first run need not wait for Amaranth and Yosys.

``python -m caesura.sim.rtl.prebuilt`` (``make verilog``) writes that of the presets into the folder ``prebuilt`` beside
this file: ``sm-<digest>.sv.xz``, the digest being that of the geometry and of our hardware sources. A release has these
files; the repository has not, since each change of the hardware would replace all of them. A file of other sources is
never found, so a stale one does no harm; the next run of the command removes it.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from pathlib import Path

from caesura.cache import digest, write_atomically
from caesura.hw.arch.geometry import PRESETS, Geometry
from caesura.hw.sm import Sm
from caesura.progress import display

__all__ = ["PREBUILT", "main", "prebuilt_path", "prebuilt_text"]

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


def main() -> None:
    """Write the SystemVerilog of all presets; remove that of other sources."""
    from .design import design_text, hardware_sources

    sources = hardware_sources()
    written = {}
    with display() as progress:
        for g in PRESETS.values():
            path = prebuilt_path(g, sources)
            text = design_text(g, Sm, progress)
            progress(f"packing the SystemVerilog of {g.name}")
            write_atomically(path, lzma.compress(text.encode(), preset=9))
            written[path] = f"{path.stat().st_size / 1000:,.0f} kB: {g.name}"
    for stale in set(PREBUILT.glob("sm-*.sv.xz")) - set(written):
        stale.unlink()
    print("\n".join(written.values()))


if __name__ == "__main__":
    main()
