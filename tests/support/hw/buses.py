"""An SM for benches of blocks that move beats: small, but with enough lanes for any bus."""

from caesura.hw.arch.geometry import Geometry, preset

__all__ = ["with_bus"]

LANES = preset("tiny").replace(warp_size=32, lanes=32)


def with_bus(width: int, **changes) -> Geometry:
    """Return it with a bus of `width` bytes, all of which move in a cycle, and with other `changes`."""
    return LANES.replace(bus_bytes=width, bytes_per_cycle=float(width), **changes)
