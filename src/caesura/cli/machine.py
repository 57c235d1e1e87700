"""The SM that a command is for: a preset, or a geometry of the user's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import click

from caesura.hw.arch.geometry import PRESETS, Geometry, preset

from .common import Choice

__all__ = ["chosen_geometry", "geometry_option"]


def chosen_geometry(preset_name: str | None, path: Path | None) -> Geometry | None:
    """Return what ``--preset`` or ``--geometry`` asks for, None if neither is given."""
    if preset_name is not None and path is not None:
        raise click.UsageError("--preset and --geometry both name the SM; give one of them")
    if path is not None:
        from caesura.software.job import load_geometry  # with all of job files

        return load_geometry(path)
    return None if preset_name is None else preset(preset_name)


def geometry_option(default: str | None = "gtx480", note: str = "") -> Callable[[Callable], Callable]:
    """Return a decorator that gives a command ``--preset`` and ``--geometry``, and passes it one `geometry`.

    Parameters
    ----------
    default : str, optional
        The preset unless one is given; None is passed if there is none.
    note : str
        Default value, for the help.
    """
    def decorate(command: Callable) -> Callable:
        @click.option("--preset", "preset_name", type=Choice(list(PRESETS)),
                      help=f"Geometry of the SM  [default: {note or default}]")
        @click.option("--geometry", "geometry_path", type=click.Path(exists=True, dir_okay=False, path_type=Path),
                      help="Or a geometry of your own (TOML; docs/geometry.md).")
        @functools.wraps(command)
        def with_geometry(*arguments, preset_name: str | None, geometry_path: Path | None, **options):
            geometry = chosen_geometry(preset_name, geometry_path) or (preset(default) if default else None)
            return command(*arguments, geometry=geometry, **options)

        return with_geometry

    return decorate
