"""The JSON of the benchmark of register contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from caesura.software.schema import MAY_LACK

from .bench_preemption import Campaign, Means

__all__ = ["ContextsBench"]


@dataclass
class WarpBytes:
    """Means per warp."""

    occupied: float
    live: float
    compressed: Annotated[float, "by `live+cp`"]
    metadata: Annotated[float, "by `live+cp`"]
    followed: Annotated[float, "by `live+tb`"]
    followed_metadata: Annotated[float, "by `live+tb`"]


@dataclass(kw_only=True)
class ContextRow:
    """A kernel; one with an `error` has no other key."""

    kernel: str
    error: Annotated[str, "why it could not be measured", MAY_LACK]
    code: Annotated[str, "hash of its machine code and launch", MAY_LACK]
    cycles: Annotated[int, "of the undisturbed run", MAY_LACK]
    registers: Annotated[int, "vector registers per thread", MAY_LACK]
    drawn: Annotated[int, "times drawn", MAY_LACK]
    samples: Annotated[int, "of these with something to save", MAY_LACK]
    moments: Annotated[list[int], "cycles of these", MAY_LACK]
    warps: Annotated[int, "stopped in all samples", MAY_LACK]
    bytes: Annotated[WarpBytes | None, "null without samples", MAY_LACK]
    as_vectors: Annotated[Means | None, "`occupied`, `live` and `compressed`, uniform registers counted as vector "
                                        "registers; null without samples", MAY_LACK]
    classes: Annotated[Means | None, "shares of `uniform`, `strided`, `low`, `random` among live registers; null if "
                                     "none was ever live", MAY_LACK]
    encodings: Annotated[Means | None, "mean bytes per warp by the steps `paper`, `lanes`, `widths`, `low_bits`, "
                                       "`follows`; null without samples", MAY_LACK]
    standard_error: Annotated[float | None, "of the share saved by both; null with fewer than two samples", MAY_LACK]


@dataclass(kw_only=True)
class ContextMeans:
    """Means over kernels: shares of register context saved, and of live registers by class."""

    kernels: int
    saved_by_liveness: float
    saved_by_both: Annotated[float, "`live+cp`"]
    saved_with_metadata: float
    saved_by_tb: Annotated[float, "`live+tb`"]
    saved_by_tb_with_metadata: float
    saved_by_liveness_geometric: Annotated[float, "from the geometric mean of what is left"]
    saved_by_both_geometric: float
    saved_with_metadata_geometric: float
    saved_by_tb_geometric: float
    saved_by_tb_with_metadata_geometric: float
    saved_by_liveness_as_vectors: Annotated[float, "uniform registers counted as vector registers"]
    saved_by_both_as_vectors: float
    saved_by_encodings: Annotated[Means, "by the steps of `encodings`"]
    uniform: Annotated[float, MAY_LACK]
    strided: Annotated[float, MAY_LACK]
    low: Annotated[float, MAY_LACK]
    random: Annotated[float, MAY_LACK]


@dataclass(kw_only=True)
class ContextsBench(Campaign):
    """`caesura bench contexts`."""

    samples: int
    seed: int
    runs: list[ContextRow]
    mean: Annotated[ContextMeans | None, "over all kernels; null if there is none"]
    mean_of_table_ii: Annotated[ContextMeans | None, "over those of Lin et al. Table II; null if there is none"]
    paper: Annotated[dict[str, str | float], "figures of Lin et al."]
