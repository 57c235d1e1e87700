"""The geometries of the benches, by name."""

from caesura.hw.arch.geometry import Geometry, preset

__all__ = ["geometry"]


def geometry(warp: int, lanes: int) -> Geometry:
    """Return the smallest geometry of warps of `warp` threads that come in beats of `lanes`."""
    return preset("tiny").replace(warp_size=warp, lanes=lanes)
