"""Kernels with mostly f64 arithmetic, division and roots, which measure code and compile time; they are not shipped.

Each was made by ``nvcc -ptx -arch=sm_75 -O3 NAME.cu -o NAME.ptx`` of the release that its first lines name.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["DOUBLES"]

DOUBLES: dict[str, Path] = {name: Path(__file__).with_name(f"{name}.ptx")
                            for name in ("membrane", "flow", "particles", "correlation", "fractions")}
"""PTX of each kernel, by the name of the kernel."""
