"""Where the checkout lies."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = "hw", "sim", "software"
"""The parts of the package that lie beside `src`, which has what they share."""
PACKED = *PARTS, "constraints"
"""Folders beside `src` in a checkout; an installed package has them inside."""
