"""Writes warp records (`hw.arch.image.context` has their format); `image_reader` reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..geometry import PC_NONE
from .context import STACK_ENTRY, WARP_HEADER, Reconvergence, to_words
from .tb_history import not_repeated

__all__ = ["record_words", "stack_words"]


def stack_words(stack: Sequence[tuple[int, int, int]], live: int) -> list[int]:
    """Return the words of a SIMT stack.

    Parameters
    ----------
    stack : sequence of tuple of int
        Next PC, active mask and reconvergence PC of each entry, from the bottom up.
    live : int
        Lanes that have not exited, one bit per lane; no others are in the masks.
    """
    words: list[int] = []
    below = PC_NONE, PC_NONE
    for pc, mask, reconv in stack:
        kind = (Reconvergence.NONE if reconv == PC_NONE else
                Reconvergence.BELOW if reconv == below[0] else
                Reconvergence.SAME if reconv == below[1] else Reconvergence.OWN)
        words += to_words(STACK_ENTRY, pc=pc, whole=int(mask == live), reconv=kind)
        words += [mask] * (mask != live) + [reconv] * (kind == Reconvergence.OWN)
        below = pc, reconv
    return words


def record_words(warp: int, launched: int, live: int, barrier: int | None,
                 predicates: Mapping[int, int], uniforms: Mapping[int, int],
                 stack: Sequence[tuple[int, int, int]],
                 before: Mapping[int, int] | None = None) -> list[int]:
    """Return a warp record up to its registers.

    Parameters
    ----------
    warp : int
        Its number in the TB.
    launched, live : int
        Lanes that were launched, the first ones of the warp, and that have not exited.
    barrier : int or None
        Barrier at which the warp waits.
    predicates, uniforms : mapping of int to int
        Those that are saved, by ascending number.
    stack : sequence of tuple of int
        The SIMT stack, as in `stack_words`.
    before : mapping of int to int, optional
        Uniform registers of the record before, if those need not be saved again.
    """
    repeats, own = not_repeated(uniforms, before or {})
    words = to_words(
        WARP_HEADER, warp=warp, launched=launched.bit_count() - 1, depth=len(stack),
        predicates=sum(1 << p for p in predicates), barrier=barrier or 0,
        waiting=int(barrier is not None), exited=int(live != launched),
        uniforms=int(bool(own)), repeats=int(repeats))
    words += [live] * (live != launched)
    if own:
        words.append(sum(1 << u for u in own))
    return [*words, *predicates.values(), *own.values(), *stack_words(stack, live)]
