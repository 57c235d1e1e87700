"""Packed structures in SystemVerilog, one for each layout of a block's ports.

A layout is named after the function or class of `caesura.hw` that makes it (``register_beat`` is
``register_beat_t``). A layout written in place is named after its signature and member. Fields come
in the reverse order of the layout: the first field of a packed structure has the highest bits.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable

from amaranth.hdl import Shape, ShapeLike
from amaranth.lib import data

from ..arch.geometry import PRESETS, Geometry
from .names import identifier, snake_case
from .waivers import named

__all__ = ["Structures", "logic"]


def logic(width: int, signed: bool = False) -> str:
    """Return the type of a number."""
    sign = " signed" if signed else ""
    return f"logic{sign} [{width - 1}:0]" if width > 1 or signed else "logic"


class Structures:
    """The types of a package, collected while ports are written.

    Parameters
    ----------
    g : Geometry
        Geometry of the block, for the layouts that functions of `caesura.hw` return.
    package : str
        Name of the package; types are written with it.

    Attributes
    ----------
    typedefs : dict
        Definitions by name, each behind those it needs.
    """

    def __init__(self, g: Geometry, package: str):
        self.geometry, self.package = g, package
        self.typedefs: dict[str, str] = {}
        self._known: list[tuple[data.Layout, str]] = []

    def type_of(self, shape: ShapeLike, owner: tuple[str, ...]) -> str:
        """Return the type of a port, with the package's name in front if the package defines it.

        Parameters
        ----------
        shape : ShapeLike
        owner : tuple of str
            Name for a structure that no function makes.
        """
        text = self._type(shape, owner)
        return text if text.startswith("logic") else f"{self.package}::{text}"

    def text(self, comment: str) -> str:
        """Return the package."""
        body = "\n\n".join(f"  {line}" for line in self.typedefs.values())
        return comment + named(f"package {self.package};\n\n{body}\n\nendpackage\n")

    def _type(self, shape: ShapeLike, owner: tuple[str, ...]) -> str:
        if isinstance(shape, data.StructLayout | data.FlexibleLayout):
            return self._structure(shape, owner)
        if isinstance(shape, data.ArrayLayout):
            of = self._type(shape.elem_shape, owner)
            word, _, dimensions = of.partition(" ")
            if word == "logic" and dimensions.startswith("signed"):
                word, dimensions = "logic signed", dimensions.removeprefix("signed ")
            return f"{word} [{shape.length - 1}:0]{dimensions}"
        plain = Shape.cast(shape)
        return logic(plain.width, plain.signed)

    def _structure(self, layout: data.Layout, owner: tuple[str, ...]) -> str:
        for known, name in self._known:
            if known == layout:
                return name
        wanted = layout_name(layout, self.geometry) or re.sub(r"\W+", "_", "_".join(owner))
        name = f"{wanted}_t"
        number = 1
        taken = {name for _, name in self._known}
        while name in taken:
            number += 1
            name = f"{wanted}_{number}_t"
        self._known.append((layout, name))
        fields = []
        position = 0
        for key, field in sorted(layout, key=lambda item: item[1].offset):
            if field.offset > position:
                fields.append(f"{logic(field.offset - position)} unused_{position};")
            if field.width:
                fields.append(f"{self._type(field.shape, (name[:-2], str(key)))} "
                              f"{identifier([key])};")
            position = field.offset + field.width
        if (size := Shape.cast(layout).width) > position:
            fields.append(f"{logic(size - position)} unused_{position};")
        lines = "\n".join(f"    {line}" for line in reversed(fields))
        self.typedefs[name] = f"typedef struct packed {{\n{lines}\n  }} {name};"
        return name


@functools.cache
def _makers() -> dict[str, Callable]:
    """Return the functions of `caesura.hw` that return the layout of a structure, by name."""
    package = importlib.import_module("caesura.hw")
    found: dict[str, Callable] = {}
    for module in sorted(pkgutil.walk_packages(package.__path__, "caesura.hw."),
                         key=lambda module: ("interfaces" not in module.name, module.name)):
        members = vars(importlib.import_module(module.name))
        for name, member in sorted(members.items()):
            if (inspect.isfunction(member) and not name.startswith("_")
                    and member.__module__ == module.name
                    and inspect.signature(member).return_annotation in _LAYOUTS):
                found.setdefault(name, member)
    return found


_LAYOUTS = (data.StructLayout, data.FlexibleLayout, "data.StructLayout", "data.FlexibleLayout")


@functools.cache
def _layouts(g: Geometry) -> list[tuple[str, data.Layout, frozenset[str]]]:
    """Return name, layout and fields with a parameter as shape, of all layouts of a geometry."""
    found = []
    for name, maker in _makers().items():
        parameters = inspect.signature(maker).parameters.values()
        needed = [p for p in parameters if p.default is p.empty]
        if any(p.annotation not in (Geometry, "Geometry") for p in needed):
            continue
        try:
            layout = maker(*(g for _ in needed))
        except ValueError:  # a structure of a part that this geometry lacks
            continue
        found.append((name, layout, frozenset(p.name for p in parameters) & frozenset(
            str(key) for key, _ in layout)))
    return found


@functools.cache
def _by_fields() -> dict[tuple[str, ...], str]:
    """Return the functions that take whole numbers besides a geometry, by their layouts' fields.

    The fields do not depend on the numbers.
    """
    found: dict[tuple[str, ...], str] = {}
    g = PRESETS["tiny"]
    for name, maker in _makers().items():
        needed = [p for p in inspect.signature(maker).parameters.values() if p.default is p.empty]
        if all(p.annotation in (Geometry, "Geometry", int, "int") for p in needed):
            values = (g if p.annotation in (Geometry, "Geometry") else 2 for p in needed)
            with contextlib.suppress(ValueError):
                found.setdefault(tuple(str(key) for key, _ in maker(*values)), name)
    return found


def layout_name(layout: data.Layout, g: Geometry) -> str | None:
    """Return the name of the function or class that makes a layout; None if none does."""
    if type(layout) not in (data.StructLayout, data.FlexibleLayout):
        return snake_case(type(layout).__name__)
    for name, known, _ in _layouts(g):
        if known == layout:
            return name
    for name, known, free in _layouts(g):
        if free and _fields(known, free) == _fields(layout, free):
            return name
    keys = tuple(str(key) for key, _ in layout)
    return _by_fields().get(keys)


def _fields(layout: data.Layout, free: frozenset[str]) -> list[tuple[str, ShapeLike | None]]:
    return [(str(key), None if key in free else field.shape) for key, field in layout]
