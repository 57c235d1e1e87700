"""Where the files of the checkout lie. Those of the package have short names: `hw/core` is `hw/caesura/hw/core`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = "hw", "sim", "software"
"""The parts of the package that have a root of their own; what they share lies in `src/caesura`."""


def source(name: str) -> Path:
    """Return the file or folder of a name, short or not."""
    part, _, rest = name.partition("/")
    return ROOT / part / "caesura" / name if part in PARTS and not rest.startswith("caesura") else ROOT / name


def short(path: Path) -> Path:
    """Return the short name of a file or folder."""
    parts = path.relative_to(ROOT).parts
    return Path(*(parts[2:] if parts[0] in PARTS and parts[1:2] == ("caesura",) else parts))
