"""Allocation by splitting live ranges: as many registers as the largest need, at the cost of copies.

Blocks are walked in reverse postorder, with a `RegisterFile` that holds the place of each value. Every point of a
kernel has a packing in as many registers as it needs (`analysis.pressure`). Copies lead from one packing to the next.
To keep them few,

1. a value goes to its hinted register (the one from graph colouring) if that is free. Else it goes beside the members
   of its group, or else where it breaks up no free group;
2. values move only where a group has no place, the cheapest first;
3. a block starts with the places in which its first predecessor ends; the other edges to it get copies.

Each lane has its own word of a register, and only lanes that take an edge execute its copies, so divergence changes
nothing. But an edge from a branch to its reconvergence point gets no copies, since lanes that execute them would be
apart: they come before the branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.dominance import reconvergence
from ..analysis.liveness import Liveness, liveness
from ..analysis.pressure import pressure_of_ops
from ..ir.cfg import by_label, reverse_postorder
from ..ir.cfg import graph as flow_graph
from ..ir.kernel import Block, Kernel, Op, Reg, Terminator
from ..ir.spec import GROUPS, groups
from .parallel_copy import parallel_copy
from .register_file import Pieces, RegisterFile, pack

__all__ = ["split"]


def split(kernel: Kernel, size: int, hints: Mapping[Reg, int], slots: Sequence[Reg] = ()) -> None:
    """Replace the vector registers of `kernel` (stage ``narrow``, predicates still virtual) by physical ones.

    Parameters
    ----------
    kernel : Kernel
    size : int
        Number of registers; at least the kernel's `analysis.pressure.pressure`.
    hints : mapping of Reg to int
        Register that a value should get; ignored if it is not below `size`.
    slots : sequence of Reg, optional
        Registers of routines (`registers.calling_convention`); at each call they are the first of the register file, in
        this order.
    """
    _Splitter(kernel, size, hints, slots).run()


class _Splitter:
    def __init__(self, kernel: Kernel, size: int, hints: Mapping[Reg, int], slots: Sequence[Reg]):
        self._kernel = kernel
        self._size = size
        self._slots = {reg: number for number, reg in enumerate(slots)}
        self._hints = {reg: number for reg, number in hints.items() if number < size} | self._slots
        self._flow = flow_graph(kernel)
        self._live: Liveness = liveness(kernel, self._flow)
        self._meet = reconvergence(self._flow)
        self._groups: dict[Reg, tuple[tuple[Reg, ...], int]] = {}
        for op in kernel.ops():
            for result, start, width in groups(op):
                for place, reg in enumerate(group := (op.defs if result else op.uses)[start:start + width]):
                    self._groups.setdefault(reg, (group, place))  # pyright: ignore[reportArgumentType]
        self._starts: dict[str, dict[Reg, int]] = {}
        self._ends: dict[str, dict[Reg, int]] = {}

    def run(self) -> None:
        blocks = by_label(self._kernel)
        entry = self._kernel.blocks[0].label
        self._starts[entry] = pack(self._size, [(reg,) for reg in self._values(entry)])
        for label in reverse_postorder(self._kernel):
            file = RegisterFile(self._size, self._starts[label])
            self._block(blocks[label], file)
            self._agree(blocks[label], file)
            self._ends[label] = file.place
            for target in blocks[label].end.targets:
                if target not in self._starts:
                    self._starts[target] = {reg: file.place[reg] for reg in self._values(target)}
        self._join(blocks)

    def _values(self, label: str) -> list[Reg]:
        return sorted(reg for reg in self._live.live_in[label] if reg.kind == "r")

    def _block(self, block: Block, file: RegisterFile) -> None:
        steps = list(pressure_of_ops(block, self._live))[::-1]
        ops: list[Op] = []
        for step in steps:
            self._operation(step.op, step.live, file, ops)
        block.ops = ops
        for reg in [reg for reg in file.place if reg not in self._live.live_out[block.label]]:
            file.drop(reg)

    def _operation(self, op: Op, live: set[Reg], file: RegisterFile, ops: list[Op]) -> None:
        if op.name == "call":
            self._call(op, live, file, ops)
            return
        made = [d for d in op.defs if d is not None and d.kind == "r"]
        ending = {use for use in op.uses if isinstance(use, Reg) and use.kind == "r"
                  and (use not in live or (op.guard is None and use in made))}
        pieces = Pieces()
        if op.name in GROUPS:
            pieces = _pieces(op, ending, file)
            before = dict(file.place)
            file.arrange(pieces)
            moves = {number: before[reg] for reg, number in file.place.items() if before[reg] != number}
            ops += parallel_copy(moves, before.values(), self._size, op.line)
        op.uses = tuple(Reg("R", file.place[use]) if isinstance(use, Reg) and use.kind == "r" else use
                        for use in op.uses)
        places = {reg: file.place[reg] for reg in ending}
        for reg in places:
            file.drop(reg)
        for group in (*pieces.made, *(group for group in pieces.whole if group[0] in made)):
            base = next((file.place[reg] - k for k, reg in enumerate(group) if reg in file.place), None)
            for number, reg in enumerate(group, self._base(group, file) if base is None else base):
                if reg not in file.place:
                    file.put(reg, number)
        for reg in made:
            if reg not in file.place:
                copied = op.uses[0].index if op.name == "mov" and getattr(op.uses[0], "kind", "") == "R" else None
                file.put(reg, self._number(reg, file, places.get(reg, copied)))
        op.defs = tuple(Reg("R", file.place[d]) if d is not None and d.kind == "r" else d for d in op.defs)
        for reg in made:
            if reg not in live:
                file.drop(reg)
        if not (op.name == "mov" and op.defs == op.uses):
            ops.append(op)

    def _call(self, op: Op, live: set[Reg], file: RegisterFile, ops: list[Op]) -> None:
        """Bring the arguments to their places, and values that live across the call out of the routine's registers."""
        before = dict(file.place)
        places = [self._slots.get(d) if d is not None else None for d in op.defs]  # a predicate has none
        taken = {number for number in places if number is not None}
        for reg in op.uses:
            file.drop(reg)
        for reg in sorted(reg for reg, number in file.place.items() if number in taken):
            file.drop(reg)
            free = [n for n in range(self._size) if file.holder[n] is None and n not in taken]
            file.put(reg, min(free, key=lambda n: (_breaks(file, n), n)))
        for reg in op.uses:
            file.put(reg, self._slots[reg])
        moves = {number: before[reg] for reg, number in file.place.items() if before[reg] != number}
        ops += parallel_copy(moves, before.values(), self._size, op.line)
        for reg in op.uses:
            file.drop(reg)
        for reg in op.defs:
            if reg is not None and reg in live and reg in self._slots:
                file.put(reg, self._slots[reg])
        op.uses = tuple(Reg("R", self._slots[reg]) for reg in op.uses)
        op.defs = tuple(d if number is None else Reg("R", number) for d, number in zip(op.defs, places, strict=True))
        ops.append(op)

    def _base(self, group: tuple[Reg, ...], file: RegisterFile) -> int:
        """Return the place of a group of results: where most of its members have their hints."""
        free = file.free_groups(len(group))
        return min(free, key=lambda base: (-sum(self._hints.get(reg) == n for n, reg in enumerate(group, base)), base))

    def _number(self, reg: Reg, file: RegisterFile, wish: int | None) -> int:
        """Return a free register for a value."""
        group, place = self._groups.get(reg, ((reg,), 0))
        beside = next((file.place[other] - k + place for k, other in enumerate(group)
                       if other in file.place and (file.place[other] - k) % len(group) == 0), None)
        for number in (wish, self._hints.get(reg), beside):
            if number is not None and number < self._size and file.holder[number] is None:
                return number
        if len(group) > 1:
            free = file.free_groups(len(group))
            if free:
                return free[0] + place
        return min((n for n in range(self._size) if file.holder[n] is None), key=lambda n: (_breaks(file, n), n))

    # Edges

    def _agree(self, block: Block, file: RegisterFile) -> None:
        """Before a block's branch, bring values to where a target with known places expects them."""
        fixed = [t for t in block.end.targets if t in self._starts and self._shared(t)]
        if len(block.end.targets) < 2 or not fixed:
            return
        target = min(fixed, key=lambda t: t != self._meet[block.label])
        before = dict(file.place)
        goal = self._starts[target]
        for reg in [reg for reg in before if reg in goal]:
            file.drop(reg)
        taken = set(goal.values())
        for reg in sorted(reg for reg, number in file.place.items() if number in taken):
            file.drop(reg)
            file.put(reg, next(n for n in range(self._size) if file.holder[n] is None and n not in taken))
        for reg, number in goal.items():
            file.put(reg, number)
        moves = {number: before[reg] for reg, number in file.place.items() if before[reg] != number}
        block.ops += parallel_copy(moves, before.values(), self._size, block.end.line)

    def _join(self, blocks: dict[str, Block]) -> None:
        """Put copies on the edges between blocks that do not agree on the places."""
        placed: list[Block] = []
        for block in self._kernel.blocks:
            placed.append(block)
            targets = list(block.end.targets)
            added: list[Block] = []
            for k, target in enumerate(targets):
                copies = self._copies(block, target)
                if not copies:
                    continue
                if len(targets) == 1:
                    block.ops += copies
                elif not self._shared(target):
                    blocks[target].ops[:0] = copies
                else:
                    targets[k] = f"{block.label}.move{k}"
                    added.append(Block(targets[k], copies, Terminator((target,), None, block.end.line)))
            block.end = Terminator(tuple(targets), block.end.condition, block.end.line)
            placed += added
        self._kernel.blocks = placed

    def _shared(self, label: str) -> bool:
        """Return whether a block is reached on several edges, or on an edge and from outside."""
        return len(self._flow.pred[label]) > (label != self._kernel.blocks[0].label)

    def _copies(self, block: Block, target: str) -> list[Op]:
        ends, starts = self._ends[block.label], self._starts[target]
        moves = {number: ends[reg] for reg, number in starts.items() if ends[reg] != number}
        return parallel_copy(moves, {ends[reg] for reg in starts}, self._size, block.end.line) if moves else []


def _pieces(op: Op, ending: set[Reg], file: RegisterFile) -> Pieces:
    pieces = Pieces(ending=ending)
    for result, start, width in sorted(GROUPS[op.name], reverse=True):
        group: tuple = (op.defs if result else op.uses)[start:start + width]
        if result:
            kept = op.guard is not None and not file.place.keys().isdisjoint(group)
            (pieces.whole if kept else pieces.made).append(group)
        elif group not in pieces.whole and group not in pieces.read:
            (pieces.read if ending.issuperset(group) else pieces.whole).append(group)
    return pieces


def _breaks(file: RegisterFile, number: int) -> int:
    """Return the size of the free aligned group that a register is taken out of."""
    for width in (4, 2):
        base = number // width * width
        if base + width <= file.size and not any(file.holder[base:base + width]):
            return width
    return 1
