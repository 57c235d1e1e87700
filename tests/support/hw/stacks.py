"""SIMT stacks with entries of every form that a context image has for them."""

from random import Random

from caesura.hw.arch.geometry import PC_BITS, PC_NONE

__all__ = ["random_stack"]


def random_stack(rng: Random, depth: int, live: int) -> list[tuple[int, int, int]]:
    """Return PC, mask and reconvergence PC of each entry, from the bottom up; no lane is in a mask that is not live."""
    stack: list[tuple[int, int, int]] = []
    below = PC_NONE, PC_NONE
    for _ in range(depth):
        pc = rng.getrandbits(PC_BITS)
        reconv = rng.choice([PC_NONE, *below, rng.getrandbits(PC_BITS)])
        stack.append((pc, rng.choice([live, rng.randint(0, live) & live]), reconv))
        below = pc, reconv
    return stack
