"""The blocks that can be exported, as a table: where each is, and what its parameters are by default."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import unsigned
from amaranth.lib import wiring

from ..arch.errors import InputError
from ..arch.geometry import Geometry

__all__ = ["Block", "block", "blocks"]


def _none(g: Geometry) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Block:
    """A block that can be exported.

    Attributes
    ----------
    name : str
        What users call it; its module's name unless another is asked for.
    module, kind : str
        Where it is, below `caesura.hw`, and its class.
    defaults : callable
        Parameters besides the geometry, for a geometry.
    """

    name: str
    module: str
    kind: str
    defaults: Callable[[Geometry], dict[str, Any]] = _none

    @property
    def component(self) -> type[wiring.Component]:
        """Its class."""
        return getattr(importlib.import_module(f"caesura.hw.{self.module}"), self.kind)

    @property
    def summary(self) -> str:
        """The first sentence of its documentation."""
        text = (inspect.getdoc(self.component) or "").partition("\n\n")[0]
        return " ".join(text.split()).partition(". ")[0].rstrip(".:")

    @property
    def parameters(self) -> list[str]:
        """Names of what a user may set: whole numbers."""
        names = inspect.signature(self.component.__init__).parameters
        return [name for name in names if name not in ("self", "g", "policy", "observed", "shape")]

    def values(self, g: Geometry, given: Mapping[str, int]) -> dict[str, Any]:
        """Return all parameters but the geometry, those of the user in the place of the defaults."""
        parameters = inspect.signature(self.component.__init__).parameters
        plain = {name: parameters[name].default for name in self.parameters
                 if isinstance(parameters[name].default, int)}
        return plain | self.defaults(g) | dict(given)

    def make(self, g: Geometry, given: Mapping[str, int]) -> wiring.Component:
        """Return the block.

        Parameters
        ----------
        g : Geometry
        given : dict
            Parameters by name; a `tag` is a number of bits.

        Raises
        ------
        InputError
            If the block has no such parameter, or does not take its value.
        """
        for name in given:
            if name not in self.parameters:
                raise InputError(f"{self.name} has no parameter {name!r}; it has "
                                 f"{', '.join(self.parameters) or 'none'}")
        values = self.values(g, given)
        if isinstance(values.get("tag"), int):
            values["tag"] = unsigned(values["tag"])
        whole = "g" in inspect.signature(self.component.__init__).parameters
        try:
            return self.component(*([g] if whole else []), **values)
        except ValueError as error:
            raise InputError(f"{self.name}: {error}") from error


_TABLE = (
    ("compressor", "preempt.compress.compressor", "Compressor"),
    ("decompressor", "preempt.compress.decompressor", "Decompressor"),
    ("register_encoder", "preempt.compress.register_encoder", "RegisterEncoder"),
    ("group_decoder", "preempt.compress.group_decoder", "GroupDecoder"),
)


def blocks() -> dict[str, Block]:
    """Return all blocks by name, the parts of the preemption engine first, the SM last."""
    return {row[0]: Block(*row) for row in _TABLE}


def block(name: str) -> Block:
    """Return a block.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    known = blocks()
    if name not in known:
        raise InputError(f"there is no block {name!r}; there are {', '.join(known)}")
    return known[name]
