"""The first lines of an exported file: copyright, licence, and the program that wrote it.

BSD-2-Clause requires the notice in copies.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from importlib.metadata import version

from ..arch.geometry import PRESETS, Geometry

__all__ = ["COPYRIGHT", "LICENCE", "command_line", "licence"]

LICENCE = "BSD-2-Clause"
"""SPDX identifier."""
COPYRIGHT = "Copyright (c) 2026, the Caesura contributors"
"""The line of the project's LICENSE."""


def licence(command: str = "") -> str:
    """Return the comment.

    Parameters
    ----------
    command : str
        The command that writes the file, if one does.
    """
    lines = [f"SPDX-FileCopyrightText: {COPYRIGHT}", f"SPDX-License-Identifier: {LICENCE}",
             f"Written by Caesura {version('caesura')}{f': {command}' if command else ''}"]
    return "".join(f"// {line}\n" for line in lines)


def command_line(wanted: str, g: Geometry, given: Mapping[str, int], name: str = "",
                 flat: bool = False, observe: bool = False) -> str:
    """Return the command that writes a block again, without the place of its files.

    Parameters
    ----------
    wanted : str
        Name of the block.
    g : Geometry
        A preset, perhaps with other sizes, or a geometry named after its file.
    given : dict
        Parameters besides the geometry.
    name : str
        Name of the module, if it is not the block's.
    flat, observe : bool
        Options of `export_block`.
    """
    known = PRESETS.get(g.name)
    sizes = {} if known is None else {
        field.name: int(getattr(g, field.name)) for field in dataclasses.fields(g)
        if isinstance(getattr(g, field.name), int)
        and getattr(g, field.name) != getattr(known, field.name)}
    words = ["caesura export", wanted, *(f"{what}={value}" for what, value in
                                         {**given, **sizes}.items()),
             f"--preset {g.name}" if known else f"--geometry {g.name}.toml",
             *([f"--name {name}"] if name and name != wanted else []), *(["--flat"] * flat),
             *(["--observe"] * observe)]
    return " ".join(words)
