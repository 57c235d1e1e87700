"""Encoding: a laid-out kernel of stage ``machine`` to a `KernelImage`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from caesura.hw.arch.geometry import PC_NONE
from caesura.hw.arch.isa.opcodes import BY_NAME, PT, Opcode
from caesura.hw.arch.isa.words import Instruction, encode

from ..analysis.dominance import reconvergence
from ..analysis.simt_stack import stack_depth
from ..image.kernel_image import KernelImage, PreemptionPoint
from ..ir.cfg import graph as flow_graph
from ..ir.cfg import words
from ..ir.kernel import Imm, Kernel, Op, Pred, Reg
from ..ir.spec import GROUPS, machine_opcode
from ..preemption.placement import PlacedPoint
from ..registers.interference import groups_of

__all__ = ["emit", "encoded"]


def emit(kernel: Kernel, placed: Iterable[PlacedPoint] = ()) -> KernelImage:
    """Encode `kernel` and gather the facts that the loader needs; `placed` is the result of `place_points`.

    Every block starts at the address that branches and reconvergence fields name. Routines come last; their words have
    no source line.
    """
    flow = flow_graph(kernel)
    meet = reconvergence(flow)
    parts = kernel.bodies()
    starts, size = {}, 0
    for part in parts:
        for label, count in words(part.blocks).items():
            starts[label] = size
            size += count
    entries = [starts[part.blocks[0].label] for part in parts[1:]]
    instructions, lines = _instructions(kernel, starts, entries, meet)
    for k in range(1, len(lines)):  # copies on an edge and jumps belong to the word before them
        lines[k] = lines[k] or lines[k - 1]
    for part in parts[1:]:
        made, none = _instructions(part, starts, entries, reconvergence(flow_graph(part)))
        instructions += made
        lines += none
    predicates = [reg.index for part in parts for reg in _named(part) if reg.kind == "P"]
    return KernelImage(
        name=kernel.name, code=tuple(map(encode, instructions)), registers=kernel.allocated(),
        predicates=max(predicates, default=-1) + 1, shared_bytes=kernel.shared_bytes,
        stack_depth=stack_depth(kernel, flow, meet), parameters=kernel.parameters, max_threads=kernel.max_threads,
        local_bytes=kernel.local_bytes, spill_bytes=kernel.spill_bytes, constants=kernel.constants,
        symbols=kernel.symbols, global_bytes=kernel.global_bytes, global_data=kernel.global_data,
        relocations=kernel.relocations, bindings=kernel.bindings, required_block=kernel.required_block,
        barrier_threads=kernel.barrier_threads, lines=tuple(lines), source=kernel.source,
        points=tuple(sorted((_point(p, starts) for p in placed), key=lambda point: point.pc)))


def _named(kernel: Kernel) -> set[Reg]:
    """Return the registers that operations and branches name."""
    conditions = {block.end.condition.reg for block in kernel.blocks if block.end.condition is not None}
    return kernel.registers() | {reg for reg in conditions if reg is not None}


def _instruction(name: str, **fields: int) -> Instruction:
    """Return an instruction; it is unchecked, since encoding checks it."""
    return Instruction(BY_NAME[name], fields)


def _instructions(kernel: Kernel, starts: Mapping[str, int], entries: Sequence[int], meet: Mapping[str, str | None]
                  ) -> tuple[list[Instruction], list[int]]:
    """Return the words of a kernel or of the body of a routine, and their source lines.

    Parameters
    ----------
    kernel : Kernel
    starts : mapping of str to int
        Address of each block.
    entries : sequence of int
        Address of each routine.
    meet : mapping of str to str or None
        Reconvergence point of each branch.
    """
    instructions: list[Instruction] = []
    lines: list[int] = []
    for block, following in zip(kernel.blocks, [*kernel.blocks[1:], None], strict=True):
        for op in block.ops:
            instructions.append(_operation(op, entries))
            lines.append(op.line)
        end = block.end
        if not end.targets:
            if not (block.ops and block.ops[-1].name == "bru"):
                instructions.append(_instruction("exit"))
        elif end.condition is not None:
            point = meet[block.label]
            reconv = starts[point] if point is not None else PC_NONE
            instructions.append(_instruction("bra", target=starts[end.targets[0]], reconv=reconv,
                                                 **_guard(end.condition)))
        elif following is None or following.label != end.targets[0]:
            instructions.append(_instruction("bra", target=starts[end.targets[0]], reconv=PC_NONE))
        if len(instructions) > len(lines):
            lines.append(end.line)
    return instructions, lines


def _point(placed: PlacedPoint, starts: dict[str, int]) -> PreemptionPoint:
    loop = None if placed.loop is None else starts[placed.loop]
    return PreemptionPoint(starts[placed.label] + placed.index, placed.rule, loop, placed.candidates, placed.live,
                           placed.most)


def _guard(guard: Pred | None) -> dict[str, int]:
    return {} if guard is None else _predicate("guard", guard)


def _predicate(name: str, value: Pred) -> dict[str, int]:
    return {name: PT if value.reg is None else value.reg.index, f"{name}_not": int(value.negated)}


def _offset(row: Opcode, offset: int) -> int:
    """Return a byte offset, modulo 2**32, as its field encodes it; an atomic's field is signed."""
    offset &= 0xFFFF_FFFF
    return offset - (1 << 32) if row.is_atomic and offset >> 31 else offset


def encoded(op: Op) -> int:
    """Return the word of an operation of stage ``machine`` that is no call."""
    return encode(_operation(op, ()))


def _operation(op: Op, entries: Sequence[int]) -> Instruction:
    if op.name == "exit":
        return _instruction("exit", **_guard(op.guard))
    if op.name == "call":
        address, = (reg for reg in op.written() if reg.kind == "U")
        return _instruction("call", d=address.index, target=entries[op.imm])
    row = machine_opcode(op)
    assert row is not None, f"no encoding for {op}"
    fields = _guard(op.guard) if op.guard is not None else {}
    defs, uses = list(op.defs), list(op.uses)
    for operand in row.operands:
        if operand in ("d", "ud"):
            fields["d"] = op.dest.index
            del defs[:max(row.data_registers, 1)]
        elif operand == "pd":
            reg = defs.pop(0)
            fields["pd"] = PT if reg is None else reg.index
        elif operand in ("a", "b", "c"):
            fields[operand] = uses[0].index
            if uses[0].kind == "U":
                fields["b_uniform"] = 1
            del uses[:2 if operand in row.pairs else 1]
        elif operand in ("ua", "ub", "uc"):
            fields[operand[1:]] = uses.pop(0).index
        elif operand in ("pa", "pb"):
            fields |= _predicate(operand, uses.pop(0))
        elif operand == "imm":
            fields["imm"] = uses.pop(0).value
        elif operand in ("sreg", "param"):
            fields["imm"] = op.imm
        elif operand == "live":
            fields["live"] = op.imm
        elif operand == "mem":
            base = uses.pop(0)
            if isinstance(base, Imm):
                fields |= {"no_base": 1, "imm": _offset(row, base.value + op.imm)}
            else:
                fields |= {"a": base.index, "imm": _offset(row, op.imm)}
                if base.kind == "U" and "ud" not in row.operands:
                    fields["base_uniform"] = 1
        elif operand == "data":
            fields["d"] = uses[0].index
    for group in groups_of(op) if op.name in GROUPS else ():
        numbers = [reg.index for reg in group]
        assert numbers == list(range(numbers[0], numbers[0] + len(group))), f"registers of {op} are not consecutive"
    return Instruction(row, fields)


