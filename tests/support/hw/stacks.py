"""SIMT stacks with entries of every form that a context image has for them."""

from random import Random

from caesura.hw.arch.geometry import PC_BITS, PC_NONE

__all__ = ["random_stack"]


def random_stack(rng: Random, depth: int, live: int) -> list[tuple[int, int, int]]:
    """Return PC, mask and reconvergence PC of each entry, from the bottom up; no lane is in a mask that is not live."""
    stack: list[tuple[int, int, int]] = []
    below = PC_NONE, PC_NONE
    pcs = [5, 77, PC_NONE - 1, rng.getrandbits(PC_BITS)]  # few, so that stacks have some in common
    for _ in range(depth):
        pc = rng.choice(pcs)
        reconv = rng.choice([PC_NONE, *below, *pcs])
        stack.append((pc, rng.choice([live, rng.randint(0, live) & live]), reconv))
        below = pc, reconv
    return stack
