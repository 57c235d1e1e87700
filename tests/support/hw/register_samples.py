"""Registers to try a compressor with: of every pattern, nearly of a pattern, and random."""

import numpy as np

WORDS = np.array([0, 1, 2, 3, 4, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF, 0x1_0001], np.uint32)


def values(rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
    """Words, half of them special ones."""
    return np.where(rng.random(shape) < 0.5, rng.choice(WORDS, shape), rng.integers(0, 1 << 32, shape, np.uint32))


def registers(rng: np.random.Generator, count: int, warp_size: int, pag: int) -> np.ndarray:
    """Return registers made of groups of a width that need not be `pag`, some with a few lanes changed or with a kink.

    A group is uniform, strided (often across 2^32) or random, with the kind chosen by register or by group. From a
    kink on the steps are larger.
    """
    widths = [width for width in (8, 16, 32) if width <= warp_size]
    result = np.empty((count, warp_size), np.uint32)
    width = np.where(rng.random(count) < 0.7, pag, rng.choice(widths, count))
    for size in widths:
        rows = np.flatnonzero(width == size)
        groups = warp_size // size
        kind = np.broadcast_to(rng.integers(0, 8, (len(rows), 1)), (len(rows), groups))
        kind = np.where(rng.random((len(rows), 1)) < 0.3, rng.integers(0, 8, (len(rows), groups)), kind)[:, :, None]
        base, step = values(rng, (len(rows), groups, 1)), values(rng, (len(rows), groups, 1))
        same = rng.random((len(rows), 1, 1)) < 0.2
        base, step = np.where(same, base[:, :1], base), np.where(same, step[:, :1], step)
        step = np.where(kind < 3, np.uint32(0), step)
        made = base + step * np.arange(size, dtype=np.uint32)
        random = rng.integers(0, 1 << 32, made.shape, np.uint32)
        result[rows] = np.where(kind == 7, random, made).reshape(len(rows), warp_size)
    changed = rng.random((count, warp_size)) < np.where(rng.random((count, 1)) < 0.3, 0.04, 0.0)
    bend = np.where(rng.random(count) < 0.15, rng.integers(0, warp_size, count), warp_size)[:, None]
    ramp = np.maximum(np.arange(warp_size) - bend, 0).astype(np.uint32) * values(rng, (count, 1))
    result = result + ramp
    return np.where(changed, result + values(rng, result.shape), result)


def launched_lanes(rng: np.random.Generator, count: int, warp_size: int) -> np.ndarray:
    """Return masks of launched lanes, prefixes of the warp, most of them whole."""
    lanes = np.where(rng.random(count) < 0.6, warp_size, rng.integers(1, warp_size + 1, count))
    return (1 << lanes.astype(np.int64)) - 1


def shared_upper_bits(rng: np.random.Generator, count: int, warp_size: int) -> np.ndarray:
    """Return registers whose lanes share their upper bits, from all but one to none."""
    low = rng.integers(1, 33, (count, 1))
    base = values(rng, (count, 1))
    return base ^ (rng.integers(0, 1 << 32, (count, warp_size), np.uint64) >> (32 - low).astype(np.uint64)
                   ).astype(np.uint32)


def counted_lanes(rng: np.random.Generator, count: int, warp_size: int) -> np.ndarray:
    """Return masks of lanes that count: all, the first ones, any, few or none."""
    kind, every = rng.integers(0, 8, count), (1 << warp_size) - 1
    some = rng.integers(0, 1 << warp_size, (2, count), np.int64)
    return np.select([kind < 3, kind < 5, kind == 5, kind == 6], [
        np.full(count, every), launched_lanes(rng, count, warp_size), some[0], some[0] & some[1]],
        some[0] & some[1] & (rng.random(count) < 0.5) * every)
