"""What lets a benchmark of many parts go on where it stopped: its result so far, in a file, and the rows of an earlier
one with the same settings."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from caesura.cache import write_atomically
from caesura.hw.arch.errors import InputError
from caesura.hw.arch.geometry import PRESETS, Geometry
from caesura.sim.scenario import Work
from caesura.software.schema import with_schema

__all__ = ["code_digest", "geometry_settings", "failure", "read_result", "write_result", "check_settings"]


def code_digest(*works: Work) -> str:
    """Return a hash of the code of kernels and of what their jobs say besides it."""
    text = b"".join(np.array(work.image.code, np.uint64).tobytes() + repr((work.job.grid, work.job.block)).encode()
                    for work in works)
    return hashlib.sha256(text).hexdigest()[:16]


def geometry_settings(g: Geometry) -> dict:
    """Return what a result says of its geometry: `preset`, and all sizes in `geometry` unless it is that preset's."""
    return {"preset": g.name, "geometry": None if g == PRESETS.get(g.name) else dataclasses.asdict(g)}


def failure(error: Exception) -> str:
    """Return what a row says of the error that it has instead of figures."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def read_result(path: Path, command: str, keys: Iterable[str]) -> dict | None:
    """Return what an earlier run wrote with `write_result`, None if there is no such file.

    Parameters
    ----------
    path : Path
    command : str
        That writes it, for the message.
    keys : iterable of str
        Some of its keys.

    Raises
    ------
    ValueError
        If the file is something else.
    """
    if not path.exists():
        return None
    try:
        result = json.loads(path.read_text())
    except ValueError:
        result = None
    if not isinstance(result, dict) or not {"runs", *keys} <= result.keys():
        raise InputError(f"{path} is not what `{command} --json` writes")
    return {key: value for key, value in result.items() if key != "schema"}


def write_result(path: Path, result: dict) -> None:
    """Replace a file in one step, so that it is whole whenever the run is stopped."""
    write_atomically(path, json.dumps(with_schema(result), indent=2) + "\n")


def check_settings(earlier: dict, settings: dict) -> None:
    """Refuse to go on from a result with other settings.

    Raises
    ------
    ValueError
        If one differs; the message says which.
    """
    for key, value in settings.items():
        if earlier.get(key) != value:
            raise InputError(f"the earlier run has {key} {earlier.get(key)!r}, not {value!r}: it cannot go on")
