"""Writes the SystemVerilog that comes with the package (`sim.rtl.prebuilt`).

``python -m caesura.sim.rtl.write_prebuilt`` (``make verilog``).
"""

from __future__ import annotations

import lzma

from caesura.cache import write_atomically
from caesura.hw.arch.geometry import PRESETS
from caesura.hw.sm import Sm
from caesura.progress import display

from .design import design_text, hardware_sources
from .prebuilt import PREBUILT, prebuilt_path

__all__ = ["main"]


def main() -> None:
    """Write the SystemVerilog of all presets; remove that of other sources."""
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
