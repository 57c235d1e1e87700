"""Which blocks have faults planted in them, how many, and which bench has to notice."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from amaranth.lib import wiring

from .contracts import COMPRESSOR, DECOMPRESSOR, ENCODER, GROUP_DECODER, PACKER, TB_COMPRESSOR
from .equivalence import ANYTHING, Contract

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """A block with faults.

    Attributes
    ----------
    name : str
    bench : str
        A module of `support.benches`.
    count : int
        Faults.
    parameters : dict
        Of the bench.
    contract : Contract or None
        None of a block that is too large: it is only proved what never shows within a cycle (`one_step`).
    seed : int
        Of the bench, and of the choice of faults.
    tests : str, optional
        A regular expression; only tests whose names it matches are run.
    """

    name: str
    bench: str
    count: int
    parameters: dict[str, Any] = field(default_factory=dict)
    contract: Contract | None = ANYTHING
    seed: int = 1
    tests: str | None = None

    @property
    def module(self) -> str:
        """The bench's whole name."""
        return f"support.benches.{self.bench}"

    def component(self) -> wiring.Component:
        """Return the block."""
        return importlib.import_module(self.module).block(**self.parameters)


TARGETS: Sequence[Target] = (
    Target("packer", "packer", 40, {"count": 400}, PACKER),
    Target("compressor", "compressor", 40, {"warp": 16, "lanes": 4, "count": 60}, COMPRESSOR),
    Target("encoder", "encoder", 50, {"warp": 16, "lanes": 4, "count": 400}, ENCODER),
    Target("tb_compressor", "tb_compressor", 35, {"warp": 16, "lanes": 4, "count": 1000}, TB_COMPRESSOR),
    Target("decompressor", "decoder", 35, {"warp": 16, "lanes": 4, "count": 60, "name": "decompressor"}, DECOMPRESSOR),
    Target("group_decoder", "decoder", 35, {"warp": 16, "lanes": 4, "count": 60, "name": "group_decoder"},
           GROUP_DECODER),
    Target("registers", "registers", 30, {"count": 500}),
    Target("save", "save", 50, {"shape": "many", "rounds": 2}, None),
    Target("restore", "restore", 50, {"shape": "many", "count": 100}, None),
    Target("unit", "unit", 35, {"shape": "plain", "rounds": 2}, None),
)
"""All of them, the small ones first."""
