"""Simultaneous copies as a sequence: registers change places without a value being lost."""

from __future__ import annotations

from collections.abc import Collection

from ..ir.kernel import Op, Reg

__all__ = ["parallel_copy"]


def parallel_copy(moves: dict[int, int], busy: Collection[int], size: int, line: int = 0) -> list[Op]:
    """Return operations on physical registers that do `moves` at once.

    Copies whose target has no reader left come first; the rest are cycles. A cycle is broken with an unused register,
    or, if there is none, by exclusive-or.

    Parameters
    ----------
    moves : dict of int to int
        Target register to source register.
    busy : collection of int
        Registers with other values, before or after the moves.
    size : int
        Number of registers.
    line : int
        Source line of the operations.
    """
    left = {target: source for target, source in moves.items() if target != source}
    taken = {*busy, *left, *left.values()}
    spare = next((number for number in range(size) if number not in taken), None)
    readers: dict[int, int] = {}
    for source in left.values():
        readers[source] = readers.get(source, 0) + 1
    ops: list[Op] = []

    def copy(target: int, source: int) -> None:
        ops.append(Op("mov", (Reg("R", target),), (Reg("R", source),), line=line))

    ready = [target for target in left if target not in readers]
    while left:
        while ready:
            target = ready.pop()
            source = left.pop(target)
            copy(target, source)
            readers[source] -= 1
            if not readers[source]:
                if source in left:
                    ready.append(source)
                elif source not in busy:
                    spare = source
        if not left:
            break
        target, source = next(iter(left.items()))  # every register left has one reader: disjoint cycles
        if spare is not None:
            copy(spare, target)
            reader = next(t for t, s in left.items() if s == target)
            left[reader] = spare
            readers[spare], readers[target] = 1, 0
            ready.append(target)
        else:
            a, b = Reg("R", target), Reg("R", source)
            ops += [Op("xor", (d,), (d, s), line=line) for d, s in ((a, b), (b, a), (a, b))]
            del left[target]  # target holds what source held; source holds what target held
            reader = next(t for t, s in left.items() if s == target)
            if reader == source:
                del left[reader]
            else:
                left[reader] = source
    return ops
