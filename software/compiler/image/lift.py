"""Lifts machine code back to the IR of stage ``machine``, so that every analysis runs on images as well.

The words reachable from the target of a ``call`` are a routine, and have blocks of its own (`ir.kernel.Routine`). It

1. has no other words in common with the kernel or with another routine,
2. only computes: no memory, no exchange between lanes, no barrier, preemption point, exit or call,
3. has no loop, and one ``bru``, which therefore is on every path; the ``bru`` takes the register that all its calls
   write, and nothing in the routine writes that register.

There is no ``bru`` elsewhere, because the code does not tell its target. None of this code has ``rejoin`` or accesses
by inactive lanes, which only preemption routines may have.
"""

from __future__ import annotations

from dataclasses import dataclass

from caesura.hw.arch.geometry import MAX_REGISTERS, PC_NONE
from caesura.hw.arch.isa.opcodes import PT
from caesura.hw.arch.isa.words import Instruction, decode

from ..analysis.calls import summarise
from ..errors import ImageError
from ..ir.cfg import graph as flow_graph
from ..ir.digraph import DiGraph, induced, is_acyclic, reachable
from ..ir.kernel import Block, Imm, Kernel, Op, Pred, Reg, Routine, Terminator
from ..ir.spec import is_convergent, is_memory, is_pure
from .kernel_image import KernelImage

__all__ = ["Lifted", "lift", "operation"]


@dataclass(frozen=True)
class Lifted:
    """A kernel image as IR.

    Attributes
    ----------
    kernel : Kernel
        Blocks in the order of the code; an operation is one instruction word. Routines are named by their addresses.
    start : dict of str to int
        Address of each block, those of routines included.
    words : dict of str to int
        Instruction words of each block.
    meet : dict of str to str or None
        Reconvergence point of each branch, as encoded.
    """

    kernel: Kernel
    start: dict[str, int]
    words: dict[str, int]
    meet: dict[str, str | None]


def lift(image: KernelImage) -> Lifted:
    """Decode `image` into blocks.

    Raises
    ------
    ImageError
        If a word is no instruction, a branch leaves the code, the code runs over its end, or the target of a call is no
        routine.
    """
    instructions = []
    for pc, word in enumerate(image.code):
        try:
            instructions.append(decode(word))
        except ValueError as error:
            raise ImageError(f"kernel {image.name}, pc {pc}: {error}") from None
        op = instructions[-1].op
        if op.name == "rejoin" or op.all_lanes:
            raise ImageError(f"kernel {image.name}, pc {pc}: {op.name} may only stand in preemption routines")
    leaders = _leaders(image.name, instructions)
    labels = {pc: f"L{pc}" for pc in leaders}
    kernel = Kernel(image.name, parameters=image.parameters, shared_bytes=image.shared_bytes,
                    local_bytes=image.local_bytes, spill_bytes=image.spill_bytes, constants=image.constants,
                    symbols=image.symbols, bindings=image.bindings, max_threads=image.max_threads,
                    required_block=image.required_block, barrier_threads=image.barrier_threads, source=image.source)
    meet: dict[str, str | None] = {}
    for pc, instruction in enumerate(instructions):
        if pc in labels:
            kernel.blocks.append(Block(labels[pc]))
        block = kernel.blocks[-1]
        line = image.lines[pc] if pc < len(image.lines) else 0
        following = labels.get(pc + 1)
        if instruction.op.name == "bra":
            target = labels[instruction.get("target")]
            if instruction.guard is None:
                block.end = Terminator((target,), None, line)
            else:
                assert following is not None  # `_leaders` starts a block after every branch
                block.end = Terminator((target, following), _guard(instruction), line)
                meet[block.label] = labels.get(instruction.get("reconv"))
        elif instruction.op.name == "exit" and instruction.guard is None:
            block.end = Terminator(line=line)
        elif instruction.op.name == "bru":
            block.ops.append(operation(instruction, line))
            block.end = Terminator(line=line)
        else:
            block.ops.append(operation(instruction, line))
            if following is not None:
                block.end = Terminator((following,), None, line)
    starts = {label: pc for pc, label in labels.items()}
    ends = [*leaders[1:], len(instructions)]
    lifted = Lifted(kernel, starts, {labels[a]: z - a for a, z in zip(leaders, ends, strict=True)}, meet)
    _take_routines(lifted)
    return lifted


def _take_routines(lifted: Lifted) -> None:
    """Move routines out of the kernel's blocks, and put their summaries at the calls."""
    kernel = lifted.kernel
    targets = sorted({op.imm for op in kernel.ops() if op.name == "call"})
    flow = flow_graph(kernel)
    owner: dict[str, str] = dict.fromkeys(reachable(flow, kernel.blocks[0].label),
                                          "the kernel")
    summaries = {}
    for number, target in enumerate(targets):
        entry = f"L{target}"
        inside = reachable(flow, entry)
        shared = sorted(lifted.start[label] for label in inside if label in owner)
        if shared:
            raise ImageError(f"kernel {kernel.name}, pc {shared[0]}: belongs to the routine at {target} and to "
                             f"{owner[f'L{shared[0]}']}")
        owner.update(dict.fromkeys(inside, f"that at {target}"))
        outside = sorted(lifted.start[other] for label in inside for other in flow.pred[label] if other not in inside)
        if outside:
            raise ImageError(f"kernel {kernel.name}, pc {outside[0]}: leads into the routine at {target} without a "
                             "call")
        blocks = [block for block in kernel.blocks if block.label in inside]
        blocks.sort(key=lambda block: block.label != entry)
        routine = Routine(entry, Kernel(entry, blocks, source=kernel.source))
        calls = {op.dest for op in kernel.ops() if op.name == "call" and op.imm == target}
        problem = _problem(routine, calls, flow)
        if problem:
            raise ImageError(f"kernel {kernel.name}: the routine at {target} {problem}")
        kernel.routines.append(routine)
        summaries[target] = number, summarise(routine.body, lifted.words)
    called = {block.label for routine in kernel.routines for block in routine.body.blocks}
    kernel.blocks = [block for block in kernel.blocks if block.label not in called]
    for block in kernel.blocks:
        for index, op in enumerate(block.ops):
            if op.name == "bru":
                raise ImageError(f"kernel {kernel.name}, pc {lifted.start[block.label] + index}: a bru in no routine")
            if op.name == "call":
                number, summary = summaries[op.imm]
                block.ops[index] = summary.call(number, op.line)


def _problem(routine: Routine, addresses: set[Reg], flow: DiGraph) -> str:
    """Return the reason why code is no routine."""
    body = routine.body
    returns = [op for op in body.ops() if op.name == "bru"]
    for op in body.ops():
        if op.name not in ("bru", "nop") and not (is_pure(op) and not is_memory(op) and not is_convergent(op)):
            return f"may only compute, without {op.name}"
    if len(returns) != 1 or sum(not block.end.targets for block in body.blocks) != 1:
        return f"returns at {len(returns)} places instead of one, or does not always return"
    if not is_acyclic(induced(flow, [block.label for block in body.blocks])):
        return "has a loop"
    if addresses != set(returns[0].uses):
        return f"returns to {returns[0].uses[0]}, its calls write {', '.join(map(str, sorted(addresses)))}"
    if any(reg in addresses for op in body.ops() for reg in op.written()):
        return "writes its return address"
    return ""


def _leaders(name: str, instructions: list[Instruction]) -> list[int]:
    count = len(instructions)
    if not count:
        raise ImageError(f"kernel {name} has no code")
    found = {0}
    for pc, instruction in enumerate(instructions):
        ends = instruction.op.name in ("bra", "bru") or instruction.op.name == "exit" and instruction.guard is None
        for kind in ("target", "reconv"):
            if kind not in instruction.op.operands:
                continue
            point = instruction.get(kind)
            if kind == "reconv" and point == PC_NONE:
                continue
            if point >= count:
                raise ImageError(f"kernel {name}, pc {pc}: branch to {point}, beyond the code of {count} words")
            found.add(point)
        if ends and pc + 1 < count:
            found.add(pc + 1)
    last = instructions[-1]
    if last.op.name not in ("exit", "bra", "bru") or last.guard is not None:
        raise ImageError(f"kernel {name}: the code runs over its end")
    return sorted(found)


def _guard(instruction: Instruction) -> Pred | None:
    if "guard" not in instruction.fields:
        return None
    number, negated = instruction.fields["guard"], instruction.fields["guard_not"]
    return None if number == PT and not negated else _pred(number, bool(negated))


def _pred(number: int, negated: bool) -> Pred:
    return Pred(None if number == PT else Reg("P", number), negated)


def operation(instruction: Instruction, line: int = 0) -> Op:
    """Return a decoded instruction, which is no branch, as an operation of the IR."""
    op, fields = instruction.op, instruction.fields
    defs: list[Reg | None] = []
    uses: list[Reg | Imm | Pred] = []
    imm = 0
    for operand in op.operands:
        if operand == "d":
            defs += _vectors(fields["d"], op.data_registers)
        elif operand == "ud":
            defs.append(Reg("U", fields["d"]))
        elif operand == "pd":
            defs.append(None if fields["pd"] == PT else Reg("P", fields["pd"]))
        elif operand in ("ua", "ub", "uc") or operand == "b" and fields.get("b_uniform"):
            uses.append(Reg("U", fields[operand[-1]]))
        elif operand in ("a", "b", "c"):
            uses += _vectors(fields[operand], 2 if operand in op.pairs else 1)
        elif operand in ("pa", "pb"):
            uses.append(_pred(fields[operand], bool(fields[f"{operand}_not"])))
        elif operand == "imm":
            uses.append(Imm(fields["imm"]))
        elif operand == "mem":
            absolute = fields["no_base"]
            kind = "U" if fields.get("base_uniform") or "ud" in op.operands else "R"
            uses.append(Imm(fields["imm"] & 0xFFFF_FFFF) if absolute else Reg(kind, fields["a"]))
            imm = 0 if absolute else fields["imm"]
        elif operand == "data":
            uses += _vectors(fields["d"], op.data_registers)
        elif operand in ("live", "target"):
            imm = fields[operand]
        else:
            imm = fields["imm"]
    return Op(op.name.removesuffix(".i"), tuple(defs), tuple(uses), _guard(instruction), imm, line)


def _vectors(first: int, count: int) -> tuple[Reg, ...]:
    return _VECTORS[first:first + count]


_VECTORS = tuple(Reg("R", index) for index in range(MAX_REGISTERS + 4))
"""The registers that a field can name; a group may begin at the last one."""
