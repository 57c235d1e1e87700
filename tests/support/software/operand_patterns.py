"""Operands for instructions of every type at once."""

import random

__all__ = ["patterns"]

SPECIAL = (0, 1, 0x7F_FFFF, 0x80_0000, 0x3F80_0000, 0x7F80_0000, 0x7FC0_0000, 0x7F7F_FFFF, 0x3F00_0000, 0x4F00_0000)


def patterns(seed, count):
    """Return 64-bit numbers of both forms at once: the upper word is that of an f64, the lower one an f32; or
    integers."""
    rng = random.Random(seed)

    def one():
        kind = rng.random()
        if kind < 0.25:
            return rng.getrandbits(64)
        if kind < 0.4:
            return rng.randrange(-300, 300) & (1 << 64) - 1
        high = rng.getrandbits(1) << 31 | rng.choice((0, 0x7FF, *[rng.randrange(990, 1060)] * 8)) << 20
        low = rng.choice((rng.choice(SPECIAL), rng.randrange(110, 150) << 23 | rng.getrandbits(23)))
        return (high | rng.getrandbits(20)) << 32 | low | rng.getrandbits(1) << 31
    return [one() for _ in range(count)]
