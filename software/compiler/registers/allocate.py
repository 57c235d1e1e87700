"""Register allocation: vector registers and predicates.

0. Calls get slots (`registers.calling_convention`), which are coloured like everything else.
1. Predicates are coloured with seven numbers; one that does not fit moves to a vector register.
2. While more vector registers are needed at once than there may be, values are recomputed where they are used, or kept
   in local memory (`registers.spill`).
3. Vector registers are coloured, and copies coalesced. If operations need a register in different groups, or in
   different places of a group, it gets a copy for each; coalescing removes most of them again.
4. If colouring takes more than `TIGHT` times the registers needed at once, or more than there may be, live ranges are
   split (`registers.live_range_splitting`), with the colouring as a hint.
"""

from __future__ import annotations

from collections.abc import Collection

from caesura.hw.arch.geometry import MAX_REGISTERS, PREDICATES

from ..analysis.loops import loop_depth
from ..analysis.pressure import pressure
from ..errors import CompileError
from ..ir.kernel import Block, Kernel, Op, Reg
from ..ir.spec import is_memory
from .calling_convention import bind_calls, finish_calls, physical
from .coloring import color
from .group_copies import copy_groups, copy_repeated_operands, in_two_groups
from .interference import Interference
from .live_range_splitting import split
from .spill import Spiller, TooFewRegisters
from .spill_predicates import spill_predicates

__all__ = ["TIGHT", "allocate"]

TIGHT = 1.05
"""Most registers used for each that is needed at once."""


def allocate(kernel: Kernel, max_registers: int) -> None:
    """Replace virtual registers by physical ones (stage ``narrow``, immediates selected, to ``machine``).

    Raises
    ------
    CompileError
        If `max_registers` vector registers are too few even with values in local memory; the message says how many
        suffice.
    """
    slots = bind_calls(kernel)
    predicates = _color_predicates(kernel, slots.predicates)
    copy_repeated_operands(kernel)
    needed = pressure(kernel)
    if needed > max_registers:
        _spill(kernel, max_registers, slots.vectors)
        needed = pressure(kernel)
    limit = min(int(needed * TIGHT), max_registers)
    hints = _colored(kernel, limit, predicates)
    if hints is not None:
        split(kernel, limit, hints, slots.vectors)
        _rename(kernel, predicates)
    finish_calls(kernel)


def _spill(kernel: Kernel, max_registers: int, slots: Collection[Reg]) -> None:
    """Spill values that do not fit, or say how many registers would do."""
    trial = _copy(kernel)
    try:
        return Spiller(kernel, slots).reduce_pressure(max_registers)
    except TooFewRegisters:
        pass
    for count in range(max_registers + 1, MAX_REGISTERS + 1):
        try:
            Spiller(_copy(trial), slots).reduce_pressure(count)
        except TooFewRegisters:
            continue
        raise CompileError(f"kernel {kernel.name} needs at least {count} vector registers, the rest of its values in "
                           f"local memory; the target has {max_registers}", kernel.source)
    raise CompileError(f"kernel {kernel.name} needs more than {MAX_REGISTERS} vector registers", kernel.source)


def _colored(kernel: Kernel, limit: int, predicates: dict[Reg, Reg]) -> dict[Reg, int] | None:
    """Colour vector registers, and rename them and predicates.

    If more than `limit` are needed, leave `kernel` as it is and return the colours.
    """
    trial = _in_own_groups(kernel)
    numbers = _color_vectors(trial)
    if max(numbers.values(), default=-1) >= limit:
        return numbers
    kernel.blocks = trial.blocks
    _rename(kernel, predicates | {reg: Reg("R", number) for reg, number in numbers.items()})
    return None


def _in_own_groups(kernel: Kernel) -> Kernel:
    """Return `kernel` with a separate group for each operation whose group differs from others; or `kernel` itself."""
    registers = in_two_groups(kernel)
    if not registers:
        return kernel
    trial = _copy(kernel)
    copy_groups(trial, registers)
    return trial


def _copy(kernel: Kernel) -> Kernel:
    """Return a kernel with operations of its own; fresh registers are those of `kernel`."""
    blocks = [Block(block.label, [Op(op.name, op.defs, op.uses, op.guard, op.imm, op.line, op.volatile)
                                  for op in block.ops], block.end) for block in kernel.blocks]
    copied = Kernel(kernel.name, blocks, source=kernel.source)
    for reg in kernel.registers():
        copied.reserve(reg)
    return copied


def _color_predicates(kernel: Kernel, slots: Collection[Reg]) -> dict[Reg, Reg]:
    temporaries: set[Reg] = set(slots)
    while True:
        graph = Interference(kernel, "p")
        numbers = color(graph)
        over = [node for node, number in numbers.items() if number >= PREDICATES]
        if not over:
            return {reg: Reg("P", numbers[node]) for node, reg in enumerate(graph.registers)}
        victims: set[int] = set()
        for node in over:
            crowd = [n for n in (node, *graph.neighbours[node]) if graph.registers[n] not in temporaries]
            if victims.isdisjoint(crowd):
                if not crowd:
                    raise CompileError(f"kernel {kernel.name} needs more than {PREDICATES} predicates at once",
                                       kernel.source)
                victims.add(max(crowd, key=lambda n: (len(graph.neighbours[n]), n)))
        temporaries |= spill_predicates(kernel, [graph.registers[n] for n in sorted(victims)])


def _color_vectors(kernel: Kernel) -> dict[Reg, int]:
    """Return the register of each vector register after coalescing, copies in deep loops first."""
    graph = Interference(kernel, "r")
    depth = loop_depth(kernel)
    copies = [(depth[block.label], op) for block in kernel.blocks for op in block.ops
              if op.name == "mov" and op.uses[0] in graph.numbers]
    for _, op in sorted(copies, key=lambda x: -x[0]):
        graph.coalesce(op.dest, op.uses[0])
    nodes = {reg: graph.find(node) for reg, node in graph.numbers.items()}
    partners: dict[int, set[int]] = {}
    for op in kernel.ops():
        if len(op.uses) < 2 or is_memory(op):
            continue
        read = {nodes[use] for use in op.uses if use in nodes}
        if len(read) > 1:
            for node in read:
                partners.setdefault(node, set()).update(read)
    for node, others in partners.items():
        others.discard(node)
    numbers = color(graph, partners)
    return {reg: numbers[node] for reg, node in nodes.items()}


def _rename(kernel: Kernel, registers: dict[Reg, Reg]) -> None:
    renamed = registers.get
    for block in kernel.blocks:
        for op in block.ops:
            if op.defs:
                op.defs = tuple([renamed(d, d) for d in op.defs])  # pyright: ignore[reportArgumentType, reportCallIssue]
            if not registers.keys().isdisjoint(op.read()):
                op.uses = tuple([physical(use, registers) for use in op.uses])
                op.guard = physical(op.guard, registers)
        block.ops = [op for op in block.ops if op.name != "mov" or op.dest != op.uses[0]]
        block.end.condition = physical(block.end.condition, registers)
